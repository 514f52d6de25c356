"""Reads the state store once at start, so that a restarted monitor knows all groups before it continues to read."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa

from stream.groups.codec import unpack_state
from stream.groups.shard import ShardState
from stream.spark.shard_processor import STATE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class UnreadableShardError(Exception):
    """A shard in the state store cannot be unpacked."""


def stored_shards(spark: SparkSession, checkpoint: str) -> list[tuple[int, ShardState]]:
    """Return every shard as of the last finished batch. Raises UnreadableShardError and SparkCallError."""
    # Registers the state store's coordinator with this session; without it the reader fails on a snapshot.
    _ = spark.streams.active
    kept = spark.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    table = kept.selectExpr("key.shard AS shard", "value.packed AS packed").toArrow()
    packed = table.column("packed")
    return [(shard, _unpack(shard, packed[row].as_py())) for row, shard in enumerate(table.column("shard").to_pylist())]


def _unpack(number: int, packed: bytes) -> ShardState:
    try:
        return unpack_state(packed)
    except (ValueError, TypeError, LookupError, OverflowError, struct.error, pa.ArrowException) as error:
        raise UnreadableShardError(f"shard {number} of the state cannot be read ({error})") from error
