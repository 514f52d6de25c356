"""In each task: Arrow batches of records in, one packed delta per touched shard out. The shell around `groups.fold`."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import json
import socket
import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.groups.codec import pack
from stream.groups.fold import Fold, RecordColumns
from stream.groups.shard import empty_delta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.groups.placement import Placement
    from stream.groups.shard import ShardDelta

OUTPUT: Final = "shard int, delta binary, tally string"
"""Columns of the deltas; the tally of a task stands beside its first delta."""

_SCHEMA: Final = pa.schema([("shard", pa.int32()), ("delta", pa.binary()), ("tally", pa.string())])
_FOLD_ROWS: Final = 65_536
_FOLD_BYTES: Final = 64 << 20
_PULSE_SECONDS: Final = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class FoldTask:
    """The function of `mapInArrow`; small values only, for it travels to every task."""

    placement: Placement
    slot_ms: int
    keep_slots: int
    pulse: tuple[str, int] | None
    """Where to say how far the task has come: address of the driver's listener, by datagrams that may get lost."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Fold a task's records."""
        settle()
        fold = Fold(self.placement, slot_ms=self.slot_ms, keep_slots=self.keep_slots)
        with contextlib.ExitStack() as stack:
            pulse = stack.enter_context(contextlib.closing(_Pulse(self.pulse))) if self.pulse else None
            for batch in _larger(batches):
                fold.add(_batch(batch))
                if pulse:
                    pulse.beat(batch)
        tally: str | None = fold.stats.to_json()
        for shard, delta in fold.drain():
            yield _row(shard, delta, tally)
            tally = None
        if tally is not None and fold.stats:
            # Records that belong to no group, malformed ones above all, touch no shard; they are counted all the same.
            yield _row(self.placement.shard(0, ""), empty_delta(), tally)


def _row(shard: int, delta: ShardDelta, tally: str | None) -> pa.RecordBatch:
    return pa.record_batch([[shard], [pack(delta)], [tally]], schema=_SCHEMA)


@functools.cache
def settle() -> None:
    """Once per worker process: take what is loaded out of the garbage collector's sight.

    PySpark's workers collect after every task, and with our modules loaded that takes 20 to 40 ms each time.
    """
    gc.collect()
    gc.freeze()


def _larger(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put small batches together: Spark's are kept small for their memory, a fold has a fixed price per call."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _FOLD_ROWS or size >= _FOLD_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _batch(table: pa.Table) -> RecordColumns:
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    return RecordColumns(
        offsets_partition=columns["partition"].to_numpy(zero_copy_only=False),
        position=columns["offset"].to_numpy(zero_copy_only=False),
        time=columns["timestamp"].cast(pa.int64()).to_numpy(zero_copy_only=False) // 1000,
        keys=columns["key"],
        values=columns["value"],
    )


class _Pulse:
    """Tells the driver, now and then, the next position of the partitions this task is reading."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._due = time.monotonic() + _PULSE_SECONDS
        self._positions: dict[int, int] = {}

    def close(self) -> None:
        self._socket.close()

    def beat(self, batch: pa.Table) -> None:
        partitions = batch.column("partition").to_numpy()
        positions = batch.column("offset").to_numpy()
        ends = np.append(np.flatnonzero(np.diff(partitions)), len(partitions) - 1)
        for at in ends.tolist():
            self._positions[int(partitions[at])] = int(positions[at]) + 1
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _PULSE_SECONDS
        message = json.dumps(self._positions).encode()
        self._positions = {}
        try:
            self._socket.sendto(message, self._address)
        except OSError:
            return  # a progress bar is not worth a task
