"""The rules of group histories: the transitions of an operation follow from the group before and after it.

Pure functions, one group at a time. An operation is the set of records that a broker wrote for one group with one
timestamp (formats: group tombstones, conversions, member changes). Records of an operation are atomic, so only the
status before and after it counts. Sources: KIP-848, `GroupMetadataManager`, `ClassicGroup`, `ConsumerGroup`.
"""

import functools
from collections.abc import Callable
from typing import Final

from stream.groups.lifecycle import record as stored
from stream.groups.lifecycle.model import TransitionType
from stream.groups.lifecycle.record import NOTHING_REMOVED, GroupRecord, GroupStatus, Row
from stream.groups.membership.model import CLASSIC, SIMPLE
from stream.groups.membership.summary import MembershipSummary
from stream.groups.shard import StateLimits

_EMPTY: Final = "Empty"
_RESET_MEMBER_COUNT: Final = frozenset({TransitionType.REBALANCED, TransitionType.EMPTIED, TransitionType.DEAD})
"""Transitions after which the count of joined and left members starts again."""


def open_operation(record: GroupRecord, time: int, members: int, limits: StateLimits) -> GroupRecord:
    """Close the newest operation and return the record with the next one open.

    `members` is the number of members between the two operations. `record` must not be used afterwards.
    """
    previous = record.current
    if previous.died is not None and limits.dead_grace_ms is not None and time - previous.died > limits.dead_grace_ms:
        return GroupRecord(time=time, keep_transitions=limits.keep_transitions)
    counts, reset = record.counts, False
    for type_, *_ in record.new_transitions:
        counts[type_] = counts.get(type_, 0) + 1
        reset = reset or type_ in _RESET_MEMBER_COUNT
    joined, left = (set[str](), set[str]()) if reset else (record.joined, record.left)
    transitions = record.older_transitions  # extended in place, so that an operation costs the same in a long history
    transitions += record.new_transitions
    if limits.keep_transitions is not None:
        del transitions[: -limits.keep_transitions or None]
    return GroupRecord(
        previous=previous,
        older_transitions=transitions,
        counts=counts,
        last_removed=NOTHING_REMOVED
        if not previous.exists
        else record.removed
        if record.removed.offsets
        else record.last_removed,
        joined=joined,
        left=left,
        members_since_count=max(members + len(left), previous.members),
        time=time,
        keep_transitions=limits.keep_transitions,
    )


def close_operation(
    record: GroupRecord, summary: MembershipSummary | None, *, has_offsets: bool, limits: StateLimits
) -> None:
    """Set the transitions of the open operation, and the status of the group after it."""
    previous, record.new_transitions = record.previous, []
    add = functools.partial(_add, record, record.position >= limits.live_from)
    if summary is None and not has_offsets:
        if previous.exists:
            left = record.members_since_count if previous.members else 0
            add(TransitionType.DEAD, left=left, removal=_removal(record, previous))
            previous = previous._replace(
                state=None, since=record.time, died=record.time, members=0, number=None, recorded=False
            )
        record.current = previous
    elif previous.exists and _membership_unchanged(record, summary):
        if record.removed.offsets:
            add(TransitionType.OFFSETS_REMOVED, removal=_removal(record, previous))
        record.current = previous
    else:
        _add_transitions(record, summary, add)
        record.current = _status_after(record, summary)


def _membership_unchanged(record: GroupRecord, summary: MembershipSummary | None) -> bool:
    """Return whether the membership records have the same content as before: only offsets can have changed."""
    previous = record.previous
    if summary is None or record.assigned:
        return False
    return _status(summary, previous.since, previous.created) == previous


def _add(
    record: GroupRecord,
    live: bool,  # noqa: FBT001 - bound by the caller
    type_: TransitionType,
    *,
    joined: int = 0,
    left: int = 0,
    kinds: tuple[str | None, str | None] = (None, None),
    removal: Row | None = None,
) -> None:
    """Add a transition to the operation, given the fields of `lifecycle.model.Transition`."""
    row = (type_, record.time, record.position, live, joined, left, *kinds, removal)
    record.new_transitions.append(stored.trimmed(row, stored.TRANSITION_DEFAULTS))


