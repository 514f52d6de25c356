"""The actions of verdict scenarios, each a value with the method that performs it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from sandbox.clients.paced import PacedConsumer, PacedJavaConsumer, SelfAssigningConsumer, TransactionalConsumer
from sandbox.verdict_scenarios import pace

if TYPE_CHECKING:
    from sandbox.clients.members import GroupKind
    from sandbox.verdict_scenarios.group import VerdictGroup

INCOMPLETE_ASSIGNOR: Final = "JavaClients$IncompleteAssignor"
"""A faulty assignor: the last partition of the last topic is assigned to no member."""


def _session() -> float:
    """Return the session timeout of a client in seconds of the wall clock."""
    return pace.CHOSEN.wall(pace.SESSION)


def _heartbeat() -> float:
    """Return the heartbeat interval of a client in seconds of the wall clock."""
    return pace.CHOSEN.wall(pace.HEARTBEAT)


@dataclasses.dataclass(frozen=True, slots=True)
class StartConsumer:
    """Starts a librdkafka consumer. Every `refresh` seconds of the run it looks for new partitions."""

    client: str = "a"
    topics: tuple[str, ...] = ("in",)
    kind: GroupKind = "classic"
    instance: str | None = None
    isolated: bool = False
    refresh: float = 1.0
    reset: str = "earliest"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        topics = [group.topic(short) for short in self.topics]
        instance = self.instance and f"{group.group}-{self.instance}"
        group.clients[self.client] = PacedConsumer(
            group.bootstrap, group.group, topics, kind=self.kind, instance=instance, isolated=self.isolated,
            refresh=pace.CHOSEN.wall(self.refresh), reset=self.reset, session=_session(), heartbeat=_heartbeat(),
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class StartSimpleConsumer:
    """Starts a consumer that assigns all partitions to itself: a simple group."""

    client: str = "a"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.clients[self.client] = SelfAssigningConsumer(
            group.bootstrap, group.group, [group.topic("in")], session=_session(), heartbeat=_heartbeat()
        )


@dataclasses.dataclass(frozen=True, slots=True)
class StartTransactionalConsumer:
    """Starts a consumer that commits in transactions."""

    client: str = "a"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.clients[self.client] = TransactionalConsumer(
            group.bootstrap, group.group, [group.topic("in")], group.topic("out"),
            session=_session(), heartbeat=_heartbeat(),
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class StartJavaConsumer:
    """Starts Kafka's own consumer, with the assignor of this class."""

    client: str = "a"
    assignor: str | None = None

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.clients[self.client] = PacedJavaConsumer(
            group.java_clients, group.group, [group.topic("in")], self.assignor,
            session=_session(), heartbeat=_heartbeat(),
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class CloseClients:
    """Closes clients, which leave the group; static ones only stop their heartbeats."""

    clients: tuple[str, ...] = ("a",)

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        for name in self.clients:
            group.close_client(name)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteGroupInUse:
    """Deletes the group while a consumer that assigns partitions to itself is running: all offsets are removed."""

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.delete_offsets()


@dataclasses.dataclass(frozen=True, slots=True)
class KillClient:
    """Stops a Java client without a leave request."""

    client: str = "a"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.close_client(self.client, leaving=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeBehaviour:
    """Changes these fields of the group's ClientBehaviour; the others stay."""

    changes: dict[str, object]

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.behaviour = dataclasses.replace(group.behaviour, **self.changes)  # type: ignore[arg-type] # its fields


@dataclasses.dataclass(frozen=True, slots=True)
class SeekBack:
    """Moves the position of a running consumer back by `by` offsets."""

    by: int
    client: str = "a"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.clients[self.client].seek_back((group.topic("in"), 0), self.by)


@dataclasses.dataclass(frozen=True, slots=True)
class SeekToEnd:
    """Moves the position of a running consumer to the end of partition 0."""

    client: str = "a"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        client = group.clients[self.client]
        if isinstance(client, PacedConsumer):
            client.seek_to_end((group.topic("in"), 0))


@dataclasses.dataclass(frozen=True, slots=True)
class ResetOffsets:
    """Sets the empty group back by `by` offsets as Kafka's tool does: with a commit without a membership."""

    by: int

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.reset(self.by)


@dataclasses.dataclass(frozen=True, slots=True)
class AddPartitions:
    """Increases the input topic to this number of partitions."""

    partitions: int

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.add_partitions("in", self.partitions)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteInputTopic:
    """Deletes the input topic."""

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.delete_topic("in")


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteRecords:
    """Deletes all but the last `leaving` records of the input topic's partition 0."""

    leaving: int

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.delete_records("in", self.leaving)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteReadRecords:
    """Deletes the records of the input topic's partition 0 that the group has committed, as Kafka Streams does."""

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.delete_read_records()


@dataclasses.dataclass(frozen=True, slots=True)
class KeepTransactionOpen:
    """Makes the producer of the input topic leave its next transaction open."""

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        group.producer_of("in").keep_open()


@dataclasses.dataclass(frozen=True, slots=True)
class HangInCommit:
    """Makes a client that commits in transactions leave the next one open."""

    client: str = "a"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        client = group.clients[self.client]
        if isinstance(client, TransactionalConsumer):
            client.hangs = True


@dataclasses.dataclass(frozen=True, slots=True)
class SubscribeTo:
    """Subscribes a consumer to another topic only."""

    topic: str
    client: str = "a"

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        client = group.clients[self.client]
        if isinstance(client, PacedConsumer):
            client.subscribe([group.topic(self.topic)])
