"""Connections, requests and errors of the Kafka client, below the modules that ask one question each."""
