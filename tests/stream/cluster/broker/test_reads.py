"""Reads of records on real brokers: what Kafka's consumer reads, also during pauses, kills and moves of leaders."""

import threading
from collections.abc import Callable
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from sandbox.clients.members import transactional_producer
from sandbox.kafka.broker import Broker, create_topic_led_by, create_topics
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.records import read
from stream.cluster.records.ranges import OffsetRange, ReadTally, unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.transport.client import Cluster
from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
Row = tuple[int, int, bytes | None, bytes | None]


def produce(bootstrap: str, topic: str, partition: int, records: int, **settings: str | int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "batch.num.messages": 10, "log_level": 0, **settings})
    for number in range(records):
        producer.produce(topic, b"value %d of %s" % (number, topic.encode()) * 5, b"key", partition=partition)
        producer.poll(0)
    assert producer.flush(LIMIT) == 0


def consumed(bootstrap: str, topic: str, ends: dict[int, int]) -> list[Row]:
    """Return what Kafka's read_committed consumer reads up to these ends, by partition and offset."""
    behaviour = {"auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 0}
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, **behaviour}
    )
    rows: list[Row] = []
    consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
    left = set(ends)
    while left:
        message = consumer.poll(LIMIT)
        assert message is not None
        if message.error():
            left.discard(message.partition())
        else:
            rows.append((message.partition(), message.offset(), message.key(), message.value()))
    consumer.close()
    return sorted(rows)


def rows_of(cluster: Cluster, topic: str, wanted: list[OffsetRange] | None = None, *, rows: int = 0) -> list[Row]:
    """Return what the product reads, by partition and offset; no faults and no skipped offsets may be counted."""
    tally = ReadTally()
    ranges = wanted or unread_ranges(cluster, topic, {})
    found = [
        (partition, record.offset, record.key, record.value)
        for fetched in read_records(cluster, topic, ranges, rows=rows, ahead=True, tally=tally)
        for partition, record in fetched.rows()
    ]
    assert (tally.faults, tally.skipped) == ({}, {})
    return sorted(found)


@pytest.fixture
def small_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit responses to 20 kB, so that a read needs many requests."""
    monkeypatch.setattr(read, "RESPONSE_BYTES", 20_000)


@pytest.mark.parametrize("response_bytes", [2_000, 8 << 20])
def test_a_read_returns_the_records_that_a_consumer_reads(
    broker: Broker, response_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read returns the records that a consumer reads, for whole partitions and for ranges of offsets.

    The topic has all codecs, a record of more than a megabyte, and committed, aborted and open transactions.
    """
    monkeypatch.setattr(read, "RESPONSE_BYTES", response_bytes)
    topic = f"reads-{response_bytes}"
    create_topics(broker.bootstrap, {topic: 3}, {"max.message.bytes": "4000000"})
    for codec in CODECS:
        for partition in range(3):
            produce(broker.bootstrap, topic, partition, 200, **{"compression.type": codec})
    large = Producer({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 4_000_000, "log_level": 0})
    large.produce(topic, bytes(1_500_000), b"large", partition=1)
    assert large.flush(LIMIT) == 0
    for number in range(6):
        producer = transactional_producer(broker.bootstrap, f"{topic}-{number}")
        producer.begin_transaction()
        for n in range(20):
            producer.produce(topic, b"%d" % n, b"in transaction %d" % number, partition=n % 3)
        if number % 2:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    still_open = transactional_producer(broker.bootstrap, f"{topic}-open")
    still_open.begin_transaction()
    still_open.produce(topic, b"hidden", b"hidden", partition=0)
    assert still_open.flush(LIMIT) == 0
    produce(broker.bootstrap, topic, 0, 10)

    with Cluster([broker.bootstrap]) as cluster:
        ranges = unread_ranges(cluster, topic, {})
        expected = consumed(broker.bootstrap, topic, {each.partition: each.end for each in ranges})
        assert rows_of(cluster, topic) == expected
        assert len(expected) == 3 * 5 * 200 + 1 + 3 * 20
        middle = [OffsetRange(each.partition, each.end // 3, each.end * 2 // 3) for each in ranges]
        bounds = {each.partition: (each.position, each.end) for each in middle}
        inside = [row for row in expected if bounds[row[0]][0] <= row[1] < bounds[row[0]][1]]
        assert rows_of(cluster, topic, middle, rows=read.ROWS) == inside
    still_open.abort_transaction()


def _restart(broker: Broker) -> None:
    broker.stop()
    broker.start()


def _kill(broker: Broker) -> None:
    broker.kill()
    broker.start()


def _pause(broker: Broker) -> None:
    broker.pause()
    threading.Event().wait(4)
    broker.resume()


@pytest.mark.usefixtures("small_responses")
@pytest.mark.parametrize("fault", [_restart, _kill, _pause], ids=["restart", "kill", "pause"])
def test_a_read_survives_a_broker_that_is_away(make_broker: MakeBroker, fault: Callable[[Broker], None]) -> None:
    """The read waits for the broker and continues at its position: every record is returned once."""
    broker = make_broker()
    create_topics(broker.bootstrap, {"t": 2})
    for partition in range(2):
        produce(broker.bootstrap, "t", partition, 3_000)
    with Cluster([broker.bootstrap], request_timeout=2) as cluster:
        fetched = read_records(cluster, "t", unread_ranges(cluster, "t", {}))
        seen = [(partition, record.offset) for partition, record in next(fetched).rows()]
        away = threading.Thread(target=fault, args=(broker,))
        away.start()
        seen += [(partition, record.offset) for some in fetched for partition, record in some.rows()]
        away.join()
    assert sorted(seen) == [(partition, offset) for partition in range(2) for offset in range(3_000)]


@pytest.mark.usefixtures("small_responses")
def test_a_read_follows_the_leader(make_broker: MakeBroker) -> None:
    """If the leader stops, the follower becomes the leader, and the read continues with it."""
    first = make_broker(properties={"unclean.leader.election.enable": "false"})
    second = make_broker(joins=first, node=2)
    create_topic_led_by(first.bootstrap, "t", leader=2, followers=[1])
    produce(first.bootstrap, "t", 0, 3_000, acks="all")
    with Cluster([first.bootstrap], request_timeout=5) as cluster:
        fetched = read_records(cluster, "t", unread_ranges(cluster, "t", {}))
        seen = next(fetched).offset.tolist()
        second.stop()
        wait_until(lambda: cluster.metadata(["t"]).topics[0].partitions[0].leader_id == 1, "broker 1 to lead")
        seen += [offset for some in fetched for offset in some.offset.tolist()]
    assert seen == list(range(3_000))
