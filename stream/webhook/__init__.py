"""Sends changes of verdicts to a webhook: events, the queue on disk, requests and retries. No Spark and no Kafka."""
