"""The outages of a run, each at its time and recorded by name: of a leader, of the broker, and of the monitor."""

import dataclasses
import time
from collections.abc import Callable, Sequence

from sandbox.clients.group_names import topic_name
from sandbox.kafka.broker import Broker
from sandbox.kafka.log_truncation import truncate_log
from sandbox.verdict_scenarios.group_runner import scenario_group
from sandbox.verdict_scenarios.monitor import READY_LIMIT, MonitorProcess
from sandbox.verdict_scenarios.outages import (
    BROKER_RESTART_AT,
    KEPT_SHARE,
    LEADER_ELECTION,
    LEADER_KILLED_AT,
    MONITOR_RESTART_AT,
    NO_LEADER,
    RUN_AFTER_MONITOR_RESTART,
    TRUNCATED,
)
from sandbox.verdict_scenarios.pace import RunClock
from sandbox.verdict_scenarios.scenario import VerdictScenario


@dataclasses.dataclass(frozen=True, slots=True)
class OutageTargets:
    """The brokers and the monitor that have outages."""

    broker: Broker
    second: Broker
    """Leads the topics of `two_broker_topics` until it is killed; without such topics it does not run."""
    monitor: MonitorProcess


def run_outages(
    targets: OutageTargets,
    clock: RunClock,
    scenarios: Sequence[VerdictScenario],
    report: Callable[[str], None],
    end: float,
) -> dict[str, float]:
    """Run all outages that come before `end`, wait for `end`, and return the time (Unix seconds) of each mark.

    `end` is seconds of the run.
    """
    marks: dict[str, float] = {}

    def mark(name: str) -> None:
        marks[name] = time.time()
        report(f"{clock.now():5.0f} s: {name}")

    if end > LEADER_KILLED_AT and targets.second.running:
        clock.wait(LEADER_KILLED_AT)
        targets.second.kill()
        mark("leader dies")
    if end > BROKER_RESTART_AT:
        clock.wait(BROKER_RESTART_AT)
        mark("broker stops")
        _restart(targets.broker, scenarios)
        mark("broker is back")
    if end > MONITOR_RESTART_AT:
        clock.wait(MONITOR_RESTART_AT)
        mark("monitor stops")
        targets.monitor.stop()
        mark("monitor is gone")
        targets.monitor.start()
        targets.monitor.wait_until_ready(READY_LIMIT)
        mark("monitor is back")
        end = max(end, clock.now() + RUN_AFTER_MONITOR_RESTART)
    clock.wait(end)
    return marks


def _restart(broker: Broker, scenarios: Sequence[VerdictScenario]) -> None:
    broker.stop()
    for each in scenarios:
        if each.name == TRUNCATED:
            truncate_log(broker.data / f"{topic_name(scenario_group(each), 'in')}-0", KEPT_SHARE)
    broker.start()


def two_broker_topics(scenarios: Sequence[VerdictScenario]) -> dict[str, bool]:
    """Return the full names of the topics that the second broker leads, and whether the first has a replica."""
    return {
        topic_name(scenario_group(each), "in"): each.name == LEADER_ELECTION
        for each in scenarios
        if each.name in {LEADER_ELECTION, NO_LEADER}
    }
