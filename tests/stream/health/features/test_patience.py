"""The time that groups may leave records unread."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from stream.groups.commits.slots import Slots, no_slots
from stream.health.features.commit_interval import slots_of_rows
from stream.health.features.end_history import EndHistory
from stream.health.features.patience import (
    Patience,
    learn_patience,
    sibling_patience,
    suspect_rows,
    transaction_patience,
)
from stream.health.inputs import NO_COMMIT
from stream.health.limits import HealthLimits
from tests.stream.health.columns import ints
from tests.stream.health.panes import MINUTE, NOW, SECOND, Row, pane

LIMITS = HealthLimits()
TICK = LIMITS.tick


@pytest.mark.parametrize(
    ("unread", "age", "suspect"),
    [
        pytest.param(True, 2 * TICK + 1, True, id="more than two ticks old"),
        pytest.param(True, 2 * TICK, False, id="two ticks old"),
        pytest.param(False, 2 * TICK + 1, False, id="nothing is unread"),
    ],
)
def test_suspect_rows(unread: bool, age: int, suspect: bool) -> None:  # noqa: FBT001 - a table
    """Only rows whose record has waited for more than two ticks can have a fault."""
    assert suspect_rows(np.array([unread]), ints(age), TICK).tolist() == ([0] if suspect else [])


def commits_every(minutes: float, rows: int = 1) -> Slots:
    """Return slots with progress at this interval of minutes."""
    time = NOW - int(minutes * MINUTE) * np.arange(5, -1, -1)
    row = np.repeat(np.arange(rows), len(time))
    time = np.tile(time, rows)
    return Slots(row, time // LIMITS.slot, time, time, np.ones(len(time), np.int64))


@pytest.mark.parametrize(
    ("row", "minutes", "patience", "is_default"),
    [
        pytest.param(Row(), 2, 4 * MINUTE + TICK, False, id="twice its longest wait and a tick"),
        pytest.param(Row(committed=NO_COMMIT), 0, LIMITS.first_commit_grace, False, id="no commit yet"),
        pytest.param(Row(commits=1), 0, LIMITS.unlearned, True, id="one commit and no siblings"),
    ],
)
def test_a_suspect_has_the_patience_of_its_commits(row: Row, minutes: int, patience: int, is_default: bool) -> None:  # noqa: FBT001 - a table
    """The patience is learned from slots; a default applies without slots."""
    slots = commits_every(minutes) if minutes else no_slots()
    inputs = dataclasses.replace(pane(row).inputs, slots=slots)
    if not minutes:
        spans = dataclasses.replace(inputs.spans, commits=ints(1))
        inputs = dataclasses.replace(inputs, spans=spans)
    history = EndHistory()
    history.grow(1)
    found = learn_patience(inputs, history, LIMITS, ints(0), ints(0), slots)
    assert (found.time.tolist(), found.is_default.tolist()) == ([patience], [is_default])


@pytest.mark.parametrize(
    ("minutes", "pause"),
    [
        pytest.param(1 / 60, LIMITS.pause + SECOND, id="longest wait and a pause"),
        pytest.param(2, 4 * MINUTE + TICK, id="patience of a rare committer"),
    ],
)
def test_any_group_may_pause(minutes: float, pause: int) -> None:
    """A group may pause however often it commits; a group that commits rarely may pause for its patience."""
    inputs = dataclasses.replace(pane(Row()).inputs, slots=commits_every(minutes))
    history = EndHistory()
    history.grow(1)
    limits = dataclasses.replace(LIMITS, slot=SECOND)
    found = learn_patience(inputs, history, limits, ints(0), ints(0), inputs.slots)
    assert found.longest_pause.tolist() == [pause]


def test_rows_that_are_not_late_have_a_patience_of_two_ticks() -> None:
    """Nothing is learned for rows that are not late, however rarely they commit."""
    inputs = dataclasses.replace(pane(Row()).inputs, slots=commits_every(2))
    none = ints()
    found = learn_patience(inputs, EndHistory(), LIMITS, ints(-1), none, slots_of_rows(inputs.slots, none, 1))
    assert found.time.tolist() == [2 * TICK]


def test_static_members_may_be_away_for_longer() -> None:
    """The coordinator notices that a static member has left only after the session timeout."""
    window = pane(Row(topic="a"))
    groups = dataclasses.replace(window.inputs.groups, static=np.array([True]))
    inputs = dataclasses.replace(window.inputs, groups=groups)
    time = NOW - SECOND * np.arange(5, -1, -1)
    slots = Slots(np.zeros(6, np.int64), np.arange(6), time, time, np.full(6, 9))
    history = EndHistory()
    history.grow(1)
    assert learn_patience(inputs, history, LIMITS, ints(0), ints(0), slots).time.tolist() == [
        LIMITS.static_restart_grace
    ]


@pytest.mark.parametrize(
    ("known", "patience"),
    [
        pytest.param(2 * MINUTE, 2 * MINUTE, id="patience of the sibling"),
        pytest.param(SECOND, LIMITS.restart_grace, id="at least the time of a restart"),
        pytest.param(60 * MINUTE, LIMITS.unlearned, id="at most the default"),
        pytest.param(-1, LIMITS.unlearned, id="no sibling with a known patience"),
    ],
)
def test_sibling_patience(known: int, patience: int) -> None:
    """A row without progress gets the longest patience of the partitions of its topic."""
    window = pane(Row(), Row(), Row(group="other"))
    spans = dataclasses.replace(window.inputs.spans, first_time=window.inputs.spans.reached_time - ints(9, 0, 9))
    inputs = dataclasses.replace(window.inputs, spans=spans)
    assert sibling_patience(inputs, ints(known, -1, -1), LIMITS).tolist() == [patience, patience, LIMITS.unlearned]


@pytest.mark.parametrize(
    ("own", "is_default", "earlier", "patience"),
    [
        pytest.param(5 * MINUTE, False, 0, 5 * MINUTE, id="patience of the row"),
        pytest.param(LIMITS.unlearned, True, 0, 2 * LIMITS.transaction + TICK, id="default patience"),
        pytest.param(20 * SECOND, False, 0, LIMITS.pause, id="at least a pause"),
        pytest.param(20 * SECOND, False, 2 * MINUTE, 4 * MINUTE + TICK, id="twice the longest earlier transaction"),
        pytest.param(20 * SECOND, False, 60 * MINUTE, LIMITS.unlearned, id="at most ten minutes"),
    ],
)
def test_transaction_patience(own: int, is_default: bool, earlier: int, patience: int) -> None:  # noqa: FBT001 - a table
    """The time that a transaction may be open follows from earlier ones, else from the group or a default."""
    known = Patience(ints(own), np.array([is_default]), ints(max(own, LIMITS.pause)))
    found = transaction_patience(known, ints(earlier), LIMITS)
    assert found.tolist() == [patience]
