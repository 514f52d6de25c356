"""What is remembered of partitions finds its row again, whatever else comes and goes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from stream.health.features.lag import PartitionEnds
from stream.health.features.partition_history import PartitionHistory
from stream.health.inputs import NO_COMMIT, GroupStage
from tests.stream.health.panes import NOW, Row, pane

TICK = 10_000


def at(tick: int, ends: dict[str, tuple[int, int, int]], *, recreated: list[str] | None = None) -> Any:
    """See one partition per topic: name -> (log start, last stable offset, high watermark)."""
    topics = sorted(ends)
    start, stable, high = (np.array([ends[name][n] for name in topics], np.int64) for n in range(3))
    place = np.arange(len(topics), dtype=np.int64) << 32
    return dataclasses.replace(
        pane(Row()).inputs,
        now=NOW + tick * TICK,
        topics=topics,
        ends=PartitionEnds(place, high, start, high >= 0, stable),
        recreated=np.array([topics.index(name) for name in recreated or []], np.int64),
    )


def test_a_topic_keeps_its_history_when_its_number_changes() -> None:
    """Topics that sort before it come and go; their histories go with them and are never taken for another's."""
    memory = PartitionHistory()
    memory.observe(at(0, {"b": (0, 5, 5), "c": (0, 7, 7)}))
    memory.observe(at(1, {"a": (0, 1, 1), "b": (0, 6, 6), "c": (0, 8, 8)}))
    rows = memory.observe(at(2, {"b": (0, 7, 7)}))
    assert memory.high_watermark.points(int(rows[0]))[1] == [5, 6, 7]
    assert len(memory.high_watermark) == 1
    rows = memory.observe(at(3, {"a": (0, 3, 3), "b": (0, 8, 8), "c": (0, 9, 9)}))
    assert [memory.high_watermark.points(row)[1] for row in rows.tolist()] == [[3], [5, 6, 7, 8], [9]]


def test_an_end_that_is_known_again_is_dated() -> None:
    """After it was asked for in vain, after a tick that nobody answered, and after a long pause; not before."""
    memory, ends = PartitionHistory(tick=TICK), {"a": (0, 5, 5)}
    assert memory.answered_since(memory.observe(at(0, ends))).tolist() == [-1]
    assert memory.answered_since(memory.observe(at(1, ends))).tolist() == [-1]
    memory.observe(at(2, {"a": (-1, -1, -1)}))
    assert memory.answered_since(memory.observe(at(3, ends))).tolist() == [NOW + 3 * TICK]
    memory.record_missed_tick()
    assert memory.answered_since(memory.observe(at(4, ends))).tolist() == [NOW + 4 * TICK]
    assert memory.answered_since(memory.observe(at(8, ends))).tolist() == [NOW + 8 * TICK]
    assert memory.answered_since(memory.observe(at(9, ends))).tolist() == [NOW + 8 * TICK]


def test_a_group_is_settled_since_it_was_last_seen_to_rebalance() -> None:
    """The record of it may be read later; then that counts."""

    def settled(tick: int, stage: GroupStage, since: int) -> int:
        seen = at(tick, {"a": (0, 5, 5)})
        groups = dataclasses.replace(
            seen.groups, stage=np.array([stage], np.int8), since=np.array([NOW + since * TICK], np.int64)
        )
        return (int(memory.settled_since(dataclasses.replace(seen, groups=groups))[0]) - NOW) // TICK

    memory = PartitionHistory()
    assert settled(0, GroupStage.STABLE, -9) == -9
    assert settled(1, GroupStage.REBALANCING, 1) == 1
    assert settled(2, GroupStage.REBALANCING, 1) == 1
    assert settled(3, GroupStage.STABLE, -9) == 2
    assert settled(4, GroupStage.STABLE, 3) == 3
    assert settled(5, GroupStage.STABLE, 3) == 3


def test_an_end_that_is_not_known_leaves_its_history_as_it_was() -> None:
    """And has no row at that moment."""
    memory = PartitionHistory()
    memory.observe(at(0, {"a": (0, 5, 5)}))
    assert memory.observe(at(1, {"a": (-1, -1, -1)})).tolist() == [-1]
    rows = memory.observe(at(2, {"a": (0, 9, 9)}))
    assert memory.high_watermark.points(int(rows[0])) == ([NOW, NOW + 2 * TICK], [5, 9])


def test_a_topic_made_anew_begins_a_new_history() -> None:
    """Though its ends alone would look like growth."""
    memory = PartitionHistory()
    memory.observe(at(0, {"a": (2, 5, 5)}))
    rows = memory.observe(at(1, {"a": (2, 8, 9)}, recreated=["a"]))
    assert memory.high_watermark.points(int(rows[0])) == ([NOW + TICK], [9])
    assert memory.log_start.points(int(rows[0])) == ([NOW + TICK], [2])


