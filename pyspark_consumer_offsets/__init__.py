"""Spark's data source `consumer_offsets`: PySpark finds it by the name of this package and by `DefaultSource`."""

from stream.spark.tables.source import ConsumerOffsets as DefaultSource

__all__ = ["DefaultSource"]
