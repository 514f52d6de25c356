"""The partitions of the offsets topic at one tick: how far the reader is, and what open transactions hide from it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import OFFSETS_PARTITIONS, TIMESTAMP
from stream.cluster.offsets_topic import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.tick.ends_index import EndsIndex


@dataclasses.dataclass(frozen=True, slots=True)
class UnansweredPartition:
    """An offsets partition whose end the cluster does not tell, for this reason, since then (Unix seconds)."""

    offsets_partition: int
    reason: str
    since: float


class OffsetsTopicLag:
    """Holds the reader's positions against the ends, tick after tick, and remembers since when a gap stands."""

    def __init__(self) -> None:
        # By offsets partition: the last stable offset below the high watermark, and since when (ms) it stands there.
        self._stable: dict[int, tuple[int, int]] = {}
        self._unanswered: dict[int, UnansweredPartition] = {}

    @property
    def unanswered(self) -> tuple[UnansweredPartition, ...]:
        """The partitions whose ends were not known at the last tick."""
        return tuple(self._unanswered.values())

    def table(self, ends: EndsIndex, positions: Mapping[int, int], now: float) -> pa.Table:
        """Give the table at `now` (Unix seconds), when the ends had been read (schema OFFSETS_PARTITIONS)."""
        self.look(ends, now)
        mine = ends.table_of_topic(NAME)
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
                pa.array(since, pa.int64()).cast(TIMESTAMP),
            ],
            schema=OFFSETS_PARTITIONS,
        )

    def look(self, ends: EndsIndex, now: float) -> None:
        """Note which ends were not told, at `now` (Unix seconds)."""
        mine, before = ends.table_of_topic(NAME), self._unanswered
        errors = zip(
            mine.column("partition").to_pylist(), mine.column("error").cast(pa.string()).to_pylist(), strict=True
        )
        self._unanswered = {
            number: UnansweredPartition(number, word, before[number].since if number in before else now)
            for number, word in errors
            if word is not None
        }

    def _note(self, partition: list[int], stable: list[int | None], gap: list[int | None], now: int) -> None:
        before, self._stable = self._stable, {}
        for number, offset, held in zip(partition, stable, gap, strict=True):
            known = before.get(number)
            if held is None or offset is None:
                if known is not None:  # nobody answered: what stood may still stand
                    self._stable[number] = known
            elif held:
                self._stable[number] = known if known is not None and known[0] == offset else (offset, now)
