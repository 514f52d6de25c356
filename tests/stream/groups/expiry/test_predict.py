"""Predicted expirations: each of Kafka's rules has an example, and columns equal a slow, simple implementation."""

import dataclasses
from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.expiry.broker_rules import (
    NEVER,
    UNKNOWN,
    ExpiryRules,
    OffsetsRetention,
    RetentionStart,
    retention_start,
)
from stream.groups.expiry.predict import ExpiryPrediction, predict
from stream.groups.lifecycle.model import GroupHistory
from stream.groups.membership.memberships import Membership
from tests.support.offsets import Offset, columns
from tests.support.raw import commit_key

DAY: Final = 86_400_000
WEEK: Final = 7 * DAY
COMMIT: Final = 1_000 * DAY
"""The commit time of every offset of the examples."""
EMPTIED: Final = COMMIT + 2 * DAY
"""The time at which every empty group of the examples became empty."""

OLD, KIP_211, KAFKA_8730, NEW, NEWEST = ExpiryRules
GROUPS: Final = (KIP_211, KAFKA_8730, NEW, NEWEST)
"""The rules by which the state of a group has an effect."""
NEWER: Final = (NEW, NEWEST)
"""The rules of brokers with groups of a newer kind."""


def classic(
    state: str | None, protocol: str | None, topics: set[str] | None = None, since: int | None = EMPTIED
) -> Membership:
    subscribed = None if topics is None else frozenset(topics)
    members = 0 if state == "Empty" else 2
    return Membership("classic", state, members, protocol, state_time=since, subscribed=subscribed)


def newer(kind: str, state: str | None, topics: set[str] | None) -> Membership:
    return Membership(
        kind, state, 0 if state == "Empty" else 2, subscribed=None if topics is None else frozenset(topics)
    )


OF_COMMIT: Final = COMMIT + WEEK
OF_STATE: Final = EMPTIED + WEEK

STORIES: Final = [
    ("empty classic group: since it became empty", GROUPS, classic("Empty", "consumer"), OF_STATE),
    ("empty Connect group: since it became empty", GROUPS, classic("Empty", "connect"), OF_STATE),
    ("empty classic group without a state time", GROUPS, classic("Empty", "consumer", since=None), OF_COMMIT),
    ("empty classic group with the state time -1", GROUPS, classic("Empty", "consumer", since=-1), OF_COMMIT),
    ("classic group keeps subscribed topics", GROUPS, classic("Stable", "consumer", {"t", "u"}), NEVER),
    ("from 2.4 on: an unsubscribed topic", (KAFKA_8730, NEW, NEWEST), classic("Stable", "consumer", {"u"}), OF_COMMIT),
    ("before 2.4: a group keeps all offsets", (KIP_211,), classic("Stable", "consumer", {"u"}), NEVER),
    ("from 2.4 to 3.1: during a rebalance", (KAFKA_8730,), classic("PreparingRebalance", "consumer", {"u"}), OF_COMMIT),
    ("from 3.2 on: during a rebalance", NEWER, classic("CompletingRebalance", "consumer", {"u"}), NEVER),
    ("undecodable subscription keeps all offsets", GROUPS, classic("Stable", "consumer"), NEVER),
    ("Connect group with members keeps all offsets", GROUPS, classic("Stable", "connect"), NEVER),
    ("unknown state of the group", GROUPS, classic(None, "consumer", {"u"}), UNKNOWN),
    ("offset without a group", GROUPS, None, OF_COMMIT),
    ("group that never had members", GROUPS, Membership("simple", "Empty", 0, state_time=EMPTIED), OF_COMMIT),
    ("no protocol type: a simple group for the broker", GROUPS, classic("Stable", None), OF_COMMIT),
    ("empty KIP-848 group", NEWER, newer("consumer", "Empty", set()), OF_COMMIT),
    ("KIP-848 group keeps subscribed topics", NEWER, newer("consumer", "Stable", {"t"}), NEVER),
    ("reconciling KIP-848 group keeps them too", NEWER, newer("consumer", "Reconciling", {"t"}), NEVER),
    ("unsubscribed topic of an assigning KIP-848 group", NEWER, newer("consumer", "Assigning", {"u"}), OF_COMMIT),
    ("unknown subscription of a KIP-848 group", NEWER, newer("consumer", "Stable", None), UNKNOWN),
    ("streams group keeps source topics", NEWER, newer("streams", "Stable", {"t"}), NEVER),
    ("topic that a streams group does not read", NEWER, newer("streams", "NotReady", {"u"}), OF_COMMIT),
    ("streams group without a topology", NEWER, newer("streams", "NotReady", None), OF_COMMIT),
    ("streams group of 4.1 with unknown state", NEWER, newer("streams", None, {"t"}), NEVER),
    ("empty streams group has no source topics", NEWER, newer("streams", "Empty", {"t"}), OF_COMMIT),
    ("share group keeps all offsets", NEWER, newer("share", "Empty", set()), NEVER),
    ("before 2.1 the group has no effect: empty", (OLD,), classic("Empty", "consumer"), OF_COMMIT + 1),
    ("before 2.1 the group has no effect: members", (OLD,), classic("Stable", "consumer", {"t"}), OF_COMMIT + 1),
    ("before 2.1 the group has no effect: Connect", (OLD,), classic("Stable", "connect"), OF_COMMIT + 1),
    ("before 2.1 the group has no effect: simple", (OLD,), None, OF_COMMIT + 1),
]


