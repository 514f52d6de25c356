"""Rows that are stuck, and the time without progress of rows without a commit."""

from typing import Any

import numpy as np
import pytest

from stream.health.features.end_history import EndHistory
from stream.health.features.lag_trend import stuck_rows, unowned_rows
from stream.health.features.time_lag import idle_times_without_commit, restarting_rows
from stream.health.inputs import NO_OWNER
from tests.stream.health.columns import ints
from tests.stream.health.panes import NOW, Row, pane
from tests.stream.health.tables import wrong


def flags(*values: bool) -> np.ndarray:
    return np.array(values, np.bool_)


def test_unowned_rows() -> None:
    """A partition is unowned if none of the known members owns it or subscribes to its topic."""
    stories = {
        "a member owns the partition": (Row(owner=0, subscribed=1), False),
        "no member owns the partition": (Row(owner=NO_OWNER, subscribed=1), True),
        "the owner is not known": (Row(owner=-1, subscribed=1), False),
        "no member subscribes to the topic": (Row(owner=-1, subscribed=0, members=2), True),
        "there are no members to subscribe": (Row(owner=-1, subscribed=0, members=0), False),
        "subscriptions are not known": (Row(owner=-1, subscribed=-1, members=2), False),
    }
    assert wrong(stories, lambda row: unowned_rows(pane(row).inputs).tolist()[0]) == []


def test_stuck_rows() -> None:
    """All conditions are necessary: unread, readable, overdue, not restarting, not before a new transaction."""
    stories = {
        "stuck": (True, True, True, False, False, True),
        "nothing is unread": (False, True, True, False, False, False),
        "no member can read it": (True, False, True, False, False, False),
        "not overdue": (True, True, False, False, False, False),
        "a member may read it since its restart": (True, True, True, True, False, False),
        "before a transaction that may still end in time": (True, True, True, False, True, False),
    }
    assert wrong(stories, lambda *columns: stuck_rows(*map(flags, columns))[0]) == []


def test_idle_times_without_commit() -> None:
    """A partition without a commit is idle since its first record; the test writes one record a second for 50 s."""
    history = EndHistory()
    history.grow(1)
    for at in range(NOW - 100_000, NOW + 1, 10_000):
        history.observe(ints(0), at, ints(max(at - (NOW - 50_000), 0) // 1_000))

    def idle(uncommitted: bool, since: int, before: int) -> Any:  # noqa: FBT001 - a table
        args = history, ints(0), np.array([uncommitted]), ints(since), ints(NOW)
        return pytest.approx(idle_times_without_commit(ints(before), *args)[0], abs=1_000)

    stories = {
        "records have come for longer than since the rebalance": (True, NOW - 60_000, 5_000, 50_000),
        "since the start time of the partition": (True, NOW - 20_000, 5_000, 20_000),
        "unknown start time of the partition": (True, -1, 5_000, 50_000),
        "nothing is unread": (True, NOW - 60_000, 0, 0),
        "with a commit": (False, NOW - 60_000, 5_000, 5_000),
    }
    assert wrong(stories, idle) == []


def test_restarting_rows() -> None:
    """The monitor cannot know whether a member reads an uncommitted partition within the time of a restart (30 s)."""
    idle, uncommitted = ints(30_000, 30_001, 1), np.array([True, True, False])
    assert restarting_rows(idle, uncommitted, 30_000).tolist() == [True, False, False]
