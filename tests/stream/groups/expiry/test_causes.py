"""Causes of removals and the sentences about transitions: an example per row."""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any, Final

from stream.groups.expiry.broker_rules import ExpiryRules, OffsetsRetention
from stream.groups.expiry.causes import TOLERANCE_MS, RemovalCause, cause_of, transition_sentence
from stream.groups.lifecycle.model import Removal, Transition, TransitionType

DAY: Final = 86_400_000
WEEK: Final = 7 * DAY
COMMIT: Final = 20_000 * DAY
MINUTE: Final = 60_000
INTERVAL: Final = 10 * MINUTE
KNOWN: Final = OffsetsRetention(WEEK, INTERVAL, "broker")
UNSET: Final = OffsetsRetention(None, None, "unknown")
EXPIRED, DELETED, TOPIC_DELETED, UNCLEAR = (
    RemovalCause.EXPIRED,
    RemovalCause.DELETED,
    RemovalCause.TOPIC_DELETED,
    RemovalCause.UNKNOWN,
)


def ended(after: int, **facts: Any) -> Removal:
    """Return the removal of an offset of topic `t` of an empty KIP-848 group, this long after the last commit."""
    defaults = {
        "kind": "consumer",
        "state": "Empty",
        "state_time": None,
        "protocol_type": None,
        "offsets": 1,
        "topics": ("t",),
        "last_commit": COMMIT,
        "first_commit": COMMIT - DAY,
        "expire_time": None,
        "time": COMMIT + after,
    }
    return Removal(**{**defaults, **facts})


def classic(after: int, state: str, protocol: str = "consumer", **facts: Any) -> Removal:
    """Return the removal of an offset of a classic group that entered its state two days after the commit."""
    defaults = {"kind": "classic", "state": state, "state_time": COMMIT + 2 * DAY, "protocol_type": protocol}
    return ended(after, **{**defaults, **facts})


def topics(**there: bool | None) -> Callable[[str], bool | None]:
    """Return a `topic_exists` with these results; every other topic exists."""
    return lambda topic: there.get(topic, True)


THERE: Final = topics()
GONE: Final = topics(t=False)
UNASKED: Final = topics(t=None)

