"""What is done to brokers and monitor while all groups live on, each at its time and noted by its name."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from sandbox.kafka.log_truncation import truncate_log
from sandbox.verdict_scenarios.group_runner import group_name, topic_name
from sandbox.verdict_scenarios.outages import (
    BROKER_RESTART_AT,
    KEPT_SHARE,
    LEADER_ELECTION,
    LEADER_KILLED_AT,
    MONITOR_RESTART_AT,
    RUN_AFTER_MONITOR_RESTART,
    TRUNCATED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sandbox.kafka.broker import Broker
    from sandbox.verdict_scenarios.clock import RunClock
    from sandbox.verdict_scenarios.monitor import MonitorProcess
    from sandbox.verdict_scenarios.scenario import VerdictScenario


@dataclasses.dataclass(frozen=True, slots=True)
class OutageTargets:
    """Whom it hits."""

    broker: Broker
    second: Broker
    """It leads the topics of `two_broker_topics` until it is killed. Where there are none it does not run."""
    watcher: MonitorProcess


def run_outages(
    on: OutageTargets, clock: RunClock, scenarios: Sequence[VerdictScenario], say: Callable[[str], None], end: float
) -> dict[str, float]:
    """Do it all, as far as it comes before the end of the play, and wait for that. Gives when what was done."""
    marks: dict[str, float] = {}

    def mark(name: str) -> None:
        marks[name] = time.time()
        say(f"{clock.now():5.0f} s: {name}")

    if end > LEADER_KILLED_AT and on.second.running:
        clock.wait(LEADER_KILLED_AT)
        on.second.kill()
        mark("leader dies")
    if end > BROKER_RESTART_AT:
        clock.wait(BROKER_RESTART_AT)
        mark("broker stops")
        _restart(on.broker, scenarios)
        mark("broker is back")
    if end > MONITOR_RESTART_AT:
        clock.wait(MONITOR_RESTART_AT)
        mark("monitor stops")
        on.watcher.stop()
        mark("monitor is gone")
        on.watcher.start()
        on.watcher.wait_ready()
        mark("monitor is back")
        end = max(end, clock.now() + RUN_AFTER_MONITOR_RESTART)
    clock.wait(end)
    return marks


def _restart(broker: Broker, scenarios: Sequence[VerdictScenario]) -> None:
    broker.stop()
    for each in scenarios:
        if each.name == TRUNCATED:
            truncate_log(broker.data / f"{topic_name(group_name(each), 'in')}-0", KEPT_SHARE)
    broker.start()


def two_broker_topics(scenarios: Sequence[VerdictScenario]) -> list[str]:
    """Give the topics that the second broker leads."""
    return [topic_name(group_name(each), "in") for each in scenarios if each.name == LEADER_ELECTION]
