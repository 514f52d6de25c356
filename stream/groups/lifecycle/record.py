"""What a shard remembers of one group beside its records and offsets, and how that is kept as a few hundred bytes.

A group's life moves by *operations*: what a broker wrote for a group at one moment, records of one timestamp. The
newest operation is kept apart from what was before it, with what the group was then (`was`): when more of it arrives
with the next batch, its transitions are drawn again from the whole, and no batch border can show.

The owner of the bytes. The rules are in `stream.groups.lifecycle.transitions`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stream.groups.lifecycle.model import DEAD_STATE, TOPICS, GroupHistory, Removal, Transition, TransitionType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NO_TIME: Final = -1

Row = list[Any]
"""A transition, or an ending, as it is written: its fields in their order, without those at the end that are as they
are by default. Lives are told on in rows, since most of what is remembered is only handed on; nobody changes one."""


class GroupStatus(NamedTuple):
    """What a group is at one moment. `kind` is None where there is no such group and none is remembered.

    A named tuple where the house has frozen dataclasses: two are made for every operation in the log.
    """

    kind: str | None = None
    state: str | None = None
    since: int | None = None
    created: int | None = None
    died: int | None = None
    members: int = 0
    # The number that a rebalance raises: generation or assignment epoch. A conversion carries it over.
    number: int | None = None
    state_time: int | None = None
    protocol_type: str | None = None
    # Whether it has membership records; without them its offsets make it a simple group.
    recorded: bool = False

    @property
    def alive(self) -> bool:
        """Whether a record or an offset of it is left."""
        return self.kind is not None and self.died is None


NOWHERE: Final = GroupStatus()


class RemovedOffsets(NamedTuple):
    """Offsets that went with one operation."""

    offsets: int = 0
    topics: tuple[str, ...] = ()
    last_commit: int | None = None
    first_commit: int | None = None
    expire_time: int | None = None
    time: int = NO_TIME

    def plus(self, topic: str, commit_time: int, expire_time: int, time: int) -> RemovedOffsets:
        """Count one more; in whatever order they are counted, the sum is the same."""
        if not self.offsets:
            return RemovedOffsets(
                1, (topic,), commit_time, commit_time, expire_time if expire_time >= 0 else None, time
            )
        topics = self.topics if topic in self.topics else tuple(sorted({*self.topics, topic})[:TOPICS])
        return RemovedOffsets(
            self.offsets + 1,
            topics,
            commit_time if self.last_commit is None else max(self.last_commit, commit_time),
            commit_time if self.first_commit is None else min(self.first_commit, commit_time),
            max(expire_time, NO_TIME if self.expire_time is None else self.expire_time)
            if expire_time >= 0
            else self.expire_time,
            time,
        )


NO_LOSSES: Final = RemovedOffsets()


@dataclasses.dataclass(slots=True)
class GroupRecord:
    """A group's life, cut before its newest operation."""

    # Before the operation: what was, the newest transitions and how many of each there were, the last offsets to go,
    # the names of members when they were last counted, and how many members have been there since.
    was: GroupStatus = NOWHERE
    past: tuple[Row, ...] = ()
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    gone: RemovedOffsets = NO_LOSSES
    counted: frozenset[str] = frozenset()
    there: int = 0
    # The operation: its timestamp, its last record, the offsets that went, whether it made a target assignment.
    time: int = NO_TIME
    position: int = NO_TIME
    losses: RemovedOffsets = NO_LOSSES
    assigned: bool = False
    # After it.
    now: GroupStatus = NOWHERE
    news: tuple[Row, ...] = ()
    # How many transitions are to be kept; None: all.
    keep: int | None = None

    def life(self) -> GroupHistory:
        """Give what readers see of it."""
        counts = dict(self.counts)
        for what, *_ in self.news:
            counts[what] = counts.get(what, 0) + 1
        every = self.past + self.news
        now = self.now
        return GroupHistory(
            kind=now.kind or "",
            state=DEAD_STATE if now.died is not None else now.state,
            since=now.since,
            created=now.created,
            died=now.died,
            counts={str(what): count for what, count in counts.items()},
            transitions=tuple(map(_transition, every if self.keep is None else every[-self.keep :])),
        )


@functools.lru_cache(maxsize=1 << 16)
def digest(name: str) -> str:
    """Shorten a member's name: lives compare names, they never show them. 48 bits tell members apart well enough."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def pack(life: GroupRecord, names: frozenset[str]) -> bytes:
    """Write what is remembered; `names` are the digests of the members that the group has now.

    Members counted last are told by their difference to those of now: nearly always few.
    """
    return _WRITER.encode(
        [
            _trimmed(life.was, NOWHERE),
            life.past,
            life.counts,
            _trimmed(life.gone, NO_LOSSES),
            [sorted(names - life.counted), sorted(life.counted - names), life.there],
            [life.time, life.position, int(life.assigned), life.keep],
            _trimmed(life.losses, NO_LOSSES),
            _trimmed(life.now, NOWHERE),
            life.news,
        ]
    ).encode("utf-8", "surrogatepass")


_WRITER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def unpack(packed: bytes, names: frozenset[str] = frozenset()) -> GroupRecord:
    """Read what `pack` wrote, with the same names."""
    was, past, counts, gone, members, operation, losses, now, news = json.loads(packed.decode("utf-8", "surrogatepass"))
    came, went, there = members
    time, position, assigned, keep = operation
    return GroupRecord(
        was=GroupStatus(*was),
        past=tuple(past),
        counts=counts,
        gone=_read_losses(gone),
        counted=(names - frozenset(came)) | frozenset(went),
        there=there,
        time=time,
        position=position,
        losses=_read_losses(losses),
        assigned=bool(assigned),
        now=GroupStatus(*now),
        news=tuple(news),
        keep=keep,
    )


def unpack_history(packed: bytes) -> GroupHistory:
    """Read what readers see of a packed life."""
    return unpack(packed).life()


def _trimmed(values: Iterable[Any], defaults: Sequence[Any]) -> Row:
    """Leave out the values at the end that are as they are by default."""
    given = list(values)
    while given and given[-1] == defaults[len(given) - 1]:
        given.pop()
    return given


def transition_row(told: Sequence[Any]) -> Row:
    """Write a transition, given by the fields of `Transition` in their order; `ending` is a row itself."""
    return _trimmed(told, _TRANSITION)


def ending_row(told: Sequence[Any]) -> Row:
    """Write an ending, given by the fields of `Removal` in their order."""
    return _trimmed(told, _ENDING)


_TRANSITION: Final = [field.default for field in dataclasses.fields(Transition)]
_ENDING: Final = [field.default for field in dataclasses.fields(Removal)]


def _transition(row: Row) -> Transition:
    what, *rest = row
    if isinstance(rest[-1], list):
        rest[-1] = _ending(rest[-1])
    return Transition(TransitionType(what), *rest)


def _ending(row: Row) -> Removal:
    before, topics, after = row[:_TOPICS_AT], row[_TOPICS_AT], row[_TOPICS_AT + 1 :]
    told: list[Any] = [*before, tuple(topics), *after]
    return Removal(*told)


_TOPICS_AT: Final = [field.name for field in dataclasses.fields(Removal)].index("topics")


def _read_losses(row: list[Any]) -> RemovedOffsets:
    if not row:
        return NO_LOSSES
    row[1] = tuple(row[1])
    return RemovedOffsets(*row)
