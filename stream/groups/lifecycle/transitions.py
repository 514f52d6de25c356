"""The rules of a group's life: what an operation means, told from what the group was before it and is after it.

Pure, one group at a time. An operation is all that the log has of one group under one timestamp: the broker writes the
records of one operation at once (formats: group tombstones, conversions, member changes). Only its two ends count, for
what lies between was never there: records of an operation are atomic. Sources: KIP-848, `GroupMetadataManager`,
`ClassicGroup`, `ConsumerGroup`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from stream.groups.lifecycle.model import TransitionType
from stream.groups.lifecycle.record import NO_LOSSES, GroupRecord, GroupStatus, ending_row, transition_row
from stream.groups.membership.model import CLASSIC, SIMPLE

if TYPE_CHECKING:
    from stream.groups.lifecycle.record import Row
    from stream.groups.membership.summary import MembershipSummary

_EMPTY: Final = "Empty"
_SETTLING: Final = frozenset({TransitionType.REBALANCED, TransitionType.EMPTIED, TransitionType.DEAD})
"""After these, who comes and goes is counted anew."""


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryLimits:
    """How much of lives is kept: transitions per group, and for how long (ms) a dead group. None: all, for ever."""

    transitions: int | None
    dead_grace_ms: int | None
    # Position in the offsets partition from which on what happens is news.
    live_from: int


def open_operation(life: GroupRecord, time: int, names: frozenset[str], keeping: HistoryLimits) -> GroupRecord:
    """Close the newest operation and begin the next; `names` are the members as they are between the two.

    The life that is given is spent.
    """
    was = life.now
    if was.died is not None and keeping.dead_grace_ms is not None and time - was.died > keeping.dead_grace_ms:
        return GroupRecord(time=time, keep=keeping.transitions)
    counts, settled = life.counts, False
    for what, *_ in life.news:
        counts[what] = counts.get(what, 0) + 1
        settled = settled or what in _SETTLING
    counted = names if settled else life.counted
    past = life.past + life.news
    return GroupRecord(
        was=was,
        past=past if keeping.transitions is None else past[-keeping.transitions :],
        counts=counts,
        gone=NO_LOSSES if not was.alive else life.losses if life.losses.offsets else life.gone,
        counted=counted,
        there=max(len(names if settled else counted | names), was.members),
        time=time,
        keep=keeping.transitions,
    )


def close_operation(
    life: GroupRecord, outline: MembershipSummary | None, *, has_offsets: bool, keeping: HistoryLimits
) -> None:
    """Draw the transitions of the operation that is open, and what the group is now."""
    was = life.was
    news = _News(life, live=life.position >= keeping.live_from)
    if outline is None and not has_offsets:
        if news.lived:
            news.tell(TransitionType.DEAD, went=life.there if was.members else 0, ending=_ending(life, was))
            was = was._replace(state=None, since=life.time, died=life.time, members=0, number=None, recorded=False)
        life.now = was
    elif news.lived and _as_it_was(life, outline):
        if life.losses.offsets:
            news.tell(TransitionType.OFFSETS_REMOVED, ending=_ending(life, was))
        life.now = was
    else:
        _happened(life, outline, news)
        life.now = _dated(life, outline, news)
    life.news = tuple(news.rows)


def _as_it_was(life: GroupRecord, outline: MembershipSummary | None) -> bool:
    """Whether a living group's records say what they said: nothing but offsets can have come or gone."""
    was = life.was
    return (
        outline is not None
        and was.recorded
        and not life.assigned
        and was.number == outline.number
        and was.members == outline.members
        and was.state == outline.state
        and was.kind == outline.kind
        and was.state_time == outline.state_time
        and was.protocol_type == outline.protocol_type
    )


class _News:
    """The transitions of one operation, as rows."""

    __slots__ = ("_dated", "lived", "rows")

    def __init__(self, life: GroupRecord, *, live: bool) -> None:
        # Whether the group was there before.
        self.lived = life.was.alive
        self._dated = (life.time, life.position, live)
        self.rows: list[Row] = []

    def tell(
        self,
        what: TransitionType,
        *,
        came: int = 0,
        went: int = 0,
        kinds: tuple[str | None, str | None] = (None, None),
        ending: Row | None = None,
    ) -> None:
        """Add one: the fields of `lives.Transition`."""
        self.rows.append(transition_row((what, *self._dated, came, went, *kinds, ending)))


