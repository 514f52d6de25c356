"""The stored histories of groups: one group, its packed form of a few hundred bytes, and the table of a shard.

A history advances by *operations*: the records that a broker wrote for a group at one time, with one timestamp. The
newest operation is stored separately, with the status of the group before it. If the next batch has more of its
records, the transitions of the whole operation are derived again, so batch borders cannot change a history.

This module defines the bytes; the rules are in `lifecycle.transitions`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits.runs import NEVER
from stream.groups.lifecycle.model import DEAD_STATE, TOPICS, GroupHistory, Removal, Transition, TransitionType
from stream.groups.record_columns import KeyTable
from stream.groups.short_cache import cache_short

NO_TIME: Final = -1

Row = list[Any]
"""A transition or a removal as it is stored: its fields in their order, without trailing default values.

Histories are processed as rows, because most transitions are only copied. Rows are never modified."""


class GroupStatus(NamedTuple):
    """The status of a group at one time. `kind` is None if the group does not exist and no death of it is stored.

    A named tuple instead of a frozen dataclass for speed: two are created for every operation in the log.
    The order of the fields is the stored layout.
    """

    kind: str | None = None
    state: str | None = None
    since: int | None = None
    created: int | None = None
    died: int | None = None
    members: int = 0
    # The number that a rebalance increments: generation or assignment epoch. A conversion keeps it.
    number: int | None = None
    state_time: int | None = None
    protocol_type: str | None = None
    # Whether it has membership records; a group with offsets only is a simple group.
    recorded: bool = False

    @property
    def exists(self) -> bool:
        """True if the group has a record or an offset."""
        return self.kind is not None and self.died is None


NO_STATUS: Final = GroupStatus()


class RemovedOffsets(NamedTuple):
    """Offsets that were removed by one operation. The order of the fields is the stored layout."""

    offsets: int = 0
    topics: tuple[str, ...] = ()
    last_commit: int | None = None
    first_commit: int | None = None
    expire_time: int | None = None
    time: int = NO_TIME

    def plus(self, topic: str, commit_time: int, expire_time: int, time: int) -> RemovedOffsets:
        """Return the sum with one more offset; the order of additions does not change the result."""
        topics = self.topics if topic in self.topics else tuple(sorted({*self.topics, topic})[:TOPICS])
        last = commit_time if self.last_commit is None else max(self.last_commit, commit_time)
        first = commit_time if self.first_commit is None else min(self.first_commit, commit_time)
        expiry = max(expire_time, NO_TIME if self.expire_time is None else self.expire_time)
        return RemovedOffsets(self.offsets + 1, topics, last, first, expiry if expiry >= 0 else None, time)


NOTHING_REMOVED: Final = RemovedOffsets()


@dataclasses.dataclass(slots=True)
class GroupRecord:
    """The stored history of a group, split before its newest operation."""

    # Before the operation: the status, the newest transitions and their number by type, the offsets removed last, the
    # digests of the members that joined and of those that left since the last count, and how many different members
    # there have been since.
    previous: GroupStatus = NO_STATUS
    older_transitions: list[Row] = dataclasses.field(default_factory=list)
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    last_removed: RemovedOffsets = NOTHING_REMOVED
    joined: set[str] = dataclasses.field(default_factory=set)
    left: set[str] = dataclasses.field(default_factory=set)
    members_since_count: int = 0
    # The operation: its timestamp, the position of its last record, the removed offsets, and whether it wrote a target
    # assignment.
    time: int = NO_TIME
    position: int = NO_TIME
    removed: RemovedOffsets = NOTHING_REMOVED
    assigned: bool = False
    # After the operation: the status, and the operation's transitions.
    current: GroupStatus = NO_STATUS
    new_transitions: list[Row] = dataclasses.field(default_factory=list)
    # Maximum number of transitions; None: no limit.
    keep_transitions: int | None = None

    def count_members(self, arrived: AbstractSet[str], gone: AbstractSet[str]) -> None:
        """Count a change of members, given as digests; who returns has not left, and who leaves again never joined."""
        self.joined |= arrived - self.left
        self.left -= arrived
        self.left |= gone - self.joined
        self.joined -= gone

    def history(self) -> GroupHistory:
        """Return the history as readers see it."""
        counts = Counter(self.counts)
        counts.update(type_ for type_, *_ in self.new_transitions)
        rows = self.older_transitions + self.new_transitions
        current = self.current
        return GroupHistory(
            kind=sys.intern(current.kind or ""),
            state=DEAD_STATE if current.died is not None else current.state and sys.intern(current.state),
            since=current.since,
            created=current.created,
            died=current.died,
            counts=_counts(tuple(counts.items())),
            transitions=tuple(
                map(_transition, rows if self.keep_transitions is None else rows[-self.keep_transitions :])
            ),
        )


@cache_short(entries=1 << 16, longest=128)
def digest(name: str) -> str:
    """Return a 48-bit digest of a member's name: histories only compare names, and this avoids practical collisions."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def pack(record: GroupRecord) -> bytes:
    """Return a stored history as bytes."""
    return _WRITER.encode(
        [
            trimmed(record.previous, NO_STATUS),
            record.older_transitions,
            record.counts,
            trimmed(record.last_removed, NOTHING_REMOVED),
            [sorted(record.joined), sorted(record.left), record.members_since_count],
            [record.time, record.position, int(record.assigned), record.keep_transitions],
            trimmed(record.removed, NOTHING_REMOVED),
            trimmed(record.current, NO_STATUS),
            record.new_transitions,
        ]
    ).encode("utf-8", "surrogatepass")


