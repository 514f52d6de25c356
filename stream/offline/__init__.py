"""Kafka's internal topics without a cluster: capture files, log directories, decoding, replay and timelines."""
