"""Unassigned partitions: partitions without an owner, topics without a subscriber."""

import random
from typing import Any

import pyarrow as pa
import pytest

from stream.groups.membership import unassigned
from stream.groups.membership.model import Membership
from stream.groups.membership.unassigned import (
    UnassignedTracker,
    find_unassigned,
    subscribed_topics,
)
from tests.stream.groups.written import (
    NAMES,
    ORDERS,
    Written,
    assignment,
    classic,
    classic_member,
    connect_metadata,
    connect_work,
    group_epoch,
    member,
    memberships,
    resolved,
    sharer,
    shares,
    stands,
    subscription,
    topology,
    worker,
    works,
)

COUNTS = {"orders": 3, "payments": 2, "app-repartition": 2, "gone": 0, "grown": 5}
GROWN = bytes(15) + b"g"
IDS = NAMES | {GROWN: "grown"}
BOTH = subscription("orders", "payments")

# Records; topics with offsets, unowned, unsubscribed.
STORIES: dict[str, tuple[list[Written], tuple[list[str], Any, Any]]] = {
    "everything has an owner": (
        [classic(classic_member("a", wants=BOTH, has=assignment({"orders": [0, 1, 2], "payments": [0, 1]})))],
        (["orders", "payments"], (), ()),
    ),
    "an assignor left some partitions unassigned": (
        [classic(classic_member("a", wants=BOTH, has=assignment({"orders": [1]})))],
        (["orders"], (("orders", (0, 2)), ("payments", (0, 1))), ()),
    ),
    "the topic grew, and the group was not rebalanced yet": (
        [member("a", "grown"), stands("a", 1, {GROWN: [0, 1, 2]})],
        (["grown"], (("grown", (3, 4)),), ()),
    ),
    "a partition pending revocation still has an owner": (
        [
            member("a", "orders"),
            member("b", "orders"),
            stands("a", 1, {ORDERS: [0]}, gives_up={ORDERS: [1]}, state=1),
            stands("b", 2, {}),
        ],
        ([], (("orders", (2,)),), ()),
    ),
    "topics with offsets but without a subscriber": (
        [member("a", "orders"), stands("a", 1, {ORDERS: [0, 1, 2]})],
        (["payments", "orders", "audit"], (), ("audit", "payments")),
    ),
    "topic that a regular expression matches": (
        [member("a", regex="pay.*"), resolved("pay.*", "payments")],
        (["payments"], (("payments", (0, 1)),), ()),
    ),
    "unresolved regular expression: may match any topic": (
        [member("a", "orders", regex="pay.*"), stands("a", 1, {ORDERS: [0, 1, 2]})],
        (["payments"], None, None),
    ),
    "no members in a classic group": ([classic()], (["orders"], None, None)),
    "no members in a newer group": ([group_epoch(4)], (["orders"], None, None)),
    "a subscription cannot be read": (
        [classic(classic_member("a", wants=b"\0", has=assignment({"orders": [0]})))],
        (["orders"], None, None),
    ),
    "an undecodable assignment": (
        [classic(classic_member("a", wants=BOTH, has=b"\0"))],
        (["orders", "audit"], None, ("audit",)),
    ),
    "Connect group without topics": (
        [
            classic(
                classic_member("a", wants=connect_metadata(), has=connect_work({"s": [0]})),
                kind="connect",
                protocol="c",
            )
        ],
        (["orders"], None, None),
    ),
    "the cluster did not return the partition count of a topic": (
        [member("a", "orders", "audit"), stands("a", 1, {ORDERS: [0]})],
        (["orders"], None, ()),
    ),
    "a topic that does not exist has no partitions to own": (
        [member("a", "orders", "gone"), stands("a", 1, {ORDERS: [0, 1, 2]})],
        (["orders"], (), ()),
    ),
    "assigned topic id without a name": (
        [member("a", "orders"), stands("a", 1, {bytes(15) + b"x": [0]})],
        (["orders"], None, ()),
    ),
    "share group: one member per partition is enough": (
        [sharer("a", "orders"), sharer("b", "orders"), shares("a", 1, {ORDERS: [0]}), shares("b", 1, {ORDERS: [0]})],
        ([], (("orders", (1, 2)),), ()),
    ),
    "tasks of a streams group read more than one topic; standby tasks read none": (
        [
            worker("a"),
            topology(1, s0=["orders", "payments"], s1=["app-repartition"]),
            works("a", 1, active={"0": [0, 1, 2]}, standby={"1": [0, 1]}),
        ],
        (["orders", "app-repartition", "audit"], (("app-repartition", (0, 1)),), ("audit",)),
    ),
    "partitions beyond a topic's count, or of an unsubscribed topic, do not count": (
        [classic(classic_member("a", wants=subscription("orders"), has=assignment({"orders": [0, 9], "audit": [1]})))],
        ([], (("orders", (1, 2)),), ()),
    ),
}


