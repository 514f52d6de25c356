"""The heap of the driver's JVM, asked through py4j."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from stream.spark.errors import GONE_ERRORS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclasses.dataclass(frozen=True, slots=True)
class HeapUsage:
    """Sizes in bytes; None: not known."""

    used: int | None = None
    """Includes objects that the next garbage collection removes."""
    maximum: int | None = None


def heap_usage(spark: SparkSession) -> HeapUsage:
    """Return the usage of the heap (`java.lang.Runtime`); empty when the JVM has ended."""
    try:
        jvm = spark._jvm  # noqa: SLF001 - PySpark has no public access to the JVM
        assert jvm is not None  # noqa: S101 - None in Spark Connect only
        runtime = jvm.java.lang.Runtime.getRuntime()
        return HeapUsage(runtime.totalMemory() - runtime.freeMemory(), runtime.maxMemory())
    except GONE_ERRORS:
        return HeapUsage()
