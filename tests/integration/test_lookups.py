"""Lookups on a real broker: log tails, open transactions, and groups hidden behind them.

Ticks run in the test process (`tests.integration.ticks`).
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka.protocol.producer import ProduceRequest

from sandbox.kafka import log_writer as logwriter
from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import describe_groups, run_tool
from sandbox.kafka.topics import create_topics
from sandbox.waiting import LIMIT, eventually, wait_until
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.groups.placement import partition_for
from stream.health.features.end_history import NOT_ANSWERED
from stream.health.verdict import Verdict
from tests.integration.ticks import PARTITIONS, Monitor, transactional, write
from tests.integration.traffic import commit, consumer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.kafka

TRANSACTIONAL: Final = 0x10


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


def groups_of(partition: int, *stems: str) -> list[str]:
    """Return a group name per stem, all in this offsets partition."""
    return [
        next(name for number in range(1000) if partition_for(name := f"{stem}-{number}", PARTITIONS) == partition)
        for stem in stems
    ]


def test_a_group_that_has_read_all_of_a_transactional_topic_has_no_lag(broker: Broker, monitor: Monitor) -> None:
    """Markers and aborted records after the committed offset are not lag. A record of an open transaction is lag."""
    create_topics(broker.bootstrap, {"tails": 1})
    producer = transactional(broker, "tails")
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
    """The verdict of the waiting group has the transactional id, from the leader and the coordinator."""
    create_topics(broker.bootstrap, {"open": 1})
    producer = transactional(broker, "left-open")
    write(producer, "open", 4)
    commit(broker.bootstrap, "waits", "open", {0: 0})
    commit(broker.bootstrap, "does-not-wait", "open", {0: 2})
    verdicts = []
    for _ in range(16):
        monitor.tick()
        verdicts.append(monitor.verdict("waits", "open"))
    assert verdicts[10] is not Verdict.HELD_BACK, "a transaction may take two minutes"
    assert verdicts[-1] is Verdict.HELD_BACK, "one commit shows no habit of the group, and none is needed"
    assert monitor.verdict("does-not-wait", "open") is not Verdict.HELD_BACK, "it has read from the open transaction"
    finding = monitor.result.row_finding(monitor.row("waits", "open"))
    assert "left-open" in finding.sentence
    (row,) = monitor.results.transactions["open"].to_pylist()
    assert (row["transactional_id"], row["state"], row["hanging"]) == ("left-open", "Ongoing", False)
    producer.abort_transaction(LIMIT)
    wait_until(lambda: high_watermark(broker, "open") == 5, "the marker")
    monitor.tick()
    assert "open" not in monitor.results.transactions


def test_transaction_unknown_to_all_coordinators_is_hanging(broker: Broker, monitor: Monitor) -> None:
    """The topic `__transaction_state` has no record of the transaction.

    The result has its producer id and start offset, which Kafka's tool needs to abort it.
    """
    transactional(broker, "unrelated")
    create_topics(broker.bootstrap, {"hanging": 1})
    partition = ProduceRequest.TopicProduceData.PartitionProduceData
    records = logwriter.batch(
        0,
        [logwriter.Rec(0, 0, b"k", b"v")],
        attributes=TRANSACTIONAL,
        producer_id=4_711,
        producer_epoch=0,
        base_sequence=0,
    )
    topic = ProduceRequest.TopicProduceData(name="hanging", partition_data=[partition(index=0, records=records)])
    request = ProduceRequest(transactional_id="ghost", acks=-1, timeout_ms=5_000, topic_data=[topic], max_version=11)
    response = monitor.cluster.call(request, 1).responses[0].partition_responses[0]
    assert response.error_code == 0, response
    commit(broker.bootstrap, "waits-for-hanging", "hanging", {0: 0})
    for _ in range(4):
        monitor.tick()
    (row,) = monitor.results.transactions["hanging"].to_pylist()
    assert (row["start_offset"], row["producer_id"], row["transactional_id"], row["hanging"]) == (0, 4_711, None, True)
    abort = ("abort", "--topic", "hanging", "--partition", "0", "--start-offset", str(row["start_offset"]))
    run_tool("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", broker.bootstrap, *abort)
    wait_until(lambda: high_watermark(broker, "hanging") == 2, "the abort marker")
    monitor.tick()
    assert "hanging" not in monitor.results.transactions


def test_groups_behind_an_open_transaction_are_read_from_the_log(broker: Broker, monitor: Monitor) -> None:
    """The offsets of these groups equal those of Kafka's tool during and after the transaction."""
    create_topics(broker.bootstrap, {"gap": 2, "gap-new": 1})
    holder, hidden = groups_of(2, "holder", "hidden")
    (free,) = groups_of(3, "free")
    for group in (holder, hidden, free):
        commit(broker.bootstrap, group, "gap", {0: 1})
    monitor.tick()
    assert monitor.shown(hidden) == {("gap", 0): (1, False)}

    producer = transactional(broker, "holds-offsets")
    producer.begin_transaction()
    with consumer(broker.bootstrap, holder) as member:
        metadata = member.consumer_group_metadata()
        eventually(lambda: producer.send_offsets_to_transaction([TopicPartition("gap", 0, 77)], metadata, LIMIT))
    commit(broker.bootstrap, hidden, "gap", {0: 5, 1: 6})
    commit(broker.bootstrap, hidden, "gap-new", {0: 7})
    commit(broker.bootstrap, free, "gap", {0: 9})
    for _ in range(3):
        monitor.tick()
    assert monitor.shown(hidden) == {("gap", 0): (5, True), ("gap", 1): (6, True), ("gap-new", 0): (7, True)}
    assert monitor.shown(free) == {("gap", 0): (9, False)}, "its offsets partition is not blocked"
    assert monitor.shown(holder) == {("gap", 0): (1, False)}, "what is only pending does not count"
    assert set(monitor.hidden.blocked_partitions) == {2}
    assert [group in monitor.hidden.read_groups for group in (holder, hidden, free)] == [True, True, False]
    assert_agree(broker, monitor, holder, hidden, free)

    blocked = monitor.blocked_partition()
    assert blocked is not None
    assert (blocked.offsets_partition, blocked.transactional_id, blocked.hanging) == (2, "holds-offsets", False)
    assert abs(blocked.since / 1000 - time.time()) < 60

    commit(broker.bootstrap, hidden, "gap", {0: 8})
    monitor.tick()
    assert monitor.shown(hidden)["gap", 0] == (8, True)

    producer.commit_transaction(LIMIT)
    wait_until(lambda: not _has_open_transaction(monitor), "the marker")
    monitor.tick()
    assert monitor.shown(hidden) == {("gap", 0): (8, False), ("gap", 1): (6, False), ("gap-new", 0): (7, False)}
    assert monitor.shown(holder) == {("gap", 0): (77, False)}
    assert (monitor.blocked_partition(), monitor.hidden.read_groups) == (None, frozenset())
    assert not monitor.hidden.is_hidden.any()
    assert_agree(broker, monitor, holder, hidden, free)


