"""Faults that are older than the monitor, and those of forgotten groups, raise no alert; all others do."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream.health.day_one import DayOne, unpaged_groups
from stream.health.evaluator import Evaluator
from stream.health.limits import HealthLimits
from tests.stream.health.panes import HOUR, MINUTE, NOW, Row, judged, pane
from tests.stream.health.simulator import SLOT, TICK, Membership, Partition, Scene, consume, watch
from tests.stream.health.situations import EMPTY, LATE, LONG, STEADY

if TYPE_CHECKING:
    from tests.stream.health.simulator import Seen

DAY = 24 * HOUR
FIRST_LOOK = DayOne(NOW - HOUR)
STOPPED = Row(progress_ago=2 * HOUR, commit_ago=2 * HOUR, age=2 * HOUR, members=2)
"""A member has read nothing since an hour before the first look, and records wait since then."""
FORGOTTEN = Row(progress_ago=9 * DAY, commit_ago=9 * DAY, age=5 * MINUTE, members=0, stage=EMPTY)
"""A group that committed nine days ago, without members since; records are written again."""

CASES = {
    "stopped before the first look": (STOPPED, "stopped", True),
    "stopped after the first look": (
        dataclasses.replace(STOPPED, progress_ago=50 * MINUTE, age=50 * MINUTE),
        "stopped",
        False,
    ),
    "read after the first look, with an older backlog": (
        dataclasses.replace(STOPPED, progress_ago=50 * MINUTE, age=2 * HOUR),
        "stopped",
        False,
    ),
    "all read before the first look, members hang after it": (
        dataclasses.replace(STOPPED, age=50 * MINUTE),
        "stopped",
        False,
    ),
    "unknown age of the next record": (dataclasses.replace(STOPPED, age=-1), "stopped", False),
    "falls behind with records from before the first look": (Row(age=2 * HOUR), "falling_behind", True),
    "falls behind with records from after the first look": (Row(age=20 * MINUTE), "falling_behind", False),
    "a partition without a leader": (dataclasses.replace(STOPPED, known=False, lag=0), "no_leader", False),
    "no commit for nine days": (FORGOTTEN, "no_members", True),
    "no commit for less than a day": (
        dataclasses.replace(FORGOTTEN, commit_ago=20 * HOUR, progress_ago=20 * HOUR),
        "no_members",
        False,
    ),
    "no commit for nine days, with members that hang": (dataclasses.replace(FORGOTTEN, members=1), "stopped", False),
    "a weekly batch that misses its second run": (
        dataclasses.replace(FORGOTTEN, longest_pause=7 * DAY),
        "no_members",
        False,
    ),
    "has read everything": (STOPPED, "caught_up", False),
}


@pytest.mark.parametrize(("row", "verdict", "expected"), CASES.values(), ids=CASES.keys())
def test_only_old_faults_are_unpaged(row: Row, verdict: str, *, expected: bool) -> None:
    """A fault is unpaged only if it began before the first look, an hour ago, or if its group is forgotten."""
    assert unpaged_groups(judged(pane(row), [verdict]), FIRST_LOOK).tolist() == [expected]


def test_one_new_fault_among_old_ones_is_paged() -> None:
    """A group is unpaged only if it has a fault and all of its faults are unpaged."""
    new = dataclasses.replace(STOPPED, progress_ago=5 * MINUTE, age=5 * MINUTE)
    window = pane(
        dataclasses.replace(STOPPED, group="a"),
        dataclasses.replace(new, group="a", topic="payments"),
        dataclasses.replace(STOPPED, group="b"),
        dataclasses.replace(new, group="b", topic="payments"),
        Row(group="c"),
    )
    verdicts = ["stopped", "stopped", "stopped", "ok", "ok"]
    assert unpaged_groups(judged(window, verdicts), FIRST_LOOK).tolist() == [False, True, False]


def test_a_fault_that_began_early_enough_stays_paged_after_a_day() -> None:
    """The silence of a group is measured when its fault begins, so that a page is not withdrawn later."""
    window = pane(FORGOTTEN)
    began = NOW - FORGOTTEN.commit_ago + MINUTE
    assert unpaged_groups(judged(window, ["no_members"], since=began), FIRST_LOOK).tolist() == [False]


def test_faults_are_paged_where_the_first_look_is_not_known() -> None:
    """A checkpoint of an older version has no first look; its monitor has observed the groups for long."""
    assert unpaged_groups(judged(pane(STOPPED), ["stopped"]), DayOne(0)).tolist() == [False]


def test_with_day_one_0_every_fault_is_paged() -> None:
    """The value 0 switches the option off."""
    window = pane(STOPPED, dataclasses.replace(FORGOTTEN, group="forgotten"))
    window = dataclasses.replace(window, limits=HealthLimits(day_one=0))
    assert unpaged_groups(judged(window, ["stopped", "no_members"]), FIRST_LOOK).tolist() == [False, False]


def first_fault(scene: Scene, first_look: int) -> Seen:
    """Return the first tick with a fault, watched from the first look on."""
    monitor = Evaluator(HealthLimits(tick=TICK, slot=SLOT))
    return next(each for each in watch(scene, first_look, first_look + HOUR, evaluator=monitor) if each.sick)


@pytest.mark.parametrize("members", [True, False])
@pytest.mark.parametrize(("stops_after", "expected"), [(-10 * MINUTE, True), (10 * MINUTE, False)])
def test_a_new_monitor_pages_only_for_groups_that_stop_while_it_watches(
    stops_after: int, *, expected: bool, members: bool
) -> None:
    """A fault is unpaged only if the group stopped before the first tick of the monitor, with and without members."""
    stop = stops_after
    part = Partition(STEADY, consume(STEADY, LONG, stop), owner=0, subscribed=1)
    memberships = (Membership(LONG), *(() if members else (Membership(stop, EMPTY, 0),)))
    fault = first_fault(Scene([part], memberships=memberships), 0)
    first_look = DayOne(int(fault.result.window.now - fault.time))
    assert unpaged_groups(fault.result, first_look).tolist() == [expected]
    assert np.array_equal(unpaged_groups(fault.result, DayOne(0)), [False])


def test_a_group_that_recovers_and_fails_again_is_paged() -> None:
    """An old fault is unpaged only until the group recovers."""
    again = [*consume(STEADY, LONG, -10 * MINUTE), *consume(STEADY, 5 * MINUTE, 15 * MINUTE)]
    scene = Scene([Partition(STEADY, again, owner=0, subscribed=1)], memberships=(Membership(LONG),))
    ticks = watch(scene, 0, LATE)
    state, sick = DayOne(int(ticks[0].result.window.now)), []
    for each in ticks:
        state = state.advance(each.result)
        sick += [bool(state.unpaged)] if each.sick else []
    assert (sick[0], sick[-1]) == (True, False)
    assert sick == sorted(sick, reverse=True)
    assert ticks[-1].sick


def test_an_old_fault_stays_unpaged_where_the_age_of_the_next_record_is_not_known_any_more() -> None:
    """A restarted monitor may not know at once how long a record has waited; a fault that began meanwhile is paged."""
    unknown = judged(pane(dataclasses.replace(STOPPED, age=-1)), ["stopped"], since=NOW - 30 * MINUTE)
    before = DayOne(FIRST_LOOK.first_look, NOW - MINUTE, frozenset({STOPPED.group}))
    assert unpaged_groups(unknown, before).tolist() == [True]
    assert unpaged_groups(unknown, dataclasses.replace(before, unpaged=frozenset({"another"}))).tolist() == [False]
    assert unpaged_groups(unknown, dataclasses.replace(before, evaluated_at=NOW - 40 * MINUTE)).tolist() == [False]