STORIES: Final = [
    ("removed a minute after the due time", ended(WEEK + MINUTE), KNOWN, THERE, EXPIRED),
    ("removed exactly at the due time", ended(WEEK), KNOWN, THERE, EXPIRED),
    ("removed early, within the clock tolerance", ended(WEEK - TOLERANCE_MS), KNOWN, THERE, EXPIRED),
    ("removed early, beyond the clock tolerance", ended(WEEK - TOLERANCE_MS - 1), KNOWN, THERE, DELETED),
    ("removed days early", ended(DAY), KNOWN, THERE, DELETED),
    ("removed days early, topic missing", ended(DAY), KNOWN, GONE, TOPIC_DELETED),
    ("removed days early, topic lookup failed", ended(DAY), KNOWN, UNASKED, UNCLEAR),
    ("removed after the due time, topic missing", ended(WEEK + MINUTE), KNOWN, GONE, EXPIRED),
    ("removed days after the due time, topic missing", ended(9 * DAY), KNOWN, GONE, EXPIRED),
    ("removed after the due time, topic lookup failed", ended(WEEK + MINUTE), KNOWN, UNASKED, EXPIRED),
    ("unknown retention", ended(DAY), UNSET, GONE, UNCLEAR),
    ("expire timestamp, unknown retention", ended(DAY, expire_time=COMMIT + DAY), UNSET, THERE, EXPIRED),
    ("the expire timestamp overrides the retention", ended(WEEK, expire_time=COMMIT + 2 * WEEK), KNOWN, THERE, DELETED),
    ("unknown last commit", ended(DAY, last_commit=None), KNOWN, THERE, UNCLEAR),
    ("group with two topics, one of them missing", ended(DAY, topics=("t", "u")), KNOWN, GONE, DELETED),
    ("unknown topics", ended(DAY, topics=()), KNOWN, THERE, UNCLEAR),
    ("classic group, a week after its last commit", classic(WEEK, "Empty"), KNOWN, THERE, DELETED),
    ("classic group, a week after it became empty", classic(WEEK + 2 * DAY, "Empty"), KNOWN, THERE, EXPIRED),
    ("with members, unsubscribed topic", classic(WEEK, "Stable"), KNOWN, THERE, EXPIRED),
    ("with members, topic missing", classic(9 * DAY, "Stable"), KNOWN, GONE, TOPIC_DELETED),
    ("with members, topic lookup failed", classic(9 * DAY, "Stable"), KNOWN, UNASKED, EXPIRED),
    ("Connect with members, offsets do not expire", classic(9 * DAY, "Stable", "connect"), KNOWN, THERE, DELETED),
    ("Connect with members, topic missing", classic(9 * DAY, "Stable", "connect"), UNSET, GONE, TOPIC_DELETED),
    (
        "Connect group with members before 2.1, offsets expire",
        classic(WEEK + 1, "Stable", "connect"),
        dataclasses.replace(KNOWN, rules=ExpiryRules.PER_OFFSET),
        THERE,
        EXPIRED,
    ),
    ("a simple group", ended(WEEK, kind="simple"), KNOWN, THERE, EXPIRED),
    (
        "share groups are only removed by a deletion",
        ended(0, kind="share", offsets=0, topics=()),
        KNOWN,
        THERE,
        DELETED,
    ),
]
BARE: Final[dict[str, Any]] = {"offsets": 0, "topics": (), "last_commit": None, "first_commit": None}
CLEARED: Final[dict[str, Any]] = {"offsets": 0, "offsets_time": COMMIT + DAY}
ENDS: Final = [
    ("an empty group without offsets", ended(0, **BARE), UNSET, UNASKED, EXPIRED),
    ("a simple group without its last offset", ended(0, kind="simple", state=None, **BARE), KNOWN, THERE, EXPIRED),
    ("a group with members and without offsets", ended(0, **{**BARE, "state": "Stable"}), KNOWN, THERE, UNCLEAR),
    ("offsets were deleted before", ended(DAY + MINUTE, **CLEARED), KNOWN, THERE, DELETED),
    ("its topic was deleted before", ended(DAY + MINUTE, **CLEARED), KNOWN, GONE, TOPIC_DELETED),
    (
        "a group whose offsets expired while it had members",
        classic(9 * DAY, "Empty", offsets=0, offsets_time=COMMIT + WEEK, state_time=COMMIT + 8 * DAY),
        KNOWN,
        THERE,
        EXPIRED,
    ),
]


def test_the_cause_follows_from_the_evidence() -> None:
    """Each removal has the cause of its example."""
    found = [(story, cause_of(ending, retention, exists)) for story, ending, retention, exists, _ in STORIES + ENDS]
    assert found == [(story, cause) for story, *_, cause in STORIES + ENDS]


# Sentences.


def happened(what: TransitionType, ending: Removal | None = None, **facts: Any) -> Transition:
    return Transition(what, 5, 7, live=True, removal=ending, **facts)


