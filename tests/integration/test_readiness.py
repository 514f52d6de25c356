"""Readiness depends on the position in the offsets topic: with every kind of log tail, added partitions and outages."""

import functools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from sandbox.kafka import tools
from sandbox.kafka.broker import Broker
from stream.errors import ExitCode
from stream.groups.placement import partition_for
from stream.service import startup
from stream.wording import ranges
from tests.conftest import MakeBroker
from tests.integration.traffic import (
    FAST_RETENTION,
    OFFSETS_TOPIC,
    begin_transaction,
    commit,
    commit_in,
    committed_at_broker,
    end_transaction,
    expire_records,
    groups_in,
    make_topic,
    offsets_ends,
    topics_of,
)
from tests.support.in_process_job import InProcessJob, Jvm
from tests.support.processes import eventually, patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(500))]

BEFORE: Final = 4
AFTER: Final = 10
NAMES: Final = tuple(f"group-{number}" for number in range(40))
STAYING: Final = tuple(name for name in NAMES if partition_for(name, BEFORE) == partition_for(name, AFTER))
MOVING: Final = tuple(name for name in NAMES if partition_for(name, AFTER) >= BEFORE)
LATE: Final = tuple(name for name in (f"late-{number}" for number in range(30)) if partition_for(name, AFTER) >= BEFORE)


def test_monitor_waits_for_the_offsets_topic_and_does_not_create_it(
    make_broker: MakeBroker, jvm: Jvm, tmp_path: Path
) -> None:
    """Readiness names the missing topic, and the monitor is ready after the first commit."""
    bootstrap = make_broker().bootstrap
    make_topic(bootstrap, "t", 1)
    with InProcessJob(bootstrap, tmp_path, jvm) as monitor:
        monitor.wait_for(lambda: monitor.readiness().get("phase") == "waiting for topic", "the phase waiting for topic")
        for _ in range(3):
            monitor.wait_answering()
            assert monitor.get("/readyz").status == 503
            assert "no group has ever committed" in monitor.reasons()
        shown = monitor.metrics()
        assert (shown.value("lagwarden_ready"), shown.value("lagwarden_kafka_reachable")) == (0, 1)
        assert shown.groups == set()
        assert topics_of(bootstrap) == {"t"}
        assert len(monitor.wait_events("offsets topic missing; no group has committed on this cluster yet")) == 1

        commit(bootstrap, "very first", "t", {0: 4})
        monitor.wait_ready()
        assert monitor.wait_read(offsets_ends(bootstrap)).committed == {("very first", "t", 0): 4}


def test_log_tails_without_records_do_not_delay_readiness(make_broker: MakeBroker, jvm: Jvm, tmp_path: Path) -> None:
    """The monitor is ready with logs that are empty, expired, end in a marker, or have an open transaction."""
    bootstrap = make_broker(offsets_partitions=6, properties=FAST_RETENTION).bootstrap
    make_topic(bootstrap, "t", 3)
    group = {partition: next(groups_in(partition, 6, "in")) for partition in range(6)}
    # 0 stays empty. 3 has no records left, but a log start offset above 0.
    commit(bootstrap, group[3], "t", {0: 3}, times=5)
    expire_records(bootstrap, OFFSETS_TOPIC, 3)
    # 1 ends in a commit marker, 2 in an aborted transaction, whose records are not readable.
    producer = begin_transaction(bootstrap, "ends")
    commit_in(producer, bootstrap, group[1], "t", {0: 1})
    end_transaction(bootstrap, producer, commit=True)
    commit(bootstrap, group[2], "t", {0: 2})
    producer.begin_transaction()
    commit_in(producer, bootstrap, group[2], "t", {0: 9})
    end_transaction(bootstrap, producer, commit=False)
    # 4 is blocked by an open transaction. 5 is a usual log.
    commit(bootstrap, group[4], "t", {0: 4})
    held = begin_transaction(bootstrap, "holds")
    commit_in(held, bootstrap, group[4], "t", {0: 8})
    commit(bootstrap, group[5], "t", {0: 5})

    with InProcessJob(bootstrap, tmp_path, jvm) as monitor:
        shown = monitor.wait_ready().metrics()
        assert shown.committed == {(group[number], "t", 0): number for number in (1, 2, 4, 5)}
        assert set(shown.offsets_partitions("distance").values()) == {0}
        assert shown.offsets_partitions("position")[3] == 5
        assert {n: gap for n, gap in shown.offsets_partitions("stable_gap").items() if gap} == {4: 1}
        end_transaction(bootstrap, held, commit=False)
        shown = monitor.wait_read(offsets_ends(bootstrap))
        assert set(shown.offsets_partitions("stable_gap").values()) == {0}
        assert shown.committed == committed_at_broker(bootstrap, [group[number] for number in (1, 2, 4, 5)])


