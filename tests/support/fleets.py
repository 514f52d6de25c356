"""Small worlds for tests: records in, the driver's fleet and its snapshots out, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stream.cluster.watermarks import ENDS
from stream.groups.fleet import Fleet
from stream.groups.fold import Batch, Fold
from stream.groups.placement import Placement
from stream.groups.reduce import reduce
from stream.groups.shard import Shard, empty_shard
from tests.support.commits import KEEP, SLOT_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

Raw = tuple[bytes | None, bytes | None]


class World:
    """One offsets partition: its state as the state store would hold it, and the driver's fleet beside it."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.state = empty_shard()
        self._position = 0

    def read(self, records: Sequence[Raw]) -> Shard:
        """Let a batch of records happen; give what it changed."""
        fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
        fold.add(
            Batch(
                np.zeros(len(records), np.int32),
                np.arange(self._position, self._position + len(records)),
                np.zeros(len(records), np.int64),
                pa.array([key for key, _ in records], pa.binary()),
                pa.array([value for _, value in records], pa.binary()),
            )
        )
        self._position += len(records)
        self.state, change = reduce(self.state, [delta for _, delta in fold.drain()], KEEP)
        self.fleet.apply(0, change)
        return change


def ends_of(rows: Sequence[tuple[str, int, int | None, int | None, int | None, str | None]]) -> pa.Table:
    """Give ends as the cluster answers them: topic, partition, high watermark, last stable, log start, error."""
    columns = list(zip(*sorted(rows, key=lambda row: row[:2]), strict=True)) or [()] * len(ENDS)
    arrays = [
        pa.array(column, field.type if not pa.types.is_dictionary(field.type) else pa.string())
        for column, field in zip(columns, ENDS, strict=True)
    ]
    return pa.table(
        [
            array.dictionary_encode().cast(field.type) if pa.types.is_dictionary(field.type) else array
            for array, field in zip(arrays, ENDS, strict=True)
        ],
        schema=ENDS,
    )
