"""The read model and its exporters: metrics, HTTP API and status page. Imports neither Spark nor a Kafka client."""
