"""Commit intervals, unread shares and hot partitions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from stream.groups.commits.slots import Slots
from stream.tick.snapshot.throughput import commit_intervals, hot_ratios, throughput_columns

NAN = float("nan")


class _Rows(SimpleNamespace):
    """A stand-in for four rows."""

    def __len__(self) -> int:
        return 4


def slots(*rows: tuple[int, int, int]) -> Slots:
    """Return slots from row, time of the last commit (ms) and number of commits."""
    row, time, commits = np.array(rows, np.int64).reshape(-1, 3).T
    return Slots(row, time // 1000, time, time, commits)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([(0, 1000, 9), (0, 6000, 1)], 5000, id="one commit after that of the first slot"),
        pytest.param([(0, 1000, 1), (0, 6000, 5), (0, 11_000, 5)], 1000, id="ten commits in ten seconds"),
        pytest.param([(0, 1000, 7)], -1, id="one slot only"),
        pytest.param([], -1, id="no commit"),
    ],
)
def test_the_mean_time_between_commits(rows: list[tuple[int, int, int]], expected: int) -> None:
    """The mean is over the time from the last commit of the first slot to the last commit of the last slot."""
    assert commit_intervals(slots(*rows), 1).tolist() == [expected]


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


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        pytest.param([90.0, 10.0, 20.0, 30.0], [4.5, None, None, None], id="far above the others"),
        pytest.param([59.0, 10.0, 20.0, 30.0], [None] * 4, id="less than three times the mean"),
        pytest.param([90.0, 10.0], [None] * 2, id="one other partition only"),
        pytest.param([90.0, NAN, NAN, 1.0], [None] * 4, id="unknown rates of other partitions"),
        pytest.param([90.0, 0.0, 0.0], [90.0, None, None], id="idle partitions count as one record per second"),
        pytest.param([2.0, 0.1, 0.1], [None] * 3, id="too few records to compare"),
        pytest.param([], [], id="no partition"),
    ],
)
def test_hot_partitions(rates: list[float], expected: list[float | None]) -> None:
    """A hot partition grows at least three times as fast as the mean of the other partitions of its topic."""
    topic = np.zeros(len(rates), np.int64)
    assert hot_ratios(topic, np.array(rates, np.float64)).to_pylist() == expected


def test_partitions_are_compared_within_their_topic() -> None:
    """A busy topic does not make its partitions hot."""
    topic = np.array([0, 0, 0, 1, 1, 1])
    rates = np.array([1.0, 1.0, 1.0, 500.0, 500.0, 500.0])
    assert hot_ratios(topic, rates).to_pylist() == [None] * 6
