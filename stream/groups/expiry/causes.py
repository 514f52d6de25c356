"""Why offsets and groups went, judged from what was known when they did, and the sentence that a person reads.

The broker writes the same tombstone whether an offset expired, was deleted by a person or lost its topic. What tells
them apart is time: an offset cannot expire before its hour (`expiry.predict`), and what goes before it goes by
somebody's will. Owns every sentence about a transition.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

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

if TYPE_CHECKING:
    from collections.abc import Callable

TOLERANCE_MS: Final = 5_000
"""A tombstone so little before its hour is in time: a batch carries the time when it was begun, and brokers' clocks
differ when a group moves from one to another."""
SLACK_MS: Final = 60_000
"""How much later than its interval a broker may look: it has groups to load and much to write."""

SHARE: Final = "share"
_NAMED: Final = 3


class RemovalCause(enum.StrEnum):
    """Why offsets or a group went."""

    EXPIRED = "expired"
    DELETED = "deleted"
    TOPIC_DELETED = "topic deleted"
    UNKNOWN = "unknown"


def late_after(retention: OffsetsRetention) -> int:
    """Give by how many ms after its hour the broker must have forgotten an offset: it looks once per interval."""
    return retention.interval_ms + SLACK_MS


def missing_after(retention: OffsetsRetention) -> int:
    """Give by how many ms after its hour an offset that is still there is worth a question: two looks passed it by."""
    return 2 * retention.interval_ms + SLACK_MS


def cause_of(ending: Removal, retention: OffsetsRetention, topic_exists: Callable[[str], bool | None]) -> RemovalCause:
    """Judge an ending.

    `topic_exists` is asked only where it matters; it says None where the cluster does not tell, and False also where
    the name belongs to another topic by now (its id changed). Whoever deletes what was about to be forgotten anyway
    cannot be told from the broker.
    """
    if ending.kind == SHARE:  # no broker removes one by itself
        return RemovalCause.DELETED
    if not ending.offsets:
        return _cause_without_offsets(ending, retention, topic_exists)
    due = due_time(ending, retention)
    if due == UNKNOWN:
        return RemovalCause.UNKNOWN
    if due < 0 or ending.time < due - TOLERANCE_MS:
        return _cause_before_its_time(ending, topic_exists)
    # What a group with members subscribes to does not expire however old; then the hour says nothing.
    was_exempt = ending.state != EMPTY and ending.time > due + late_after(retention)
    if was_exempt and _cause_before_its_time(ending, topic_exists) is RemovalCause.TOPIC_DELETED:
        return RemovalCause.TOPIC_DELETED
    return RemovalCause.EXPIRED


def due_time(ending: Removal, retention: OffsetsRetention) -> int:
    """Give the hour (ms) of the last of the offsets that went, `NEVER` or `UNKNOWN`: `expiry.predict`, looking back.

    What its group subscribed to is not in an ending, so an offset counts as one that nobody subscribed to.
    """
    clock = retention_start(ending, retention.rules)
    if clock in {RetentionStart.STOPPED, RetentionStart.UNKNOWN}:
        return NEVER if clock is RetentionStart.STOPPED else UNKNOWN
    grace = int(retention.rules is ExpiryRules.PER_OFFSET)
    if ending.expire_time is not None:
        return ending.expire_time + grace
    began = ending.state_time if clock is RetentionStart.STATE else ending.last_commit
    if began is None or retention.retention_ms is None:
        return UNKNOWN
    return began + retention.retention_ms + grace


def _cause_before_its_time(ending: Removal, topic_exists: Callable[[str], bool | None]) -> RemovalCause:
    there = [topic_exists(topic) for topic in ending.topics]
    if any(there):
        return RemovalCause.DELETED
    return RemovalCause.TOPIC_DELETED if there and None not in there else RemovalCause.UNKNOWN


def _cause_without_offsets(
    ending: Removal, retention: OffsetsRetention, topic_exists: Callable[[str], bool | None]
) -> RemovalCause:
    """Judge the end of a group whose offsets went before it, or that had none.

    The broker removes such a group when it next looks, without any retention, so it went for what its offsets went for.
    """
    if ending.state != EMPTY and ending.kind != SIMPLE:
        return RemovalCause.UNKNOWN
    if ending.offsets_time is None:
        return RemovalCause.EXPIRED
    before = dataclasses.replace(ending, offsets=1, time=ending.offsets_time)
    if ending.state_time is not None and ending.offsets_time < ending.state_time:
        before = dataclasses.replace(before, state="Stable", state_time=None)  # they went before it became empty
    return cause_of(before, retention, topic_exists)


def transition_sentence(
    transition: Transition, cause: RemovalCause | None = None, retention: OffsetsRetention | None = None
) -> str:
    """Say in words what happened; of an end, with its cause and the evidence for it."""
    match transition.type:
        case TransitionType.CREATED:
            return "first seen"
        case TransitionType.RECREATED:
            return "there again after it had died"
        case TransitionType.CONVERTED:
            return f"became a {transition.kind_after} group, was a {transition.kind_before} one"
        case TransitionType.REBALANCED:
            return f"rebalanced: {_came_and_went(transition.joined, transition.left)}"
        case TransitionType.EMPTIED:
            return (
                f"the last {_counted(transition.left, 'member')} left"
                if transition.left > 1
                else "the last member left"
            )
    return _ending_sentence(transition, cause or RemovalCause.UNKNOWN, retention)


def _came_and_went(came: int, went: int) -> str:
    if not came and not went:
        return "the same members"
    return ", ".join(
        f"{_counted(number, 'member')} {verb}" for number, verb in ((came, "came"), (went, "went")) if number
    )


def _ending_sentence(transition: Transition, cause: RemovalCause, retention: OffsetsRetention | None) -> str:
    ending = transition.removal
    if ending is None:
        return str(cause)
    said = [_what_went(ending)] if transition.type is TransitionType.OFFSETS_REMOVED else []
    return f"{cause}: " + ", ".join([*said, *_evidence(ending, cause, retention)])


def _what_went(ending: Removal) -> str:
    return f"{_counted(ending.offsets, 'offset')} of {_topics(ending)}"


def _evidence(ending: Removal, cause: RemovalCause, retention: OffsetsRetention | None) -> list[str]:
    """Give what speaks for the cause, phrase by phrase."""
    if ending.kind == SHARE:
        return ["no broker removes a share group by itself"]
    if not ending.offsets and ending.offsets_time is None:
        removed = ["and such a group is removed by the broker"] if cause is RemovalCause.EXPIRED else []
        return [f"{ending.state or 'in an unknown state'} and without offsets", *removed]
    commit = [] if ending.last_commit is None else [f"last commit {moment(ending.last_commit)}"]
    if cause is RemovalCause.TOPIC_DELETED:
        return [f"{_topics(ending)} {'is' if len(ending.topics) == 1 else 'are'} not there any more", *commit]
    return [*commit, *([] if retention is None else _terms(ending, cause, retention))]


def _terms(ending: Removal, cause: RemovalCause, retention: OffsetsRetention) -> list[str]:
    """Say on which terms the offsets were kept."""
    clock = retention_start(ending, retention.rules)
    if clock is RetentionStart.STOPPED:
        return ["does not expire while the group has members"]
    due = due_time(ending, retention)
    if due == UNKNOWN:
        return ["the brokers' retention is not known" if retention.retention_ms is None else "when to go is not known"]
    if cause is not RemovalCause.EXPIRED:
        known = [] if cause is RemovalCause.DELETED else ["whether the topic is there is not known"]
        return [f"was to be kept until {moment(due)}", *known]
    if ending.expire_time is not None or retention.retention_ms is None:
        return [f"kept until {moment(due)} by its own terms"]
    since = [f"empty since {moment(ending.state_time)}"] if clock is RetentionStart.STATE and ending.state_time else []
    return [*since, f"retention {duration_in_one_unit(retention.retention_ms, exact=True)}"]


def _topics(ending: Removal) -> str:
    named = ", ".join(ending.topics[:_NAMED])
    more = len(ending.topics) - _NAMED
    return f"{named} and {more} more" if more > 0 else named or "no known topic"


def _counted(number: int, noun: str) -> str:
    return count(number, noun, separators=False)