def predicted_for(
    group: Membership | None, rules: ExpiryRules, *, stored: int = -1, retention: int | None = WEEK
) -> ExpiryPrediction:
    """Return the prediction for an offset of topic `t` of a group."""
    memberships = {} if group is None else {"g": group}
    return predict(
        columns([Offset("g", "t", 0, COMMIT, stored)], memberships), OffsetsRetention(retention, None, "broker", rules)
    )


def test_an_offset_expires_by_the_rules_of_its_broker() -> None:
    """The offset of topic `t` of the group expires at the time of the example, under each version's rules.

    An expire timestamp of the commit replaces the retention, if the offsets of the group can expire at all. The time is
    unknown without the retention, except for kept offsets and those with an expire timestamp.
    """
    wrong = []
    for story, versions, group, expected in STORIES:
        for rules in versions:
            stored = COMMIT + (rules is OLD)
            times = (expected, stored + 5, UNKNOWN, stored) if expected >= 0 else (expected,) * 4
            found = (
                predicted_for(group, rules),
                predicted_for(group, rules, stored=COMMIT + 5),
                predicted_for(group, rules, retention=None),
                predicted_for(group, rules, retention=None, stored=COMMIT),
            )
            if [each.offset.tolist() for each in found] != [[time] for time in times]:
                wrong.append(f"{story} ({rules}): {[each.offset.tolist() for each in found]} instead of {times}")
    assert wrong == []


ENDS: Final = [
    ("an empty classic group without a state time", classic("Empty", "consumer", since=None), [5, 9], 5, 9),
    ("an empty classic group: all offsets at once", classic("Empty", "consumer", since=50), [5, 9], 50, 50),
    ("offsets without a group", None, [5, 9], 5, 9),
    ("an empty KIP-848 group", newer("consumer", "Empty", set()), [5, 9], 5, 9),
    ("an empty streams group", newer("streams", "Empty", None), [5, 9], 5, 9),
    ("a group with members whose offsets all expire", newer("consumer", "Stable", set()), [5, 9], 5, None),
    ("a Connect group with members", classic("Stable", "connect"), [5, 9], None, None),
    ("an empty classic group without offsets", classic("Empty", "consumer", since=50), [], None, 50 - WEEK),
    ("an empty KIP-848 group without offsets", newer("consumer", "Empty", set()), [], None, UNKNOWN),
    ("an empty share group", newer("share", "Empty", set()), [], None, None),
    ("a group with members and without offsets", classic("Stable", "consumer", set()), [], None, None),
]


def test_groups_expire_with_their_last_offset() -> None:
    """The first offset and the group expire a week after the times of the example. None means never."""

    def after(begin: int | None) -> int:
        return NEVER if begin is None else begin if begin == UNKNOWN else begin + WEEK

    for story, group, commits, soonest, end in ENDS:
        offsets = [Offset("g", "t", partition, commit) for partition, commit in enumerate(commits)]
        found = predict(columns(offsets, {"g": group} if group else {}), OffsetsRetention(WEEK, None, "broker"))
        assert found.names == ("g",), story
        assert (found.soonest.tolist(), found.group.tolist()) == ([after(soonest)], [after(end)]), story


