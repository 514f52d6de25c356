"""Lookups on a real broker: log tails, open and hanging transactions, retention and past end offsets."""

import contextlib
import datetime as dt
import time
from collections.abc import Iterator
from typing import Final

import numpy as np
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka.protocol.producer import ProduceRequest

from sandbox.kafka import log_writer
from sandbox.kafka.broker import Broker, create_topics
from sandbox.kafka.tools import run_tool
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.health.features.end_history import NOT_ANSWERED
from stream.health.verdict import Verdict
from tests.integration.ticks import Monitor, write
from tests.integration.traffic import commit, consumer
from tests.support.processes import LIMIT, wait_until
from tests.support.producers import patient_producer

pytestmark = pytest.mark.kafka

TRANSACTIONAL: Final = 0x10
GHOST: Final = 4_711
"""The id of a producer that no coordinator has given out."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Return a broker without transaction verification, so that a transaction can hang."""
    with Broker(properties={"transaction.partition.verification.enable": "false"}) as started:
        create_topics(started.bootstrap, {"first": 1})
        commit(started.bootstrap, "first", "first", {0: 0})
        yield started


@pytest.fixture
def monitor(broker: Broker) -> Iterator[Monitor]:
    """Return a monitor without state."""
    with Cluster([broker.bootstrap]) as cluster:
        cluster.connect(LIMIT)
        yield Monitor(cluster)


def high_watermark(broker: Broker, topic: str) -> int:
    """Return the high watermark of partition 0 by another client."""
    with contextlib.closing(
        Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "watermark-reader"})
    ) as client:
        return int(client.get_watermark_offsets(TopicPartition(topic, 0), LIMIT, cached=False)[1])


def test_a_group_that_has_read_all_of_a_transactional_topic_has_no_lag(broker: Broker, monitor: Monitor) -> None:
    """Markers and aborted records after the committed offset are not lag. A record of an open transaction is lag."""
    create_topics(broker.bootstrap, {"tails": 1})
    producer = patient_producer(broker.bootstrap, "tails")
    write(producer, "tails", 5)
    producer.commit_transaction(LIMIT)
    write(producer, "tails", 3)
    producer.abort_transaction(LIMIT)
    wait_until(lambda: high_watermark(broker, "tails") == 10, "the markers")
    with consumer(broker.bootstrap, "reads-all", isolation_level="read_committed") as reader:
        reader.assign([TopicPartition("tails", 0, 0)])
        read = [reader.poll(LIMIT) for _ in range(5)]
        assert read[-1] is not None
        last = [TopicPartition("tails", 0, (read[-1].offset() or 0) + 1)]
        reader.commit(offsets=last, asynchronous=False)
    commit(broker.bootstrap, "one-behind", "tails", {0: 4})
    lags = []
    for _ in range(4):
        monitor.tick()
        lags.append((monitor.lag("reads-all", "tails"), monitor.lag("one-behind", "tails")))
    assert (lags[0], lags[-1]) == ((5, 6), (0, 1))
    assert monitor.verdict("reads-all", "tails") is Verdict.CAUGHT_UP
    write(producer, "tails", 1)
    monitor.tick()
    assert monitor.lag("reads-all", "tails") == 6, "a record of an open transaction may come"
    producer.commit_transaction(LIMIT)


def test_open_transaction_is_named_in_the_verdict(broker: Broker, monitor: Monitor) -> None:
    """The verdict of the waiting group has the transactional id, from the leader and the coordinator.

    Producer, epoch, state, timeout and start are those that Kafka's tool describes.
    """
    create_topics(broker.bootstrap, {"open": 1})
    producer = patient_producer(broker.bootstrap, "left-open")
    write(producer, "open", 4)
    commit(broker.bootstrap, "waits", "open", {0: 0})
    commit(broker.bootstrap, "does-not-wait", "open", {0: 2})
    verdicts = []
    for _ in range(16):
        monitor.tick()
        verdicts.append(monitor.verdict("waits", "open"))
    assert verdicts[5] is not Verdict.HELD_BACK, "a transaction may take a minute"
    assert verdicts[-1] is Verdict.HELD_BACK, "one commit shows no habit of the group, and none is needed"
    assert monitor.verdict("does-not-wait", "open") is not Verdict.HELD_BACK, "it has read from the open transaction"
    finding = monitor.result.row_finding(monitor.row("waits", "open"))
    (row,) = monitor.results.transactions["open"].to_pylist()
    assert f"the open transaction of producer {row['producer_id']} (left-open)" in finding.sentence
    assert (finding.evidence["last_stable_offset"], finding.evidence["high_watermark"]) == (0, 4)
    assert (row["transactional_id"], row["state"], row["hanging"]) == ("left-open", "Ongoing", False)
    (described,) = tool(broker, "describe", "--transactional-id", "left-open")
    start_ms = int(row["start_time"].replace(tzinfo=dt.UTC).timestamp() * 1000)
    ours = (row["producer_id"], row["producer_epoch"], row["state"], row["timeout_ms"], start_ms)
    names = ("ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs", "CurrentTransactionStartTimeMs")
    assert [str(each) for each in ours] == [described[name] for name in names]
    producer.abort_transaction(LIMIT)
    wait_until(lambda: high_watermark(broker, "open") == 5, "the marker")
    monitor.tick()
    assert "open" not in monitor.results.transactions


