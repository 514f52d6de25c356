"""What can be done to a group, each a value that knows how to do it. A new kind of action needs no change elsewhere."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Protocol

from sandbox.clients.self_polling import ClientSpec
from sandbox.kafka import tools

if TYPE_CHECKING:
    from sandbox.clients.java_clients import Offset
    from sandbox.clients.self_polling import GroupProtocol
    from sandbox.scenarios.group import ScenarioGroup

COOPERATIVE: Final = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
CONFIGS: Final = "kafka.admin.ConfigCommand"
GROUP_TOOLS: Final = {
    "consumer": tools.CONSUMER_GROUPS,
    "share": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "streams": "org.apache.kafka.tools.streams.StreamsGroupCommand",
}


class HistoryAction(Protocol):
    """One thing that is done; when `perform` returns, whoever did it has its answer."""

    def perform(self, stage: ScenarioGroup) -> None:
        """Do it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Join:
    """A client begins; `java` false: one of librdkafka."""

    client: str
    protocol: GroupProtocol = "classic"
    topics: tuple[str, ...] = ("in",)
    regex: str | None = None
    instance: str | None = None
    assignor: str | None = None
    session_ms: int = 45_000
    java: bool = True

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        wish = ClientSpec(
            tuple(stage.topic(short) for short in self.topics),
            self.protocol,
            self.regex and f"{stage.group}-{self.regex}",
            self.instance,
            self.assignor,
            self.session_ms,
        )
        stage.join(self.client, wish, java=self.java)


@dataclasses.dataclass(frozen=True, slots=True)
class Leave:
    """A client leaves in good order."""

    client: str

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.end(self.client, leaving=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Vanish:
    """A client is gone without a word: killed, or a static member that is shut down."""

    client: str

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.end(self.client, leaving=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Subscribe:
    """A client wants other topics."""

    client: str
    topics: tuple[str, ...]

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.clients[self.client].subscribe(tuple(stage.topic(short) for short in self.topics))


@dataclasses.dataclass(frozen=True, slots=True)
class CommitAll:
    """Every client commits where it stands."""

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.commit_all()


@dataclasses.dataclass(frozen=True, slots=True)
class Store:
    """Somebody who is no member commits."""

    offsets: tuple[Offset, ...]

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.store(self.offsets)


@dataclasses.dataclass(frozen=True, slots=True)
class SendInTransaction:
    """Offsets are sent in a transaction that stays open."""

    offsets: tuple[Offset, ...]

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.send_in_transaction(self.offsets)


@dataclasses.dataclass(frozen=True, slots=True)
class EndTransaction:
    """The open transaction is committed, or aborted."""

    committing: bool

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.end_transaction(committing=self.committing)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteOffsets:
    """A person deletes the offsets of a topic, or of one partition."""

    topic: str
    partition: int | None = None

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        topic = stage.topic(self.topic)
        target = topic if self.partition is None else f"{topic}:{self.partition}"
        said = stage.desk.tool(tools.CONSUMER_GROUPS, "--delete-offsets", "--group", stage.group, "--topic", target)
        if any(row["STATUS"] != "Successful" for row in tools.table_rows(said)):
            raise tools.ToolError(said)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteGroup:
    """A person deletes the group."""

    tool: str = "consumer"

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        said = stage.desk.tool(GROUP_TOOLS[self.tool], "--delete", "--group", stage.group)
        if "successful" not in said:
            raise tools.ToolError(said)


@dataclasses.dataclass(frozen=True, slots=True)
class CreateTopic:
    """A topic is made, with some records."""

    topic: str
    partitions: int

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.create_topics({self.topic: self.partitions})


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteTopic:
    """A topic is deleted."""

    topic: str

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.delete_topic(self.topic)


@dataclasses.dataclass(frozen=True, slots=True)
class Configure:
    """The group gets a configuration of its own, as `kafka-configs --entity-type groups` sets it."""

    setting: str
    value: str

    def perform(self, stage: ScenarioGroup) -> None:
        """See Action."""
        stage.desk.tool(
            CONFIGS, "--alter", "--entity-type", "groups", "--entity-name", stage.group,
            "--add-config", f"{self.setting}={self.value}",
        )  # fmt: skip
