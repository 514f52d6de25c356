"""Spark's data source `consumer_offsets`: its options, its readers, and what its tasks do."""
