"""A `__consumer_offsets` full of the benchmark's traffic on a real broker, and the topics whose lag it is about.

The bytes of every key and value are the same at each run; the timestamps of the records themselves are those of the
writing (the client writes batches three times as fast without).
"""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient

from bench.encoding import commit_keys, group_keys, values
from bench.traffic import Kind, chunks
from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topics
from stream.groups.placement import partition_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bench.traffic import Chunk, Traffic

OFFSETS_TOPIC: Final = "__consumer_offsets"
_LIMIT: Final = 60.0

_AS_A_BROKER_WOULD: Final = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": str(100 << 20),
    # Not as a broker would: what is measured must not be compacted away while it is measured.
    "min.compaction.lag.ms": str(1 << 40),
}
_PROPERTIES: Final = {
    # Should this broker load the topic some day: nothing in it is old enough to be expired.
    "offsets.retention.minutes": "2147483647",
}
_PRODUCER: Final = {
    # The one name under which a broker lets a client write to an internal topic.
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
    """Start a broker of the benchmark's own and write the whole traffic to it."""
    with broker_for(traffic) as broker:
        writer = Writer(broker.bootstrap, traffic)
        for chunk in chunks(traffic):
            writer.write(chunk)
        yield broker


@contextlib.contextmanager
def broker_for(traffic: Traffic) -> Iterator[Broker]:
    """Start a broker of the benchmark's own, with topics as the traffic has them and no group yet."""
    with Broker(offsets_partitions=traffic.offsets_partitions, heap="512m", properties=_PROPERTIES) as broker:
        create_topics(broker.bootstrap, {OFFSETS_TOPIC: traffic.offsets_partitions}, _AS_A_BROKER_WOULD)
        fill_monitored_topics(broker.bootstrap, traffic)
        yield broker


def fill_monitored_topics(bootstrap: str, traffic: Traffic) -> None:
    """Make the topics that the groups read, with as many records as the highest commit claims."""
    create_topics(bootstrap, dict.fromkeys(traffic.topic_names(), traffic.partitions_per_group))
    producer = Producer({**_PRODUCER, "bootstrap.servers": bootstrap})
    batch = [{"value": b"x"}] * traffic.log_end
    for topic in traffic.topic_names():
        for partition in range(traffic.partitions_per_group):
            _produce(producer, topic, partition, batch)
    _flush(producer)


def topic_ids(bootstrap: str, names: Sequence[str]) -> list[bytes]:
    """Ask for the ids of topics: a commit that names another id is one of a topic that was there before."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    told = admin.describe_topics(TopicCollection(list(names)))
    ids = [told[name].result(_LIMIT).topic_id for name in names]
    halves = ((each.get_most_significant_bits(), each.get_least_significant_bits()) for each in ids)
    return [struct.pack(">qq", *both) for both in halves]


class Writer:
    """Writes chunks of traffic to the offsets topic, each group's records to the partition of its coordinator."""

    def __init__(self, bootstrap: str, traffic: Traffic) -> None:
        self._traffic = traffic
        self._producer = Producer({**_PRODUCER, "bootstrap.servers": bootstrap})
        self._topic_ids = topic_ids(bootstrap, traffic.topic_names())
        self._commit_keys = _objects(commit_keys(traffic))
        self._group_keys = _objects(group_keys(traffic))
        self._home = np.array(
            [partition_for(traffic.group(group), traffic.offsets_partitions) for group in range(traffic.groups)]
        )

    def write(self, chunk: Chunk) -> None:
        """Write a chunk, and return when the broker has it. Raises RuntimeError when it refuses a record."""
        of_group = (chunk.kind == Kind.MEMBERSHIP) | (chunk.kind == Kind.GROUP_TOMBSTONE)
        group = np.where(of_group, chunk.key, chunk.key // self._traffic.partitions_per_group)
        keys = np.where(of_group, self._group_keys[group], self._commit_keys[np.where(of_group, 0, chunk.key)])
        spelled = _objects(values(self._traffic, chunk, self._topic_ids))
        home = self._home[group]
        # Partition by partition, which keeps each one's order and makes full batches.
        order = np.argsort(home, kind="stable")
        ends = np.flatnonzero(np.diff(home[order], append=-1)) + 1
        for rows in np.split(order, ends[:-1]):
            batch = [{"key": key, "value": value} for key, value in zip(keys[rows], spelled[rows], strict=True)]
            _produce(self._producer, OFFSETS_TOPIC, int(home[rows[0]]), batch)
        _flush(self._producer)


def _objects(items: list[Any]) -> NDArray[np.object_]:
    column = np.empty(len(items), object)
    column[:] = items
    return column


def _produce(producer: Producer, topic: str, partition: int, batch: list[dict[str, Any]]) -> None:
    if producer.produce_batch(topic, batch, partition=partition) != len(batch):
        raise RuntimeError(f"{topic}-{partition}: not every record of the benchmark was taken by the producer")
    producer.poll(0)


def _flush(producer: Producer) -> None:
    if left := producer.flush(_LIMIT):
        raise RuntimeError(f"the broker did not take {left} records of the benchmark within {_LIMIT:.0f} s")
