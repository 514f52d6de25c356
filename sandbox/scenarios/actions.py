"""The actions of histories, each a value with the method that performs it. A new action needs no change elsewhere."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Protocol

from sandbox.clients.self_polling import ClientSpec
from sandbox.kafka import tools

if TYPE_CHECKING:
    from sandbox.clients.java_clients import Offset
    from sandbox.clients.self_polling import GroupProtocol
    from sandbox.scenarios.group import HistoryGroup

COOPERATIVE: Final = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
CONFIGS: Final = "kafka.admin.ConfigCommand"
GROUP_TOOLS: Final = {
    "consumer": tools.CONSUMER_GROUPS,
    "share": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "streams": "org.apache.kafka.tools.streams.StreamsGroupCommand",
}


class HistoryAction(Protocol):
    """One change of a group. When `perform` returns, the broker has confirmed it."""

    def perform(self, group: HistoryGroup) -> None:
        """Perform the action."""


@dataclasses.dataclass(frozen=True, slots=True)
class Join:
    """Starts a client: of librdkafka when `java` is false, else Kafka's own."""

    client: str
    protocol: GroupProtocol = "classic"
    topics: tuple[str, ...] = ("in",)
    regex: str | None = None
    instance: str | None = None
    assignor: str | None = None
    session_ms: int = 45_000
    java: bool = True

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        spec = ClientSpec(
            tuple(group.topic(short) for short in self.topics),
            self.protocol,
            self.regex and f"{group.group}-{self.regex}",
            self.instance,
            self.assignor,
            self.session_ms,
        )
        group.join(self.client, spec, java=self.java)


@dataclasses.dataclass(frozen=True, slots=True)
class Leave:
    """Closes a client, which leaves its group."""

    client: str

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.close_client(self.client)


@dataclasses.dataclass(frozen=True, slots=True)
class Vanish:
    """Stops a client without a leave request: killed, or a static member that is shut down."""

    client: str

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.close_client(self.client, leaving=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Subscribe:
    """Replaces a client's subscription."""

    client: str
    topics: tuple[str, ...]

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.clients[self.client].subscribe(tuple(group.topic(short) for short in self.topics))


@dataclasses.dataclass(frozen=True, slots=True)
class Store:
    """Commits offsets without a membership."""

    offsets: tuple[Offset, ...]

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.store(self.offsets)


@dataclasses.dataclass(frozen=True, slots=True)
class SendInTransaction:
    """Sends offsets in a transaction that stays open."""

    offsets: tuple[Offset, ...]

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.send_in_transaction(self.offsets)


@dataclasses.dataclass(frozen=True, slots=True)
class EndTransaction:
    """Commits or aborts the open transaction."""

    committing: bool

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.end_transaction(committing=self.committing)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteOffsets:
    """Deletes the offsets of a topic or of one partition with Kafka's tool."""

    topic: str
    partition: int | None = None

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        topic = group.topic(self.topic)
        target = topic if self.partition is None else f"{topic}:{self.partition}"
        printed = group.java_clients.tool(
            tools.CONSUMER_GROUPS, "--delete-offsets", "--group", group.group, "--topic", target
        )
        if any(row["STATUS"] != "Successful" for row in tools.table_rows(printed)):
            raise tools.ToolError(printed)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Deletes the group with Kafka's tool."""

    tool: str = "consumer"

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        printed = group.java_clients.tool(GROUP_TOOLS[self.tool], "--delete", "--group", group.group)
        if "successful" not in printed:
            raise tools.ToolError(printed)


@dataclasses.dataclass(frozen=True, slots=True)
class CreateTopic:
    """Creates a topic with some records."""

    topic: str
    partitions: int

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.create_topics({self.topic: self.partitions})


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteTopic:
    """Deletes a topic."""

    topic: str

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.delete_topic(self.topic)


@dataclasses.dataclass(frozen=True, slots=True)
class Configure:
    """Sets a configuration of the group, as `kafka-configs --entity-type groups` does."""

    setting: str
    value: str

    def perform(self, group: HistoryGroup) -> None:
        """See HistoryAction."""
        group.java_clients.tool(
            CONFIGS, "--alter", "--entity-type", "groups", "--entity-name", group.group,
            "--add-config", f"{self.setting}={self.value}",
        )  # fmt: skip
