"""Runs all verdict scenarios at once on one broker, watched by one `lagwarden run`, and records what was shown."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sandbox.clients.group_names import topic_name
from sandbox.clients.java_clients import JavaClients
from sandbox.clients.members import commit_first
from sandbox.clients.traffic import FlowProducer, ScenarioTopic
from sandbox.kafka.broker import Broker, create_topic_led_by, create_topics
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import outcomes
from sandbox.verdict_scenarios.group_runner import OFFSETS_PARTITIONS, GroupRunner, scenario_group
from sandbox.verdict_scenarios.monitor import READY_LIMIT, MonitorProcess, SnapshotRecorder
from sandbox.verdict_scenarios.outage_script import OutageTargets, run_outages, two_broker_topics
from sandbox.verdict_scenarios.pace import RunClock, RunPace
from sandbox.verdict_scenarios.record import RunRecord, commits_of, read_rows, write_capture
from sandbox.verdict_scenarios.scenario import END, VerdictScenario
from stream.offline.rows import OFFSETS_TOPIC

CHECKS: Final = 1.0
"""Seconds of the run between two checks of the broker for retention, and for compaction."""
HEAP: Final = "400m"
FIRST: Final = 1
SECOND: Final = 2
"""The node numbers of the brokers."""


def broker_properties(chosen: RunPace) -> dict[str, str]:
    """Return Kafka's settings of the brokers, in wall-clock time."""
    checks = str(chosen.wall_ms(CHECKS))
    return {
        # As short as the other scenarios allow: the offsets of empty groups must not expire before their scenario ends.
        "offsets.retention.minutes": f"{chosen.wall(pace.OFFSETS_RETENTION) / 60:.0f}",
        # Lower limits of what clients and the next property may have.
        "group.min.session.timeout.ms": "1000",
        "group.consumer.min.heartbeat.interval.ms": "300",
        "group.consumer.heartbeat.interval.ms": str(chosen.wall_ms(pace.HEARTBEAT)),
        "log.retention.check.interval.ms": checks,
        "log.initial.task.delay.ms": checks,
        "log.cleaner.backoff.ms": checks,
    }


def run_scenarios(
    scenarios: Sequence[VerdictScenario],
    folder: Path,
    report: Callable[[str], None],
    end: float = END,
    *,
    capture: Path | None = None,
    patience: float = 0.0,
) -> RunRecord:
    """Run the scenarios at `pace.CHOSEN` and return the record; takes `end` and about half a minute of preparation.

    While an expected verdict is missing, the run goes on for up to `patience`, without further outages. `end` and
    `patience` are seconds of the run. With `capture` all records of the offsets topic are written to this new file.
    """
    clock = RunClock(pace.CHOSEN)
    properties = broker_properties(pace.CHOSEN)
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(
            Broker(folder / "broker", offsets_partitions=OFFSETS_PARTITIONS, heap=HEAP, properties=properties)
        )
        java_clients = stack.enter_context(JavaClients(broker.bootstrap, folder / "java-clients.log"))
        report(f"broker at {broker.bootstrap}; starting lagwarden")
        commit_first(broker.bootstrap)
        monitor = stack.enter_context(MonitorProcess(broker.bootstrap, folder))
        topics = make_topics(broker.bootstrap, scenarios)
        led_by_second = two_broker_topics(scenarios)
        producers = stack.enter_context(producers_of(broker.bootstrap, topics, led_by_second, clock))
        second = stack.enter_context(contextlib.closing(Broker(folder / "second", joins=broker)))
        if led_by_second:
            second.start()
        for name, is_replicated in led_by_second.items():
            create_topic_led_by(broker.bootstrap, name, leader=SECOND, followers=[FIRST] if is_replicated else [])
        monitor.wait_until_ready(READY_LIMIT)
        runners = [GroupRunner(java_clients, each, producers, clock.now) for each in scenarios]
        places = [(name, partition) for name, topic in topics.items() for partition in range(topic.partitions)]
        ordinary = [place for place in places if place[0] not in led_by_second]
        offsets_topic = [(OFFSETS_TOPIC, partition) for partition in range(OFFSETS_PARTITIONS)]
        recorder = stack.enter_context(
            SnapshotRecorder(
                monitor, [[*offsets_topic, *ordinary], [place for place in places if place[0] in led_by_second]]
            )
        )
        report(f"{len(scenarios)} groups, {len(places)} partitions; the run takes {pace.CHOSEN.wall(end):.0f} s")
        clock.begin()
        began = time.time()
        for producer in {id(producer): producer for producer in producers.values()}.values():
            producer.start()
        for runner in runners:
            stack.callback(runner.close)
            runner.start()
        marks = run_outages(OutageTargets(broker, second, monitor), clock, scenarios, report, end)
        _wait_for_verdicts(lambda: _record(began, runners, marks, recorder), scenarios, clock, patience)
        record = _record(began, runners, marks, recorder)
        rows = read_rows(broker.bootstrap, OFFSETS_PARTITIONS)
        if capture is not None:
            write_capture(capture, broker.bootstrap, rows)
        for runner in runners:
            runner.stop()
    return dataclasses.replace(record, commits=list(commits_of(rows)))


