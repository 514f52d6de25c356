"""What is done to brokers and monitor while all groups live on, each at its time and noted by its name."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from sandbox.kafka.log_truncation import cut_log
from sandbox.verdict_scenarios.group_runner import group_name, topic_name
from sandbox.verdict_scenarios.outages import (
    AFTERWARDS,
    BROKER_STOPS,
    CUT,
    CUT_SHARE,
    LEADER_DIES,
    LED_BY_TWO,
    MONITOR_STOPS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sandbox.kafka.broker import Broker
    from sandbox.verdict_scenarios.clock import Clock
    from sandbox.verdict_scenarios.monitor import Watcher
    from sandbox.verdict_scenarios.scenario import Scenario


@dataclasses.dataclass(frozen=True, slots=True)
class Victims:
    """Whom it hits."""

    broker: Broker
    second: Broker
    """It leads the topics of `led_by_two` until it is killed. Where there are none it does not run."""
    watcher: Watcher


def violence(
    on: Victims, clock: Clock, scenarios: Sequence[Scenario], say: Callable[[str], None], end: float
) -> dict[str, float]:
    """Do it all, as far as it comes before the end of the play, and wait for that. Gives when what was done."""
    marks: dict[str, float] = {}

    def mark(name: str) -> None:
        marks[name] = time.time()
        say(f"{clock.now():5.0f} s: {name}")

    if end > LEADER_DIES and on.second.running:
        clock.wait(LEADER_DIES)
        on.second.kill()
        mark("leader dies")
    if end > BROKER_STOPS:
        clock.wait(BROKER_STOPS)
        mark("broker stops")
        _restart(on.broker, scenarios)
        mark("broker is back")
    if end > MONITOR_STOPS:
        clock.wait(MONITOR_STOPS)
        mark("monitor stops")
        on.watcher.stop()
        mark("monitor is gone")
        on.watcher.start()
        on.watcher.wait_ready()
        mark("monitor is back")
        end = max(end, clock.now() + AFTERWARDS)
    clock.wait(end)
    return marks


def _restart(broker: Broker, scenarios: Sequence[Scenario]) -> None:
    broker.stop()
    for each in scenarios:
        if each.name == CUT:
            cut_log(broker.data / f"{topic_name(group_name(each), 'in')}-0", CUT_SHARE)
    broker.start()


def led_by_two(scenarios: Sequence[Scenario]) -> list[str]:
    """Give the topics that the second broker leads."""
    return [topic_name(group_name(each), "in") for each in scenarios if each.name == LED_BY_TWO]
