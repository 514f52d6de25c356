"""Heap and checkpoint of the running query, read by the thread that supervises it.

The HTTP server only shows them: a JVM or a volume that does not answer must not delay a response.
"""

import dataclasses
import os
import time
from collections.abc import Callable
from typing import Final

from exporters.readmodel import CheckpointSpace, HeapUsage
from stream.checkpoint.files import CheckpointPath
from stream.checkpoint.usage import checkpoint_space
from stream.service.processes import end_planners
from stream.spark.heap import heap_usage, shrink_heap
from stream.spark.types import SparkSession

_POLL_SECONDS: Final = 15.0
_SETTLE_SECONDS: Final = 90.0
"""From the start of the query until the processes that planned it are ended; Spark may reuse one for a minute."""
_SHRINK_SECONDS: Final = 600.0
"""Between two full collections of the JVM, which take a fraction of a second. By itself it grows its heap first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resources:
    """What the query uses; its parts are empty while they are not known."""

    heap: HeapUsage = dataclasses.field(default_factory=HeapUsage)
    checkpoint: CheckpointSpace = dataclasses.field(default_factory=CheckpointSpace)


class ResourcePoller:
    """Reads the resources at most every 15 s."""

    def __init__(self, spark: SparkSession, clock: Callable[[], float] = time.monotonic) -> None:
        self._spark = spark
        self._clock = clock
        self._read_at: float | None = None
        self._shrink_at = clock() + _SETTLE_SECONDS

    def poll(self, checkpoint: CheckpointPath) -> Resources | None:
        """Return the resources now; None if the last reading is recent enough."""
        now = self._clock()
        if self._read_at is not None and now - self._read_at < _POLL_SECONDS:
            return None
        self._read_at = now
        if now >= self._shrink_at:
            self._shrink_at = now + _SHRINK_SECONDS
            shrink_heap(self._spark)
            end_planners(os.getpid())
        return Resources(heap_usage(self._spark), checkpoint_space(checkpoint))
