"""Tests of the lag that more members would reduce, and of the number of members that can have partitions."""

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from stream.health.inputs import GroupStage
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.snapshot import build as snapshot
from stream.tick.snapshot.throughput import scaling_columns
from tests.stream.groups import written
from tests.stream.groups.written import Written
from tests.stream.health.columns import ints
from tests.stream.health.panes import MINUTE, NOW, Row, pane
from tests.stream.health.tables import wrong
from tests.stream.tick.health_inputs import derived
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value

Places = dict[tuple[str, int], int | None]
"""Partitions that the group has committed to, with their lag; None: it is not known."""


def scaling(places: Places, records: Sequence[Written], **context: Any) -> tuple[int | None, int | None]:
    """Return the scalable lag and the useful members of the group `g`; topics have the partitions of `places`."""
    shard = ShardReader()
    shard.read([*records, *((commit_key("g", topic, partition), commit_value(0, 7)) for topic, partition in places)])
    ends = [
        (topic, partition, lag, lag, None if lag is None else 0, "no_leader" if lag is None else None)
        for (topic, partition), lag in places.items()
    ]
    state = shard.driver_state.columns()
    cluster = dataclasses.replace(UNKNOWN_CLUSTER, **context)
    (row,) = snapshot.build(derived(state, ends_of(ends), 1.0, cluster)).groups.to_pylist()
    return row["scalable_lag"], row["members_useful"]


def members(*assigned: dict[str, Sequence[int]], wants: Sequence[str] = ("t",), protocol: str = "sticky") -> Written:
    """Return a classic group with a member for each assignment."""
    return written.classic(
        *(
            written.classic_member(f"m{at}", wants=written.subscription(*wants), has=written.assignment(parts))
            for at, parts in enumerate(assigned)
        ),
        protocol=protocol,
    )


FOUR: Places = {("t", 0): 10, ("t", 1): 20, ("t", 2): 0, ("t", 3): 40}
TWO: Places = {("t", 0): 9, ("u", 0): 5}
PAIRS: Places = {("t", 0): 9, ("t", 1): 3, ("u", 0): 5, ("u", 1): 0}
APART: Places = {("t", 0): 9, ("t", 1): 0, ("u", 0): 0, ("u", 1): 5}
BOTH = {"t": (0,), "u": (0,)}
ALL = members({"t": range(4)})
NONE = (None, None)
EMPTY = GroupStage.EMPTY
UNDECODABLE = written.classic(written.classic_member("m", wants=written.subscription("t"), has=b"\xff"))


def ranged(*assigned: dict[str, Sequence[int]]) -> Written:
    """Return a group with the range assignor, which gives the first partitions of all topics to one member."""
    return members(*assigned, wants=("t", "u"), protocol="range")


STORIES: dict[str, tuple[Any, ...]] = {
    # Places, record of the group, and the scalable lag with the useful members.
    "one member with all partitions": (FOUR, ALL, (70, 4)),
    "a member with two lagging partitions, one with one": (FOUR, members({"t": (0, 1)}, {"t": (2, 3)}), (30, 4)),
    "a lagging partition per member": (FOUR, members({"t": (0, 2)}, {"t": (1,)}, {"t": (3,)}), (0, 4)),
    "a partition without an owner": (FOUR, members({"t": (0, 2)}, {"t": (1,)}), (40, 4)),
    "idle member without partitions": (FOUR, members({"t": (0, 1, 2, 3)}, {"t": ()}), (70, 4)),
    "a hot partition: no member can help": ({("t", 0): 9}, members({"t": (0,)}), (0, 1)),
    "partitions of two topics": (TWO, members(BOTH, wants=("t", "u")), (14, 2)),
    "partitions of two topics with one number, range assignor": (TWO, ranged(BOTH), (0, 1)),
    "partitions of different numbers, range assignor": (APART, ranged({"t": (0, 1), "u": (0, 1)}), (14, 2)),
    "all useful members, range assignor": (PAIRS, ranged(BOTH, {"t": (1,), "u": (1,)}), (0, 2)),
    "a partition without lag and owner, range assignor": (PAIRS, ranged(BOTH, {"t": (1,)}), (0, 2)),
    "a topic that is no longer read does not count": (FOUR | {("old", 0): 99}, ALL, (70, 4)),
    "no members: any member would help": (FOUR, written.classic(), (70, None)),
    "partition with unknown lag": (FOUR | {("t", 2): None}, ALL, NONE),
    "unknown lag of a topic that is no longer read": (FOUR | {("old", 0): None}, ALL, (70, 4)),
    "Kafka Streams distributes tasks": (FOUR, members({"t": range(4)}, protocol="stream"), NONE),
    "an assignment that cannot be decoded": (FOUR, UNDECODABLE, NONE),
}


