"""Clients that poll by themselves: Kafka's own in a JVM, and librdkafka's in a thread of this process."""

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
    from sandbox.clients.members import GroupKind

GroupProtocol = Literal["classic", "consumer", "share", "streams"]
HEARTBEAT_MS: Final = 300
"""Members of classic groups learn of a rebalance from the answer to a heartbeat."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientSpec:
    """The settings of one client. Topics by their full names; with `regex` they are the topics it must match."""

    topics: tuple[str, ...]
    protocol: GroupProtocol = "classic"
    regex: str | None = None
    instance: str | None = None
    # The class of the assignor (classic), or the name of the broker's (consumer).
    assignor: str | None = None
    # Of classic members; for the others the broker decides.
    session_ms: int = 45_000
    heartbeat_ms: int = HEARTBEAT_MS


class PollingClient(Protocol):
    """A member of a group that needs no turns."""

    spec: ClientSpec

    def commit(self, offsets: Collection[Offset] = ()) -> None:
        """Commit these offsets, or without any the positions of all owned partitions."""

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Replace the subscription."""

    def close(self, *, leaving: bool) -> None:
        """Leave the group, or (`leaving` false) stop without a leave request."""


class JavaClient:
    """A consumer, share consumer or streams program in the JVM of `JavaClients`."""

    def __init__(self, java_clients: JavaClients, group: str, name: str, spec: ClientSpec) -> None:
        self.spec = spec
        self._java_clients = java_clients
        self._name = f"{group}/{name}"
        kind = spec.protocol if spec.protocol in {"share", "streams"} else "consumer"
        java_clients.open(self._name, _java_config(group, name, spec), spec.topics, spec.regex, kind)

    def commit(self, offsets: Collection[Offset] = ()) -> None:
        """See PollingClient."""
        self._java_clients.commit(self._name, offsets)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """See PollingClient."""
        self.spec = dataclasses.replace(self.spec, topics=topics)
        self._java_clients.subscribe(self._name, topics)

    def close(self, *, leaving: bool) -> None:
        """See PollingClient."""
        self._java_clients.close(self._name, leaving=leaving)


class LibrdkafkaClient:
    """A librdkafka consumer, classic or KIP-848, and a thread that polls it; a static one never leaves its group."""

    def __init__(self, bootstrap: str, group: str, spec: ClientSpec, number: int) -> None:
        self.spec = spec
        kind: GroupKind = "consumer" if spec.protocol == "consumer" else "classic"
        # In the consumer protocol the broker decides these.
        classic = {"session.timeout.ms": spec.session_ms, "heartbeat.interval.ms": spec.heartbeat_ms}
        settings = classic if kind == "classic" else {}
        self._member = Member(bootstrap, group, kind, number=number, instance=spec.instance or "", settings=settings)
        self._member.consumer.subscribe(list(spec.topics))
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._ended.wait(0.02):
            with self._lock:
                self._member.read()

    def commit(self, offsets: Collection[Offset] = ()) -> None:
        """See PollingClient. Repeated for a while: librdkafka cannot commit while it looks up its coordinator."""
        with self._lock:
            eventually(lambda: self._member.commit([TopicPartition(*each) for each in offsets] or None))

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """See PollingClient."""
        with self._lock:
            self.spec = dataclasses.replace(self.spec, topics=topics)
            self._member.consumer.subscribe(list(topics))

    def close(self, *, leaving: bool) -> None:
        """See PollingClient."""
        if not leaving and not self.spec.instance:
            raise NotImplementedError("a dynamic member of librdkafka always sends a leave request")
        self._ended.set()
        self._thread.join()
        self._member.leave()


def _java_config(group: str, name: str, spec: ClientSpec) -> dict[str, str]:
    client_id = f"{group}-{name}"
    if spec.protocol == "streams":
        # A short commit interval, so that the offsets stop soon after the last record.
        return {
            "application.id": group,
            "client.id": client_id,
            "group.protocol": "streams",
            "commit.interval.ms": "200",
            "num.stream.threads": "1",
            "auto.offset.reset": "earliest",
        }
    config = {"group.id": group, "client.id": client_id}
    if spec.protocol == "share":
        return config
    config |= {"auto.offset.reset": "earliest", "enable.auto.commit": "false", "group.protocol": spec.protocol}
    if spec.protocol == "classic":
        config |= {"session.timeout.ms": str(spec.session_ms), "heartbeat.interval.ms": str(spec.heartbeat_ms)}
    if spec.assignor:
        setting = "partition.assignment.strategy" if spec.protocol == "classic" else "group.remote.assignor"
        config[setting] = spec.assignor
    if spec.instance:
        config["group.instance.id"] = spec.instance
    return config
