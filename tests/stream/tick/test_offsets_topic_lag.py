"""The lag of the reader on the offsets topic, and the time since which a transaction blocks a partition."""

from __future__ import annotations

import datetime as dt
import types
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from exporters.readmodel import OFFSETS_UNAVAILABLE, OFFSETS_UNAVAILABLE_GROUPS
from stream.cluster.offsets_topic import NAME
from stream.groups.instances import InstanceShare
from stream.tick.ends_index import EndsIndex
from stream.tick.offsets_topic_lag import (
    OffsetsTopicLag,
    UnansweredPartition,
    unavailable_groups_table,
    unavailable_table,
)
from tests.support.driver_states import ends_of

# The story, (high watermark, last stable offset) at each second, and the start of the gap at the last second.
STORIES: list[tuple[str, list[tuple[int | None, int | None]], int | None]] = [
    ("no gap", [(5, 5), (6, 6)], None),
    ("a gap from the first poll", [(5, 3), (6, 3), (7, 3)], 0),
    ("a later gap", [(5, 5), (6, 5), (7, 5)], 1),
    ("transactions that end and begin: the stable offset moves", [(5, 3), (7, 5), (9, 8)], 2),
    ("a closed gap", [(5, 3), (6, 6)], None),
    ("no answer for a while", [(5, 3), (None, None), (6, 3)], 0),
    ("no answer now", [(5, 3), (None, None)], 0),
]


@pytest.mark.parametrize(("ends", "since"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES])
def test_a_gap_begins_with_its_last_stable_offset(ends: list[tuple[int | None, int | None]], since: int | None) -> None:
    """A gap is as old as the last stable offset below the high watermark."""
    partitions, row = OffsetsTopicLag(), dict[str, Any]()
    for second, (high, stable) in enumerate(ends):
        error = "no_leader" if high is None else None
        table = ends_of([(NAME, 0, high, stable, 0, error), ("t", 0, 9, 1, 0, None)])
        (row,) = partitions.update(EndsIndex(table), {0: 2}, second).to_pylist()
    gap_since = row["stable_gap_since"]
    assert (None if gap_since is None else (gap_since - dt.datetime(1970, 1, 1)).total_seconds()) == since  # noqa: DTZ001 - Arrow's are naive


def test_partitions_without_metadata_of_the_topic_do_not_answer() -> None:
    """A broker that has just started may not know the topic: gaps stay, and each partition has the topic's error."""
    lag = OffsetsTopicLag(InstanceShare(0, 2))
    known = EndsIndex(ends_of([(NAME, number, 9, 4, 0, None) for number in range(4)]))
    lag.update(known, {}, 1.0)
    assert lag.update(EndsIndex(ends_of([(NAME, -1, None, None, None, "not_found")])), {}, 2.0).num_rows == 0
    assert lag.unanswered == (UnansweredPartition(0, "not_found", 2.0), UnansweredPartition(2, "not_found", 2.0))
    (first, second) = lag.update(known, {}, 3.0).to_pylist()
    assert first["stable_gap_since"] == second["stable_gap_since"] == dt.datetime(1970, 1, 1, 0, 0, 1)  # noqa: DTZ001 - Arrow's are naive
    assert lag.unanswered == ()


def test_distance_and_gap() -> None:
    """The distance is the number of readable offsets, never below 0; without a position it is unknown."""
    table = ends_of([(NAME, 0, 10, 8, 0, None), (NAME, 1, 4, 4, 0, None), (NAME, 2, 4, 4, 0, None)])
    rows = OffsetsTopicLag().update(EndsIndex(table), {0: 5, 1: 9}, 1.0).to_pylist()
    assert [(row["position"], row["distance"], row["stable_gap"]) for row in rows] == [
        (5, 3, 2),
        (9, 0, 0),
        (None, None, 0),
    ]


def test_partitions_of_other_instances_have_no_rows() -> None:
    """Each instance shows only its own partitions, with or without an answer."""
    table = ends_of([(NAME, 0, 4, 4, 0, None), (NAME, 1, 9, 4, 0, None), (NAME, 2, None, None, None, "no_leader")])
    lags = [OffsetsTopicLag(InstanceShare(index, 2)) for index in range(2)]
    rows = [lag.update(EndsIndex(table), {0: 4, 1: 4}, 1.0).to_pylist() for lag in lags]
    assert [[row["offsets_partition"] for row in of_one] for of_one in rows] == [[0, 2], [1]]
    assert [[each.offsets_partition for each in lag.unanswered] for lag in lags] == [[2], []]


def test_an_unanswered_partition_keeps_the_time_of_its_first_poll() -> None:
    """An unanswered partition has the current reason; a partition that answers again is no longer listed."""
    partitions = OffsetsTopicLag()
    unanswered = []
    for second, errors in enumerate([(None, None), ("no_leader", None), ("timed_out", "no_leader"), (None, None)]):
        rows = [(NAME, number, None, None, None, word) for number, word in enumerate(errors) if word]
        rows += [(NAME, number, 4, 4, 0, None) for number, word in enumerate(errors) if not word]
        table = ends_of([*sorted(rows), ("t", 0, None, None, None, "no_leader")])
        partitions.update(EndsIndex(table), {}, second)
        unanswered.append(partitions.unanswered)
    assert unanswered == [
        (),
        (UnansweredPartition(0, "no_leader", 1),),
        (UnansweredPartition(0, "timed_out", 1), UnansweredPartition(1, "no_leader", 2)),
        (),
    ]


def test_a_partition_without_an_end_hides_its_live_groups() -> None:
    """The partition has the number of its live groups and the start of its outage; dead groups do not count."""
    tick: Any = types.SimpleNamespace(
        inputs=types.SimpleNamespace(offsets_partition=np.array([0, 1, 1, 1, -1])),
        alive=np.array([True, True, True, False, True]),
    )
    unanswered = [UnansweredPartition(2, "timed_out", 5.0), UnansweredPartition(1, "no_leader", 3.5)]
    table = unavailable_table(unanswered, tick)
    assert table.schema == OFFSETS_UNAVAILABLE
    rows = [(row["offsets_partition"], row["reason"], row["groups"]) for row in table.to_pylist()]
    assert rows == [(1, "no_leader", 2), (2, "timed_out", 0)]
    assert table["since"].cast(pa.int64()).to_pylist() == [3_500, 5_000]


def test_the_first_groups_of_a_partition_without_an_end_are_named() -> None:
    """At most ten groups per partition are listed, by name; a dead group is not among them."""
    groups = [f"g{number:02}" for number in range(14)]
    tick: Any = types.SimpleNamespace(
        inputs=types.SimpleNamespace(
            offsets_partition=np.array([1] * 12 + [2, 3]), rows=types.SimpleNamespace(groups=groups)
        ),
        alive=np.array([False, *[True] * 13]),
    )
    unanswered = [UnansweredPartition(2, "timed_out", 5.0), UnansweredPartition(1, "no_leader", 3.5)]
    table = unavailable_groups_table(unanswered, tick)
    assert table.schema == OFFSETS_UNAVAILABLE_GROUPS
    named = [(row["offsets_partition"], row["group"]) for row in table.to_pylist()]
    assert named == [*((1, name) for name in groups[1:11]), (2, "g12")]
