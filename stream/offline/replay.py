"""The job's own pipeline over rows, without Spark: fold, reduce, and the driver's fleet at the end.

What Spark does between (tasks, state store, micro-batches) is left out; what decides is the same code. Splitting the
rows into other batches changes nothing: that is the law of the runs.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stream.groups.decode_stats import DecodeStats
from stream.groups.driver_state import DriverState
from stream.groups.fold import Fold, RecordColumns
from stream.groups.placement import Placement
from stream.groups.reduce import StateLimits, reduce
from stream.groups.shard import empty_state
from stream.offline.rows import OFFSETS_TOPIC, batch_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.groups.driver_state import GroupColumns
    from stream.groups.lifecycle.model import GroupHistory
    from stream.groups.membership.memberships import Membership
    from stream.groups.shard import ShardState
    from stream.offline.rows import TopicRow

ROWS_PER_BATCH: Final = 65_536
_SLOT_MS: Final = 30_000
_KEEP_SLOTS: Final = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Offset:
    """What a group has committed for a partition. Times in Unix ms.

    `reached_time` is when this offset was first committed, `commits` and `rewinds` count since the group's offset was
    last forgotten; `leader_epoch` is None where the commit has none.
    """

    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    metadata: str
    commit_time: int
    reached_time: int
    commits: int
    rewinds: int


@dataclasses.dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group at the end of the rows. `membership` is None for a group that only has offsets.

    `life` has every transition that the rows tell.
    """

    group: str
    membership: Membership | None
    offsets: tuple[Offset, ...]
    life: GroupHistory


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What the rows amount to: all groups by name, those that have died, and what was read and could not be."""

    groups: tuple[GroupSummary, ...]
    tally: DecodeStats
    dead: tuple[GroupSummary, ...] = ()


class Replay:
    """The pipeline: rows in with `read`, in any number of calls; the fleet and the states are always current."""

    def __init__(self, *, slot_ms: int = _SLOT_MS, keep_slots: int = _KEEP_SLOTS) -> None:
        self.fleet = DriverState()
        self.tally = DecodeStats()
        # Nothing is forgotten, and nothing is news to anyone: rows are history.
        self._rules = StateLimits(keep_slots, keep_transitions=None, dead_grace_ms=None)
        # One shard per offsets partition: finer ones only spread the work.
        self._fold = Fold(Placement(1, 1), slot_ms=slot_ms, keep_slots=keep_slots)
        self.states: dict[int, ShardState] = {}

    def read(self, rows: Iterable[TopicRow], rows_at_once: int = ROWS_PER_BATCH) -> None:
        """Take rows of the offsets topic in; those of other topics are passed over."""
        mine = (row for row in rows if row.topic == OFFSETS_TOPIC)
        for some in batch_rows(mine, rows_at_once):
            self._fold.add(fold_batch(some))
            for shard, delta in self._fold.drain():
                state, change = reduce(self.states.get(shard, empty_state()), [delta], self._rules)
                self.states[shard] = state
                self.fleet.apply(shard, change)
        self.tally = self._fold.stats

    def outcome(self) -> Outcome:
        """Give all groups as they are now."""
        columns = self.fleet.columns()
        offsets: dict[str, list[Offset]] = {name: [] for name in columns.lives}
        for group, offset in zip(columns.group.to_pylist(), _offsets(columns), strict=True):
            offsets[group].append(offset)
        groups = [
            GroupSummary(
                name,
                columns.memberships.get(name),
                tuple(sorted(mine, key=lambda each: (each.topic, each.partition))),
                columns.lives[name],
            )
            for name, mine in sorted(offsets.items())
        ]
        return Outcome(
            tuple(group for group in groups if group.life.died is None),
            self.tally,
            tuple(group for group in groups if group.life.died is not None),
        )


def fold_batch(rows: list[TopicRow]) -> RecordColumns:
    """Put rows into the columns that a fold takes; a record without a timestamp counts as of time 0."""
    return RecordColumns(
        offsets_partition=np.array([row.partition for row in rows], np.int32),
        position=np.array([row.offset for row in rows], np.int64),
        time=np.array([row.timestamp or 0 for row in rows], np.int64),
        keys=pa.array([row.key for row in rows], pa.binary()),
        values=pa.array([row.value for row in rows], pa.binary()),
    )


def _offsets(columns: GroupColumns) -> list[Offset]:
    runs = columns.runs
    spans = runs.spans
    parts: tuple[list[Any], ...] = (
        columns.topic.to_pylist(),
        columns.partition.tolist(),
        spans.last_offset.tolist(),
        [None if epoch < 0 else epoch for epoch in runs.leader_epoch.tolist()],
        [text.decode("utf-8", "replace") for text in runs.metadata.to_pylist()],
        spans.last_time.tolist(),
        spans.reached_time.tolist(),
        spans.commits.tolist(),
        spans.rewinds.tolist(),
    )
    return [Offset(*row) for row in zip(*parts, strict=True)]