def test_an_empty_newer_group_without_offsets_is_due_since_it_became_empty() -> None:
    """The time is that of the group's history, because the records of a KIP-848 group have no state time."""
    life = GroupHistory("consumer", "Empty", since=77, created=None, died=None, counts={}, transitions=())
    group_columns = dataclasses.replace(columns([], {"g": newer("consumer", "Empty", set())}), histories={"g": life})
    assert predict(group_columns, OffsetsRetention(WEEK, None, "broker")).group.tolist() == [77]


def test_a_pending_commit_keeps_the_offset_and_the_group() -> None:
    """The coordinator of 4.0 keeps both while the transaction is open. The older one ignores transactions."""
    offsets = [Offset("g", "t", 0, 5), Offset("g", "t", 1, 5), Offset("h", "t", 0, 5)]
    group_columns = columns(offsets, {"e": classic("Empty", "consumer", since=3)})
    pending = frozenset({commit_key("g", "t", 1), commit_key("e", "t", 0)})
    group_columns = dataclasses.replace(group_columns, pending=pending)
    for rules, offset, groups in ((NEW, 15, [3, 15, 15]), (NEWEST, NEVER, [NEVER, NEVER, 15])):
        found = predict(group_columns, OffsetsRetention(10, None, "broker", rules))
        assert found.offset.tolist() == [15, offset, 15]
        soonest, group = found.for_groups(["e", "g", "h"])
        assert (soonest.tolist(), group.tolist()) == ([NEVER, 15, 15], groups)


# Laws.

KINDS: Final = st.sampled_from(["classic", "consumer", "streams", "share", "simple"])
STATES: Final = st.sampled_from(["Empty", "Stable", "PreparingRebalance", "Reconciling", "NotReady", None])
TOPICS: Final = st.one_of(st.none(), st.frozensets(st.sampled_from("tuv")))
MEMBERSHIPS: Final = st.builds(
    Membership,
    KINDS,
    STATES,
    st.integers(0, 2),
    protocol_type=st.sampled_from([None, "consumer", "connect"]),
    state_time=st.one_of(st.none(), st.integers(-1, 50)),
    subscribed=TOPICS,
)
OFFSETS: Final = st.lists(
    st.builds(
        Offset,
        st.sampled_from("abcd"),
        st.sampled_from("tuv"),
        st.integers(0, 9),
        st.integers(0, 50),
        stored=st.one_of(st.just(-1), st.integers(0, 90)),
    ),
    max_size=12,
)
WORLDS: Final = st.tuples(OFFSETS, st.dictionaries(st.sampled_from("bcde"), MEMBERSHIPS))


def slowly(offset: Offset, group: Membership | None, retention: int | None, rules: ExpiryRules) -> int:
    """Return the broker's result for one offset, implemented from the reference, not from the code."""
    if rules is OLD:  # expired if expireTimestamp < now; without one, commit time + retention at load
        if offset.stored != -1:
            return offset.stored + 1
        return UNKNOWN if retention is None else offset.commit + retention + 1
    base = base_slowly(offset, group, rules)
    if base in {NEVER, UNKNOWN}:
        return base
    if offset.stored != -1:
        return offset.stored
    return UNKNOWN if retention is None else base + retention


def base_slowly(offset: Offset, group: Membership | None, rules: ExpiryRules) -> int:  # noqa: PLR0911 -- a row, a return
    """Return the time from which the retention counts, or NEVER or UNKNOWN."""
    if group is None or group.kind == "simple":
        return offset.commit
    if group.kind == "share":
        return NEVER
    if group.kind == "consumer" and group.state != "Empty" and group.subscribed is None:
        return UNKNOWN
    if group.kind in {"consumer", "streams"}:
        return NEVER if group.state != "Empty" and offset.topic in (group.subscribed or ()) else offset.commit
    if not group.protocol_type:
        return offset.commit
    if group.state == "Empty":
        return offset.commit if group.state_time in {None, -1} else group.state_time or 0
    if group.state is None:
        return UNKNOWN
    eligible = {
        ExpiryRules.EMPTY_ONLY: False,
        ExpiryRules.UNSUBSCRIBED: group.protocol_type == "consumer",
        ExpiryRules.UNSUBSCRIBED_IF_STABLE: group.protocol_type == "consumer" and group.state == "Stable",
        ExpiryRules.NONE_PENDING: group.protocol_type == "consumer" and group.state == "Stable",
    }[rules]
    if not eligible or group.subscribed is None or offset.topic in group.subscribed:
        return NEVER
    return offset.commit


