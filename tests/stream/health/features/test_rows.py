"""Rows that are stuck, paused, undecided or excused, their time without progress and their measured position."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from stream.health.features import lag_trend
from stream.health.features.control_records import TailState
from stream.health.features.end_history import EndHistory
from stream.health.features.excused import excused_rows, latest_outage_end
from stream.health.features.idle_time import idle_times, idle_times_without_commit, restarting_rows
from stream.health.features.measurements import ends_at_rest, first_unread_offsets, known_until
from stream.health.features.stuck import (
    overdue_rows,
    paused_rows,
    proven_stuck_rows,
    readable_rows,
    stuck_rows,
    unowned_rows,
)
from stream.health.features.time_lag import TimeLag
from stream.health.features.undecided import (
    observed_since,
    outage_rows,
    undecided_rows,
    unheard_rows,
    young_rows,
    young_uncommitted_rows,
)
from stream.health.inputs import NO_COMMIT, NO_OWNER, GroupStage
from tests.stream.health.columns import ints
from tests.stream.health.panes import NOW, Row, pane
from tests.stream.health.tables import wrong

RESTART = 30_000


def flags(*values: bool) -> np.ndarray:
    """Return a column of flags."""
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


def test_without_assignments_no_row_is_unowned() -> None:
    """The columns of owners and subscriptions are optional."""
    inputs = dataclasses.replace(pane(Row(owner=NO_OWNER)).inputs, owner=None, subscribed=None)
    assert unowned_rows(inputs).tolist() == [False]


def test_readable_rows() -> None:
    """A member can read a partition of a settled group that has an owner and no recent outage."""
    stories = {
        "stable": (GroupStage.STABLE, False, False, True),
        "a simple group has no members to lose": (GroupStage.OFFSETS_ONLY, False, False, True),
        "the stage is not known": (GroupStage.UNKNOWN, False, False, True),
        "empty": (GroupStage.EMPTY, False, False, False),
        "rebalancing": (GroupStage.REBALANCING, False, False, False),
        "unowned": (GroupStage.STABLE, True, False, False),
        "excused": (GroupStage.STABLE, False, True, False),
    }
    assert wrong(stories, lambda stage, *given: readable_rows(np.array([stage], np.int8), *map(flags, given))[0]) == []


def test_overdue_rows() -> None:
    """A row is overdue if it has been idle for longer than its patience in a group that has settled."""
    stories = {
        "idle for longer than its patience": (20_001, 100_000, 20_000, True),
        "idle for exactly its patience": (20_000, 100_000, 20_000, False),
        "settled for exactly its patience": (90_000, 20_000, 20_000, False),
        "settled for longer than its patience": (90_000, 20_001, 20_000, True),
        "settled for longer than a restart takes": (90_000, RESTART + 1, 60_000, True),
        "settled for exactly as long as a restart takes": (90_000, RESTART, 60_000, False),
    }

    def overdue(idle: int, settled: int, patience: int) -> bool:
        return bool(overdue_rows(ints(idle), ints(settled), ints(patience), RESTART)[0])

    assert wrong(stories, overdue) == []


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


def test_proven_stuck_rows() -> None:
    """A row is stuck only if it is proven that its tail has an unread record."""
    stories = {
        "the tail holds data, or is too long to hold none": (True, False, False, True),
        "the tail has not been read yet": (True, True, False, False),
        "the tail cannot be read": (True, False, True, False),
        "not stuck": (False, False, False, False),
    }

    def proven(stuck: bool, pending: bool, unproven: bool) -> bool:  # noqa: FBT001 - a table
        no = flags(False)
        return bool(proven_stuck_rows(flags(stuck), TailState(no, flags(pending), flags(unproven), ints(0), no))[0])

    assert wrong(stories, proven) == []


def test_paused_rows() -> None:
    """A paused row has been idle for longer than its patience for a reason that is no fault."""
    stories = {
        "idle and not stuck": (True, 20_001, False, True),
        "stuck": (True, 20_001, True, False),
        "within its patience": (True, 20_000, False, False),
        "nothing is unread": (False, 20_001, False, False),
    }

    def paused(unread: bool, idle: int, stuck: bool) -> bool:  # noqa: FBT001 - a table
        return bool(paused_rows(flags(unread), ints(idle), ints(20_000), flags(stuck))[0])

    assert wrong(stories, paused) == []


TICK, PATIENCE = 10_000, 60_000


def test_observed_since() -> None:
    """A row is observed since its oldest known end; before any end is known, since now."""
    history = EndHistory()
    assert observed_since(history, ints(-1, -1), NOW).tolist() == [NOW, NOW]
    history.grow(2)
    history.observe(ints(1), NOW - 50, ints(7))
    assert observed_since(history, ints(0, 1), NOW).tolist() == [-1, NOW - 50]


def test_young_rows() -> None:
    """A row is young if the history needed (since 100) is not there and its age or trend depends on it."""
    stories = {
        "the age is only a lower bound": (True, False, 70_000, lag_trend.LEVEL, 101, True),
        "late, with too few commits for a trend": (True, True, 70_000, lag_trend.TOO_SHORT, 101, True),
        "late, with a trend": (True, True, 70_000, lag_trend.LEVEL, 101, False),
        "not late": (True, True, PATIENCE, lag_trend.TOO_SHORT, 101, False),
        "observed for long enough": (True, False, 70_000, lag_trend.LEVEL, 100, False),
        "nothing is unread": (False, False, 0, lag_trend.LEVEL, 101, False),
    }

    def young(unread: bool, exact: bool, age: int, trend: int, observed: int) -> bool:  # noqa: FBT001 - a table
        time_lag, trends = TimeLag(ints(age), flags(exact), ints(0)), np.array([trend], np.int8)
        return bool(young_rows(flags(unread), time_lag, trends, ints(PATIENCE), ints(100), ints(observed))[0])

    assert wrong(stories, young) == []


def test_young_uncommitted_rows() -> None:
    """The records written between the forming of the group (at 100) and the first observation are not known."""
    stories = {
        "first observed after the group formed": (True, False, False, 101, True),
        "observed when the group formed": (True, False, False, 100, False),
        "the partition is empty": (True, True, False, 101, False),
        "stuck": (True, False, True, 101, False),
        "with a commit": (False, False, False, 101, False),
    }

    def young(uncommitted: bool, empty: bool, stuck: bool, observed: int) -> bool:  # noqa: FBT001 - a table
        columns = flags(uncommitted), flags(empty), flags(stuck)
        return bool(young_uncommitted_rows(*columns, ints(100), ints(observed))[0])

    assert wrong(stories, young) == []


def test_outage_rows() -> None:
    """A commit window (since 500) with an outage in it shows no usual pace."""
    stories = {
        "an outage within the commit window": (501, 2 * TICK + 1, True),
        "an outage before it": (500, 2 * TICK + 1, False),
        "not late": (501, 2 * TICK, False),
        "no outage": (-1, 2 * TICK + 1, False),
    }
    assert wrong(stories, lambda end, age: outage_rows(ints(end), ints(500), ints(age), TICK)[0]) == []


def test_unheard_rows() -> None:
    """The group may have read everything with the commits that are not known."""
    stories = {
        "its commits are not known for longer than its patience": (True, PATIENCE + 1, False, True),
        "its commits are known": (True, PATIENCE, False, False),
        "an outage": (True, 0, True, True),
        "nothing is unread": (False, PATIENCE + 1, True, False),
    }

    def unheard(unread: bool, behind: int, outage: bool) -> bool:  # noqa: FBT001 - a table
        return bool(unheard_rows(flags(unread), ints(NOW - behind), ints(PATIENCE), flags(outage), NOW)[0])

    assert wrong(stories, unheard) == []


def test_undecided_rows() -> None:
    """Each of the four reasons is sufficient."""
    reasons = np.vstack([np.zeros((1, 4), np.bool_), np.eye(4, dtype=np.bool_)])
    assert undecided_rows(*reasons.T).tolist() == [False, True, True, True, True]


REBALANCE, GRACE = 60_000, 30_000


def test_the_latest_outage_counts() -> None:
    """The latest outage is that of the partition or of the coordinator, or of the partition without coordinators."""
    assert latest_outage_end(ints(-1, 5, 9, -1), ints(-1, 7, 3, 4)).tolist() == [-1, 7, 9, 4]
    assert latest_outage_end(ints(-1, 5), None).tolist() == [-1, 5]


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


def test_idle_times_without_commit_do_not_change_their_argument() -> None:
    """The window keeps the original for `restarting_rows`."""
    history, idle = EndHistory(), ints(7)
    history.grow(1)
    history.observe(ints(0), NOW - 10, ints(1))
    idle_times_without_commit(idle, history, ints(0), np.array([True]), ints(NOW - 50), ints(NOW))
    assert idle.tolist() == [7]


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


def test_commits_are_known_up_to_the_tick_at_most() -> None:
    """Later commits belong to the next tick; without the column all commits are known."""
    inputs = pane(Row(), Row(group="other")).inputs
    assert known_until(inputs).tolist() == [NOW, NOW]
    late = dataclasses.replace(inputs, read_until=ints(NOW + 5, NOW - 7))
    assert known_until(late).tolist() == [NOW, NOW - 7]


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


def test_ends_at_rest() -> None:
    """An end is at rest if it is the same as at the given time."""
    stories = {
        "end not moved since": (0, 10_000, True),
        "end moved since": (0, 30_000, False),
        "end not observed at that time": (0, 500_000, False),
        "unknown end": (-1, 10_000, False),
    }
    assert wrong(stories, lambda row, ago: ends_at_rest(growing(), ints(row), ints(80), NOW - ago)[0]) == []
