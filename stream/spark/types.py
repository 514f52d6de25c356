"""Spark's types by name, for annotations outside of this package."""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["SparkSession", "StreamingQuery"]
