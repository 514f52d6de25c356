"""Plays all scenarios at the same time against one real broker and one monitor, and gives what there is to judge."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import OffsetCommitted
from decoders.interpret import events
from sandbox.clients.java_clients import JavaClients
from sandbox.clients.members import client_config
from sandbox.clients.writer import FlowProducer
from sandbox.kafka.broker import Broker
from sandbox.kafka.second_broker import SecondBroker
from sandbox.kafka.topics import create_topics
from sandbox.verdict_scenarios.clock import RunClock
from sandbox.verdict_scenarios.group_runner import OFFSETS_PARTITIONS, GroupRunner, group_name, topic_name
from sandbox.verdict_scenarios.monitor import MonitorProcess, SnapshotRecorder
from sandbox.verdict_scenarios.outage_script import OutageTargets, run_outages, two_broker_topics
from sandbox.verdict_scenarios.record import RecordedCommit, RunRecord
from sandbox.verdict_scenarios.scenario import END
from sandbox.verdict_scenarios.sick import OFFSETS_RETENTION
from sandbox.waiting import eventually
from stream.offline.rows import OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from confluent_kafka import Message

    from sandbox.verdict_scenarios.scenario import ScenarioTopic, VerdictScenario

PROPERTIES: Final = {
    # The shortest life of the offsets of an empty group that leaves the others time for their stories.
    "offsets.retention.minutes": f"{OFFSETS_RETENTION / 60:.0f}",
    # Sessions, and how soon retention and compaction are looked after, are at the pace of the play.
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "600",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
}
HEAP: Final = "400m"
AT_ONCE: Final = 5_000


def run_scenarios(
    scenarios: Sequence[VerdictScenario], folder: Path, say: Callable[[str], None], end: float = END
) -> RunRecord:
    """Play them; takes `end` seconds and about half a minute of preparation."""
    clock = RunClock()
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(
            Broker(folder / "broker", offsets_partitions=OFFSETS_PARTITIONS, heap=HEAP, properties=PROPERTIES)
        )
        desk = stack.enter_context(JavaClients(broker.bootstrap, folder / "desk.log"))
        say(f"broker at {broker.bootstrap}; starting lagwarden")
        commit_first(broker.bootstrap)
        watcher = stack.enter_context(MonitorProcess(broker.bootstrap, folder))
        topics = make_topics(broker.bootstrap, scenarios)
        apart = two_broker_topics(scenarios)
        writers = stack.enter_context(producers_of(broker.bootstrap, topics, apart, clock))
        second = stack.enter_context(contextlib.closing(SecondBroker(broker, folder / "second")))
        for name in apart:
            second.start()
            second.lead(name, broker)
        watcher.wait_ready()
        stages = [GroupRunner(desk, each, writers, clock.now) for each in scenarios]
        places = [(name, partition) for name, topic in topics.items() for partition in range(topic.partitions)]
        recorder = stack.enter_context(
            SnapshotRecorder(watcher, [[p for p in places if p[0] not in apart], [p for p in places if p[0] in apart]])
        )
        say(f"{len(scenarios)} groups, {len(places)} partitions; the play takes {end:.0f} s")
        clock.begin()
        began = time.time()
        for each in {id(writer): writer for writer in writers.values()}.values():
            each.start()
        for each_stage in stages:
            stack.callback(each_stage.close)
            each_stage.start()
        marks = run_outages(OutageTargets(broker, second, watcher), clock, scenarios, say, end)
        record = _record(began, stages, marks, recorder, broker.bootstrap)
        for each_stage in stages:
            each_stage.stop()
    return record


def commit_first(bootstrap: str) -> None:
    """Let the broker make its offsets topic, so that the monitor finds one, and sees the beginning of the play."""
    create_topics(bootstrap, {"first": 1})
    consumer = Consumer({**client_config(bootstrap), "group.id": "first", "enable.auto.commit": False})
    try:
        eventually(lambda: consumer.commit(offsets=[TopicPartition("first", 0, 0)], asynchronous=False))
    finally:
        consumer.close()


def make_topics(bootstrap: str, scenarios: Sequence[VerdictScenario]) -> dict[str, ScenarioTopic]:
    """Make the topics of all scenarios; gives them by their full names."""
    topics = {topic_name(group_name(each), short): topic for each in scenarios for short, topic in each.topics.items()}
    apart = two_broker_topics(scenarios)
    mine = {name: topic for name, topic in topics.items() if name not in apart}
    for config in {tuple(sorted(topic.config.items())) for topic in mine.values()}:
        alike = {name: t.partitions for name, t in mine.items() if tuple(sorted(t.config.items())) == config}
        create_topics(bootstrap, alike, dict(config))
    return topics


@contextlib.contextmanager
def producers_of(
    bootstrap: str, topics: dict[str, ScenarioTopic], apart: Sequence[str], clock: RunClock
) -> Iterator[dict[str, FlowProducer]]:
    """Give the producer of each topic, with all backlogs written: one for all whose writing nothing stops."""
    plain = {name: topic for name, topic in topics.items() if topic.transaction is None and name not in apart}
    crowd = FlowProducer(bootstrap, plain, clock.now)
    others = {
        name: FlowProducer(bootstrap, {name: topic}, clock.now, transactional=topic.transaction is not None)
        for name, topic in topics.items()
        if name not in plain
    }
    writers = {**dict.fromkeys(plain, crowd), **others}
    try:
        for each in (crowd, *others.values()):
            each.backlog()
        yield writers
    finally:
        for each in (crowd, *others.values()):
            each.close()


def _record(
    began: float, stages: Sequence[GroupRunner], marks: dict[str, float], recorder: SnapshotRecorder, bootstrap: str
) -> RunRecord:
    ended = time.time()
    return RunRecord(
        began=began,
        ended=ended,
        groups={each.scenario.name: each.group for each in stages},
        marks={"": marks, **{each.scenario.name: dict(each.marks) for each in stages}},
        snapshots=list(recorder.snapshots),
        ends=list(recorder.ends),
        commits=list(_commits(bootstrap)),
        details=dict(recorder.details),
        faults=[f"{each.scenario.name}: {fault}" for each in stages for fault in each.faults],
    )


def _commits(bootstrap: str) -> Iterator[RecordedCommit]:
    """Read every commit there has been, pending and aborted ones too, in the order of each offsets partition."""
    consumer = Consumer({**client_config(bootstrap), "group.id": "verdicts-commits", "enable.partition.eof": True,
                         "isolation.level": "read_uncommitted"})  # fmt: skip
    open_ = set(range(OFFSETS_PARTITIONS))
    consumer.assign([TopicPartition(OFFSETS_TOPIC, number, OFFSET_BEGINNING) for number in open_])
    try:
        while open_:
            for record in consumer.consume(AT_ONCE, timeout=1.0):
                if record.error() is not None:
                    open_.discard(int(record.partition() or 0))
                else:
                    yield from _commit(record)
    finally:
        consumer.close()


def _commit(record: Message) -> Iterator[RecordedCommit]:
    decoded = scalar.decode(record.key(), record.value())
    for event in () if isinstance(decoded, DecodeError) else events(decoded):
        if isinstance(event, OffsetCommitted):
            order = int(record.offset() or 0)
            yield RecordedCommit(event.group, event.topic, event.partition, event.offset, order, event.commit_timestamp)
