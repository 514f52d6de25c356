"""Commit intervals, unread shares and hot partitions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from stream.groups.commits.slots import Slots
from stream.tick.snapshot.throughput import commit_intervals, hot_ratios, throughput_columns
from tests.stream.health.tables import wrong

NAN = float("nan")


class _Rows(SimpleNamespace):
    """A stand-in for four rows."""

    def __len__(self) -> int:
        return 4


def slots(*rows: tuple[int, int, int]) -> Slots:
    """Return slots from row, time of the last commit (ms) and number of commits."""
    row, time, commits = np.array(rows, np.int64).reshape(-1, 3).T
    return Slots(row, time // 1000, time, time, commits)


def test_the_mean_time_between_commits() -> None:
    """The mean is over the time from the last commit of the first slot to the last commit of the last slot."""
    stories = {
        "one commit after that of the first slot": ([(0, 1000, 9), (0, 6000, 1)], [5000]),
        "ten commits in ten seconds": ([(0, 1000, 1), (0, 6000, 5), (0, 11_000, 5)], [1000]),
        "one slot only": ([(0, 1000, 7)], [-1]),
        "no commit": ([], [-1]),
    }
    assert wrong(stories, lambda rows: commit_intervals(slots(*rows), 1).tolist()) == []


def test_each_row_has_its_own_interval() -> None:
    """A row without slots has no interval."""
    found = commit_intervals(slots((0, 0, 1), (0, 4000, 2), (2, 0, 1), (2, 9000, 1)), 3)
    assert found.tolist() == [2000, -1, 9000]


def test_a_group_has_the_shortest_interval_and_the_greatest_unread_share() -> None:
    """The values are over the partitions of a group where they are known; a group without any has neither."""
    rows = _Rows(groups=["a", "b", "c"], group=np.array([0, 0, 1, 1]), committed=np.array([True] * 3 + [False]))
    window = _Rows(
        inputs=SimpleNamespace(slots=slots((0, 0, 1), (0, 9000, 1), (1, 0, 1), (1, 2000, 1))),
        known=np.array([True, True, True, True]),
        lag=np.array([30, 5, 0, 8]),
        ends=SimpleNamespace(margin=np.array([10, 95, 0, 8])),
    )
    found = {name: column.to_pylist() for name, column in throughput_columns(rows, window).items()}
    assert found == {"commit_interval": [2.0, None, None], "unread_ratio": [0.75, 0.0, None]}


def test_hot_partitions() -> None:
    """A hot partition grows at least three times as fast as the mean of the other partitions of its topic."""
    stories = {
        "far above the others": ([90.0, 10.0, 20.0, 30.0], [4.5, None, None, None]),
        "less than three times the mean": ([59.0, 10.0, 20.0, 30.0], [None] * 4),
        "one other partition only": ([90.0, 10.0], [None] * 2),
        "unknown rates of other partitions": ([90.0, NAN, NAN, 1.0], [None] * 4),
        "idle partitions count as one record per second": ([90.0, 0.0, 0.0], [90.0, None, None]),
        "too few records to compare": ([2.0, 0.1, 0.1], [None] * 3),
        "no partition": ([], []),
    }

    def ratios(rates: list[float]) -> list[float | None]:
        return hot_ratios(np.zeros(len(rates), np.int64), np.array(rates, np.float64)).to_pylist()  # type: ignore[no-any-return]

    assert wrong(stories, ratios) == []


def test_partitions_are_compared_within_their_topic() -> None:
    """A busy topic does not make its partitions hot."""
    topic = np.array([0, 0, 0, 1, 1, 1])
    rates = np.array([1.0, 1.0, 1.0, 500.0, 500.0, 500.0])
    assert hot_ratios(topic, rates).to_pylist() == [None] * 6