def record_without_past(outline: MembershipSummary | None) -> GroupRecord:
    """Remember a group that is known from before lives were kept: as it is, without a past."""
    now = _standing(outline, None if outline is None else outline.state_time, None)
    return GroupRecord(now=now, counted=frozenset() if outline is None else outline.names)


def _standing(outline: MembershipSummary | None, since: int | None, created: int | None) -> GroupStatus:
    """See what a living group is; one without records has offsets."""
    if outline is None:
        return GroupStatus(SIMPLE, _EMPTY, since, created)
    told = (outline.members, outline.number, outline.state_time, outline.protocol_type)
    return GroupStatus(outline.kind, outline.state, since, created, None, *told, True)


def _dated(life: GroupRecord, outline: MembershipSummary | None, news: _News) -> GroupStatus:
    """See what a living group is, since when."""
    was, time = life.was, life.time
    if not news.lived:
        return _standing(outline, time, time)
    kind, state = (SIMPLE, _EMPTY) if outline is None else (outline.kind, outline.state)
    anew = _is_classic(kind) and bool(news.rows) and news.rows[-1][0] is TransitionType.REBALANCED  # told last
    return _standing(outline, was.since if was.state == state and not anew else time, was.created)


def _happened(life: GroupRecord, outline: MembershipSummary | None, news: _News) -> None:
    """Tell what happened to a group that lives."""
    was = life.was
    if not news.lived:
        news.tell(TransitionType.CREATED if was.kind is None else TransitionType.RECREATED)
    elif (kinds := _conversion(was, outline)) is not None:
        news.tell(TransitionType.CONVERTED, kinds=kinds)
    if life.losses.offsets:
        news.tell(
            TransitionType.OFFSETS_REMOVED, ending=_ending(life, was if news.lived else _standing(outline, None, None))
        )
    members = 0 if outline is None else outline.members
    if was.members and not members:
        news.tell(TransitionType.EMPTIED, went=life.there)
    elif outline is not None and members and _rebalanced(life, outline, lived=news.lived):
        names = outline.names
        news.tell(TransitionType.REBALANCED, came=len(names - life.counted), went=len(life.counted - names))


def _conversion(was: GroupStatus, outline: MembershipSummary | None) -> tuple[str, str] | None:
    """Give the kinds before and after. Members that join where there were only offsets convert nothing."""
    if outline is None or was.kind in {None, SIMPLE}:
        return None
    before, after = was.kind or SIMPLE, CLASSIC if outline.kind == SIMPLE else outline.kind
    return None if before == after else (before, after)


def _rebalanced(life: GroupRecord, now: MembershipSummary, *, lived: bool) -> bool:
    """Whether the operation completed a rebalance.

    A classic group's number is its generation: a static member that comes back rewrites the record under the old one.
    A newer group's is its assignment epoch, known to be new where a target assignment was written. Conversions of a
    group with members carry the number over, those of an empty one begin anew; a classic group that results rebalances
    later, in an operation of its own.
    """
    was = life.was
    before = was.number if lived and (was.kind == now.kind or was.members > 0) else None
    if _is_classic(now.kind):
        converted = lived and was.recorded and not _is_classic(was.kind)
        return not converted and now.number != before
    return life.assigned and (before is None or now.number is None or now.number != before)


def _is_classic(kind: str | None) -> bool:
    return kind in {CLASSIC, SIMPLE}


def _ending(life: GroupRecord, before: GroupStatus) -> Row:
    """Tell what was known when something went: the fields of `lives.Ending`."""
    losses = life.losses
    told = losses if losses.offsets else life.gone
    standing = (before.kind or SIMPLE, before.state, before.state_time, before.protocol_type)
    commits = (told.last_commit, told.first_commit, told.expire_time)
    return ending_row(
        (*standing, losses.offsets, told.topics, *commits, life.time, told.time if told.offsets else None)
    )
