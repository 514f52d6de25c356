"""Spark's daemon of Python workers, which imports the modules of the tasks before it forks.

The setting is `spark.python.daemon.module`. A worker then begins after a tenth of a second instead of one to two, and
the workers share the pages of these modules. PySpark forbids threads before the fork: none of the modules connects or
computes anything when it is imported.
"""

import contextlib
import gc

import pyspark.worker  # noqa: F401 -- imported for the workers
from pyspark.daemon import manager

from stream.process_memory import keep_arrow_from_pandas

with contextlib.suppress(ImportError):
    # A package that an executor does not have: the task that needs it fails with its name. The daemon would fail
    # without a word.
    keep_arrow_from_pandas()
    import stream.spark.offsets_reading
    import stream.spark.shard_processor  # noqa: F401 -- imported for the workers

if __name__ == "__main__":
    # Loaded modules are left out of garbage collections from here on. PySpark's workers collect after every task, which
    # would take 20 to 40 ms each time, and would copy the shared pages.
    gc.collect()
    gc.freeze()
    manager()