_WRITER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def unpack(packed: bytes) -> GroupRecord:
    """Parse the bytes that `pack` returned."""
    previous, older, counts, last_removed, members, operation, removed, current, new = json.loads(
        packed.decode("utf-8", "surrogatepass")
    )
    joined, left, members_since_count = members
    time, position, assigned, keep_transitions = operation
    return GroupRecord(
        previous=GroupStatus(*previous),
        older_transitions=older,
        counts=counts,
        last_removed=_removed_offsets(last_removed),
        joined=set(joined),
        left=set(left),
        members_since_count=members_since_count,
        time=time,
        position=position,
        removed=_removed_offsets(removed),
        assigned=bool(assigned),
        current=GroupStatus(*current),
        new_transitions=new,
        keep_transitions=keep_transitions,
    )


@cache_short(entries=1024, longest=len(TransitionType))
def _counts(items: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    """Return these counts, which many groups share."""
    return {sys.intern(type_): count for type_, count in items}


_TYPES: Final = {str(each): each for each in TransitionType}
_TOPICS_AT: Final = [field.name for field in dataclasses.fields(Removal)].index("topics")
TRANSITION_DEFAULTS: Final = [field.default for field in dataclasses.fields(Transition)]
REMOVAL_DEFAULTS: Final = [field.default for field in dataclasses.fields(Removal)]


def trimmed(values: Iterable[Any], defaults: Sequence[Any]) -> Row:
    """Return the values without the trailing ones that equal their defaults."""
    row = list(values)
    while row and row[-1] == defaults[len(row) - 1]:
        row.pop()
    return row


def _transition(row: Row) -> Transition:
    type_, *rest = row
    if isinstance(rest[-1], list):
        removal: list[Any] = [*rest[-1]]
        removal[_TOPICS_AT] = tuple(removal[_TOPICS_AT])
        rest[-1] = Removal(*removal)
    return Transition(_TYPES[type_], *rest)


def _removed_offsets(row: Row) -> RemovedOffsets:
    if not row:
        return NOTHING_REMOVED
    row[1] = tuple(row[1])
    return RemovedOffsets(*row)


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryTable(KeyTable):
    """One row per group: its packed history (`lifecycle.record`); in a change, null where the history was dropped."""

    BYTES: ClassVar[Mapping[str, str]] = {"groups": "group", "values": "life"}

    groups: pa.BinaryArray
    """Names, in UTF-8."""
    values: pa.BinaryArray
    died: NDArray[np.int64]
    """Time of death (ms), `NEVER` for a group that is not dead."""
    packed: bytes | None = dataclasses.field(default=None, compare=False, repr=False)
    """The bytes that the table was read from, so that `codec` need not pack an unchanged table again."""

    def dropped(self) -> HistoryTable:
        """Return the same groups with null values: their histories are dropped."""
        return HistoryTable(self.groups, pa.nulls(len(self), pa.binary()), np.full(len(self), NEVER, np.int64))


def history_table(rows: Mapping[str, tuple[bytes | None, int]]) -> HistoryTable:
    """Return a table of packed histories and times of death, given by group."""
    return HistoryTable(
        pa.array([name.encode() for name in rows], pa.binary()),
        pa.array([packed for packed, _ in rows.values()], pa.binary()),
        np.array([died for _, died in rows.values()], np.int64),
    )
