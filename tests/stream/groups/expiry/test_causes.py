"""Causes of removals and the sentences about transitions: an example per row."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.expiry.causes import TOLERANCE_MS, RemovalCause, cause_of, due_time, transition_sentence
from stream.groups.expiry.predict import NEVER, ExpiryRules, OffsetsRetention, predict
from stream.groups.lifecycle.model import Removal, Transition, TransitionType
from stream.groups.membership.memberships import Membership
from tests.support.offsets import Offset, columns

if TYPE_CHECKING:
    from collections.abc import Callable

DAY: Final = 86_400_000
WEEK: Final = 7 * DAY
COMMIT: Final = 20_000 * DAY
MINUTE: Final = 60_000
INTERVAL: Final = 10 * MINUTE
KNOWN: Final = OffsetsRetention(WEEK, INTERVAL, "broker")
UNSET: Final = OffsetsRetention(None, None, "unknown")


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
    ("the broker's look after its hour", ended(WEEK + MINUTE), KNOWN, THERE, RemovalCause.EXPIRED),
    ("to the millisecond", ended(WEEK), KNOWN, THERE, RemovalCause.EXPIRED),
    ("clocks of two brokers differ a little", ended(WEEK - TOLERANCE_MS), KNOWN, THERE, RemovalCause.EXPIRED),
    ("too early for any clock", ended(WEEK - TOLERANCE_MS - 1), KNOWN, THERE, RemovalCause.DELETED),
    ("well before its hour", ended(DAY), KNOWN, THERE, RemovalCause.DELETED),
    ("well before its hour, and the topic is gone", ended(DAY), KNOWN, GONE, RemovalCause.TOPIC_DELETED),
    ("well before its hour, and the topics cannot be asked", ended(DAY), KNOWN, UNASKED, RemovalCause.UNKNOWN),
    ("expired, and the topic was deleted since", ended(WEEK + MINUTE), KNOWN, GONE, RemovalCause.EXPIRED),
    ("expired long after its hour, for the brokers were away", ended(9 * DAY), KNOWN, GONE, RemovalCause.EXPIRED),
    ("expired, and the topics cannot be asked", ended(WEEK + MINUTE), KNOWN, UNASKED, RemovalCause.EXPIRED),
    ("unknown retention", ended(DAY), UNSET, GONE, RemovalCause.UNKNOWN),
    ("its own terms need no retention", ended(DAY, expire_time=COMMIT + DAY), UNSET, THERE, RemovalCause.EXPIRED),
    ("its own terms come first", ended(WEEK, expire_time=COMMIT + 2 * WEEK), KNOWN, THERE, RemovalCause.DELETED),
    ("no commit is known", ended(DAY, last_commit=None), KNOWN, THERE, RemovalCause.UNKNOWN),
    ("a whole group of two topics, one of them gone", ended(DAY, topics=("t", "u")), KNOWN, GONE, RemovalCause.DELETED),
    ("no topic is known", ended(DAY, topics=()), KNOWN, THERE, RemovalCause.UNKNOWN),
    (
        "an empty classic group lasts a week from when it was empty",
        classic(WEEK, "Empty"),
        KNOWN,
        THERE,
        RemovalCause.DELETED,
    ),
    ("and not longer", classic(WEEK + 2 * DAY, "Empty"), KNOWN, THERE, RemovalCause.EXPIRED),
    ("a member is there, the topic was not subscribed to", classic(WEEK, "Stable"), KNOWN, THERE, RemovalCause.EXPIRED),
    (
        "a quiet topic that was subscribed to was deleted",
        classic(9 * DAY, "Stable"),
        KNOWN,
        GONE,
        RemovalCause.TOPIC_DELETED,
    ),
    ("with members, overdue, topics not asked", classic(9 * DAY, "Stable"), KNOWN, UNASKED, RemovalCause.EXPIRED),
    (
        "a living group of Connect never loses any",
        classic(9 * DAY, "Stable", "connect"),
        KNOWN,
        THERE,
        RemovalCause.DELETED,
    ),
    ("nor by time, but by a topic", classic(9 * DAY, "Stable", "connect"), UNSET, GONE, RemovalCause.TOPIC_DELETED),
    (
        "before 2.1 a living group did lose them",
        classic(WEEK + 1, "Stable", "connect"),
        dataclasses.replace(KNOWN, rules=ExpiryRules.PER_OFFSET),
        THERE,
        RemovalCause.EXPIRED,
    ),
    ("a simple group", ended(WEEK, kind="simple"), KNOWN, THERE, RemovalCause.EXPIRED),
    (
        "a share group goes by hand only",
        ended(0, kind="share", offsets=0, topics=()),
        KNOWN,
        THERE,
        RemovalCause.DELETED,
    ),
]
BARE: Final[dict[str, Any]] = {"offsets": 0, "topics": (), "last_commit": None, "first_commit": None}
EMPTY_SINCE_DAY_8: Final[dict[str, Any]] = {"state_time": COMMIT + 8 * DAY}
ENDS: Final = [
    ("it never had offsets, and the broker looked", ended(0, **BARE), UNSET, UNASKED, RemovalCause.EXPIRED),
    (
        "a simple group whose last offset went",
        ended(0, kind="simple", state=None, **BARE),
        KNOWN,
        THERE,
        RemovalCause.EXPIRED,
    ),
    ("with members no group just goes", ended(0, **{**BARE, "state": "Stable"}), KNOWN, THERE, RemovalCause.UNKNOWN),
    (
        "a person deleted its offsets, and then the broker looked",
        ended(DAY + MINUTE, offsets=0, offsets_time=COMMIT + DAY),
        KNOWN,
        THERE,
        RemovalCause.DELETED,
    ),
    (
        "its topic was deleted, and then the broker looked",
        ended(DAY + MINUTE, offsets=0, offsets_time=COMMIT + DAY),
        KNOWN,
        GONE,
        RemovalCause.TOPIC_DELETED,
    ),
    (
        "its offsets had expired while it was alive, and then it became empty",
        classic(9 * DAY, "Empty", offsets=0, offsets_time=COMMIT + WEEK, **EMPTY_SINCE_DAY_8),
        KNOWN,
        THERE,
        RemovalCause.EXPIRED,
    ),
]


@pytest.mark.parametrize(
    ("ending", "retention", "topic_exists", "cause"),
    [row[1:] for row in STORIES + ENDS],
    ids=[row[0] for row in STORIES + ENDS],
)
def test_the_cause_follows_from_the_evidence(
    ending: Removal, retention: OffsetsRetention, topic_exists: Callable[[str], bool | None], cause: RemovalCause
) -> None:
    """Each example has the cause that is known from all events."""
    assert cause_of(ending, retention, topic_exists) is cause


def test_topics_are_looked_up_only_if_needed() -> None:
    """The cause of an expiration does not depend on the cluster."""

    def refuse(topic: str) -> bool | None:
        raise AssertionError(topic)

    assert cause_of(ended(WEEK), KNOWN, refuse) is RemovalCause.EXPIRED
    assert cause_of(ended(DAY), UNSET, refuse) is RemovalCause.UNKNOWN


@given(
    st.sampled_from(["classic", "consumer", "streams", "simple"]),
    st.sampled_from(["Empty", "Stable"]),
    st.sampled_from(["consumer", "connect"]),
    st.one_of(st.none(), st.integers(0, 50)),
    st.one_of(st.none(), st.integers(0, 90)),
    st.sampled_from(ExpiryRules),
)
def test_the_due_time_equals_the_prediction(  # noqa: PLR0917 -- hypothesis passes them in this order
    kind: str, state: str, protocol: str, since: int | None, stored: int | None, rules: ExpiryRules
) -> None:
    """The due time of a removal is the predicted time of the offset, if its topic was not subscribed to."""
    retention = OffsetsRetention(70, None, "broker", rules)
    group = Membership(kind, state, 0, protocol, state_time=since, subscribed=frozenset())
    group_columns = columns([Offset("g", "t", 0, 40, -1 if stored is None else stored)], {"g": group})
    ending = ended(
        0, kind=kind, state=state, state_time=since, protocol_type=protocol, last_commit=40, expire_time=stored
    )
    assert predict(group_columns, retention).offset.tolist() == [due_time(ending, retention)]


def test_an_offset_that_never_expires_has_no_due_time() -> None:
    """Offsets of a group whose retention does not count have no due time."""
    assert due_time(classic(0, "Stable", "connect"), KNOWN) == NEVER


# Sentences.


def happened(what: TransitionType, ending: Removal | None = None, **facts: Any) -> Transition:
    """Return a transition."""
    return Transition(what, 5, 7, live=True, removal=ending, **facts)


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
    (
        happened(TransitionType.DEAD, ended(WEEK)),
        RemovalCause.EXPIRED,
        KNOWN,
        f"expired: last commit {ON}, retention 7 d",
    ),
    (
        happened(TransitionType.DEAD, classic(10 * DAY, "Empty")),
        RemovalCause.EXPIRED,
        KNOWN,
        f"expired: last commit {ON}, empty since 2024-10-06 00:00:00 UTC, retention 7 d",
    ),
    (
        happened(TransitionType.OFFSETS_REMOVED, ended(WEEK, offsets=3, topics=("a", "b", "c", "d", "e"))),
        RemovalCause.EXPIRED,
        KNOWN,
        f"expired: 3 offsets of a, b, c and 2 more, last commit {ON}, retention 7 d",
    ),
    (
        happened(TransitionType.OFFSETS_REMOVED, ended(DAY)),
        RemovalCause.DELETED,
        KNOWN,
        f"deleted: 1 offset of t, last commit {ON}, retained until 2024-10-11 00:00:00 UTC",
    ),
    (
        happened(TransitionType.OFFSETS_REMOVED, ended(DAY)),
        RemovalCause.TOPIC_DELETED,
        KNOWN,
        f"topic deleted: 1 offset of t, t does not exist, last commit {ON}",
    ),
    (
        happened(TransitionType.DEAD, ended(DAY, topics=("t", "u"))),
        RemovalCause.TOPIC_DELETED,
        KNOWN,
        f"topic deleted: t, u do not exist, last commit {ON}",
    ),
    (
        happened(TransitionType.DEAD, ended(DAY)),
        RemovalCause.UNKNOWN,
        UNSET,
        f"unknown: last commit {ON}, the brokers' retention is unknown",
    ),
    (
        happened(TransitionType.DEAD, ended(DAY)),
        RemovalCause.UNKNOWN,
        KNOWN,
        (f"unknown: last commit {ON}, retained until 2024-10-11 00:00:00 UTC, it is unknown whether the topic exists"),
    ),
    (
        happened(TransitionType.DEAD, ended(DAY, last_commit=None)),
        RemovalCause.UNKNOWN,
        KNOWN,
        "unknown: the due time is unknown",
    ),
    (
        happened(TransitionType.DEAD, ended(DAY, expire_time=COMMIT + DAY)),
        RemovalCause.EXPIRED,
        UNSET,
        f"expired: last commit {ON}, retained until 2024-10-05 00:00:00 UTC as its commit requested",
    ),
    (
        happened(TransitionType.OFFSETS_REMOVED, classic(DAY, "Stable", "connect")),
        RemovalCause.DELETED,
        KNOWN,
        f"deleted: 1 offset of t, last commit {ON}, does not expire while the group has members",
    ),
    (
        happened(TransitionType.DEAD, ended(0, **BARE)),
        RemovalCause.EXPIRED,
        UNSET,
        "expired: Empty and without offsets, the broker removes such groups",
    ),
    (
        happened(TransitionType.DEAD, ended(0, **{**BARE, "state": None})),
        RemovalCause.UNKNOWN,
        KNOWN,
        "unknown: in an unknown state and without offsets",
    ),
    (
        happened(TransitionType.DEAD, ended(0, kind="share", **BARE)),
        RemovalCause.DELETED,
        KNOWN,
        "deleted: brokers do not remove share groups by themselves",
    ),
    (happened(TransitionType.DEAD, ended(DAY)), RemovalCause.DELETED, None, f"deleted: last commit {ON}"),
    (happened(TransitionType.DEAD), None, None, "unknown"),
    (
        happened(TransitionType.DEAD, ended(DAY, last_commit=2**62)),
        RemovalCause.DELETED,
        None,
        "deleted: last commit 4611686018427387904 ms after 1970",
    ),
]


@pytest.mark.parametrize(
    ("transition", "cause", "retention", "text"), SENTENCES, ids=[row[-1][:60] for row in SENTENCES]
)
def test_sentences_of_transitions(
    transition: Transition, cause: RemovalCause | None, retention: OffsetsRetention | None, text: str
) -> None:
    """Each transition has its sentence; a removal has the evidence for its cause."""
    assert transition_sentence(transition, cause, retention) == text


def test_every_transition_has_a_sentence() -> None:
    """Every type of transition has a sentence, with every cause and without evidence."""
    for what in TransitionType:
        for cause in (None, *RemovalCause):
            assert transition_sentence(happened(what, ended(DAY)), cause)