def _status(summary: MembershipSummary | None, since: int | None, created: int | None) -> GroupStatus:
    """Return the status of a group that exists; a group without membership records has offsets."""
    if summary is None:
        return GroupStatus(SIMPLE, _EMPTY, since, created)
    fields = (summary.members, summary.number, summary.state_time, summary.protocol_type)
    return GroupStatus(summary.kind, summary.state, since, created, None, *fields, True)


def _status_after(record: GroupRecord, summary: MembershipSummary | None) -> GroupStatus:
    """Return the status after the operation, of a group that exists."""
    previous, time, added = record.previous, record.time, record.new_transitions
    if not previous.exists:
        return _status(summary, time, time)
    kind, state = (SIMPLE, _EMPTY) if summary is None else (summary.kind, summary.state)
    # A rebalance is always the last transition of an operation.
    rebalanced = bool(added) and added[-1][0] is TransitionType.REBALANCED
    same_state = previous.state == state and not (_is_classic(kind) and rebalanced)
    return _status(summary, previous.since if same_state else time, previous.created)


def _add_transitions(record: GroupRecord, summary: MembershipSummary | None, add: Callable[..., None]) -> None:
    """Add the transitions of a group that exists after the operation."""
    previous = record.previous
    if not previous.exists:
        add(TransitionType.CREATED if previous.kind is None else TransitionType.RECREATED)
    elif (kinds := _conversion(previous, summary)) is not None:
        add(TransitionType.CONVERTED, kinds=kinds)
    if record.removed.offsets:
        before = previous if previous.exists else _status(summary, None, None)
        add(TransitionType.OFFSETS_REMOVED, removal=_removal(record, before))
    members = 0 if summary is None else summary.members
    if previous.members and not members:
        add(TransitionType.EMPTIED, left=record.members_since_count)
    elif summary is not None and members and _has_rebalanced(record, summary):
        add(TransitionType.REBALANCED, joined=len(record.joined), left=len(record.left))


def _conversion(previous: GroupStatus, summary: MembershipSummary | None) -> tuple[str, str] | None:
    """Return the kinds before and after a conversion, else None. Members that join a simple group convert nothing."""
    if summary is None or previous.kind in {None, SIMPLE}:
        return None
    before, after = previous.kind or SIMPLE, CLASSIC if summary.kind == SIMPLE else summary.kind
    return None if before == after else (before, after)


def _has_rebalanced(record: GroupRecord, summary: MembershipSummary) -> bool:
    """Return whether the operation completed a rebalance.

    The number of a classic group is its generation; a static member that returns writes the record again under the
    same generation. The number of a newer group is its assignment epoch, and is new only if a target assignment was
    written. A conversion of a group with members keeps the number, one of an empty group starts again. A classic group
    that results from a conversion rebalances later, in an operation of its own.
    """
    previous, existed = record.previous, record.previous.exists
    number_before = previous.number if existed and (previous.kind == summary.kind or previous.members > 0) else None
    if _is_classic(summary.kind):
        converted = existed and previous.recorded and not _is_classic(previous.kind)
        return not converted and summary.number != number_before
    return record.assigned and (number_before is None or summary.number is None or summary.number != number_before)


def _is_classic(kind: str | None) -> bool:
    return kind in {CLASSIC, SIMPLE}


def _removal(record: GroupRecord, before: GroupStatus) -> Row:
    """Return the evidence of a removal: the fields of `lifecycle.model.Removal` as a row."""
    removed = record.removed
    last = removed if removed.offsets else record.last_removed
    status = (before.kind or SIMPLE, before.state, before.state_time, before.protocol_type)
    commits = (last.last_commit, last.first_commit, last.expire_time)
    offsets_time = last.time if last.offsets else None
    row = (*status, removed.offsets, last.topics, *commits, record.time, offsets_time)
    return stored.trimmed(row, stored.REMOVAL_DEFAULTS)
