"""Requests to the Kafka cluster: the only package with a Kafka client."""
