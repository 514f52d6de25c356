"""One consumer of the living traffic: what it has read, what it commits, and how it stands still without leaving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import OFFSET_INVALID, Consumer, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import Message

    from sandbox.demo.groups import GroupKind

REQUEST_TIMEOUT: Final = 10.0
"""Seconds that one request may take: a broker may be restarting under us."""


class Member:
    """A consumer that commits by hand what it has read: the next offset of each partition it owns."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        kind: GroupKind,
        *,
        number: int = 0,
        instance: str = "",
        isolated: bool = False,
    ) -> None:
        self.consumer: Final = Consumer(_config(bootstrap, group, kind, number, instance, isolated=isolated))
        self.positions: dict[tuple[str, int], int] = {}
        self._kept: list[Message] = []

    def read(self, limit: int = 500) -> list[Message]:
        """Give up to `limit` records that are there; none while the member waits for its partitions."""
        self.consumer.resume(self.consumer.assignment())
        kept, self._kept = self._kept[:limit], self._kept[limit:]
        found = [*kept, *self.consumer.consume(limit - len(kept), timeout=0.05)] if len(kept) < limit else kept
        records = [record for record in found if record.error() is None]
        for record in records:
            self.positions[str(record.topic()), int(record.partition() or 0)] = int(record.offset() or 0) + 1
        return records

    def rest(self) -> None:
        """Stand still without leaving the group: answer to rebalances, take no records. What comes anyway is kept."""
        self.consumer.pause(self.consumer.assignment())
        record = self.consumer.poll(0)
        if record is not None:
            self._kept.append(record)

    def owned_positions(self) -> list[TopicPartition]:
        """Give what there is to commit: the positions of the partitions that the member owns at this moment."""
        owned = {(each.topic, each.partition) for each in self.consumer.assignment()}
        self.positions = {key: offset for key, offset in self.positions.items() if key in owned}
        return [TopicPartition(topic, partition, offset) for (topic, partition), offset in self.positions.items()]

    def commit(self, changed: Iterable[TopicPartition] | None = None) -> bool:
        """Commit and wait for the broker's word; tell whether there was something to commit. Raises KafkaException."""
        offsets = self.owned_positions() if changed is None else list(changed)
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)
        return bool(offsets)

    def go_back(self, topic: str, partition: int, offset: int) -> None:
        """Read a partition again from an offset, which is the new position."""
        self._kept = [record for record in self._kept if (record.topic(), record.partition()) != (topic, partition)]
        self.consumer.seek(TopicPartition(topic, partition, offset))
        self.positions[topic, partition] = offset

    def committed(self, topic: str, partitions: int) -> dict[int, int]:
        """Ask the broker for the group's committed offsets of a topic; partitions without one are left out."""
        asked = [TopicPartition(topic, partition) for partition in range(partitions)]
        answered = self.consumer.committed(asked, timeout=REQUEST_TIMEOUT)
        return {each.partition: each.offset for each in answered if each.offset != OFFSET_INVALID}

    def leave(self) -> None:
        """Close the consumer: a dynamic member leaves its group, a static one only goes silent."""
        self.consumer.close()


def client_config(bootstrap: str) -> dict[str, str | int | float | bool]:
    """Give what every client of the traffic is configured with."""
    return {
        "bootstrap.servers": bootstrap,
        # Brokers are stopped and killed under us on purpose: no complaints on the terminal, and back soon afterwards.
        "log_level": 0,
        "reconnect.backoff.max.ms": 1000,
    }


def _config(
    bootstrap: str, group: str, kind: GroupKind, number: int, instance: str, *, isolated: bool
) -> dict[str, str | int | float | bool]:
    config: dict[str, str | int | float | bool] = {
        **client_config(bootstrap),
        "group.id": group,
        "client.id": f"{group}-{number}",
        "group.protocol": "consumer" if kind == "consumer" else "classic",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed" if isolated else "read_uncommitted",
        # The longest that is allowed: a group that rests is alive.
        "max.poll.interval.ms": 86_400_000,
        # A group that reads slowly must not hoard what it has not read.
        "queued.max.messages.kbytes": 256,
    }
    if kind != "consumer":
        # In the consumer protocol the broker decides these.
        config |= {"session.timeout.ms": 15_000, "heartbeat.interval.ms": 3_000}
    if instance:
        config["group.instance.id"] = instance
    return config
