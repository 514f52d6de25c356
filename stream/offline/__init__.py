"""Kafka's internal topics away from the cluster: capture files, log directories, and what can be told from them."""
