"""Which rows there are: all commits, and what belongs to groups without any; sorted, and bounded."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.runs import columns_of
from stream.tick.context import UNKNOWN_CLUSTER, ClusterContext
from stream.tick.inputs.rows import InputRows, RowFinder
from tests.stream.groups import written
from tests.support.fleets import Raw, World
from tests.support.laws import examples
from tests.support.raw import commit_key, commit_value

Place = tuple[str, str, int]


def world_of(commits: list[Place], *records: Raw) -> World:
    """Give a world in which these partitions were committed and these records written."""
    world = World()
    world.read([*((commit_key(*place), commit_value(at + 1, 1)) for at, place in enumerate(commits)), *records])
    return world


def around(names: dict[bytes, str] | None = None, **counts: int) -> ClusterContext:
    """Give surroundings that know how many partitions topics have, and their names."""
    return dataclasses.replace(UNKNOWN_CLUSTER, partition_counts=counts, topic_names=names or {})


def named(rows: InputRows) -> list[Place]:
    """Give the rows by names."""
    columns = (rows.group.tolist(), rows.topic.tolist(), rows.partition.tolist())
    return [(rows.groups[g], rows.topics[t], p) for g, t, p in zip(*columns, strict=True)]


def classic(wants: str, **has: tuple[int, ...]) -> Raw:
    """Give the record of classic group `g` with one member."""
    return written.classic(written.classic_member("m", wants=written.subscription(wants), has=written.assignment(has)))


STORIES: list[tuple[str, list[Place], list[Raw], ClusterContext, list[Place]]] = [
    ("a group that only has offsets", [("g", "t", 1)], [], around(t=3), []),
    (
        "all partitions of a subscribed topic",
        [("g", "t", 1)],
        [classic("t")],
        around(t=3),
        [("g", "t", 0), ("g", "t", 2)],
    ),
    ("a group without any commit", [], [classic("t")], around(t=1), [("g", "t", 0)]),
    ("a topic that sorts before all others", [("g", "t", 0)], [classic("a")], around(a=1, t=1), [("g", "a", 0)]),
    ("a topic that is gone", [("g", "t", 0)], [classic("a")], around(a=0), []),
    ("a topic of which nothing is known", [("g", "t", 0)], [classic("a")], around(), []),
    ("owned, though nobody subscribes to it", [], [classic("a", t=(2,))], around(t=3, a=0), [("g", "t", 2)]),
    ("owned, and beyond the end of the topic", [], [classic("a", t=(2, 7))], around(t=3, a=0), [("g", "t", 2)]),
    ("nothing but partitions that do not exist", [("g", "t", 0)], [classic("a", t=(7,))], around(t=3, a=0), []),
    ("a topic without any partition in the assignment", [("g", "t", 0)], [classic("a", t=())], around(t=3, a=0), []),
    ("committed, and beyond the end of the topic", [("g", "t", 9)], [classic("t")], around(t=1), [("g", "t", 0)]),
    ("an empty group", [("g", "t", 0)], [written.classic()], around(t=3), []),
    (
        "by the ids of its topics",
        [],
        [written.group_epoch(2), written.member("m", "a"), written.stands("m", 2, {written.ORDERS: (0,)})],
        around(written.NAMES, orders=2, a=0),
        [("g", "orders", 0)],
    ),
    (
        "a share group keeps no offsets there",
        [],
        [written.group_epoch(2, kind=11), written.sharer("m", "orders")],
        around(written.NAMES, orders=2),
        [],
    ),
]


@pytest.mark.parametrize(
    ("commits", "records", "surroundings", "fresh"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES]
)
def test_what_belongs_to_a_group_without_a_commit(
    commits: list[Place], records: list[Raw], surroundings: ClusterContext, fresh: list[Place]
) -> None:
    """Each story has the rows of its commits, and those that are in none."""
    fleet = world_of(commits, *records).fleet.columns()
    rows = RowFinder().find(fleet, surroundings)
    assert [each for each, known in zip(named(rows), rows.committed, strict=True) if not known] == fresh
    assert named(rows) == sorted([*commits, *fresh])
    assert list(rows.topics) == sorted(rows.topics)


PLACES = st.lists(
    st.tuples(st.sampled_from("bga"), st.sampled_from("tus"), st.integers(0, 6)), unique=True, max_size=20
)


@examples(50)
@given(PLACES, st.integers(0, 5), st.integers(0, 5))
def test_rows_hold_every_commit_once_in_order(commits: list[Place], tees: int, yous: int) -> None:
    """Whatever belongs to the group beside its commits: columns and slots of the fleet come to the right rows."""
    member = written.classic_member("m", wants=written.subscription("t", "u"), has=written.assignment({"t": (0,)}))
    fleet = world_of(commits, written.classic(member)).fleet.columns()
    rows = RowFinder().find(fleet, around(t=tees, u=yous))
    mine = {("g", "t", at) for at in range(tees)} | {("g", "u", at) for at in range(yous)}
    assert named(rows) == sorted(mine | set(commits))
    offset = dict(zip(named(rows), rows.align(fleet.runs.spans.last_offset, -1).tolist(), strict=True))
    assert offset == {place: commits.index(place) + 1 if place in commits else -1 for place in named(rows)}
    slots = rows.align_slots(fleet.runs.slots)
    found = [named(rows)[row] for row in slots.row.tolist()]
    assert found == sorted(commits)
    assert slots.offset.tolist() == [offset[place] for place in found]
    assert len({len(column) for column in columns_of(slots)}) == 1


def test_too_many_are_omitted_and_counted() -> None:
    """A bound holds for all groups together; what has a commit is never left out."""
    fleet = world_of([("g", "t", 4)], classic("t")).fleet.columns()
    rows = RowFinder(most=2).find(fleet, around(t=6))
    assert (len(rows), rows.omitted, int(rows.committed.sum())) == (3, 3, 1)


def test_rows_stay_the_same_object_while_nothing_comes_or_goes() -> None:
    """A commit moves no row; a member, a partition or a new key does."""
    world = world_of([("g", "t", 0)], classic("t"))
    belongings = RowFinder()
    before = belongings.find(world.fleet.columns(), around(t=2))
    world.read([(commit_key("g", "t", 0), commit_value(9, 9))])
    assert belongings.find(world.fleet.columns(), around(t=2)) is before
    assert len(belongings.find(world.fleet.columns(), around(t=3))) == 3
    world.read([classic("u")])
    assert len(belongings.find(world.fleet.columns(), around(t=3))) == 1
    world.read([(commit_key("g", "t", 1), commit_value(9, 9))])
    assert len(belongings.find(world.fleet.columns(), around(t=3))) == 2


def test_columns_with_several_numbers_per_row_are_taken_whole() -> None:
    """Topic ids are two numbers each."""
    rows: Any = RowFinder().find(world_of([("g", "t", 1)], classic("t")).fleet.columns(), around(t=2))
    assert rows.align(np.array([[7, 8]]), 0).tolist() == [[0, 0], [7, 8]]
