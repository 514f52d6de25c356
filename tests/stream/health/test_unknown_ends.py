"""Verdicts while the end of a partition is not known: a leader election is short, and everything else is reported."""

from collections.abc import Mapping

from stream.health.limits import HealthLimits
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    TICK,
    Partition,
    Scene,
    consume,
    evenly,
    watch_together,
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


def observe(scenes: Mapping[str, Scene], until: int) -> dict[str, dict[int, Verdict]]:
    """Return the shown verdict at each tick after `LAST_KNOWN`, by the reason of each scene."""
    ticks = watch_together(list(scenes.values()), -3 * MINUTE, until)
    return {
        reason: {each.time: each.verdict for each in own if each.time > LAST_KNOWN}
        for reason, own in zip(scenes, ticks, strict=True)
    }


def test_an_election_changes_no_verdict() -> None:
    """An end that is not known for as long as a broker restarts leaves a healthy group as it was.

    It withdraws no fault: a stopped group is stopped during the election, and after it.
    """
    reasons = ("no_leader", "leader_changed", "not_available", "unreachable", "timed_out")
    scenes = {reason: unknown_for(GRACE, reason) for reason in reasons}
    scenes["stuck"] = unknown_for(GRACE, "leader_changed", stuck=True)
    found = {reason: set(shown.values()) for reason, shown in observe(scenes, 2 * MINUTE).items()}
    assert found == {reason: {V.STOPPED if reason == "stuck" else V.CAUGHT_UP} for reason in (*reasons, "stuck")}


def test_an_end_that_no_election_hides_is_unknown_after_two_ticks() -> None:
    """An end that does not become known by itself is reported at the second tick without it."""
    reasons = ("not_found", "not_authorized", "storage_failed", "unsupported")
    found = observe({reason: unknown_for(MINUTE, reason) for reason in reasons}, 3 * TICK)
    late = [V.CAUGHT_UP, V.UNKNOWN, V.UNKNOWN, V.UNKNOWN]
    assert {reason: list(shown.values()) for reason, shown in found.items()} == dict.fromkeys(reasons, late)


def test_an_election_that_lasts_is_reported() -> None:
    """The verdict changes at the first tick that is more than the grace after the last known end."""
    expected = {"no_leader": V.NO_LEADER, **dict.fromkeys(("not_available", "unreachable", "timed_out"), V.UNKNOWN)}
    found = observe({reason: unknown_for(10 * MINUTE, reason) for reason in expected}, 2 * MINUTE)
    for reason, shown in found.items():
        lasting = {time for time in shown if time - LAST_KNOWN > GRACE}
        late = {time: each for time, each in shown.items() if each is not V.CAUGHT_UP}
        assert late == dict.fromkeys(lasting, expected[reason])
