"""The stateful processor: unpacks the state of a shard, applies the deltas (`groups.reduce`), and packs it again.

The state store is read once at start, so that a restarted monitor knows all groups before it continues to read.
"""

import socket
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues, ValueState

from stream.groups.codec import pack, unpack_delta, unpack_state
from stream.groups.placement import Placement
from stream.groups.reduce import reduce
from stream.groups.shard import ShardState, StateLimits, empty_state
from stream.process_memory import release_memory

STATE: Final = "shard"
"""Name of the state variable."""
OUTPUT: Final = "shard int, change binary, tallies array<string>"


class ShardProcessor(StatefulProcessor):
    """Spark calls it once per shard that a batch touched."""

    def __init__(
        self, placement: Placement, rules: StateLimits, live_from: Mapping[int, int], marker: str | None = None
    ) -> None:
        """`marker` is a file of the checkpoint that each executor must see; None without executors."""
        self._placement = placement
        self._rules = rules
        self._live_from = dict(live_from)
        self._marker = marker

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: one packed shard. Raises FileNotFoundError where the checkpoint is another one.

        An executor that came after the start would keep state in a folder of its own, and later batches would miss it.
        """
        if self._marker is not None and not Path(self._marker).exists():
            host = socket.gethostname()
            raise FileNotFoundError(f"{self._marker} is not there on {host}: the checkpoint is not shared, or away")
        self._state: ValueState = handle.getValueState(STATE, "packed binary")

    def handleInputRows(  # type: ignore[override]  # noqa: N802 - Spark's name; rows are Rows, not pandas frames
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803 - Spark's names
    ) -> Iterator[Row]:
        """Apply the deltas of one shard; yield the packed change."""
        kept = self._state.get()
        state = empty_state() if kept is None else unpack_state(bytes(kept[0]))
        deltas, tallies = [], []
        for row in rows:
            deltas.append(unpack_delta(bytes(row[1])))
            if row[2] is not None:
                tallies.append(row[2])
        now = int(time.time() * 1000)
        limits = self._rules.in_partition(self._placement.offsets_partition(key[0]), self._live_from, now)
        state, change = reduce(state, deltas, limits)
        self._state.update((pack(state),))
        yield Row(shard=key[0], change=pack(change), tallies=tallies)

    def close(self) -> None:
        """Release the memory of this task: the worker runs others after it, with less to do than at a start."""
        release_memory()


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
