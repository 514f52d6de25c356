"""Tests of the recent leaders of partitions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stream.tick.common_cause.leaders import RecentLeaders
from stream.tick.ends_index import EndsIndex
from tests.support.driver_states import ends_of

Leaders = Mapping[tuple[str, int], int | None]
MINUTE = 60_000


def ends(leaders: Leaders) -> EndsIndex:
    """Return ends of partitions with these leaders; None: the partition has none."""
    rows = [(topic, number, 9, 9, 0, None) for topic, number in leaders]
    return EndsIndex(ends_of(rows, {place: leader for place, leader in leaders.items() if leader is not None}))


def leaders_after(*ticks: tuple[int, Leaders]) -> dict[str, tuple[int, int]]:
    """Return the last known leader and the one before of each partition of the last tick, by name."""
    recent = RecentLeaders()
    for now, leaders in ticks:
        recent.update(ends(leaders), now)
    names = [f"{topic}-{number}" for topic, number in sorted(ticks[-1][1])]
    last, previous = recent.of(np.arange(len(names)))
    return dict(zip(names, zip(last.tolist(), previous.tolist(), strict=True), strict=True))


def test_the_leader_of_a_partition_without_a_leader_is_the_last_one() -> None:
    """A partition that never had a leader has none."""
    assert leaders_after((0, {("t", 0): 3, ("t", 1): None}), (1, {("t", 0): None, ("t", 1): None})) == {
        "t-0": (3, -1),
        "t-1": (-1, -1),
    }


def test_the_leader_before_an_election_is_remembered_for_a_while() -> None:
    """The previous leader is kept for a quarter of an hour, also if there was no leader in between."""
    ticks = [(0, {("t", 0): 3}), (1, {("t", 0): None}), (MINUTE, {("t", 0): 1})]
    assert leaders_after(*ticks) == {"t-0": (1, 3)}
    assert leaders_after(*ticks, (10 * MINUTE, {("t", 0): 1})) == {"t-0": (1, 3)}
    assert leaders_after(*ticks, (17 * MINUTE, {("t", 0): 1})) == {"t-0": (1, -1)}


def test_a_new_topic_does_not_change_the_leaders_of_other_topics() -> None:
    """A new topic changes the rows and numbers of other topics, but not their leaders."""
    first: Leaders = {("b", 0): 1, ("b", 1): 2}
    second: Leaders = {("a", 0): 5, ("b", 0): None, ("b", 1): 3}
    assert leaders_after((0, first), (1, second)) == {"a-0": (5, -1), "b-0": (1, -1), "b-1": (3, 2)}


def test_a_row_that_is_not_in_the_ends_has_no_leader() -> None:
    """A row that is not in the ends has no leader, before and after the first tick."""
    recent = RecentLeaders()
    rows = np.array([-1], np.int64)
    assert [column.tolist() for column in recent.of(rows)] == [[-1], [-1]]
    recent.update(ends({("t", 0): 3}), 0)
    assert [column.tolist() for column in recent.of(rows)] == [[-1], [-1]]
