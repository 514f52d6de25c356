"""The rules of a group's life: what an operation means, told from what the group was before it and is after it.

Pure, one group at a time. An operation is all that the log has of one group under one timestamp: the broker writes the
records of one operation at once (formats: group tombstones, conversions, member changes). Only its two ends count, for
what lies between was never there: records of an operation are atomic. Sources: KIP-848, `GroupMetadataManager`,
`ClassicGroup`, `ConsumerGroup`.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Final

from stream.groups.kinds import CLASSIC, SIMPLE
from stream.groups.lives import Ending, Happening, Transition
from stream.groups.remembered import NO_LOSSES, NOWHERE, Remembered, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream.groups.outline import Outline

_EMPTY: Final = "Empty"
_SETTLING: Final = frozenset({Happening.REBALANCED, Happening.EMPTIED, Happening.DEAD})
"""After these, who comes and goes is counted anew."""


@dataclasses.dataclass(frozen=True, slots=True)
class Keeping:
    """How much of lives is kept: transitions per group, and for how long (ms) a dead group. None: all, for ever."""

    transitions: int | None
    grace_ms: int | None
    # Position in the offsets partition from which on what happens is news.
    live_from: int


def open_operation(life: Remembered, time: int, names: frozenset[str], keeping: Keeping) -> Remembered:
    """Close the newest operation and begin the next; `names` are the members as they are between the two."""
    was = life.now
    if was.died is not None and keeping.grace_ms is not None and time - was.died > keeping.grace_ms:
        return Remembered(time=time, keep=keeping.transitions)
    counts = dict(life.counts)
    for each in life.news:
        counts[each.what.value] = counts.get(each.what.value, 0) + 1
    settled = any(each.what in _SETTLING for each in life.news)
    counted = names if settled else life.counted
    past = life.past + life.news
    return Remembered(
        was=was,
        past=past if keeping.transitions is None else past[-keeping.transitions :],
        counts=counts,
        gone=NO_LOSSES if not was.alive else life.losses if life.losses.offsets else life.gone,
        counted=counted,
        there=max(len(counted | names), was.members),
        time=time,
        keep=keeping.transitions,
    )


def close_operation(life: Remembered, outline: Outline | None, *, has_offsets: bool, keeping: Keeping) -> None:
    """Draw the transitions of the operation that is open, and what the group is now."""
    now = _standing(outline, has_offsets=has_offsets)
    names = frozenset() if outline is None else outline.names
    if not life.was.alive and not now.alive:
        life.now, life.news = life.was, ()
        return
    dated = functools.partial(
        Transition, time=life.time, position=life.position, live=life.position >= keeping.live_from
    )
    life.news = tuple(_happened(life, now, names, dated))
    life.now = _dated(life, now)


def adopted(outline: Outline | None) -> Remembered:
    """Remember a group that is known from before lives were kept: as it is, without a past."""
    now = _standing(outline, has_offsets=True)
    return Remembered(now=now._replace(since=now.state_time), counted=frozenset() if outline is None else outline.names)


def _standing(outline: Outline | None, *, has_offsets: bool) -> Standing:
    """See what a group is; its dates are not known here."""
    if outline is None:
        return Standing(SIMPLE, _EMPTY) if has_offsets else NOWHERE
    return Standing(
        kind=outline.kind,
        state=outline.state,
        members=outline.members,
        number=outline.number,
        state_time=outline.state_time,
        protocol_type=outline.protocol_type,
        recorded=True,
    )


def _dated(life: Remembered, now: Standing) -> Standing:
    was, time = life.was, life.time
    if not now.alive:
        return was._replace(state=None, since=time, died=time, members=0, number=None, recorded=False)
    kept_going = was.alive and was.state == now.state
    anew = _is_classic(now.kind) and any(each.what is Happening.REBALANCED for each in life.news)
    return now._replace(
        since=was.since if kept_going and not anew else time, created=was.created if was.alive else time
    )


def _happened(
    life: Remembered, now: Standing, names: frozenset[str], dated: Callable[..., Transition]
) -> Iterator[Transition]:
    was = life.was
    if not now.alive:
        yield dated(Happening.DEAD, went=life.there if was.members else 0, ending=_ending(life, was))
        return
    if not was.alive:
        yield dated(Happening.CREATED if was.kind is None else Happening.REBORN)
    if (kinds := _conversion(was, now)) is not None:
        yield dated(Happening.CONVERTED, kind_before=kinds[0], kind_after=kinds[1])
    if life.losses.offsets:
        yield dated(Happening.FORGOTTEN, ending=_ending(life, was if was.alive else now))
    if was.members and not now.members:
        yield dated(Happening.EMPTIED, went=life.there)
    elif now.members and _rebalanced(life, now):
        yield dated(Happening.REBALANCED, came=len(names - life.counted), went=len(life.counted - names))


def _conversion(was: Standing, now: Standing) -> tuple[str, str] | None:
    """Give the kinds before and after. Members that join where there were only offsets convert nothing."""
    if not was.alive or was.kind in {None, SIMPLE} or not now.recorded:
        return None
    before, after = was.kind or SIMPLE, CLASSIC if now.kind == SIMPLE else now.kind or SIMPLE
    return None if before == after else (before, after)


def _rebalanced(life: Remembered, now: Standing) -> bool:
    """Whether the operation completed a rebalance.

    A classic group's number is its generation: a static member that comes back rewrites the record under the old one.
    A newer group's is its assignment epoch, known to be new where a target assignment was written. Conversions of a
    group with members carry the number over, those of an empty one begin anew; a classic group that results rebalances
    later, in an operation of its own.
    """
    goes_on = life.was.alive and (life.was.kind == now.kind or life.was.members > 0)
    before = life.was.number if goes_on else None
    if _is_classic(now.kind):
        converted = life.was.alive and life.was.recorded and not _is_classic(life.was.kind)
        return not converted and now.number != before
    return life.assigned and (before is None or now.number is None or now.number != before)


def _is_classic(kind: str | None) -> bool:
    return kind in {CLASSIC, SIMPLE}


def _ending(life: Remembered, before: Standing) -> Ending:
    losses = life.losses
    told = losses if losses.offsets else life.gone
    return Ending(
        kind=before.kind or SIMPLE,
        state=before.state,
        state_time=before.state_time,
        protocol_type=before.protocol_type,
        offsets=losses.offsets,
        topics=told.topics,
        last_commit=told.last_commit,
        first_commit=told.first_commit,
        expire_time=told.expire_time,
        time=life.time,
        offsets_time=told.time if told.offsets else None,
    )
