"""Spark's access to a checkpoint in an object store."""
