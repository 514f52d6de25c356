"""What the state store kept: read once at start, so that a restarted monitor knows all groups before it reads on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.groups.codec import unpack
from stream.processor import STATE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stream.groups.shard import Shard


def stored_shards(spark: SparkSession, checkpoint: str) -> list[tuple[int, Shard]]:
    """Give every shard as of the last finished batch."""
    # Registers the state store's coordinator with this session; without it the reader fails on a snapshot.
    _ = spark.streams.active
    kept = spark.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    table = kept.selectExpr("key.shard AS shard", "value.packed AS packed").toArrow()
    packed = table.column("packed")
    return [(shard, unpack(packed[row].as_py())) for row, shard in enumerate(table.column("shard").to_pylist())]