def test_only_lag_that_a_member_could_take_is_scalable() -> None:
    """Two partitions with lag of one owner are scalable, the only one of an owner is not; unknown is null, not 0."""
    assert wrong(STORIES, lambda places, group: scaling(places, [group])) == []


def test_a_topic_that_the_last_members_had_left_is_not_scalable() -> None:
    """A new member would not read it, and an autoscaler would start members for ever."""
    seen = pane(Row(topic="kept", lag=5, stage=EMPTY), Row(topic="left", lag=70, stage=EMPTY))
    left = {"unsubscribed_since": ints(-1, 0), "unsubscribed_until": ints(-1, NOW - MINUTE)}
    seen = dataclasses.replace(seen, memory=dataclasses.replace(seen.memory, **left))
    copied = pane(*(Row(topic=name, lag=5, stage=GroupStage.MIRRORED) for name in ("kept", "left")))
    rows: Any = SimpleNamespace(
        groups=["billing"],
        topics=["kept", "left"],
        group=ints(0, 0),
        topic=ints(0, 1),
        partition=ints(0, 0),
        committed=np.ones(2, np.bool_),
    )
    assigned: Any = SimpleNamespace(subscribed=ints(-1, -1), owner=ints(-2, -2))
    members: Any = {"billing": SimpleNamespace(kind="classic", protocol="sticky", members=0)}
    assert scaling_columns(rows, seen, assigned, members)["scalable_lag"].to_pylist() == [5]
    assert scaling_columns(rows, copied, assigned, members)["scalable_lag"].to_pylist() == [None], "nothing reads here"


def test_nothing_is_known_during_a_rebalance() -> None:
    """The owners change during a rebalance."""
    described = {"described_states": {"g": "PreparingRebalance"}}
    assert scaling(FOUR, [members({"t": range(4)})], **described) == (None, None)


def test_members_and_assigned_partitions_are_counted_by_topic() -> None:
    """A member counts for each topic of which it has a partition; without an assignment neither is known."""
    places = [("t", 0), ("t", 1), ("t", 2), ("u", 0)]
    commits = [(commit_key("g", *place), commit_value(0, 7)) for place in places]
    two = members({"t": (0, 1), "u": (0,)}, {"t": (2,)}, wants=("t", "u"))
    found = []
    for records in ([two, *commits], commits):
        shard = ShardReader()
        shard.read(records)
        state = shard.driver_state.columns()
        ends = ends_of([(*place, 9, 9, 0, None) for place in places])
        table = snapshot.build(derived(state, ends, 1.0)).topics
        found.append([(row["topic"], row["members"], row["partitions_assigned"]) for row in table.to_pylist()])
    assert found == [[("t", 2, 3), ("u", 1, 1)], [("t", None, None), ("u", None, None)]]


def test_groups_that_do_not_distribute_partitions_are_not_scalable() -> None:
    """The lag of share groups and of Connect workers, which have tasks, does not show how many members would help."""
    work = {"wants": written.connect_metadata(), "has": written.connect_work({"sink": (0,)})}
    workers = written.classic(written.classic_member("w", **work), kind="connect", protocol="sessioned")
    shared = [written.group_epoch(1, kind=11), written.target_epoch(1, kind=12), written.sharer("m", "t")]
    shared.append(written.shares("m", 1, {written.ORDERS: (0, 1, 2, 3)}))
    for records in (shared, [workers]):
        assert scaling(FOUR, records, topic_names={written.ORDERS: "t"}) == NONE
