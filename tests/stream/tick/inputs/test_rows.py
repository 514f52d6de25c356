"""The rows of a tick: all commits, and partitions that belong to a group without a commit; sorted and limited."""

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
from tests.support.driver_states import Raw, ShardReader
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

Place = tuple[str, str, int]


def shard_of(commits: list[Place], *records: Raw) -> ShardReader:
    """Return a shard with commits of these partitions and these records."""
    shard = ShardReader()
    shard.read([*((commit_key(*place), commit_value(at + 1, 1)) for at, place in enumerate(commits)), *records])
    return shard


def context_of(names: dict[bytes, str] | None = None, **counts: int) -> ClusterContext:
    """Return a context with these partition counts and topic names."""
    return dataclasses.replace(UNKNOWN_CLUSTER, partition_counts=counts, topic_names=names or {})


def named(rows: InputRows) -> list[Place]:
    """Return the rows by name."""
    columns = (rows.group.tolist(), rows.topic.tolist(), rows.partition.tolist())
    return [(rows.groups[g], rows.topics[t], p) for g, t, p in zip(*columns, strict=True)]


def classic(topic: str, **owned: tuple[int, ...]) -> Raw:
    """Return the record of classic group `g` with one member that subscribes to a topic and owns partitions."""
    member = written.classic_member("m", wants=written.subscription(topic), has=written.assignment(owned))
    return written.classic(member)


STORIES: list[tuple[str, list[Place], list[Raw], ClusterContext, list[Place]]] = [
    ("a group with offsets only", [("g", "t", 1)], [], context_of(t=3), []),
    ("a simple group that leaves one out", [("g", "t", 1), ("g", "t", 2)], [], context_of(t=3), [("g", "t", 0)]),
    ("a simple group that commits one of two", [("g", "t", 1)], [], context_of(t=2), []),
    ("a simple group that reads its share", [("g", "t", 1), ("g", "t", 2)], [], context_of(t=4), []),
    ("a simple group on a topic of unknown size", [("g", "t", 1), ("g", "t", 2)], [], context_of(), []),
    (
        "a simple group beyond the partition count",
        [("g", "t", 7), ("g", "t", 1), ("g", "t", 2)],
        [],
        context_of(t=3),
        [("g", "t", 0)],
    ),
    (
        "all partitions of a subscribed topic",
        [("g", "t", 1)],
        [classic("t")],
        context_of(t=3),
        [("g", "t", 0), ("g", "t", 2)],
    ),
    ("a group without any commit", [], [classic("t")], context_of(t=1), [("g", "t", 0)]),
    ("a topic that sorts before all others", [("g", "t", 0)], [classic("a")], context_of(a=1, t=1), [("g", "a", 0)]),
    ("a deleted topic", [("g", "t", 0)], [classic("a")], context_of(a=0), []),
    ("a topic without a known partition count", [("g", "t", 0)], [classic("a")], context_of(), []),
    ("owned and not subscribed to", [], [classic("a", t=(2,))], context_of(t=3, a=0), [("g", "t", 2)]),
    ("owned beyond the partition count", [], [classic("a", t=(2, 7))], context_of(t=3, a=0), [("g", "t", 2)]),
    ("only partitions that do not exist", [("g", "t", 0)], [classic("a", t=(7,))], context_of(t=3, a=0), []),
    (
        "a topic without any partition in the assignment",
        [("g", "t", 0)],
        [classic("a", t=())],
        context_of(t=3, a=0),
        [],
    ),
    ("committed beyond the partition count", [("g", "t", 9)], [classic("t")], context_of(t=1), [("g", "t", 0)]),
    ("an empty group", [("g", "t", 0)], [written.classic()], context_of(t=3), []),
    (
        "topics by id",
        [],
        [written.group_epoch(2), written.member("m", "a"), written.stands("m", 2, {written.ORDERS: (0,)})],
        context_of(written.NAMES, orders=2, a=0),
        [("g", "orders", 0)],
    ),
    (
        "a share group",
        [],
        [written.group_epoch(2, kind=11), written.sharer("m", "orders")],
        context_of(written.NAMES, orders=2),
        [],
    ),
]