def _has_open_transaction(monitor: Monitor) -> bool:
    ends = read_ends(monitor.cluster, [NAME])
    return not ends.column("high_watermark").equals(ends.column("last_stable_offset"))


def assert_agree(broker: Broker, monitor: Monitor, *groups: str) -> None:
    """Assert that shown offsets equal those of Kafka's tool."""
    theirs = {
        (row.group, row.topic, row.partition): row.current_offset
        for row in describe_groups(broker.bootstrap)
        if row.group in groups
    }
    ours = {(group, *place): offset for group in groups for place, (offset, _) in monitor.shown(group).items()}
    assert ours == theirs


def test_retention_and_past_end_offsets_of_topics(broker: Broker, monitor: Monitor) -> None:
    """Retention is the effective one. Past end offsets follow from the timestamps of records."""
    create_topics(broker.bootstrap, {"kept": 1}, {"retention.ms": "987654321"})
    create_topics(broker.bootstrap, {"compacted": 1}, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    now = time.time()
    for ago in (7_000, 5_000, 3_000, 1_000):
        producer.produce("kept", b"v", partition=0, timestamp=int((now - ago) * 1000))
    assert producer.flush(LIMIT) == 0
    commit(broker.bootstrap, "settings", "kept", {0: 1})
    commit(broker.bootstrap, "settings", "compacted", {0: 0})
    monitor.tick()
    assert monitor.results.retention is not None
    retention = {topic: monitor.results.retention[topic] for topic in ("kept", "compacted", NAME)}
    assert retention == {"kept": 987_654_321, "compacted": -1, NAME: -1}
    seed = monitor.lookups.backfill_ends(monitor.inputs)
    assert seed is not None
    times, offsets = seed
    row = int(np.flatnonzero(monitor.inputs.ends.place == list(monitor.inputs.topics).index("kept") << 32)[0])
    ends = {round(now - at / 1000, -2): int(end) for at, end in zip(times.tolist(), offsets[row].tolist(), strict=True)}
    assert ends[3_600] == 2
    assert ends[14_400] == 0
    assert NOT_ANSWERED not in ends.values()
