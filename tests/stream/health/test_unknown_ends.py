"""Verdicts while the end of a partition is not known: a leader election is short, and everything else is reported."""

from __future__ import annotations

import pytest

from stream.health.limits import HealthLimits
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    TICK,
    Partition,
    Scene,
    Seen,
    consume,
    evenly,
    watch,
)

V = Verdict
GRACE = HealthLimits().restart_grace
STEADY = evenly(100)
LAST_KNOWN = -TICK
"""The last tick at which the end is known, before those at which it is not."""


def unknown_for(milliseconds: int, reason: str, *, stuck: bool = False) -> Scene:
    """Return a group whose end is not known after `LAST_KNOWN` for this long; `stuck`: it stopped five minutes ago."""
    commits = consume(STEADY, -HOUR, -5 * MINUTE if stuck else 5 * MINUTE)
    until = LAST_KNOWN + milliseconds
    return Scene([Partition(STEADY, commits, known=lambda t: not LAST_KNOWN < t < until, reason=reason)])


def observe(scene: Scene, until: int) -> dict[int, Verdict]:
    """Return the shown verdict at each tick after `LAST_KNOWN`."""
    return {each.time: each.verdict for each in _ticks(scene, until) if each.time > LAST_KNOWN}


def _ticks(scene: Scene, until: int) -> list[Seen]:
    return watch(scene, -10 * MINUTE, until)


@pytest.mark.parametrize("reason", ["no_leader", "leader_changed", "not_available", "unreachable", "timed_out"])
def test_an_election_changes_no_verdict(reason: str) -> None:
    """An end that is not known for as long as a broker restarts leaves a healthy group as it was."""
    assert set(observe(unknown_for(GRACE, reason), 2 * MINUTE).values()) == {V.CAUGHT_UP}


@pytest.mark.parametrize("reason", ["not_found", "not_authorized", "storage_failed", "unsupported"])
def test_an_end_that_no_election_hides_is_unknown_after_two_ticks(reason: str) -> None:
    """An end that does not become known by itself is reported at the second tick without it."""
    shown = observe(unknown_for(MINUTE, reason), 3 * TICK)
    assert list(shown.values()) == [V.CAUGHT_UP, *[V.UNKNOWN] * 3]


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [("no_leader", V.NO_LEADER), ("not_available", V.UNKNOWN), ("unreachable", V.UNKNOWN), ("timed_out", V.UNKNOWN)],
)
def test_an_election_that_lasts_is_reported(reason: str, verdict: Verdict) -> None:
    """The verdict changes at the first tick that is more than the grace after the last known end."""
    shown = observe(unknown_for(10 * MINUTE, reason), 2 * MINUTE)
    lasting = {time for time in shown if time - LAST_KNOWN > GRACE}
    assert {time: each for time, each in shown.items() if each is not V.CAUGHT_UP} == dict.fromkeys(lasting, verdict)


def test_an_election_withdraws_no_fault() -> None:
    """A stopped group is stopped during the election, and after it."""
    assert set(observe(unknown_for(GRACE, "leader_changed", stuck=True), 2 * MINUTE).values()) == {V.STOPPED}


def test_the_sentence_names_the_shown_verdict_and_the_reason() -> None:
    """The text of a group during an election says that its lag is not known now, and what was known before."""
    result = _ticks(unknown_for(GRACE, "not_available"), TICK)[-1].result
    assert result.group_sentence(0) == (
        "orders-0: Still shown as caught up until this has lasted: The lag is not known: the new leader of the"
        " partition does not know its end yet."
    )


def test_a_group_first_seen_during_an_election_is_unknown() -> None:
    """A verdict that was never known is not replaced by a good one."""
    ticks = watch(unknown_for(MINUTE, "not_available"), 0, 2 * TICK)
    assert {each.verdict for each in ticks} == {V.UNKNOWN}
