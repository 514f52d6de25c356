"""Options of the source for tests: what a read needs, without a cluster."""

import dataclasses
from typing import Any

from stream.config.kafka_login import KafkaLogin
from stream.groups.placement import Placement
from stream.spark.reading_options import ClusterAccess, ReadingOptions

_READING = ReadingOptions(
    ClusterAccess(("b:9092",), KafkaLogin(), 10.0),
    starts={},
    tasks=2,
    most_offsets=1_000,
    limit=60.0,
    placement=Placement(4, 1),
    slot_ms=30_000,
    keep_slots=10,
    progress_address=None,
)


def reading_options(**changes: Any) -> ReadingOptions:
    """Return the options of a read of four partitions by two tasks, with these changes."""
    return dataclasses.replace(_READING, **changes)
