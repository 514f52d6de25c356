"""The read model and everything that shows it to people. Knows nothing of Spark or Kafka: a leaf."""