def tool(broker: Broker, *arguments: str) -> list[dict[str, str]]:
    """Return the table that `kafka-transactions` prints, by header; empty without one."""
    output = run_tool("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", broker.bootstrap, *arguments)
    header, *rows = [line.split("\t") for line in output.splitlines() if "\t" in line] or [[]]
    names = [name.strip() for name in header]
    return [dict(zip(names, (value.strip() for value in row), strict=True)) for row in rows]


def test_transaction_unknown_to_all_coordinators_is_hanging(broker: Broker, monitor: Monitor) -> None:
    """The topic `__transaction_state` has no record of the transaction, but has one of another that is open.

    Only the first is hanging. Its producer id and start offset are those of `find-hanging`, and Kafka's tool aborts it.
    """
    create_topics(broker.bootstrap, {"hanging": 1, "beside": 1})
    write(patient_producer(broker.bootstrap, "beside"), "beside", 1)
    _write_without_coordinator(monitor.cluster)
    for topic in ("hanging", "beside"):
        commit(broker.bootstrap, f"waits-for-{topic}", topic, {0: 0})
    for _ in range(16):
        monitor.tick()
    ours = {
        topic: [(row["producer_id"], row["start_offset"]) for row in table.to_pylist() if row["hanging"]]
        for topic, table in monitor.results.transactions.items()
    }
    (theirs,) = tool(broker, "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0")
    assert (theirs["Topic"], int(theirs["ProducerId"]), int(theirs["StartOffset"])) == ("hanging", GHOST, 0)
    assert ours == {"hanging": [(GHOST, 0)], "beside": []}
    finding = monitor.result.row_finding(monitor.row("waits-for-hanging", "hanging"))
    assert finding.verdict is Verdict.HELD_BACK
    assert f"the hanging transaction of producer {GHOST}" in finding.sentence
    assert (finding.evidence["last_stable_offset"], finding.evidence["high_watermark"]) == (0, 1)
    tool(broker, "abort", "--topic", "hanging", "--partition", "0", "--start-offset", "0")
    wait_until(lambda: high_watermark(broker, "hanging") == 2, "the abort marker")
    monitor.tick()
    assert "hanging" not in monitor.results.transactions


def _write_without_coordinator(cluster: Cluster) -> None:
    """Write a record of a transaction that no coordinator knows."""
    partition = ProduceRequest.TopicProduceData.PartitionProduceData
    fields = {"producer_id": GHOST, "producer_epoch": 0, "base_sequence": 0}
    records = log_writer.batch(0, [log_writer.Rec(0, 0, b"k", b"v")], attributes=TRANSACTIONAL, **fields)
    topic = ProduceRequest.TopicProduceData(name="hanging", partition_data=[partition(index=0, records=records)])
    request = ProduceRequest(transactional_id="ghost", acks=-1, timeout_ms=5_000, topic_data=[topic], max_version=11)
    response = cluster.call(request, 1).responses[0].partition_responses[0]
    assert response.error_code == 0, response


def test_retention_and_past_end_offsets_of_topics(broker: Broker, monitor: Monitor) -> None:
    """Retention is the effective one. Past end offsets follow from the timestamps of records.

    They follow from no record if the unread one of a group has a time in seconds: the others say nothing about it.
    """
    create_topics(broker.bootstrap, {"kept": 1, "odd": 1}, {"retention.ms": "987654321"})
    create_topics(broker.bootstrap, {"compacted": 1}, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    now = time.time()
    for ago in (7_000, 5_000, 3_000, 1_000):
        for topic in ("kept", "odd"):
            producer.produce(topic, b"v", partition=0, timestamp=int((now - ago) * 1000))
    producer.produce("odd", b"v", partition=0, timestamp=int(now))
    assert producer.flush(LIMIT) == 0
    commit(broker.bootstrap, "settings", "odd", {0: 4})
    commit(broker.bootstrap, "settings", "kept", {0: 1})
    commit(broker.bootstrap, "settings", "compacted", {0: 0})
    monitor.tick()
    retention = {topic: monitor.results.retention[topic] for topic in ("kept", "compacted", NAME)}
    assert retention == {"kept": 987_654_321, "compacted": -1, NAME: -1}
    seed = monitor.lookups.backfill_ends(monitor.ends, monitor.inputs)
    assert seed is not None
    times, offsets = seed
    row = int(np.flatnonzero(monitor.inputs.ends.place == list(monitor.inputs.topics).index("kept") << 32)[0])
    ends = {round(now - at / 1000, -2): int(end) for at, end in zip(times.tolist(), offsets[row].tolist(), strict=True)}
    assert ends[3_600] == 2
    assert ends[14_400] == 0
    assert NOT_ANSWERED not in ends.values()
    odd = monitor.inputs.ends.place == list(monitor.inputs.topics).index("odd") << 32
    assert (offsets[odd] == NOT_ANSWERED).all()
