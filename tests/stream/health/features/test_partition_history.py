"""The history of a partition keeps its row when other partitions are added or removed."""

import dataclasses
from typing import Any

import numpy as np

from stream.health.features.lag import PartitionEnds
from stream.health.features.partition_history import PartitionHistory
from stream.health.inputs import GroupStage
from tests.stream.health.panes import NOW, Row, pane

TICK = 10_000


def at(tick: int, ends: dict[str, tuple[int, int, int]], *, recreated: list[str] | None = None) -> Any:
    """Return inputs with one partition per topic: name -> (log start, last stable offset, high watermark)."""
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
    """Topics that sort before a topic are added and removed; the history of a removed topic is dropped."""
    history = PartitionHistory()
    history.observe(at(0, {"b": (0, 5, 5), "c": (0, 7, 7)}))
    history.observe(at(1, {"a": (0, 1, 1), "b": (0, 6, 6), "c": (0, 8, 8)}))
    rows = history.observe(at(2, {"b": (0, 7, 7)}))
    assert history.high_watermark.points(int(rows[0]))[1] == [5, 6, 7]
    assert len(history.high_watermark) == 1
    rows = history.observe(at(3, {"a": (0, 3, 3), "b": (0, 8, 8), "c": (0, 9, 9)}))
    assert [history.high_watermark.points(row)[1] for row in rows.tolist()] == [[3], [5, 6, 7, 8], [9]]


def test_the_history_has_the_time_since_which_an_end_is_known_again() -> None:
    """The time is recorded after a poll without an answer, a missed tick and a long pause, and not before."""
    history, ends = PartitionHistory(tick=TICK), {"a": (0, 5, 5)}
    assert history.states.answered_since(history.observe(at(0, ends))).tolist() == [-1]
    assert history.states.answered_since(history.observe(at(1, ends))).tolist() == [-1]
    history.observe(at(2, {"a": (-1, -1, -1)}))
    assert history.states.answered_since(history.observe(at(3, ends))).tolist() == [NOW + 3 * TICK]
    history.states.record_missed_tick()
    assert history.states.answered_since(history.observe(at(4, ends))).tolist() == [NOW + 4 * TICK]
    assert history.states.answered_since(history.observe(at(8, ends))).tolist() == [NOW + 8 * TICK]
    assert history.states.answered_since(history.observe(at(9, ends))).tolist() == [NOW + 8 * TICK]


def test_a_group_is_settled_since_its_last_observed_rebalance() -> None:
    """The time in the record of the rebalance, which may be read later, takes precedence if it is later."""

    def settled(tick: int, stage: GroupStage, since: int) -> int:
        seen = at(tick, {"a": (0, 5, 5)})
        groups = dataclasses.replace(
            seen.groups, stage=np.array([stage], np.int8), since=np.array([NOW + since * TICK], np.int64)
        )
        return (int(history.settled_since(dataclasses.replace(seen, groups=groups))[0]) - NOW) // TICK

    history = PartitionHistory()
    assert settled(0, GroupStage.STABLE, -9) == -9
    assert settled(1, GroupStage.REBALANCING, 1) == 1
    assert settled(2, GroupStage.REBALANCING, 1) == 1
    assert settled(3, GroupStage.STABLE, -9) == 2
    assert settled(4, GroupStage.STABLE, 3) == 3
    assert settled(5, GroupStage.STABLE, 3) == 3


def test_a_log_that_was_cut_and_written_past_starts_a_new_history() -> None:
    """A commit shows it: the records before its offset are of an epoch that began after they were written.

    After a clean election the history stays, whatever the epochs of commits at or after the former end. It also stays
    at a commit that was saved from another topic, with an epoch that this one has not reached.
    """

    def ends(tick: int, epoch: int, end: int, commit: int, commit_epoch: int) -> Any:
        seen = at(tick, {"a": (0, end, end)})
        return dataclasses.replace(
            seen,
            ends=dataclasses.replace(seen.ends, leader_epoch=np.array([epoch], np.int32)),
            spans=dataclasses.replace(seen.spans, last_offset=np.array([commit])),
            origins=dataclasses.replace(seen.origins, leader_epoch=np.array([commit_epoch], np.int32)),
        )

    kept = [100, 130, 140]
    for commit, commit_epoch, points in ((90, 4, kept), (100, 5, kept), (90, 6, kept), (90, 5, [140])):
        history = PartitionHistory()
        history.observe(ends(0, 4, 100, 50, 4))
        history.observe(ends(1, 5, 130, 50, 4))
        rows = history.observe(ends(2, 5, 140, commit, commit_epoch))
        assert history.high_watermark.points(int(rows[0]))[1] == points


