"""Connections, requests and errors of the Kafka client, used by the modules of `stream.cluster`."""