@given(WORLDS, st.one_of(st.none(), st.integers(0, 60)), st.sampled_from(ExpiryRules))
def test_columns_equal_the_slow_implementation(
    world: tuple[list[Offset], dict[str, Membership]], retention: int | None, rules: ExpiryRules
) -> None:
    """The result is equal for every row, and for every group computed from its rows."""
    offsets, groups = world
    found = predict(columns(offsets, groups), OffsetsRetention(retention, None, "broker", rules))
    expected = [slowly(each, groups.get(each.group), retention, rules) for each in offsets]
    assert found.offset.tolist() == expected
    assert set(found.names) == {each.group for each in offsets} | set(groups)
    for name, soonest, end in zip(found.names, found.soonest.tolist(), found.group.tolist(), strict=True):
        times = [time for each, time in zip(offsets, expected, strict=True) if each.group == name]
        known = [time for time in times if time >= 0]
        assert soonest == (UNKNOWN if UNKNOWN in times else min(known, default=NEVER))
        group = groups.get(name, Membership("simple", "Empty", 0))
        if group.kind == "share" or group.state != "Empty" or NEVER in times:
            assert end == NEVER
        elif times:
            assert end == (UNKNOWN if UNKNOWN in times else max(times))
        else:
            assert end == (group.state_time if group.state_time is not None and group.state_time >= 0 else UNKNOWN)


@given(WORLDS, st.integers(0, 60), st.integers(0, 60), st.sampled_from(ExpiryRules))
def test_a_longer_retention_expires_nothing_sooner(
    world: tuple[list[Offset], dict[str, Membership]], retention: int, more: int, rules: ExpiryRules
) -> None:
    """No predicted time is earlier with a longer retention, and the same offsets have a predicted time."""
    group_columns = columns(*world)
    short = predict(group_columns, OffsetsRetention(retention, None, "broker", rules))
    long = predict(group_columns, OffsetsRetention(retention + more, None, "broker", rules))
    assert (short.offset <= long.offset).all()
    assert ((short.offset < 0) == (long.offset < 0)).all()
    assert (short.soonest <= long.soonest).all()
    assert (short.group <= long.group).all()


@given(WORLDS, st.integers(0, 60), st.sampled_from(ExpiryRules))
def test_no_offset_expires_before_its_commit_and_the_retention(
    world: tuple[list[Offset], dict[str, Membership]], retention: int, rules: ExpiryRules
) -> None:
    """The exceptions are a stored expire timestamp and a retention that counts from the state of the group."""
    offsets, groups = world
    found = predict(columns(offsets, groups), OffsetsRetention(retention, None, "broker", rules)).offset
    for offset, time in zip(offsets, found.tolist(), strict=True):
        group = groups.get(offset.group)
        if group is not None and retention_start(group, rules) is RetentionStart.STATE:
            continue
        assert time < 0 or offset.stored >= 0 or time >= offset.commit + retention


@given(WORLDS, st.integers(0, 60), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    world: tuple[list[Offset], dict[str, Membership]], retention: int, random: object
) -> None:
    """Each row keeps its predicted time when rows move because shards change."""
    offsets, groups = world
    order = list(range(len(offsets)))
    random.shuffle(order)  # type: ignore[attr-defined]
    settings = OffsetsRetention(retention, None, "broker")
    straight = predict(columns(offsets, groups), settings)
    shuffled = predict(columns([offsets[row] for row in order], groups), settings)
    assert straight.offset[order].tolist() == shuffled.offset.tolist()
    names = sorted(straight.names)
    assert all(
        np.array_equal(one, other)
        for one, other in zip(straight.for_groups(names), shuffled.for_groups(names), strict=True)
    )
