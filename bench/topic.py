"""Writes the benchmark's traffic to `__consumer_offsets` of a real broker, and fills the monitored topics.

The bytes of every key and value are the same in each run. The record timestamps are the time of writing: the client
writes batches three times as fast without explicit timestamps.
"""

import contextlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient

from bench.encoding import commit_keys, group_keys, object_column, values
from bench.traffic import Chunk, Kind, Traffic, chunks
from sandbox.kafka.broker import Broker, create_topics
from stream.groups.placement import partition_for

OFFSETS_TOPIC: Final = "__consumer_offsets"
_LIMIT: Final = 300.0

_BROKER_TOPIC_CONFIG: Final = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": str(100 << 20),
    # Unlike a broker's default: the records must not be compacted during the measurement.
    "min.compaction.lag.ms": str(1 << 40),
}
_PROPERTIES: Final = {
    # If this broker loads the topic, no offset in it is old enough to expire.
    "offsets.retention.minutes": "2147483647",
}
_PRODUCER: Final = {
    # The only client id that a broker allows to write to an internal topic.
    "client.id": "__admin_client",
    "enable.idempotence": True,
    "linger.ms": 50,
    "batch.size": 262_144,
    "queue.buffering.max.messages": 2_000_000,
    "queue.buffering.max.kbytes": 1_048_576,
    "log_level": 0,
}


@contextlib.contextmanager
def broker_with(traffic: Traffic) -> Iterator[Broker]:
    """Start a broker and write the whole traffic to it."""
    with broker_for(traffic) as broker:
        writer = Writer(broker.bootstrap, traffic)
        for chunk in chunks(traffic):
            writer.write(chunk)
        yield broker


@contextlib.contextmanager
def broker_for(traffic: Traffic) -> Iterator[Broker]:
    """Start a broker with the topics of the traffic and no group."""
    with Broker(offsets_partitions=traffic.offsets_partitions, heap="512m", properties=_PROPERTIES) as broker:
        create_topics(broker.bootstrap, {OFFSETS_TOPIC: traffic.offsets_partitions}, _BROKER_TOPIC_CONFIG)
        fill_monitored_topics(broker.bootstrap, traffic)
        yield broker


def fill_monitored_topics(bootstrap: str, traffic: Traffic) -> None:
    """Create the topics that the groups read, with `log_end` records per partition."""
    create_topics(bootstrap, dict.fromkeys(traffic.topic_names(), traffic.partitions_per_group))
    producer = Producer({**_PRODUCER, "bootstrap.servers": bootstrap})
    batch = [{"value": b"x"}] * traffic.log_end
    for topic in traffic.topic_names():
        for partition in range(traffic.partitions_per_group):
            _produce(producer, topic, partition, batch)
    _flush(producer)


def topic_ids(bootstrap: str, names: Sequence[str]) -> list[bytes]:
    """Return the ids of topics: a commit with another topic id belongs to a deleted topic of that name."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    descriptions = admin.describe_topics(TopicCollection(list(names)))
    ids = [descriptions[name].result(_LIMIT).topic_id for name in names]
    halves = ((each.get_most_significant_bits(), each.get_least_significant_bits()) for each in ids)
    return [struct.pack(">qq", *both) for both in halves]


class Writer:
    """Writes chunks of traffic to the offsets topic, each group's records to the partition of its coordinator."""

    def __init__(self, bootstrap: str, traffic: Traffic) -> None:
        self._traffic = traffic
        self._producer = Producer({**_PRODUCER, "bootstrap.servers": bootstrap})
        self._topic_ids = topic_ids(bootstrap, traffic.topic_names())
        self._commit_keys = object_column(commit_keys(traffic))
        self._group_keys = object_column(group_keys(traffic))
        self._home = np.array(
            [partition_for(traffic.group(group), traffic.offsets_partitions) for group in range(traffic.groups)]
        )

    def write(self, chunk: Chunk) -> int:
        """Write a chunk, wait for the acknowledgements, and return the number of its records.

        Raises RuntimeError when the broker refuses a record.
        """
        of_group = (chunk.kind == Kind.MEMBERSHIP) | (chunk.kind == Kind.GROUP_TOMBSTONE)
        group = np.where(of_group, chunk.key, chunk.key // self._traffic.partitions_per_group)
        keys = np.where(of_group, self._group_keys[group], self._commit_keys[np.where(of_group, 0, chunk.key)])
        encoded = object_column(values(self._traffic, chunk, self._topic_ids))
        home = self._home[group]
        # Partition by partition: keeps the order within each and fills the batches.
        order = np.argsort(home, kind="stable")
        ends = np.flatnonzero(np.diff(home[order], append=-1)) + 1
        for rows in np.split(order, ends[:-1]):
            batch = [{"key": key, "value": value} for key, value in zip(keys[rows], encoded[rows], strict=True)]
            _produce(self._producer, OFFSETS_TOPIC, int(home[rows[0]]), batch)
        _flush(self._producer)
        return len(chunk)


def _produce(producer: Producer, topic: str, partition: int, batch: list[dict[str, Any]]) -> None:
    if producer.produce_batch(topic, batch, partition=partition) != len(batch):
        raise RuntimeError(f"{topic}-{partition}: the producer did not accept every record of the benchmark")
    producer.poll(0)


def _flush(producer: Producer) -> None:
    if left := producer.flush(_LIMIT):
        raise RuntimeError(f"the broker did not acknowledge {left} records of the benchmark within {_LIMIT:.0f} s")