dead: Final = functools.partial(happened, TransitionType.DEAD)
forgotten: Final = functools.partial(happened, TransitionType.OFFSETS_REMOVED)
ON: Final = "2024-10-04 00:00:00 UTC"
SENTENCES: Final = [
    (happened(TransitionType.CREATED), None, None, "first seen"),
    (happened(TransitionType.RECREATED), None, None, "first seen again after its death"),
    (happened(TransitionType.REBALANCED, joined=2, left=1), None, None, "rebalanced: 2 members joined, 1 member left"),
    (happened(TransitionType.REBALANCED, left=3), None, None, "rebalanced: 3 members left"),
    (happened(TransitionType.REBALANCED), None, None, "rebalanced: the same members"),
    (happened(TransitionType.EMPTIED, left=1), None, None, "the last member left"),
    (happened(TransitionType.EMPTIED, left=4), None, None, "the last 4 members left"),
    (
        happened(TransitionType.CONVERTED, kind_before="classic", kind_after="consumer"),
        None,
        None,
        "became a consumer group, was a classic one",
    ),
    (dead(ended(WEEK)), EXPIRED, KNOWN, f"expired: last commit {ON}, retention 7 d"),
    (
        dead(classic(10 * DAY, "Empty")),
        EXPIRED,
        KNOWN,
        f"expired: last commit {ON}, empty since 2024-10-06 00:00:00 UTC, retention 7 d",
    ),
    (
        forgotten(ended(WEEK, offsets=3, topics=("a", "b", "c", "d", "e"))),
        EXPIRED,
        KNOWN,
        f"expired: 3 offsets of a, b, c and 2 more, last commit {ON}, retention 7 d",
    ),
    (
        forgotten(ended(DAY)),
        DELETED,
        KNOWN,
        f"deleted: 1 offset of t, last commit {ON}, retained until 2024-10-11 00:00:00 UTC",
    ),
    (forgotten(ended(DAY)), TOPIC_DELETED, KNOWN, f"topic deleted: 1 offset of t, t does not exist, last commit {ON}"),
    (dead(ended(DAY, topics=("t", "u"))), TOPIC_DELETED, KNOWN, f"topic deleted: t, u do not exist, last commit {ON}"),
    (dead(ended(DAY)), UNCLEAR, UNSET, f"unknown: last commit {ON}, the brokers' retention is unknown"),
    (
        dead(ended(DAY)),
        UNCLEAR,
        KNOWN,
        f"unknown: last commit {ON}, retained until 2024-10-11 00:00:00 UTC, it is unknown whether the topic exists",
    ),
    (dead(ended(DAY, last_commit=None)), UNCLEAR, KNOWN, "unknown: the due time is unknown"),
    (
        dead(ended(DAY, expire_time=COMMIT + DAY)),
        EXPIRED,
        UNSET,
        f"expired: last commit {ON}, retained until 2024-10-05 00:00:00 UTC as its commit requested",
    ),
    (
        forgotten(classic(DAY, "Stable", "connect")),
        DELETED,
        KNOWN,
        f"deleted: 1 offset of t, last commit {ON}, does not expire while the group has members",
    ),
    (dead(ended(0, **BARE)), EXPIRED, UNSET, "expired: Empty and without offsets, the broker removes such groups"),
    (dead(ended(0, **{**BARE, "state": None})), UNCLEAR, KNOWN, "unknown: in an unknown state and without offsets"),
    (dead(ended(0, kind="share", **BARE)), DELETED, KNOWN, "deleted: brokers do not remove share groups by themselves"),
    (dead(ended(DAY)), DELETED, None, f"deleted: last commit {ON}"),
    (dead(), None, None, "unknown"),
    (dead(ended(DAY, last_commit=2**62)), DELETED, None, "deleted: last commit 4611686018427387904 ms after 1970"),
]


def test_sentences_of_transitions() -> None:
    """Each transition has its sentence; a removal has the evidence for its cause."""
    found = [transition_sentence(transition, cause, retention) for transition, cause, retention, _ in SENTENCES]
    assert found == [text for *_, text in SENTENCES]


def test_every_transition_has_a_sentence() -> None:
    """Every type of transition has a sentence, with every cause and without a cause.

    The sentence of a removal begins with the cause, and has only the cause if there is no evidence.
    """
    for what, cause, retention in itertools.product(TransitionType, [None, *RemovalCause], [None, UNSET, KNOWN]):
        with_evidence = transition_sentence(happened(what, ended(DAY)), cause, retention)
        without_evidence = transition_sentence(happened(what), cause, retention)
        if what in {TransitionType.OFFSETS_REMOVED, TransitionType.DEAD}:
            assert with_evidence.startswith(f"{without_evidence}: ")
            assert without_evidence == str(cause or UNCLEAR)
        else:
            assert with_evidence
            assert without_evidence == with_evidence
