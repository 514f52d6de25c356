"""The pace of a run: a stretched run has the same seconds, each of which takes longer on the wall clock."""

from typing import Final

import pytest

from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.monitor import settings
from sandbox.verdict_scenarios.pace import RunPace, pace_of, production
from sandbox.verdict_scenarios.runner import broker_properties, topic_settings

TWICE: Final = RunPace(2.0)
INDEPENDENT: Final = {"job.driver_memory", "http.host", "groups.mirrored"}
"""Options of the monitor that are no times."""
LOWER_LIMITS: Final = {"group.min.session.timeout.ms", "group.consumer.min.heartbeat.interval.ms"}
"""Properties of the broker that the times are above at any stretch."""


def seconds(option: str) -> float:
    """Return the seconds of an option such as `2s` or `6`."""
    return float(option.removesuffix("s"))


def test_conversions_round_trip() -> None:
    """Seconds of the run, of the wall clock and of production describe the same time at any stretch."""
    for stretch in ("1", "1.5", "2", "2.0", "3.5", "4"):
        chosen = pace_of(stretch)
        assert chosen.run(chosen.wall(7.0)) == pytest.approx(7.0)
        assert chosen.wall(7.0) * chosen.faster == pytest.approx(production(7.0)) == 35.0
        assert chosen.wall_ms(0.6) == pytest.approx(600 * float(stretch))


def test_all_times_of_monitor_broker_and_topics_are_stretched() -> None:
    """At stretch 2 each time is twice that of stretch 1, and all else is equal."""
    for of_pace, unscaled in ((settings, INDEPENDENT), (broker_properties, LOWER_LIMITS)):
        once, twice = of_pace(RunPace()), of_pace(TWICE)
        times = once.keys() - unscaled
        assert {name: seconds(twice[name]) for name in times} == {name: 2 * seconds(once[name]) for name in times}
        assert twice == {**once, **{name: twice[name] for name in times}}
    assert (settings(RunPace())["job.tick_interval"], settings(RunPace())["job.trigger_interval"]) == ("2s", "1s")
    assert broker_properties(RunPace())["offsets.retention.minutes"] == "4"
    config = {"cleanup.policy": "compact", "segment.ms": "3000", "min.cleanable.dirty.ratio": "0.01"}
    assert topic_settings(config, RunPace()) == config
    assert topic_settings(config, TWICE) == {**config, "segment.ms": "6000"}
    used = {name for each in SCENARIOS for topic in each.topics.values() for name in topic.config}
    assert {name for name in used if not name.endswith(".ms")} == {"cleanup.policy", "min.cleanable.dirty.ratio"}
