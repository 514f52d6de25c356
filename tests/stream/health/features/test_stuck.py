"""Rows that are stuck, that only pause, and that no member can read."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from stream.health.features.control_records import TailState
from stream.health.features.stuck import (
    overdue_rows,
    paused_rows,
    proven_stuck_rows,
    readable_rows,
    stuck_rows,
    unowned_rows,
)
from stream.health.inputs import NO_OWNER, GroupStage
from tests.stream.health.columns import ints
from tests.stream.health.panes import Row, pane

RESTART = 30_000


def flags(*values: bool) -> np.ndarray:
    """Return a column of flags."""
    return np.array(values, np.bool_)


@pytest.mark.parametrize(
    ("row", "unowned"),
    [
        pytest.param(Row(owner=0, subscribed=1), False, id="a member owns the partition"),
        pytest.param(Row(owner=NO_OWNER, subscribed=1), True, id="no member owns the partition"),
        pytest.param(Row(owner=-1, subscribed=1), False, id="the owner is not known"),
        pytest.param(Row(owner=-1, subscribed=0, members=2), True, id="no member subscribes to the topic"),
        pytest.param(Row(owner=-1, subscribed=0, members=0), False, id="there are no members to subscribe"),
        pytest.param(Row(owner=-1, subscribed=-1, members=2), False, id="subscriptions are not known"),
    ],
)
def test_unowned_rows(row: Row, unowned: bool) -> None:  # noqa: FBT001 - a table
    """A partition is unowned if none of the known members owns it or subscribes to its topic."""
    assert unowned_rows(pane(row).inputs).tolist() == [unowned]


def test_without_assignments_no_row_is_unowned() -> None:
    """The columns of owners and subscriptions are optional."""
    inputs = dataclasses.replace(pane(Row(owner=NO_OWNER)).inputs, owner=None, subscribed=None)
    assert unowned_rows(inputs).tolist() == [False]


@pytest.mark.parametrize(
    ("stage", "unowned", "excused", "readable"),
    [
        pytest.param(GroupStage.STABLE, False, False, True, id="stable"),
        pytest.param(GroupStage.OFFSETS_ONLY, False, False, True, id="a simple group has no members to lose"),
        pytest.param(GroupStage.UNKNOWN, False, False, True, id="the stage is not known"),
        pytest.param(GroupStage.EMPTY, False, False, False, id="empty"),
        pytest.param(GroupStage.REBALANCING, False, False, False, id="rebalancing"),
        pytest.param(GroupStage.STABLE, True, False, False, id="unowned"),
        pytest.param(GroupStage.STABLE, False, True, False, id="excused"),
    ],
)
def test_readable_rows(stage: GroupStage, unowned: bool, excused: bool, readable: bool) -> None:  # noqa: FBT001 - a table
    """A member can read a partition of a settled group that has an owner and no recent outage."""
    found = readable_rows(np.array([stage], np.int8), flags(unowned), flags(excused))
    assert found.tolist() == [readable]


@pytest.mark.parametrize(
    ("idle", "settled", "patience", "overdue"),
    [
        pytest.param(20_001, 100_000, 20_000, True, id="idle for longer than its patience"),
        pytest.param(20_000, 100_000, 20_000, False, id="idle for exactly its patience"),
        pytest.param(90_000, 20_000, 20_000, False, id="settled for exactly its patience"),
        pytest.param(90_000, 20_001, 20_000, True, id="settled for longer than its patience"),
        pytest.param(90_000, RESTART + 1, 60_000, True, id="settled for longer than a restart takes"),
        pytest.param(90_000, RESTART, 60_000, False, id="settled for exactly as long as a restart takes"),
    ],
)
def test_overdue_rows(idle: int, settled: int, patience: int, overdue: bool) -> None:  # noqa: FBT001 - a table
    """A row is overdue if it has been idle for longer than its patience in a group that has settled."""
    assert overdue_rows(ints(idle), ints(settled), ints(patience), RESTART).tolist() == [overdue]


STUCK = {
    "stuck": (True, True, True, False, False, True),
    "nothing is unread": (False, True, True, False, False, False),
    "no member can read it": (True, False, True, False, False, False),
    "not overdue": (True, True, False, False, False, False),
    "a member may read it since its restart": (True, True, True, True, False, False),
    "before a transaction that may still end in time": (True, True, True, False, True, False),
}


@pytest.mark.parametrize("case", STUCK.values(), ids=STUCK)
def test_stuck_rows(case: tuple[bool, ...]) -> None:
    """All conditions are necessary: unread, readable, overdue, not restarting, not before a new transaction."""
    *columns, stuck = case
    assert stuck_rows(*(flags(column) for column in columns)).tolist() == [stuck]


@pytest.mark.parametrize(
    ("stuck", "pending", "unproven", "proven"),
    [
        pytest.param(True, False, False, True, id="the tail holds data, or is too long to hold none"),
        pytest.param(True, True, False, False, id="the tail has not been read yet"),
        pytest.param(True, False, True, False, id="the tail cannot be read"),
        pytest.param(False, False, False, False, id="not stuck"),
    ],
)
def test_proven_stuck_rows(stuck: bool, pending: bool, unproven: bool, proven: bool) -> None:  # noqa: FBT001 - a table
    """A row is stuck only if it is proven that its tail has an unread record."""
    no = flags(False)
    tail = TailState(no, flags(pending), flags(unproven), ints(0), no)
    assert proven_stuck_rows(flags(stuck), tail).tolist() == [proven]


@pytest.mark.parametrize(
    ("unread", "idle", "stuck", "paused"),
    [
        pytest.param(True, 20_001, False, True, id="idle and not stuck"),
        pytest.param(True, 20_001, True, False, id="stuck"),
        pytest.param(True, 20_000, False, False, id="within its patience"),
        pytest.param(False, 20_001, False, False, id="nothing is unread"),
    ],
)
def test_paused_rows(unread: bool, idle: int, stuck: bool, paused: bool) -> None:  # noqa: FBT001 - a table
    """A paused row has been idle for longer than its patience for a reason that is no fault."""
    assert paused_rows(flags(unread), ints(idle), ints(20_000), flags(stuck)).tolist() == [paused]
