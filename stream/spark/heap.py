"""The heap of the driver's JVM, asked through py4j."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from exporters.readmodel import HeapUsage
from stream.spark.errors import GONE_ERRORS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def heap_usage(spark: SparkSession) -> HeapUsage:
    """Return the usage of the heap (`java.lang.Runtime`); empty when the JVM has ended."""
    try:
        runtime = _java_lang(spark).Runtime.getRuntime()
        return HeapUsage(runtime.totalMemory() - runtime.freeMemory(), runtime.maxMemory())
    except GONE_ERRORS:
        return HeapUsage()


def shrink_heap(spark: SparkSession) -> None:
    """Run a full collection, after which the heap is as large as its live objects need (`java_memory`)."""
    with contextlib.suppress(*GONE_ERRORS):
        _java_lang(spark).System.gc()


def _java_lang(spark: SparkSession) -> Any:
    jvm = spark._jvm  # noqa: SLF001 - PySpark has no public access to the JVM
    assert jvm is not None  # noqa: S101 - None in Spark Connect only
    return jvm.java.lang
