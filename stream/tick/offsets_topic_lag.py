"""The lag of the reader on the offsets topic, and the gaps that open transactions cause there."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import (
    OFFSETS_PARTITIONS,
    OFFSETS_UNAVAILABLE,
    OFFSETS_UNAVAILABLE_GROUPS,
    TIMESTAMP,
    rows_table,
)
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.errors import ErrorReason
from stream.groups.placement import EVERY_GROUP, InstancePart
from stream.tick.ends_index import EndsIndex
from stream.tick.verdicts.evaluated_tick import EvaluatedTick


@dataclasses.dataclass(frozen=True, slots=True)
class UnansweredPartition:
    """An offsets partition without a known end offset."""

    offsets_partition: int
    reason: str
    """An `ErrorReason`."""
    since: float
    """When the end offset was first missing (Unix seconds)."""
    leader: int | None = None
    """The broker that leads it; None: none, or not known."""


NAMED_GROUPS: Final = 10
"""Groups that are named per offsets partition without a known end."""


def unavailable_table(unanswered: Sequence[UnansweredPartition], evaluated: EvaluatedTick) -> pa.Table:
    """Return the offsets partitions without a known end, with the number of live groups that each of them hides.

    Sorted by partition (schema OFFSETS_UNAVAILABLE).
    """
    counts = collections.Counter(evaluated.inputs.offsets_partition[evaluated.alive].tolist())
    ordered = sorted(unanswered, key=lambda each: each.offsets_partition)
    rows = [(each.offsets_partition, each.reason, int(each.since * 1000)) for each in ordered]
    return rows_table([(*row, counts[row[0]]) for row in rows], OFFSETS_UNAVAILABLE)


def unavailable_groups_table(unanswered: Sequence[UnansweredPartition], evaluated: EvaluatedTick) -> pa.Table:
    """Return the first live groups, by name, that each offsets partition without a known end hides.

    Sorted by partition and group (schema OFFSETS_UNAVAILABLE_GROUPS).
    """
    names, alive = evaluated.inputs.rows.groups, evaluated.alive
    rows = [
        (partition, names[group])
        for partition in sorted(each.offsets_partition for each in unanswered)
        for group in np.flatnonzero(alive & (evaluated.inputs.offsets_partition == partition))[:NAMED_GROUPS].tolist()
    ]
    return rows_table(rows, OFFSETS_UNAVAILABLE_GROUPS)


@dataclasses.dataclass(frozen=True, slots=True)
class StableGap:
    """A last stable offset below the high watermark, and when (ms) it was first seen there."""

    last_stable: int
    since: int


class StableGaps:
    """The gaps of the offsets partitions of one instance, tick after tick."""

    def __init__(self, part: InstancePart) -> None:
        """Track the partitions of this instance."""
        self._part = part
        self._gaps: dict[int, StableGap] = {}

    def update(self, ends: EndsIndex, now: int) -> Mapping[int, StableGap]:
        """Return the gaps by partition; `ends` were read at `now` (ms).

        A partition whose ends are not known at this tick keeps its gap, also if the topic could not be described.
        """
        rows = ends.rows_of_topic(NAME)
        columns = (ends.partitions(rows), ends.last_stable_offset[rows], ends.high_watermark[rows])
        gaps = dict(self._gaps)
        for partition, stable, high in zip(*(column.tolist() for column in columns), strict=True):
            previous = gaps.get(partition)
            if not self._part.owns(partition) or stable < 0 or high < 0:
                continue
            if stable >= high:
                gaps.pop(partition, None)
            elif previous is None or previous.last_stable != stable:
                gaps[partition] = StableGap(stable, now)
        self._gaps = gaps
        return gaps


class OffsetsTopicLag:
    """Compares the positions of the reader with the end offsets at each tick, and remembers when each gap began."""

    def __init__(self, part: InstancePart = EVERY_GROUP) -> None:
        """Compare the partitions of this instance only."""
        self._part = part
        self._stable_gaps = StableGaps(part)
        self._unanswered: dict[int, UnansweredPartition] = {}
        # All partitions of this instance that were ever described: a topic loses none.
        self._known: frozenset[int] = frozenset()

    @property
    def unanswered(self) -> tuple[UnansweredPartition, ...]:
        """The partitions without a known end offset at the last poll."""
        return tuple(self._unanswered.values())

    def update(self, ends: EndsIndex, positions: Mapping[int, int], now: float) -> pa.Table:
        """Record the end offsets polled at `now` (Unix seconds); return the lag (schema OFFSETS_PARTITIONS).

        `positions` has the next offset to read per offsets partition; a partition without one has no distance.
        """
        self.record_unanswered(ends, now)
        table = self._owned_rows(ends)
        partition = table.column("partition").to_pylist()
        position = pa.array([positions.get(number) for number in partition], pa.int64())
        high, stable = table.column("high_watermark"), table.column("last_stable_offset")
        gap = pc.max_element_wise(pc.subtract(high, stable), pa.scalar(np.int64(0)), skip_nulls=False)
        gaps = self._stable_gaps.update(ends, int(now * 1000))
        since = [gaps[number].since if number in gaps else None for number in partition]
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

    def record_unanswered(self, ends: EndsIndex, now: float) -> None:
        """Record the partitions without a known end offset at `now` (Unix seconds).

        If the topic cannot be described, these are all partitions that are known from earlier polls.
        """
        table, previous = self._owned_rows(ends).to_pydict(), self._unanswered
        errors = dict(zip(table["partition"], table["error"], strict=True))
        errors |= dict.fromkeys(sorted(self._known - errors.keys()), ends.topic_error(NAME) or str(ErrorReason.OTHER))
        self._known |= errors.keys()
        leaders = dict(zip(table["partition"], table["leader"], strict=True))
        self._unanswered = {
            number: UnansweredPartition(
                number, reason, previous[number].since if number in previous else now, leaders.get(number)
            )
            for number, reason in errors.items()
            if reason is not None
        }

    def _owned_rows(self, ends: EndsIndex) -> pa.Table:
        table = ends.table_of_topic(NAME)
        if self._part.is_whole:
            return table
        return table.filter(pa.array(map(self._part.owns, table.column("partition").to_pylist()), pa.bool_()))
