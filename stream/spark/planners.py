"""The Python processes that plan a query, 100 MB in all, whose work is over before its first tasks run.

Spark keeps the workers for a minute and their daemons for ever. Its factory of such workers can end both at any time,
and starts them again on demand.
"""

import contextlib
from typing import Final

from pyspark.sql import SparkSession

from stream.spark.errors import GONE_ERRORS

CREATOR: Final = "pyspark.sql.worker.create_data_source"
"""The module of the worker that creates the data source: not used again once the query has started."""
PLANNER: Final = "pyspark.sql.worker.plan_data_source_read"
"""The module of the worker that plans how the source is read: not used again once a batch has tasks."""


def runs_tasks(spark: SparkSession) -> bool:
    """Return whether a batch has tasks now; then its query is planned."""
    try:
        return bool(spark.sparkContext.statusTracker().getActiveJobsIds())
    except GONE_ERRORS:
        return False


def end_planners(spark: SparkSession, *modules: str) -> None:
    """End the workers of these modules, which must be idle, and their daemons.

    Spark has a factory per module in a private map of Scala, `SparkEnv.pythonWorkers`. The class must not be asked for
    its methods, as py4j does before it calls one: they name a class that PySpark does not have.
    """
    jvm, context = spark._jvm, spark.sparkContext._jsc  # noqa: SLF001 - PySpark has no public access to the JVM
    assert jvm is not None  # noqa: S101 - None in Spark Connect only
    with contextlib.suppress(*GONE_ERRORS):
        field = jvm.java.lang.Class.forName("org.apache.spark.SparkEnv").getDeclaredField("pythonWorkers")
        field.setAccessible(True)
        factories = field.get(context.sc().env())
        keys = factories.keysIterator()
        while keys.hasNext():
            key = keys.next()
            if key.workerModule() in modules:
                factories.apply(key).stop()