def add_partitions(bootstrap: str, partitions: int) -> None:
    """Increase the number of partitions of the offsets topic, with Kafka's tool."""
    alter = ("--alter", "--topic", OFFSETS_TOPIC, "--partitions", str(partitions))
    tools.run_tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", bootstrap, *alter)


def test_added_partitions_are_read_without_a_restart(make_broker: MakeBroker, jvm: Jvm, tmp_path: Path) -> None:
    """Readiness waits until the added partitions are read. Moved groups are shown once, also after a restart."""
    broker = make_broker(offsets_partitions=BEFORE)
    make_topic(broker.bootstrap, "t", 2, records=100)
    for name in (*STAYING, *MOVING):
        commit(broker.bootstrap, name, "t", {0: 5, 1: 6})
    with InProcessJob(broker.bootstrap, tmp_path, jvm) as monitor:
        monitor.wait_ready()
        # The monitor can have read the partitions before the tool has ended, so readiness is read beside the tool.
        with ThreadPoolExecutor(1) as tool:
            added = tool.submit(add_partitions, broker.bootstrap, AFTER)
            monitor.wait_for(lambda: "offsets partitions not read yet: " in monitor.reasons(), "the reason")
            added.result()
        (line,) = monitor.wait_events("more partitions of __consumer_offsets; reading them from their start")
        assert line["partitions"] == ranges(range(BEFORE, AFTER))
        monitor.wait_ready()

        # A broker counts the partitions once, when it starts.
        broker.stop()
        broker.start()
        for name in (*STAYING, *MOVING, *LATE):
            commit(broker.bootstrap, name, "t", {0: 7})
        ends = offsets_ends(broker.bootstrap)
        assert any(ends[partition] for partition in range(BEFORE, AFTER))
        by_broker = committed_at_broker(broker.bootstrap, (*STAYING, *MOVING, *LATE))
        shown = monitor.wait_read(ends)
        assert shown.committed == by_broker
        assert shown.offsets_partitions("position").keys() == set(range(AFTER))
        assert monitor.get("/readyz").status == 200
        assert shown.value("lagwarden_resyncs_total") == 0

        assert monitor.stop().code == ExitCode.OK
        shown = monitor.start().wait_ready().metrics()
        assert shown.committed == by_broker
        assert shown.value("lagwarden_resyncs_total") == 0


