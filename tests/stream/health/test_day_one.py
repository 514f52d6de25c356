"""Faults that are older than the monitor, and those of forgotten groups, raise no alert; all others do."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from stream.health.day_one import DayOne, unpaged_groups
from stream.health.limits import HealthLimits
from tests.stream.health.panes import HOUR, MINUTE, NOW, Row, judged, pane
from tests.stream.health.simulator import Membership, Partition, Scene, consume, watch
from tests.stream.health.situations import EMPTY, LATE, LONG, STEADY, steady
from tests.stream.health.tables import wrong

but = dataclasses.replace
DAY = 24 * HOUR
FIRST_LOOK = DayOne(NOW - HOUR)
STOPPED = Row(progress_ago=2 * HOUR, commit_ago=2 * HOUR, age=2 * HOUR, members=2)
"""A member has read nothing since an hour before the first look, and records wait since then."""
FORGOTTEN = Row(progress_ago=9 * DAY, commit_ago=9 * DAY, age=5 * MINUTE, members=0, stage=EMPTY)
"""A group that committed nine days ago, without members since; records are written again."""

CASES: dict[str, tuple[Any, ...]] = {
    "stopped before the first look": (STOPPED, "stopped", True),
    "stopped after the first look": (but(STOPPED, progress_ago=50 * MINUTE, age=50 * MINUTE), "stopped", False),
    "read after the first look, with an older backlog": (but(STOPPED, progress_ago=50 * MINUTE), "stopped", False),
    "all read before the first look, members hang after it": (but(STOPPED, age=50 * MINUTE), "stopped", False),
    "unknown age of the next record": (but(STOPPED, age=-1), "stopped", False),
    "falls behind with records from before the first look": (Row(age=2 * HOUR), "falling_behind", True),
    "falls behind with records from after the first look": (Row(age=20 * MINUTE), "falling_behind", False),
    "a partition without a leader": (but(STOPPED, known=False, lag=0), "no_leader", False),
    "no commit for nine days": (FORGOTTEN, "no_members", True),
    "no commit for a day": (but(FORGOTTEN, commit_ago=20 * HOUR, progress_ago=20 * HOUR), "no_members", False),
    "no commit for nine days, with members that hang": (but(FORGOTTEN, members=1), "stopped", False),
    "a weekly batch that misses its second run": (but(FORGOTTEN, longest_pause=7 * DAY), "no_members", False),
    "has read everything": (STOPPED, "caught_up", False),
}


def test_only_old_faults_are_unpaged() -> None:
    """A fault is unpaged only if it began before the first look, an hour ago, or if its group is forgotten."""
    assert wrong(CASES, lambda row, verdict: unpaged_groups(judged(pane(row), [verdict]), FIRST_LOOK).tolist()[0]) == []


def test_one_new_fault_among_old_ones_is_paged() -> None:
    """A group is unpaged only if it has a fault and all of its faults are unpaged."""
    new = but(STOPPED, progress_ago=5 * MINUTE, age=5 * MINUTE)
    window = pane(
        but(STOPPED, group="a"),
        but(new, group="a", topic="payments"),
        but(STOPPED, group="b"),
        but(new, group="b", topic="payments"),
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
    window = pane(STOPPED, but(FORGOTTEN, group="forgotten"))
    window = but(window, limits=HealthLimits(day_one=0))
    assert unpaged_groups(judged(window, ["stopped", "no_members"]), FIRST_LOOK).tolist() == [False, False]


@pytest.mark.parametrize(("stops_after", "expected"), [(-10 * MINUTE, True), (3 * MINUTE, False)])
def test_a_new_monitor_pages_only_for_groups_that_stop_while_it_watches(stops_after: int, *, expected: bool) -> None:
    """A fault is unpaged only if the group stopped before the first tick of the monitor, with and without members."""
    for away in ((), (Membership(stops_after, EMPTY, 0),)):
        scene = Scene([steady(stops_after, owner=0, subscribed=1)], memberships=(Membership(LONG), *away))
        fault = next(each for each in watch(scene, 0, 5 * MINUTE) if each.sick)
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
    unknown = judged(pane(but(STOPPED, age=-1)), ["stopped"], since=NOW - 30 * MINUTE)
    before = DayOne(FIRST_LOOK.first_look, NOW - MINUTE, frozenset({STOPPED.group}))
    assert unpaged_groups(unknown, before).tolist() == [True]
    assert unpaged_groups(unknown, but(before, unpaged=frozenset({"another"}))).tolist() == [False]
    assert unpaged_groups(unknown, but(before, evaluated_at=NOW - 40 * MINUTE)).tolist() == [False]
