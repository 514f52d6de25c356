"""The cluster's side of the monitor: the only place that holds a Kafka client."""