def test_monitor_recovers_from_a_missing_broker(make_broker: MakeBroker, jvm: Jvm, tmp_path: Path) -> None:
    """Readiness has the cause while the broker is missing. The old snapshot is shown until the broker returns."""
    broker = make_broker()
    bootstrap = broker.bootstrap
    make_topic(bootstrap, "t", 2)
    commit(bootstrap, "g", "t", {0: 3})
    broker.stop()

    settings = {"job.freshness_limit": "6s", "kafka.request_timeout": "3s"}
    with InProcessJob(bootstrap, tmp_path, jvm, settings) as monitor:
        monitor.wait_for(lambda: bootstrap in monitor.reasons(), "the cause to be named")
        assert "nothing listens there" in monitor.reasons()
        assert monitor.get("/livez").status == 200
        assert monitor.get("/readyz").status == 503
        assert monitor.metrics().value("lagwarden_kafka_reachable") == 0
        assert [line["cause"] for line in monitor.wait_events("kafka unavailable at startup; trying again")] == [
            monitor.reasons()
        ]

        broker.start()
        monitor.wait_ready()
        assert monitor.metrics().committed == {("g", "t", 0): 3}

        broker.stop()
        monitor.wait_for(lambda: monitor.metrics().value("lagwarden_kafka_reachable") == 0, "the outage to be seen")
        monitor.wait_for(lambda: monitor.get("/readyz").status == 503, "readiness to end with freshness")
        assert "old (limit 6 s)" in monitor.reasons()
        shown = monitor.metrics()
        assert shown.committed == {("g", "t", 0): 3}
        assert shown.value("lagwarden_phase_info", phase="running") == 1
        assert monitor.get("/livez").status == 200
        assert len(monitor.wait_events("kafka unreachable")) == 1

        broker.start()
        monitor.wait_ready()
        assert monitor.metrics().value("lagwarden_kafka_reachable") == 1
        commit(bootstrap, "g", "t", {0: 5})
        commit(bootstrap, "after", "t", {1: 1})
        shown = monitor.wait_read(offsets_ends(bootstrap))
        assert shown.committed == {("g", "t", 0): 5, ("after", "t", 1): 1}
        assert len(monitor.wait_events("kafka reachable again")) == 1
        assert monitor.stop().code == ExitCode.OK


def test_a_start_while_a_broker_is_away_shows_the_groups_of_the_others(
    make_broker: MakeBroker, jvm: Jvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two brokers is advertised under a name that has no address.

    Readiness names its partitions, the broker and the error. When it is back, its groups are read without a restart.
    """
    monkeypatch.setattr(startup, "_WAIT_FOR_ALL_SECONDS", 3.0)
    two = {"offsets.topic.num.partitions": "2"}
    one = make_broker(properties=two)
    other = make_broker(joins=one, properties=two)
    topic = NewTopic(OFFSETS_TOPIC, num_partitions=2, replica_assignment=[[1], [2]])
    admin = AdminClient({"bootstrap.servers": one.bootstrap})
    eventually(functools.partial(create, admin, topic))
    make_topic(one.bootstrap, "t", 1)
    here, away = (next(name for name in NAMES if partition_for(name, 2) == each) for each in (0, 1))
    for name in (here, away):
        commit(one.bootstrap, name, "t", {0: 5})
    restart(other, {**two, "advertised.listeners": "PLAINTEXT://broker-2.invalid:9092"})
    with InProcessJob(one.bootstrap, tmp_path, jvm) as monitor:
        monitor.wait_for(lambda: monitor.metrics().committed == {(here, "t", 0): 5}, "the group of the first broker")
        assert monitor.get("/readyz").status == 503
        (reason,) = (each for each in monitor.readiness()["reasons"] if "end offsets" in each)
        assert reason.startswith("offsets partitions that have no known end offsets (unreachable): 1; they are led by")
        assert "broker-2.invalid" in reason
        assert monitor.metrics().value("lagwarden_kafka_reachable") == 1
        restart(other, two)
        monitor.wait_ready()
        assert monitor.metrics().committed == {(here, "t", 0): 5, (away, "t", 0): 5}


def create(admin: AdminClient, topic: NewTopic) -> None:
    """Create a topic. Raises KafkaException, as while a broker is not registered."""
    admin.create_topics([topic])[topic.topic].result()


def restart(broker: Broker, properties: dict[str, str]) -> None:
    """Start a broker again with other properties."""
    broker.stop()
    broker.properties = properties
    broker.start()