@pytest.mark.parametrize(
    ("commits", "records", "context", "uncommitted"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES]
)
def test_rows_without_a_commit(
    commits: list[Place], records: list[Raw], context: ClusterContext, uncommitted: list[Place]
) -> None:
    """Each case has the rows of its commits, and the listed rows without a commit."""
    state = shard_of(commits, *records).driver_state.columns()
    rows = RowFinder().find(state, context)
    assert [each for each, known in zip(named(rows), rows.committed, strict=True) if not known] == uncommitted
    assert named(rows) == sorted([*commits, *uncommitted])
    assert list(rows.topics) == sorted(rows.topics)


PLACES = st.lists(
    st.tuples(st.sampled_from("bga"), st.sampled_from("tus"), st.integers(0, 6)), unique=True, max_size=20
)


@examples(50)
@given(PLACES, st.integers(0, 5), st.integers(0, 5))
def test_every_commit_has_one_row(commits: list[Place], partitions_t: int, partitions_u: int) -> None:
    """Columns and slots of the driver state are aligned with the rows, for any rows without a commit."""
    member = written.classic_member("m", wants=written.subscription("t", "u"), has=written.assignment({"t": (0,)}))
    state = shard_of(commits, written.classic(member)).driver_state.columns()
    rows = RowFinder().find(state, context_of(t=partitions_t, u=partitions_u))
    sizes = {"t": partitions_t, "u": partitions_u}
    belonging = {("g", topic, at) for topic, size in sizes.items() for at in range(size)}
    for group, topic in ((group, topic) for group in "ab" for topic in "tu"):
        known = sum((group, topic, at) in commits for at in range(sizes[topic]))
        if known > max(1, sizes[topic] - known):
            belonging |= {(group, topic, at) for at in range(sizes[topic])}
    assert named(rows) == sorted(belonging | set(commits))
    offset = dict(zip(named(rows), rows.align(state.runs.spans.last_offset, -1).tolist(), strict=True))
    assert offset == {place: commits.index(place) + 1 if place in commits else -1 for place in named(rows)}
    slots = rows.align_slots(state.runs.slots)
    found = [named(rows)[row] for row in slots.row.tolist()]
    assert found == sorted(commits)
    assert slots.offset.tolist() == [offset[place] for place in found]
    assert len({len(column) for column in columns_of(slots)}) == 1


def test_rows_beyond_the_limit_are_omitted_and_counted() -> None:
    """The limit holds for all groups together; rows with a commit are never omitted."""
    state = shard_of([("g", "t", 4)], classic("t")).driver_state.columns()
    rows = RowFinder(most=2).find(state, context_of(t=6))
    assert (len(rows), rows.omitted, int(rows.committed.sum())) == (3, 3, 1)


def test_unchanged_rows_are_the_same_object() -> None:
    """A commit does not change the rows; a member, a partition or a new key does."""
    shard = shard_of([("g", "t", 0)], classic("t"))
    finder = RowFinder()
    before = finder.find(shard.driver_state.columns(), context_of(t=2))
    shard.read([(commit_key("g", "t", 0), commit_value(9, 9))])
    assert finder.find(shard.driver_state.columns(), context_of(t=2)) is before
    assert len(finder.find(shard.driver_state.columns(), context_of(t=3))) == 3
    shard.read([classic("u")])
    assert len(finder.find(shard.driver_state.columns(), context_of(t=3))) == 1
    shard.read([(commit_key("g", "t", 1), commit_value(9, 9))])
    assert len(finder.find(shard.driver_state.columns(), context_of(t=3))) == 2


def test_columns_with_several_numbers_per_row_are_aligned() -> None:
    """A column of topic ids has two numbers per row."""
    rows: Any = RowFinder().find(shard_of([("g", "t", 1)], classic("t")).driver_state.columns(), context_of(t=2))
    assert rows.align(np.array([[7, 8]]), 0).tolist() == [[0, 0], [7, 8]]
