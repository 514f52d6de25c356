"""The partitions of the offsets topic at one tick: how far the reader is, and what open transactions hide from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import MOMENT, OFFSETS_PARTITIONS
from stream.cluster.offsets_topic import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping


class OffsetsPartitions:
    """Holds the reader's positions against the ends, tick after tick, and remembers since when a gap stands."""

    def __init__(self) -> None:
        # By offsets partition: the last stable offset below the high watermark, and since when (ms) it stands there.
        self._stable: dict[int, tuple[int, int]] = {}

    def table(self, ends: pa.Table, positions: Mapping[int, int], now: float) -> pa.Table:
        """Give the table at `now` (Unix seconds), when the ends had been read (schema OFFSETS_PARTITIONS)."""
        is_mine = pc.equal(ends.column("topic").cast(pa.string()), NAME)
        mine = ends.filter(pc.and_(is_mine, pc.greater_equal(ends.column("partition"), 0)))
        partition = mine.column("partition").to_pylist()
        position = pa.array([positions.get(number) for number in partition], pa.int64())
        high, stable = mine.column("high_watermark"), mine.column("last_stable_offset")
        gap = pc.max_element_wise(pc.subtract(high, stable), pa.scalar(np.int64(0)), skip_nulls=False)
        self._note(partition, stable.to_pylist(), gap.to_pylist(), int(now * 1000))
        since = [self._stable[number][1] if number in self._stable else None for number in partition]
        return pa.table(
            [
                pa.array(partition, pa.int32()),
                position,
                high,
                stable,
                pc.max_element_wise(pc.subtract(stable, position), pa.scalar(np.int64(0)), skip_nulls=False),
                gap,
                pa.array(since, pa.int64()).cast(MOMENT),
            ],
            schema=OFFSETS_PARTITIONS,
        )

    def _note(self, partition: list[int], stable: list[int | None], gap: list[int | None], now: int) -> None:
        before, self._stable = self._stable, {}
        for number, offset, held in zip(partition, stable, gap, strict=True):
            known = before.get(number)
            if held is None or offset is None:
                if known is not None:  # nobody answered: what stood may still stand
                    self._stable[number] = known
            elif held:
                self._stable[number] = known if known is not None and known[0] == offset else (offset, now)