def test_it_is_known_since_when_the_stable_offset_stands() -> None:
    """Only while it is below the high watermark, and anew with every step of it."""
    memory = PartitionHistory()
    since = []
    for tick, (stable, high) in enumerate([(5, 5), (5, 8), (5, 9), (7, 9), (7, 9), (9, 9), (9, 9)]):
        rows = memory.observe(at(tick, {"a": (0, stable, high)}))
        since.append(int(memory.stable_since(rows)[0]))
    ticks = [(each - NOW) // TICK if each >= 0 else -1 for each in since]
    assert ticks == [-1, 1, 1, 3, 3, -1, -1]
    assert memory.stable_since(np.array([-1], np.int64)).tolist() == [-1]
    assert PartitionHistory().stable_since(np.array([0], np.int64)).tolist() == [-1]


def test_a_seed_reaches_back_before_the_first_look() -> None:
    """In the order of the ends it was asked for."""
    memory, seen = PartitionHistory(), at(0, {"a": (0, 50, 50), "b": (0, 9, 9)})
    rows = memory.observe(seen)
    memory.seed(seen, np.array([NOW - 60_000, NOW - 30_000], np.int64), np.array([[20, 30], [-2, 4]], np.int64))
    assert [memory.high_watermark.points(row)[1] for row in rows.tolist()] == [[20, 30, 50], [4, 9]]


def test_what_was_never_committed_is_so_since_it_was_first_seen() -> None:
    """Through rebalances and short absences; after a long one it begins anew."""
    memory, row = PartitionHistory(tick=TICK), np.zeros(1, np.int64)

    def since(tick: int, formed: int, rows: np.ndarray[Any, np.dtype[np.int64]] = row) -> list[int]:
        seen = pane(Row()).inputs
        groups = dataclasses.replace(seen.groups, since=np.array([NOW + formed * TICK]))
        seen = dataclasses.replace(seen, now=NOW + tick * TICK, groups=groups)
        return [(time - NOW) // TICK for time in memory.uncommitted_since(seen, rows, 3 * TICK).tolist()]

    assert since(0, -5) == [-5]
    assert since(1, 1) == [-5], "a rebalance"
    assert since(2, 2, row[:0]) == []
    assert since(4, 4) == [-5], "away for three ticks"
    assert since(5, 4, row[:0]) == []
    assert since(9, 8) == [8], "away for longer"


def test_an_end_that_went_back_is_remembered_until_it_is_where_it_was() -> None:
    """From the second look on: a new leader may for a moment know less; and not of a topic that was made anew."""
    memory, cut = PartitionHistory(), []
    for tick, high in enumerate([90, 50, 90, 50, 50, 60, 40, 89, 90, 91]):
        rows = memory.observe(at(tick, {"a": (0, high, high), "b": (0, 7, 7)}))
        cut.append(memory.is_truncated(rows, NOW + tick * TICK).tolist()[0])
        assert not memory.is_truncated(rows, NOW + tick * TICK)[1]
    assert cut == [False, False, False, False, True, True, True, True, False, False]
    memory.observe(at(10, {"a": (0, 5, 5)}))
    rows = memory.observe(at(11, {"a": (0, 5, 5)}, recreated=["a"]))
    assert memory.is_truncated(rows, NOW + 11 * TICK).tolist() == [False]
    assert memory.is_truncated(np.array([-1], np.int64), NOW).tolist() == [False]
    assert PartitionHistory().is_truncated(np.array([0], np.int64), NOW).tolist() == [False]


def test_a_recorded_tick_is_observed_for_its_rows() -> None:
    """Per row: lag, row in the history, and since when a partition without a commit belongs to its group."""
    history = PartitionHistory(tick=TICK)
    inputs = pane(Row(topic="a", committed=3), Row(topic="b", committed=NO_COMMIT), Row(topic="c")).inputs
    ends = PartitionEnds(np.array([0, 1 << 32]), *(np.array([each, each]) for each in (9, 0)), np.array([True, True]))
    groups = dataclasses.replace(inputs.groups, since=np.array([NOW - 70_000]))
    inputs = dataclasses.replace(inputs, ends=ends, groups=groups)
    observation = history.record(inputs, 1_000)
    assert observation.lag.lag.tolist() == [6, 9, 0]
    assert observation.history_row.tolist() == [0, 1, -1]
    assert observation.settled_since.tolist() == [NOW - 70_000]
    assert observation.uncommitted.tolist() == [False, True, False]
    assert observation.uncommitted_since.tolist() == [-1, NOW - 70_000, -1]
    later = dataclasses.replace(groups, since=np.array([NOW]))
    observation = history.record(dataclasses.replace(inputs, now=NOW + 1_000, groups=later), 1_000)
    assert observation.uncommitted_since.tolist() == [-1, NOW - 70_000, -1], "a rebalance does not change it"
