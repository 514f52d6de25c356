"""The streaming source: `__consumer_offsets` as rows of partition, offset, timestamp, key and value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from stream.cluster.offsets_topic import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

_OPTIONS: Final = {
    # A compacted topic is read whole, or the groups that are quiet now would be missing. For a new checkpoint only.
    "startingOffsets": "earliest",
    # Records of aborted transactions are no commits. The price, an open transaction that holds a partition back, is
    # shown by a metric.
    "kafka.isolation.level": "read_committed",
    # Spark asks for two offsets after each poll, behind a fetch that the broker would park this long; with the default
    # of 500 ms every batch waits half a second per partition.
    "kafka.fetch.max.wait.ms": "10",
    "kafka.max.poll.records": "5000",
    # The job itself detects and reports lost offsets (topic re-created, or down for longer than its retention).
    "failOnDataLoss": "false",
}


def offsets_topic(
    spark: SparkSession,
    *,
    partitions: Sequence[int],
    max_offsets_per_trigger: int,
    security: Mapping[str, str],
) -> DataFrame:
    """Return the topic as a streaming DataFrame. `security` has the `kafka.*` options: addresses and login.

    By `assign`: `subscribe` would join a consumer group and so write records of its own into the very topic we watch.
    """
    reader = spark.readStream.format("kafka").options(**_OPTIONS).options(**security)
    return (
        reader.option("assign", json.dumps({NAME: list(partitions)}))
        # From the first start on: without it the first batch would be the whole topic, however long.
        .option("maxOffsetsPerTrigger", max_offsets_per_trigger)
        .load()
        .select("partition", "offset", "timestamp", "key", "value")
    )