def make_topics(bootstrap: str, scenarios: Sequence[VerdictScenario]) -> dict[str, ScenarioTopic]:
    """Create the topics of all scenarios but those of the second broker; returns all by their full names."""
    topics = {
        topic_name(scenario_group(each), short): topic for each in scenarios for short, topic in each.topics.items()
    }
    led_by_second = two_broker_topics(scenarios)
    ordinary = {name: topic for name, topic in topics.items() if name not in led_by_second}
    for config in {tuple(sorted(topic.config.items())) for topic in ordinary.values()}:
        alike = {name: t.partitions for name, t in ordinary.items() if tuple(sorted(t.config.items())) == config}
        create_topics(bootstrap, alike, topic_settings(dict(config), pace.CHOSEN))
    return topics


def topic_settings(config: Mapping[str, str], chosen: RunPace) -> dict[str, str]:
    """Return Kafka's settings of a topic: those whose names end with `.ms` are converted to wall-clock time."""
    return {
        name: str(chosen.wall_ms(int(value) / 1_000)) if name.endswith(".ms") else value
        for name, value in config.items()
    }


@contextlib.contextmanager
def producers_of(
    bootstrap: str, topics: dict[str, ScenarioTopic], led_by_second: Collection[str], clock: RunClock
) -> Iterator[dict[str, FlowProducer]]:
    """Return the producer of each topic, with all backlogs written: one for all topics that nothing blocks."""
    plain = {name: topic for name, topic in topics.items() if topic.transaction is None and name not in led_by_second}
    common = FlowProducer(bootstrap, plain, clock.now)
    others = {
        name: FlowProducer(bootstrap, {name: topic}, clock.now, transactional=topic.transaction is not None)
        for name, topic in topics.items()
        if name not in plain
    }
    producers = {**dict.fromkeys(plain, common), **others}
    try:
        for each in (common, *others.values()):
            each.write_backlog()
        yield producers
    finally:
        for each in (common, *others.values()):
            each.close()


def _wait_for_verdicts(
    current: Callable[[], RunRecord], scenarios: Sequence[VerdictScenario], clock: RunClock, patience: float
) -> None:
    """Wait until all expected verdicts have been shown, for at most `patience` seconds of the run."""
    latest = clock.now() + patience
    while clock.now() < latest and not all(each.found for each in outcomes(scenarios, current())):
        clock.wait(clock.now() + pace.TICK)


def _record(
    began: float,
    runners: Sequence[GroupRunner],
    marks: dict[str, float],
    recorder: SnapshotRecorder,
) -> RunRecord:
    """Return the record until now, without commits."""
    now = time.time()
    return RunRecord(
        began=began,
        ended=now,
        stretch=pace.CHOSEN.stretch,
        groups={each.scenario.name: each.group.group for each in runners},
        marks={"": marks, **{each.scenario.name: dict(each.marks) for each in runners}},
        snapshots=list(recorder.snapshots),
        ends=list(recorder.ends),
        commits=[],
        details=dict(recorder.details),
        faults=[f"{each.scenario.name}: {fault}" for each in runners for fault in each.faults],
        pauses={each.scenario.name: each.pauses(now) for each in runners},
        lost_memberships={each.scenario.name: each.lost_memberships(now) for each in runners},
    )
