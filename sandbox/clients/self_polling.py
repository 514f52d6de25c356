"""Clients that live in a group by themselves: Kafka's own in Java at the desk, and librdkafka's in a thread here."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Final, Literal, Protocol

from confluent_kafka import TopicPartition

from sandbox.clients.members import Member
from sandbox.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Collection

    from sandbox.clients.java_clients import JavaClients, Offset
    from sandbox.demo.groups import GroupKind

GroupProtocol = Literal["classic", "consumer", "share", "streams"]
HEARTBEAT_MS: Final = 300
"""Members of classic groups hear of a rebalance with their heartbeat."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientSpec:
    """What a client is to be. Topics by their full names; with `regex` they are what it must match."""

    topics: tuple[str, ...]
    protocol: GroupProtocol = "classic"
    regex: str | None = None
    instance: str | None = None
    # The class that assigns (classic), or the broker's assignor (consumer).
    assignor: str | None = None
    # Of classic members; the broker decides for the others.
    session_ms: int = 45_000


class PollingClient(Protocol):
    """Somebody in a group."""

    wish: ClientSpec

    def commit(self, offsets: Collection[Offset] = ()) -> None:
        """Commit these offsets, or without any the positions of all partitions owned."""

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Want other topics."""

    def close(self, *, leaving: bool) -> None:
        """Leave the group, or (`leaving` false) be gone without a word."""


class JavaClient:
    """A consumer, share consumer or streams program at the desk."""

    def __init__(self, desk: JavaClients, group: str, name: str, wish: ClientSpec) -> None:
        self.wish = wish
        self._desk = desk
        self._actor = f"{group}/{name}"
        kind = wish.protocol if wish.protocol in {"share", "streams"} else "consumer"
        desk.open_consumer(self._actor, _java_config(group, name, wish), wish.topics, wish.regex, kind)

    def commit(self, offsets: Collection[Offset] = ()) -> None:
        """See Client."""
        self._desk.commit(self._actor, offsets)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """See Client."""
        self.wish = dataclasses.replace(self.wish, topics=topics)
        self._desk.subscribe(self._actor, topics)

    def close(self, *, leaving: bool) -> None:
        """See Client."""
        self._desk.close(self._actor, leaving=leaving)


class LibrdkafkaClient:
    """A librdkafka consumer, classic or KIP-848, with a thread that reads; a static one never says that it leaves."""

    def __init__(self, bootstrap: str, group: str, wish: ClientSpec, number: int) -> None:
        self.wish = wish
        kind: GroupKind = "consumer" if wish.protocol == "consumer" else "classic"
        self._member = Member(bootstrap, group, kind, number=number, instance=wish.instance or "")
        self._member.consumer.subscribe(list(wish.topics))
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def _live(self) -> None:
        while not self._ended.wait(0.02):
            with self._lock:
                self._member.read()

    def commit(self, offsets: Collection[Offset] = ()) -> None:
        """See Client. librdkafka commits nothing while it looks for its coordinator anew: then again."""
        with self._lock:
            eventually(lambda: self._member.commit([TopicPartition(*each) for each in offsets] or None))

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """See Client."""
        with self._lock:
            self.wish = dataclasses.replace(self.wish, topics=topics)
            self._member.consumer.subscribe(list(topics))

    def close(self, *, leaving: bool) -> None:
        """See Client."""
        if not leaving and not self.wish.instance:
            raise NotImplementedError("a dynamic member of librdkafka always says that it leaves")
        self._ended.set()
        self._thread.join()
        self._member.leave()


def _java_config(group: str, name: str, wish: ClientSpec) -> dict[str, str]:
    client_id = f"{group}-{name}"
    if wish.protocol == "streams":
        # Commits at its own pace, so that its offsets stand still when nothing is written.
        return {
            "application.id": group,
            "client.id": client_id,
            "group.protocol": "streams",
            "commit.interval.ms": "200",
            "num.stream.threads": "1",
            "auto.offset.reset": "earliest",
        }
    config = {"group.id": group, "client.id": client_id}
    if wish.protocol == "share":
        return config
    config |= {"auto.offset.reset": "earliest", "enable.auto.commit": "false", "group.protocol": wish.protocol}
    if wish.protocol == "classic":
        config |= {"session.timeout.ms": str(wish.session_ms), "heartbeat.interval.ms": str(HEARTBEAT_MS)}
    if wish.assignor:
        setting = "partition.assignment.strategy" if wish.protocol == "classic" else "group.remote.assignor"
        config[setting] = wish.assignor
    if wish.instance:
        config["group.instance.id"] = wish.instance
    return config
