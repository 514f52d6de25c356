"""Rows that are stuck, paused, undecided or excused, their time without progress and their measured position."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from stream.health.features.end_history import EndHistory
from stream.health.features.idle_time import idle_times, idle_times_without_commit, restarting_rows
from stream.health.features.measurements import first_unread_offsets
from stream.health.features.stuck import (
    stuck_rows,
    unowned_rows,
)
from stream.health.features.undecided import excused_rows
from stream.health.inputs import NO_COMMIT, NO_OWNER
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


REBALANCE, GRACE = 60_000, 30_000


def test_excused_rows() -> None:
    """The grace period begins with the end of the outage, or with the end of the rebalance that follows it."""

    def excused(outage_ago: int | None, settled_ago: int) -> bool:
        outage_end = ints(-1 if outage_ago is None else NOW - outage_ago)
        return bool(excused_rows(outage_end, ints(NOW - settled_ago), ints(NOW), ints(GRACE), REBALANCE)[0])

    stories = {
        "no outage": (None, 5_000, False),
        "an outage that ended within the grace period": (GRACE, 500_000, True),
        "an outage that ended earlier": (GRACE + 1, 500_000, False),
        "came back by a rebalance that has just ended": (80_000, 20_000, True),
        "came back by a rebalance and had its grace period": (80_000, GRACE + 1, False),
        "a rebalance long after the outage": (20_000 + REBALANCE + GRACE + 1, 20_000, False),
    }
    assert wrong(stories, excused) == []


def test_idle_times() -> None:
    """The idle time begins with the latest of three times and ends where commits are known."""

    def idle(unread: bool, written: int, progress: int, readable: int) -> int:  # noqa: FBT001 - a table
        return int(idle_times(ints(written), np.array([unread]), ints(progress), ints(readable), ints(NOW))[0])

    stories = {
        "since the oldest unread record was written": (True, NOW - 50, NOW - 90, -1, 50),
        "since the offset advanced": (True, NOW - 90, NOW - 40, -1, 40),
        "since the record became readable": (True, NOW - 90, NOW - 80, NOW - 30, 30),
        "record newer than the known commits": (True, NOW + 5, NOW - 80, -1, 0),
        "nothing is unread": (False, NOW - 50, NOW - 90, -1, 0),
        "the age of the record is not known": (True, -1, NOW - 90, -1, 0),
    }
    assert wrong(stories, idle) == []


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


def growing() -> EndHistory:
    """Return the history of a partition with one record a second since 100 s, and no more for the last 20 s."""
    history = EndHistory()
    history.grow(1)
    for ago in range(100_000, -1, -10_000):
        history.observe(ints(0), NOW - ago, ints((100_000 - max(ago, 20_000)) // 1_000))
    return history


def test_first_unread_offsets() -> None:
    """The first unread offset is the commit, or the end when the group formed, but not below the log start."""
    stories = {
        "the commit": (Row(committed=30), 10, 0, True, 30),
        "the log start above the commit": (Row(committed=5), 10, 0, True, 10),
        "no commit: the end when the group formed": (Row(committed=NO_COMMIT), 10, 60_000, True, 40),
        "no commit: not below the log start": (Row(committed=NO_COMMIT), 50, 60_000, True, 50),
        "no commit: the oldest known end": (Row(committed=NO_COMMIT), 10, 900_000, True, 10),
        "no commit and no known lag": (Row(committed=NO_COMMIT), 10, 60_000, False, 10),
    }

    def first(row: Row, log_start: int, formed_ago: int, known: bool) -> int:  # noqa: FBT001 - a table
        inputs = pane(row).inputs
        inputs = dataclasses.replace(inputs, groups=dataclasses.replace(inputs.groups, since=ints(NOW - formed_ago)))
        return int(first_unread_offsets(inputs, growing(), ints(0), np.array([known]), ints(log_start))[0])

    assert wrong(stories, first) == []
