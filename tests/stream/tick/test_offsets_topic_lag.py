"""The lag of the reader on the offsets topic, and the gaps below the high watermark that transactions open."""

import types
from typing import Any

import numpy as np
import pyarrow as pa

from exporters.readmodel import OFFSETS_UNAVAILABLE
from stream.cluster.offsets_topic import NAME
from stream.groups.placement import EVERY_GROUP, InstancePart
from stream.tick.ends_index import EndsIndex
from stream.tick.offsets_topic_lag import (
    OffsetsTopicLag,
    StableGap,
    StableGaps,
    UnansweredPartition,
    unavailable_table,
)
from tests.stream.health.tables import wrong
from tests.support.driver_states import ends_of

Ends = tuple[int | None, int | None]


def test_a_gap_is_as_old_as_its_last_stable_offset() -> None:
    """An offset that is unknown at a tick does not change the gap."""
    stories: dict[str, tuple[list[Ends], dict[int, StableGap]]] = {
        "no gap": ([(5, 5)], {}),
        "the last stable offset stays": ([(5, 3), (9, 3)], {0: StableGap(3, 0)}),
        "the last stable offset has moved": ([(5, 3), (9, 4)], {0: StableGap(4, 10)}),
        "the transaction has ended": ([(5, 3), (9, 9)], {}),
        "offsets unknown for one tick": ([(5, 3), (None, None), (9, 3)], {0: StableGap(3, 0)}),
        "last stable offset unknown": ([(5, 3), (9, None)], {0: StableGap(3, 0)}),
    }

    def gap(ends: list[Ends]) -> dict[int, StableGap]:
        gaps = StableGaps(EVERY_GROUP)
        for tick, (high, stable) in enumerate(ends):
            known = gaps.update(EndsIndex(ends_of([(NAME, 0, high, stable, 0, None)])), 10 * tick)
        return dict(known)

    assert wrong(stories, gap) == []


def test_partitions_of_other_instances_have_no_gaps() -> None:
    """Each instance tracks the gaps of its own partitions."""
    ends = EndsIndex(ends_of([(NAME, number, 9, 4, 0, None) for number in range(4)]))
    assert list(StableGaps(InstancePart(1, 2)).update(ends, 0)) == [1, 3]


def test_a_gap_has_the_time_since_which_it_is_open() -> None:
    """The gap below the high watermark begins with its last stable offset; `StableGaps` has the cases."""
    partitions, found = OffsetsTopicLag(), []
    for second, (high, stable) in enumerate([(5, 5), (6, 5), (7, 5), (8, 8)]):
        ends = EndsIndex(ends_of([(NAME, 0, high, stable, 0, None), ("t", 0, 9, 1, 0, None)]))
        found += partitions.update(ends, {0: 2}, second)["stable_gap_since"].cast(pa.int64()).to_pylist()
    assert found == [None, 1_000, 1_000, None]


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
    lags = [OffsetsTopicLag(InstancePart(index, 2)) for index in range(2)]
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
