"""The pace of a run: a stretched run has the same seconds, each of which takes longer on the wall clock."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

import pytest

from sandbox.verdict_scenarios import actions, clock, pace
from sandbox.verdict_scenarios.actions import StartConsumer, StartJavaConsumer
from sandbox.verdict_scenarios.clock import RunClock
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.monitor import settings
from sandbox.verdict_scenarios.pace import RunPace, pace_of, production
from sandbox.verdict_scenarios.runner import broker_properties, topic_settings

if TYPE_CHECKING:
    from sandbox.verdict_scenarios.group import VerdictGroup

TWICE: Final = RunPace(2.0)
INDEPENDENT: Final = {"job.driver_memory", "http.host"}
"""Options of the monitor that are no times."""
LOWER_LIMITS: Final = {"group.min.session.timeout.ms", "group.consumer.min.heartbeat.interval.ms"}


class WallClock:
    """Stands for `time` in the clock: a sleep ends at once and is recorded."""

    def __init__(self) -> None:
        self.now = 500.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Return the seconds of the wall clock."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.slept.append(seconds)
        self.now += seconds


def seconds(option: str) -> float:
    """Return the seconds of an option such as `2s` or `6`."""
    return float(option.removesuffix("s"))


@pytest.mark.parametrize("stretch", ["1", "1.5", "2", "2.0", "3.5", "4"])
def test_conversions_round_trip(stretch: str) -> None:
    """Seconds of the run, of the wall clock and of production describe the same time at any stretch."""
    chosen = pace_of(stretch)
    assert chosen.run(chosen.wall(7.0)) == pytest.approx(7.0)
    assert chosen.wall(7.0) * chosen.faster == pytest.approx(production(7.0)) == 35.0
    assert chosen.wall_ms(0.6) == pytest.approx(600 * float(stretch))


@pytest.mark.parametrize("stretch", ["0", "0.5", "-1", "1.25", "7", "4.5", "nan", "inf", "1.1666666666666667"])
def test_a_stretch_that_options_cannot_express_is_refused(stretch: str) -> None:
    """The slot must be whole seconds, and the retention of offsets whole minutes. The error says what to set."""
    message = f"PLAY_STRETCH={stretch} must be a multiple of 0.5 from 1 to 4: a slot of the commit window"
    with pytest.raises(ValueError, match=re.escape(message)):
        pace_of(stretch)


@pytest.mark.parametrize("stretch", ["", "two", "2 s"])
def test_a_stretch_that_is_no_number_is_refused(stretch: str) -> None:
    """The error quotes the value."""
    with pytest.raises(ValueError, match=f"PLAY_STRETCH={stretch} is not a number"):
        pace_of(stretch)


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_the_clock_counts_and_waits_in_seconds_of_the_run(monkeypatch: pytest.MonkeyPatch, stretch: float) -> None:
    """At stretch 2, ten seconds of the run take twenty of the wall clock; a time in the past takes none."""
    wall = WallClock()
    monkeypatch.setattr(clock, "time", wall)
    run = RunClock(RunPace(stretch))
    assert run.now() == 0.0
    run.begin()
    wall.now += 3.0 * stretch
    assert run.now() == 3.0
    run.wait(10.0)
    assert run.now() == 10.0
    run.wait(4.0)
    assert wall.slept == [7.0 * stretch, 0.0]


def test_all_times_of_the_monitor_are_stretched() -> None:
    """At stretch 2 each option that is a time is twice that of stretch 1."""
    once, twice = settings(RunPace()), settings(TWICE)
    assert {name: seconds(twice[name]) for name in twice.keys() - INDEPENDENT} == {
        name: 2 * seconds(once[name]) for name in once.keys() - INDEPENDENT
    }
    assert {name: once[name] for name in INDEPENDENT} == {name: twice[name] for name in INDEPENDENT}
    assert (once["job.tick_interval"], once["job.trigger_interval"]) == ("2s", "1s")


def test_all_times_of_the_broker_are_stretched() -> None:
    """At stretch 2 each property is twice that of stretch 1, but the lower limits, which both are above."""
    once, twice = broker_properties(RunPace()), broker_properties(TWICE)
    assert {name: int(twice[name]) for name in twice.keys() - LOWER_LIMITS} == {
        name: 2 * int(once[name]) for name in once.keys() - LOWER_LIMITS
    }
    assert {name: once[name] for name in LOWER_LIMITS} == {name: twice[name] for name in LOWER_LIMITS}
    assert once["offsets.retention.minutes"] == "4"


def test_all_times_of_topics_are_stretched() -> None:
    """The settings of topics whose names end with .ms are times; all others stay."""
    config = {"cleanup.policy": "compact", "segment.ms": "3000", "min.cleanable.dirty.ratio": "0.01"}
    assert topic_settings(config, RunPace()) == config
    assert topic_settings(config, TWICE) == {**config, "segment.ms": "6000"}
    used = {name for each in SCENARIOS for topic in each.topics.values() for name in topic.config}
    assert {name for name in used if not name.endswith(".ms")} == {"cleanup.policy", "min.cleanable.dirty.ratio"}


@pytest.mark.parametrize(
    ("action", "client"),
    [
        pytest.param(StartConsumer(refresh=pace.MEMBERSHIP_REFRESH), "PacedConsumer", id="librdkafka"),
        pytest.param(StartJavaConsumer(), "PacedJavaConsumer", id="Java"),
    ],
)
def test_all_times_of_clients_are_stretched(
    monkeypatch: pytest.MonkeyPatch, action: StartConsumer | StartJavaConsumer, client: str
) -> None:
    """At stretch 2 sessions, heartbeats and metadata refreshes take twice as long."""
    given: list[dict[str, float]] = []
    monkeypatch.setattr(actions, client, lambda *_, **times: given.append(times))
    group = cast("VerdictGroup", SimpleNamespace(bootstrap="", group="g", topic=str, clients={}, java_clients=None))
    for chosen in (RunPace(), TWICE):
        monkeypatch.setattr(pace, "CHOSEN", chosen)
        action.perform(group)
    once, twice = given
    times = {"session", "heartbeat", "refresh"} & once.keys()
    assert {name: twice[name] for name in times} == {name: 2 * once[name] for name in times}
    assert once["session"] == 9.0


def test_a_limit_in_wall_clock_seconds_is_shorter_in_a_slower_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time until a hidden commit is known counts a limit that no pace divides."""
    monkeypatch.setattr(pace, "LookupLimits", lambda: SimpleNamespace(blocked_grace=30.0))
    monkeypatch.setattr(pace, "CHOSEN", RunPace())
    assert pace.hidden() == pace.TICK + 30.0
    monkeypatch.setattr(pace, "CHOSEN", TWICE)
    assert pace.hidden() == pace.TICK + 15.0
