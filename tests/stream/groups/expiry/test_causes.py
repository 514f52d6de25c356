"""Why offsets and groups went, and how it is said: a story per row."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.expiry.causes import TOLERANCE_MS, Cause, cause_of, due_time, duration, sentence
from stream.groups.expiry.predict import NEVER, Retention, Rules, predict
from stream.groups.lifecycle.model import Ending, Happening, Transition
from stream.groups.membership.memberships import Membership
from tests.support.offsets import Offset, columns

if TYPE_CHECKING:
    from collections.abc import Callable

DAY: Final = 86_400_000
WEEK: Final = 7 * DAY
COMMIT: Final = 20_000 * DAY
MINUTE: Final = 60_000
INTERVAL: Final = 10 * MINUTE
KNOWN: Final = Retention(WEEK, INTERVAL, "broker")
UNSET: Final = Retention(None, None, "unknown")


def ended(after: int, **facts: Any) -> Ending:
    """Give the end, so long after the last commit, of one offset of topic `t`, of an empty KIP-848 group."""
    told = {
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
    return Ending(**{**told, **facts})


def classic(after: int, state: str, protocol: str = "consumer", **facts: Any) -> Ending:
    """Give the end of an offset of a classic group that became what it was two days after the commit."""
    told = {"kind": "classic", "state": state, "state_time": COMMIT + 2 * DAY, "protocol_type": protocol}
    return ended(after, **{**told, **facts})


def topics(**there: bool | None) -> Callable[[str], bool | None]:
    """Answer for these topics; any other is there."""
    return lambda topic: there.get(topic, True)


THERE: Final = topics()
GONE: Final = topics(t=False)
UNASKED: Final = topics(t=None)

STORIES: Final = [
    ("the broker's look after its hour", ended(WEEK + MINUTE), KNOWN, THERE, Cause.EXPIRED),
    ("to the millisecond", ended(WEEK), KNOWN, THERE, Cause.EXPIRED),
    ("clocks of two brokers differ a little", ended(WEEK - TOLERANCE_MS), KNOWN, THERE, Cause.EXPIRED),
    ("too early for any clock", ended(WEEK - TOLERANCE_MS - 1), KNOWN, THERE, Cause.DELETED),
    ("well before its hour", ended(DAY), KNOWN, THERE, Cause.DELETED),
    ("well before its hour, and the topic is gone", ended(DAY), KNOWN, GONE, Cause.TOPIC_DELETED),
    ("well before its hour, and the topics cannot be asked", ended(DAY), KNOWN, UNASKED, Cause.UNKNOWN),
    ("expired, and the topic was deleted since", ended(WEEK + MINUTE), KNOWN, GONE, Cause.EXPIRED),
    ("expired long after its hour, for the brokers were away", ended(9 * DAY), KNOWN, GONE, Cause.EXPIRED),
    ("expired, and the topics cannot be asked", ended(WEEK + MINUTE), KNOWN, UNASKED, Cause.EXPIRED),
    ("nobody knows the retention", ended(DAY), UNSET, GONE, Cause.UNKNOWN),
    ("its own terms need no retention", ended(DAY, expire_time=COMMIT + DAY), UNSET, THERE, Cause.EXPIRED),
    ("its own terms come first", ended(WEEK, expire_time=COMMIT + 2 * WEEK), KNOWN, THERE, Cause.DELETED),
    ("no commit is known", ended(DAY, last_commit=None), KNOWN, THERE, Cause.UNKNOWN),
    ("a whole group of two topics, one of them gone", ended(DAY, topics=("t", "u")), KNOWN, GONE, Cause.DELETED),
    ("no topic is known", ended(DAY, topics=()), KNOWN, THERE, Cause.UNKNOWN),
    ("an empty classic group lasts a week from when it was empty", classic(WEEK, "Empty"), KNOWN, THERE, Cause.DELETED),
    ("and not longer", classic(WEEK + 2 * DAY, "Empty"), KNOWN, THERE, Cause.EXPIRED),
    ("a member is there, the topic was not subscribed to", classic(WEEK, "Stable"), KNOWN, THERE, Cause.EXPIRED),
    ("a quiet topic that was subscribed to was deleted", classic(9 * DAY, "Stable"), KNOWN, GONE, Cause.TOPIC_DELETED),
    ("with members, overdue, topics not asked", classic(9 * DAY, "Stable"), KNOWN, UNASKED, Cause.EXPIRED),
    ("a living group of Connect never loses any", classic(9 * DAY, "Stable", "connect"), KNOWN, THERE, Cause.DELETED),
    ("nor by time, but by a topic", classic(9 * DAY, "Stable", "connect"), UNSET, GONE, Cause.TOPIC_DELETED),
    (
        "before 2.1 a living group did lose them",
        classic(WEEK + 1, "Stable", "connect"),
        dataclasses.replace(KNOWN, rules=Rules.PER_OFFSET),
        THERE,
        Cause.EXPIRED,
    ),
    ("a simple group", ended(WEEK, kind="simple"), KNOWN, THERE, Cause.EXPIRED),
    ("a share group goes by hand only", ended(0, kind="share", offsets=0, topics=()), KNOWN, THERE, Cause.DELETED),
]
BARE: Final[dict[str, Any]] = {"offsets": 0, "topics": (), "last_commit": None, "first_commit": None}
EMPTY_SINCE_DAY_8: Final[dict[str, Any]] = {"state_time": COMMIT + 8 * DAY}
ENDS: Final = [
    ("it never had offsets, and the broker looked", ended(0, **BARE), UNSET, UNASKED, Cause.EXPIRED),
    ("a simple group whose last offset went", ended(0, kind="simple", state=None, **BARE), KNOWN, THERE, Cause.EXPIRED),
    ("with members no group just goes", ended(0, **{**BARE, "state": "Stable"}), KNOWN, THERE, Cause.UNKNOWN),
    (
        "a person deleted its offsets, and then the broker looked",
        ended(DAY + MINUTE, offsets=0, offsets_time=COMMIT + DAY),
        KNOWN,
        THERE,
        Cause.DELETED,
    ),
    (
        "its topic was deleted, and then the broker looked",
        ended(DAY + MINUTE, offsets=0, offsets_time=COMMIT + DAY),
        KNOWN,
        GONE,
        Cause.TOPIC_DELETED,
    ),
    (
        "its offsets had expired while it was alive, and then it became empty",
        classic(9 * DAY, "Empty", offsets=0, offsets_time=COMMIT + WEEK, **EMPTY_SINCE_DAY_8),
        KNOWN,
        THERE,
        Cause.EXPIRED,
    ),
]


@pytest.mark.parametrize(
    ("ending", "retention", "topic_exists", "cause"),
    [row[1:] for row in STORIES + ENDS],
    ids=[row[0] for row in STORIES + ENDS],
)
def test_why(ending: Ending, retention: Retention, topic_exists: Callable[[str], bool | None], cause: Cause) -> None:
    """Each story ends in the cause that a person who saw it all would name."""
    assert cause_of(ending, retention, topic_exists) is cause


def test_topics_are_asked_only_where_it_matters() -> None:
    """What expired needs no word of the cluster."""

    def refuse(topic: str) -> bool | None:
        raise AssertionError(topic)

    assert cause_of(ended(WEEK), KNOWN, refuse) is Cause.EXPIRED
    assert cause_of(ended(DAY), UNSET, refuse) is Cause.UNKNOWN


@given(
    st.sampled_from(["classic", "consumer", "streams", "simple"]),
    st.sampled_from(["Empty", "Stable"]),
    st.sampled_from(["consumer", "connect"]),
    st.one_of(st.none(), st.integers(0, 50)),
    st.one_of(st.none(), st.integers(0, 90)),
    st.sampled_from(Rules),
)
def test_looking_back_agrees_with_looking_ahead(  # noqa: PLR0917 -- hypothesis passes them in this order
    kind: str, state: str, protocol: str, since: int | None, stored: int | None, rules: Rules
) -> None:
    """The hour in an ending is the one that was predicted for the offset, if nobody subscribed to its topic."""
    retention = Retention(70, None, "broker", rules)
    group = Membership(kind, state, 0, protocol, state_time=since, subscribed=frozenset())
    fleet = columns([Offset("g", "t", 0, 40, -1 if stored is None else stored)], {"g": group})
    ending = ended(
        0, kind=kind, state=state, state_time=since, protocol_type=protocol, last_commit=40, expire_time=stored
    )
    assert predict(fleet, retention).offset.tolist() == [due_time(ending, retention)]


def test_never_is_looked_back_at_as_never() -> None:
    """A group that loses nothing by time has no hour."""
    assert due_time(classic(0, "Stable", "connect"), KNOWN) == NEVER


# Sentences.


def happened(what: Happening, ending: Ending | None = None, **facts: Any) -> Transition:
    """Give a transition."""
    return Transition(what, 5, 7, live=True, ending=ending, **facts)


ON: Final = "2024-10-04 00:00:00 UTC"
SAID: Final = [
    (happened(Happening.CREATED), None, None, "first seen"),
    (happened(Happening.REBORN), None, None, "there again after it had died"),
    (happened(Happening.REBALANCED, came=2, went=1), None, None, "rebalanced: 2 members came, 1 member went"),
    (happened(Happening.REBALANCED, went=3), None, None, "rebalanced: 3 members went"),
    (happened(Happening.REBALANCED), None, None, "rebalanced: the same members"),
    (happened(Happening.EMPTIED, went=1), None, None, "the last member left"),
    (happened(Happening.EMPTIED, went=4), None, None, "the last 4 members left"),
    (
        happened(Happening.CONVERTED, kind_before="classic", kind_after="consumer"),
        None,
        None,
        "became a consumer group, was a classic one",
    ),
    (
        happened(Happening.DEAD, ended(WEEK)),
        Cause.EXPIRED,
        KNOWN,
        f"expired: last commit {ON}, retention 7 d",
    ),
    (
        happened(Happening.DEAD, classic(10 * DAY, "Empty")),
        Cause.EXPIRED,
        KNOWN,
        f"expired: last commit {ON}, empty since 2024-10-06 00:00:00 UTC, retention 7 d",
    ),
    (
        happened(Happening.FORGOTTEN, ended(WEEK, offsets=3, topics=("a", "b", "c", "d", "e"))),
        Cause.EXPIRED,
        KNOWN,
        f"expired: 3 offsets of a, b, c and 2 more, last commit {ON}, retention 7 d",
    ),
    (
        happened(Happening.FORGOTTEN, ended(DAY)),
        Cause.DELETED,
        KNOWN,
        f"deleted: 1 offset of t, last commit {ON}, was to be kept until 2024-10-11 00:00:00 UTC",
    ),
    (
        happened(Happening.FORGOTTEN, ended(DAY)),
        Cause.TOPIC_DELETED,
        KNOWN,
        f"topic deleted: 1 offset of t, t is not there any more, last commit {ON}",
    ),
    (
        happened(Happening.DEAD, ended(DAY, topics=("t", "u"))),
        Cause.TOPIC_DELETED,
        KNOWN,
        f"topic deleted: t, u are not there any more, last commit {ON}",
    ),
    (
        happened(Happening.DEAD, ended(DAY)),
        Cause.UNKNOWN,
        UNSET,
        f"unknown: last commit {ON}, the brokers' retention is not known",
    ),
    (
        happened(Happening.DEAD, ended(DAY)),
        Cause.UNKNOWN,
        KNOWN,
        (
            f"unknown: last commit {ON}, was to be kept until 2024-10-11 00:00:00 UTC,"
            " whether the topic is there is not known"
        ),
    ),
    (
        happened(Happening.DEAD, ended(DAY, last_commit=None)),
        Cause.UNKNOWN,
        KNOWN,
        "unknown: when to go is not known",
    ),
    (
        happened(Happening.DEAD, ended(DAY, expire_time=COMMIT + DAY)),
        Cause.EXPIRED,
        UNSET,
        f"expired: last commit {ON}, kept until 2024-10-05 00:00:00 UTC by its own terms",
    ),
    (
        happened(Happening.FORGOTTEN, classic(DAY, "Stable", "connect")),
        Cause.DELETED,
        KNOWN,
        f"deleted: 1 offset of t, last commit {ON}, does not expire while the group has members",
    ),
    (
        happened(Happening.DEAD, ended(0, **BARE)),
        Cause.EXPIRED,
        UNSET,
        "expired: Empty and without offsets, and such a group is removed by the broker",
    ),
    (
        happened(Happening.DEAD, ended(0, **{**BARE, "state": None})),
        Cause.UNKNOWN,
        KNOWN,
        "unknown: in an unknown state and without offsets",
    ),
    (
        happened(Happening.DEAD, ended(0, kind="share", **BARE)),
        Cause.DELETED,
        KNOWN,
        "deleted: no broker removes a share group by itself",
    ),
    (happened(Happening.DEAD, ended(DAY)), Cause.DELETED, None, f"deleted: last commit {ON}"),
    (happened(Happening.DEAD), None, None, "unknown"),
    (
        happened(Happening.DEAD, ended(DAY, last_commit=2**62)),
        Cause.DELETED,
        None,
        "deleted: last commit 4611686018427387904 ms",
    ),
]


@pytest.mark.parametrize(("transition", "cause", "retention", "text"), SAID, ids=[row[-1][:60] for row in SAID])
def test_what_a_person_reads(
    transition: Transition, cause: Cause | None, retention: Retention | None, text: str
) -> None:
    """Each happening has its sentence, and an end the evidence for its cause."""
    assert sentence(transition, cause, retention) == text


def test_every_happening_has_a_sentence() -> None:
    """Whatever the lifecycle tells can be said, with every cause and with nothing known."""
    for what in Happening:
        for cause in (None, *Cause):
            assert sentence(happened(what, ended(DAY)), cause)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (WEEK, "7 d"),
        (36 * 60 * MINUTE, "36 h"),
        (90 * MINUTE, "90 min"),
        (90_000, "90 s"),
        (1500, "1500 ms"),
        (0, "0 ms"),
    ],
)
def test_durations_are_written_in_one_unit(milliseconds: int, text: str) -> None:
    """The largest that divides them, because people set retentions in round numbers."""
    assert duration(milliseconds) == text
