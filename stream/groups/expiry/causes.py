"""Causes of the removal of offsets and groups, derived from the stored evidence, and the sentences about transitions.

The broker writes the same tombstone whether an offset expired, was deleted by a user or lost its topic. The time
distinguishes them: an offset cannot expire before its due time (`expiry.predict`), so an earlier removal is a deletion.
"""

import dataclasses
import enum
from collections.abc import Callable
from typing import Final

from stream.groups.expiry.broker_rules import (
    EMPTY,
    NEVER,
    UNKNOWN,
    ExpiryRules,
    OffsetsRetention,
    RetentionStart,
    retention_start,
)
from stream.groups.lifecycle.model import Removal, Transition, TransitionType
from stream.groups.membership.memberships import SIMPLE
from stream.wording import count, duration_in_one_unit, moment

TOLERANCE_MS: Final = 5_000
"""A tombstone may come this much (ms) before the due time: its timestamp is the time when the broker began the batch,
and the clocks of brokers differ when a group moves between them."""
SLACK_MS: Final = 60_000
"""How much longer (ms) than its check interval a broker may take, because it loads groups and writes many records."""

SHARE: Final = "share"
_LISTED_TOPICS: Final = 3


class RemovalCause(enum.StrEnum):
    """The cause of a removal of offsets or of a group."""

    EXPIRED = "expired"
    DELETED = "deleted"
    TOPIC_DELETED = "topic deleted"
    UNKNOWN = "unknown"


def late_after(retention: OffsetsRetention) -> int:
    """Return how long (ms) after its due time an offset is removed at the latest: after one check interval."""
    return retention.interval_ms + SLACK_MS


def missing_after(retention: OffsetsRetention) -> int:
    """Return how long (ms) after its due time an existing offset counts as missing its tombstone: after two checks."""
    return 2 * retention.interval_ms + SLACK_MS


def cause_of(removal: Removal, retention: OffsetsRetention, topic_exists: Callable[[str], bool | None]) -> RemovalCause:
    """Return the cause of a removal.

    `topic_exists` is called only if it matters; it returns None if unknown, and False also if the name now belongs to
    another topic (with another id). A deletion of offsets that were due anyway cannot be distinguished from expiration.
    """
    if removal.kind == SHARE:  # no broker removes share groups by itself
        return RemovalCause.DELETED
    if not removal.offsets:
        return _cause_without_offsets(removal, retention, topic_exists)
    due = due_time(removal, retention)
    if due == UNKNOWN:
        return RemovalCause.UNKNOWN
    if due < 0 or removal.time < due - TOLERANCE_MS:
        return _cause_before_due_time(removal, topic_exists)
    # Offsets of subscribed topics of a group with members do not expire at any age; the due time does not apply.
    was_exempt = removal.state != EMPTY and removal.time > due + late_after(retention)
    if was_exempt and _cause_before_due_time(removal, topic_exists) is RemovalCause.TOPIC_DELETED:
        return RemovalCause.TOPIC_DELETED
    return RemovalCause.EXPIRED


def due_time(removal: Removal, retention: OffsetsRetention) -> int:
    """Return the due time (ms) of the last of the removed offsets, `NEVER` or `UNKNOWN`, as `expiry.predict` does.

    A removal does not have the group's subscription, so its topics count as not subscribed to.
    """
    start = retention_start(removal, retention.rules)
    if start in {RetentionStart.STOPPED, RetentionStart.UNKNOWN}:
        return NEVER if start is RetentionStart.STOPPED else UNKNOWN
    extra = int(retention.rules is ExpiryRules.PER_OFFSET)
    if removal.expire_time is not None:
        return removal.expire_time + extra
    start_time = removal.state_time if start is RetentionStart.STATE else removal.last_commit
    if start_time is None or retention.retention_ms is None:
        return UNKNOWN
    return start_time + retention.retention_ms + extra


def _cause_before_due_time(removal: Removal, topic_exists: Callable[[str], bool | None]) -> RemovalCause:
    exists = [topic_exists(topic) for topic in removal.topics]
    if any(exists):
        return RemovalCause.DELETED
    return RemovalCause.TOPIC_DELETED if exists and None not in exists else RemovalCause.UNKNOWN