def test_unassigned_partitions_of_a_group() -> None:
    """The result for one group equals the counts among all groups."""
    for story, (written, (offsets, unowned, unsubscribed)) in STORIES.items():
        found = memberships(written).by_group
        alone = find_unassigned(found["g"], offsets, COUNTS, IDS)
        assert alone == (unowned, unsubscribed), story
        counted = UnassignedTracker().update(found, rows([("g", topic) for topic in offsets]), COUNTS, IDS)
        sums = {"g": sum(len(partitions) for _, partitions in unowned)} if unowned is not None else {}
        assert counted.unowned == sums, story
        assert counted.unsubscribed == ({"g": len(unsubscribed)} if unsubscribed is not None else {}), story


def rows(offsets: list[tuple[str, str]]) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
    """Return committed offsets as columns of the driver state: group and topic."""
    columns = ([group for group, _ in offsets], [topic for _, topic in offsets])
    groups, topics = (pa.array(column, pa.string()).dictionary_encode() for column in columns)
    return groups, topics


def a_group(subscribed: set[str], owned: dict[str, int]) -> Membership:
    return Membership("classic", "Stable", 1, subscribed=frozenset(subscribed), owned=tuple(owned.items()))


def test_counts_of_all_groups_equal_those_of_each_group() -> None:
    """The cache never returns old counts over ticks with random changes of groups, counts, names and offsets."""
    chance = random.Random(7)  # noqa: S311 -- no secret
    topics = [f"t{number}" for number in range(6)]
    every = UnassignedTracker()
    all_memberships: dict[str, Membership] = {}
    counts = dict.fromkeys(topics, 4)
    for _ in range(60):
        for name in chance.sample("abcdefgh", 3):
            if chance.random() < 0.3:
                all_memberships.pop(name, None)
                continue
            owned = {topic: chance.randrange(64) for topic in chance.sample(topics, 2)}
            all_memberships[name] = a_group(set(chance.sample(topics, 2)), owned)
        if chance.random() < 0.5:
            counts = counts | {chance.choice(topics): chance.randrange(7)}
        offsets = [(chance.choice("abcdefghxyz"), chance.choice(topics)) for _ in range(40)]
        found = every.update(dict(all_memberships), rows(offsets), counts, {})
        for name, one in all_memberships.items():
            committed = {topic for group, topic in offsets if group == name}
            unowned, unsubscribed = find_unassigned(one, committed, counts, {})
            assert unowned is not None
            assert unsubscribed is not None
            assert found.unowned[name] == sum(len(partitions) for _, partitions in unowned)
            assert found.unsubscribed[name] == len(unsubscribed)
        assert found.unowned.keys() == found.unsubscribed.keys() == all_memberships.keys()


def test_the_owners_in_a_rebalancing_group_are_unknown() -> None:
    """The log has only the previous generation of a classic group, so no partition counts as unowned."""
    found = memberships([classic(classic_member("a", wants=BOTH))]).by_group
    counted = UnassignedTracker().update(found, rows([("g", "audit")]), COUNTS, {}, {"g"})
    assert counted.unowned == {}
    assert counted.unsubscribed == {"g": 1}


def test_the_longest_subscriptions_are_left_out_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a client has made up cannot make the cluster be asked for any number of topics at every tick."""
    monkeypatch.setattr(unassigned, "MOST_TOPICS", 5)
    sizes = {"made-up": 4, "payments": 2, "orders": 3}
    groups = {group: Membership("classic", "Stable", 1, subscribed=topics_of(group, sizes[group])) for group in sizes}
    assert subscribed_topics(groups) == topics_of("payments", 2) | topics_of("orders", 3)


def topics_of(group: str, size: int) -> frozenset[str]:
    return frozenset(f"{group}-{number}" for number in range(size))