def test_a_recreated_topic_starts_a_new_history() -> None:
    """A recreated topic has a new history, although its ends alone would look like growth."""
    history = PartitionHistory()
    history.observe(at(0, {"a": (2, 5, 5)}))
    rows = history.observe(at(1, {"a": (2, 8, 9)}, recreated=["a"]))
    assert history.high_watermark.points(int(rows[0])) == ([NOW + TICK], [9])
    assert history.log_start.points(int(rows[0])) == ([NOW + TICK], [2])


def test_the_history_has_the_time_since_which_the_last_stable_offset_is_unchanged() -> None:
    """The time exists only while the offset is below the high watermark; each move sets a new time."""
    history = PartitionHistory()
    since = []
    for tick, (stable, high) in enumerate([(5, 5), (5, 8), (5, 9), (7, 9), (7, 9), (9, 9), (9, 9)]):
        rows = history.observe(at(tick, {"a": (0, stable, high)}))
        since.append(int(history.states.stable_since(rows)[0]))
    ticks = [(each - NOW) // TICK if each >= 0 else -1 for each in since]
    assert ticks == [-1, 1, 1, 3, 3, -1, -1]
    assert history.states.stable_since(np.array([-1], np.int64)).tolist() == [-1]
    assert PartitionHistory().states.stable_since(np.array([0], np.int64)).tolist() == [-1]


def test_a_partition_without_a_commit_keeps_its_start_time() -> None:
    """The partition keeps its start time through rebalances and short absences, and not after a long absence."""
    history, row = PartitionHistory(tick=TICK), np.zeros(1, np.int64)

    def since(tick: int, formed: int, rows: np.ndarray[Any, np.dtype[np.int64]] = row) -> list[int]:
        seen = pane(Row()).inputs
        groups = dataclasses.replace(seen.groups, since=np.array([NOW + formed * TICK]))
        seen = dataclasses.replace(seen, now=NOW + tick * TICK, groups=groups)
        return [(time - NOW) // TICK for time in history.uncommitted_since(seen, rows, 3 * TICK).tolist()]

    assert since(0, -5) == [-5]
    assert since(1, 1) == [-5], "a rebalance"
    assert since(2, 2, row[:0]) == []
    assert since(4, 4) == [-5], "away for three ticks"
    assert since(5, 4, row[:0]) == []
    assert since(9, 8) == [8], "away for longer"


def test_a_fallen_end_is_remembered_until_it_reaches_its_former_offset() -> None:
    """A fall counts from the second tick on, because a new leader may report less for a moment.

    A recreated topic has no fall.
    """
    history, cut = PartitionHistory(), []
    for tick, high in enumerate([90, 50, 90, 50, 50, 60, 40, 89, 90, 91]):
        rows = history.observe(at(tick, {"a": (0, high, high), "b": (0, 7, 7)}))
        cut.append(history.states.is_truncated(rows, NOW + tick * TICK).tolist()[0])
        assert not history.states.is_truncated(rows, NOW + tick * TICK)[1]
    assert cut == [False, False, False, False, True, True, True, True, False, False]
    history.observe(at(10, {"a": (0, 5, 5)}))
    rows = history.observe(at(11, {"a": (0, 5, 5)}, recreated=["a"]))
    assert history.states.is_truncated(rows, NOW + 11 * TICK).tolist() == [False]
    assert history.states.is_truncated(np.array([-1], np.int64), NOW).tolist() == [False]
    assert PartitionHistory().states.is_truncated(np.array([0], np.int64), NOW).tolist() == [False]