def _cause_without_offsets(
    removal: Removal, retention: OffsetsRetention, topic_exists: Callable[[str], bool | None]
) -> RemovalCause:
    """Return the cause of the removal of a group whose offsets were removed before it, or that had none.

    The broker removes such a group at its next check, without retention, so the cause is that of its offsets.
    """
    if removal.state != EMPTY and removal.kind != SIMPLE:
        return RemovalCause.UNKNOWN
    if removal.offsets_time is None:
        return RemovalCause.EXPIRED
    earlier = dataclasses.replace(removal, offsets=1, time=removal.offsets_time)
    if removal.state_time is not None and removal.offsets_time < removal.state_time:
        earlier = dataclasses.replace(earlier, state="Stable", state_time=None)  # removed before it became empty
    return cause_of(earlier, retention, topic_exists)


def transition_sentence(
    transition: Transition, cause: RemovalCause | None = None, retention: OffsetsRetention | None = None
) -> str:
    """Return a sentence about a transition; about a removal, with its cause and the evidence."""
    match transition.type:
        case TransitionType.CREATED:
            return "first seen"
        case TransitionType.RECREATED:
            return "first seen again after its death"
        case TransitionType.CONVERTED:
            return f"became a {transition.kind_after} group, was a {transition.kind_before} one"
        case TransitionType.REBALANCED:
            changes = ((transition.joined, "joined"), (transition.left, "left"))
            members = [f"{_counted(number, 'member')} {verb}" for number, verb in changes if number]
            return f"rebalanced: {', '.join(members) or 'the same members'}"
        case TransitionType.EMPTIED:
            last = _counted(transition.left, "member") if transition.left > 1 else "member"
            return f"the last {last} left"
    return _removal_sentence(transition, cause or RemovalCause.UNKNOWN, retention)


def _removal_sentence(transition: Transition, cause: RemovalCause, retention: OffsetsRetention | None) -> str:
    removal = transition.removal
    if removal is None:
        return str(cause)
    removed = [f"{_counted(removal.offsets, 'offset')} of {_topics(removal)}"]
    is_of_offsets = transition.type is TransitionType.OFFSETS_REMOVED
    return f"{cause}: " + ", ".join([*(removed if is_of_offsets else ()), *_evidence(removal, cause, retention)])


def _evidence(removal: Removal, cause: RemovalCause, retention: OffsetsRetention | None) -> list[str]:
    """Return the evidence for the cause, as phrases."""
    if removal.kind == SHARE:
        return ["brokers do not remove share groups by themselves"]
    if not removal.offsets and removal.offsets_time is None:
        removed = ["the broker removes such groups"] if cause is RemovalCause.EXPIRED else []
        return [f"{removal.state or 'in an unknown state'} and without offsets", *removed]
    commit = [] if removal.last_commit is None else [f"last commit {moment(removal.last_commit)}"]
    if cause is RemovalCause.TOPIC_DELETED:
        return [f"{_topics(removal)} {'does' if len(removal.topics) == 1 else 'do'} not exist", *commit]
    return [*commit, *([] if retention is None else _terms(removal, cause, retention))]


def _terms(removal: Removal, cause: RemovalCause, retention: OffsetsRetention) -> list[str]:
    """Return phrases about the retention of the offsets."""
    start = retention_start(removal, retention.rules)
    if start is RetentionStart.STOPPED:
        return ["does not expire while the group has members"]
    due = due_time(removal, retention)
    if due == UNKNOWN:
        return ["the brokers' retention is unknown" if retention.retention_ms is None else "the due time is unknown"]
    if cause is not RemovalCause.EXPIRED:
        known = [] if cause is RemovalCause.DELETED else ["it is unknown whether the topic exists"]
        return [f"retained until {moment(due)}", *known]
    if removal.expire_time is not None or retention.retention_ms is None:
        return [f"retained until {moment(due)} as its commit requested"]
    since = (
        [f"empty since {moment(removal.state_time)}"] if start is RetentionStart.STATE and removal.state_time else []
    )
    return [*since, f"retention {duration_in_one_unit(retention.retention_ms, exact=True)}"]


def _topics(removal: Removal) -> str:
    named = ", ".join(removal.topics[:_LISTED_TOPICS])
    more = len(removal.topics) - _LISTED_TOPICS
    return f"{named} and {more} more" if more > 0 else named or "no known topic"


def _counted(number: int, noun: str) -> str:
    return count(number, noun, separators=False)
