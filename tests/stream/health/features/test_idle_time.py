"""The time without progress of rows."""

from __future__ import annotations

import numpy as np
import pytest

from stream.health.features.end_history import EndHistory
from stream.health.features.idle_time import idle_times, idle_times_without_commit, restarting_rows
from stream.health.features.time_lag import TimeLag
from tests.stream.health.columns import ints

NOW = 1_000_000


@pytest.mark.parametrize(
    ("unread", "written", "progress", "readable", "idle"),
    [
        pytest.param(True, NOW - 50, NOW - 90, -1, 50, id="since the oldest unread record was written"),
        pytest.param(True, NOW - 90, NOW - 40, -1, 40, id="since the offset advanced"),
        pytest.param(True, NOW - 90, NOW - 80, NOW - 30, 30, id="since the record became readable"),
        pytest.param(True, NOW + 5, NOW - 80, -1, 0, id="record newer than the known commits"),
        pytest.param(False, NOW - 50, NOW - 90, -1, 0, id="nothing is unread"),
        pytest.param(True, -1, NOW - 90, -1, 0, id="the age of the record is not known"),
    ],
)
def test_idle_times(unread: bool, written: int, progress: int, readable: int, idle: int) -> None:  # noqa: FBT001 - a table
    """The idle time begins with the latest of three times and ends where commits are known."""
    age = TimeLag(ints(0), np.array([True]), ints(written))
    assert idle_times(age, np.array([unread]), ints(progress), ints(readable), ints(NOW)).tolist() == [idle]


@pytest.mark.parametrize(
    ("uncommitted", "since", "idle", "counted"),
    [
        pytest.param(True, NOW - 60_000, 5_000, 50_000, id="records have come for longer than since the rebalance"),
        pytest.param(True, NOW - 20_000, 5_000, 20_000, id="since the start time of the partition"),
        pytest.param(True, -1, 5_000, 50_000, id="unknown start time of the partition"),
        pytest.param(True, NOW - 60_000, 0, 0, id="nothing is unread"),
        pytest.param(False, NOW - 60_000, 5_000, 5_000, id="with a commit"),
    ],
)
def test_idle_times_without_commit(uncommitted: bool, since: int, idle: int, counted: int) -> None:  # noqa: FBT001 - a table
    """A partition without a commit is idle since its first record; the test writes one record a second for 50 s."""
    history = EndHistory()
    history.grow(1)
    for at in range(NOW - 100_000, NOW + 1, 10_000):
        history.observe(ints(0), at, ints(max(at - (NOW - 50_000), 0) // 1_000))
    found = idle_times_without_commit(ints(idle), history, ints(0), np.array([uncommitted]), ints(since), ints(NOW))
    assert found[0] == pytest.approx(counted, abs=1_000)


def test_idle_times_without_commit_do_not_change_their_argument() -> None:
    """The window keeps the original for `restarting_rows`."""
    history, idle = EndHistory(), ints(7)
    history.grow(1)
    history.observe(ints(0), NOW - 10, ints(1))
    idle_times_without_commit(idle, history, ints(0), np.array([True]), ints(NOW - 50), ints(NOW))
    assert idle.tolist() == [7]


@pytest.mark.parametrize(
    ("uncommitted", "idle", "restarting"),
    [
        pytest.param(True, 30_000, True, id="within the time of a restart"),
        pytest.param(True, 30_001, False, id="for longer"),
        pytest.param(False, 1, False, id="with a commit"),
    ],
)
def test_restarting_rows(uncommitted: bool, idle: int, restarting: bool) -> None:  # noqa: FBT001 - a table
    """The monitor cannot know whether a member reads an uncommitted partition right after a rebalance."""
    assert restarting_rows(ints(idle), np.array([uncommitted]), 30_000).tolist() == [restarting]
