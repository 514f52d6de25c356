"""One librdkafka consumer: its configuration, what it has read, what it commits, and how it idles without leaving."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, Self

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, Message, Producer, TopicPartition

from sandbox.kafka.broker import create_topics
from sandbox.waiting import eventually

GroupKind = Literal["classic", "consumer", "simple"]
"""The kinds of group as lagwarden names them: consumer is KIP-848, simple means offsets without membership."""

Config = dict[str, str | int | float | bool]

REQUEST_TIMEOUT: Final = 10.0
"""Seconds that one request may take; the broker may be restarting."""


class Member:
    """A consumer that commits synchronously what it has read: the next offset of each partition it owns.

    `settings` are librdkafka's and win over the common ones.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        kind: GroupKind,
        *,
        number: int = 0,
        instance: str = "",
        isolated: bool = False,
        settings: Mapping[str, str | int | float | bool] | None = None,
    ) -> None:
        config = consumer_config(bootstrap, group, kind, number, instance, isolated=isolated)
        self.consumer: Final = Consumer({**config, **(settings or {})})
        self.positions: dict[tuple[str, int], int] = {}
        self._kept: list[Message] = []

    def read(self, limit: int = 500, timeout: float = 0.05) -> list[Message]:
        """Return up to `limit` records; none while the member waits for its partitions.

        Raises KafkaException when the client has failed for good: librdkafka then reports a fatal error.
        """
        self.consumer.resume(self.consumer.assignment())
        kept, self._kept = self._kept[:limit], self._kept[limit:]
        found = [*kept, *self.consumer.consume(limit - len(kept), timeout=timeout)] if len(kept) < limit else kept
        records = []
        for record in found:
            error = record.error()
            if error is None:
                records.append(record)
                self.positions[str(record.topic()), int(record.partition() or 0)] = int(record.offset() or 0) + 1
            elif error.fatal():
                raise KafkaException(error)
        return records

    def idle(self) -> None:
        """Poll once without reading: the member answers rebalances and stays in its group.

        A record that arrives all the same is kept for the next `read`.
        """
        self.consumer.pause(self.consumer.assignment())
        record = self.consumer.poll(0)
        if record is not None:
            self._kept.append(record)

    def owned_positions(self) -> list[TopicPartition]:
        """Return the positions of the partitions that the member owns now; positions of all others are dropped."""
        owned = {(each.topic, each.partition) for each in self.consumer.assignment()}
        self.positions = {key: offset for key, offset in self.positions.items() if key in owned}
        return [TopicPartition(topic, partition, offset) for (topic, partition), offset in self.positions.items()]

    def commit(self, changed: Iterable[TopicPartition] | None = None) -> bool:
        """Commit these offsets, or the owned positions, and wait for the answer. Raises KafkaException.

        Returns False when there was nothing to commit.
        """
        offsets = self.owned_positions() if changed is None else list(changed)
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)
        return bool(offsets)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Read a partition again from an offset, which becomes the position."""
        self._kept = [record for record in self._kept if (record.topic(), record.partition()) != (topic, partition)]
        self.consumer.seek(TopicPartition(topic, partition, offset))
        self.positions[topic, partition] = offset

    def committed(self, topic: str, partitions: int) -> dict[int, int]:
        """Return the group's committed offsets of a topic by partition; partitions without one are left out."""
        requested = [TopicPartition(topic, partition) for partition in range(partitions)]
        answered = self.consumer.committed(requested, timeout=REQUEST_TIMEOUT)
        return {each.partition: each.offset for each in answered if each.offset != OFFSET_INVALID}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Close the consumer: a dynamic member leaves its group, a static one only stops its heartbeats."""
        self.consumer.close()


def commit_first(bootstrap: str) -> None:
    """Commit once so that the broker creates its offsets topic."""
    create_topics(bootstrap, {"first": 1})
    with Member(bootstrap, "first", "simple") as member:
        eventually(lambda: member.commit([TopicPartition("first", 0, 0)]))


def client_config(bootstrap: str) -> Config:
    """Return the configuration that every librdkafka client of the sandbox has."""
    return {
        "bootstrap.servers": bootstrap,
        # Brokers are stopped and killed on purpose: no error messages on the terminal, and a quick reconnect.
        "log_level": 0,
        "reconnect.backoff.max.ms": 1000,
    }


def consumer_config(
    bootstrap: str, group: str, kind: GroupKind, number: int = 0, instance: str = "", *, isolated: bool = False
) -> Config:
    """Return the configuration of a consumer that commits itself; `isolated` ones read only committed records."""
    config: Config = {
        **client_config(bootstrap),
        "group.id": group,
        "client.id": f"{group}-{number}",
        "group.protocol": "consumer" if kind == "consumer" else "classic",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed" if isolated else "read_uncommitted",
        # The maximum: an idle group must not lose its members.
        "max.poll.interval.ms": 86_400_000,
        # A group that reads slowly must not buffer everything that it has not read.
        "queued.max.messages.kbytes": 256,
    }
    if kind != "consumer":
        # In the consumer protocol the broker decides these.
        config |= {"session.timeout.ms": 15_000, "heartbeat.interval.ms": 3_000}
    if instance:
        config["group.instance.id"] = instance
    return config


LONGEST_TIMEOUT_MS: Final = 900_000
"""The largest transaction timeout that brokers accept by default (`transaction.max.timeout.ms`)."""


def transactional_producer(
    bootstrap: str,
    transactional_id: str,
    *,
    timeout_ms: int = 60_000,
    settings: Mapping[str, str | int | float | bool] | None = None,
) -> Producer:
    """Return a producer with initialised transactions; the broker aborts a transaction that its id has left open.

    `timeout_ms` is the time after which the broker aborts a transaction, `settings` are librdkafka's. Raises
    KafkaException, for example while the coordinator is loading.
    """
    producer = Producer(
        {
            **client_config(bootstrap),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            **(settings or {}),
        }
    )
    producer.init_transactions(REQUEST_TIMEOUT)
    return producer
