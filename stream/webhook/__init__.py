"""Sends changes of verdicts to a webhook: events with a queue on disk, or alerts to Alertmanager. No Spark."""
