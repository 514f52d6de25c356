"""What can happen to a group in the play, each a value that knows how to do it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Protocol

from sandbox.clients.workers import PacedConsumer, PacedJavaConsumer, SelfAssigningConsumer, TransactionalConsumer

if TYPE_CHECKING:
    from sandbox.clients.workers import PacedClient
    from sandbox.verdict_scenarios.group_runner import GroupRunner

INCOMPLETE_ASSIGNOR: Final = "JavaClients$LeavingOut"
"""An assignor that leaves the last partition to nobody."""


class ScenarioAction(Protocol):
    """Something that is done; when `perform` returns it has been done."""

    def perform(self, stage: GroupRunner) -> None:
        """Do it."""


@dataclasses.dataclass(frozen=True, slots=True)
class StartConsumer:
    """A librdkafka consumer begins."""

    client: str = "a"
    topics: tuple[str, ...] = ("in",)
    protocol: str = "classic"
    instance: str | None = None
    isolated: bool = False
    refresh: float = 1.0

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        topics = [stage.topic(short) for short in self.topics]
        instance = self.instance and f"{stage.group}-{self.instance}"
        stage.clients[self.client] = PacedConsumer(
            stage.bootstrap, stage.group, topics, protocol=self.protocol, instance=instance,
            isolated=self.isolated, refresh=self.refresh,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class StartSimpleConsumer:
    """A consumer begins that assigns all partitions to itself: a simple group."""

    client: str = "a"

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.clients[self.client] = SelfAssigningConsumer(stage.bootstrap, stage.group, [stage.topic("in")])


@dataclasses.dataclass(frozen=True, slots=True)
class StartTransactionalConsumer:
    """A consumer begins that commits in transactions."""

    client: str = "a"

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.clients[self.client] = TransactionalConsumer(
            stage.bootstrap, stage.group, [stage.topic("in")], stage.topic("out")
        )


@dataclasses.dataclass(frozen=True, slots=True)
class StartJavaConsumer:
    """Kafka's own consumer begins, with the assignor of this class."""

    client: str = "a"
    assignor: str | None = None

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.clients[self.client] = PacedJavaConsumer(stage.desk, stage.group, [stage.topic("in")], self.assignor)


@dataclasses.dataclass(frozen=True, slots=True)
class CloseClients:
    """Clients leave in good order; static ones only go silent."""

    clients: tuple[str, ...] = ("a",)

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        for name in self.clients:
            stage.clients.pop(name).close(leaving=True)


@dataclasses.dataclass(frozen=True, slots=True)
class KillClient:
    """A guest is gone without a word."""

    client: str = "a"

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.clients.pop(self.client).close(leaving=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeBehaviour:
    """From now on the members have these habits, what is not named as it was."""

    changes: dict[str, object]

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.habit = dataclasses.replace(stage.habit, **self.changes)  # type: ignore[arg-type] # fields of Habit


@dataclasses.dataclass(frozen=True, slots=True)
class SeekBack:
    """A live consumer goes back by so many offsets."""

    by: int
    client: str = "a"

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.clients[self.client].go_back((stage.topic("in"), 0), self.by)


@dataclasses.dataclass(frozen=True, slots=True)
class ResetOffsets:
    """Somebody sets the group back while it is empty, as the official tool does: by a commit without a member."""

    by: int

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.reset(self.by)


@dataclasses.dataclass(frozen=True, slots=True)
class AddPartitions:
    """The topic gets more partitions."""

    partitions: int

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.grow("in", self.partitions)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteInputTopic:
    """The topic is deleted."""

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.delete_topic("in")


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteRecords:
    """The log start moves on, up to so many records before the end."""

    leaving: int

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.delete_records("in", self.leaving)


@dataclasses.dataclass(frozen=True, slots=True)
class KeepTransactionOpen:
    """The topic's producer forgets to end its transactions."""

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        stage.writer_of("in").hold()


@dataclasses.dataclass(frozen=True, slots=True)
class HangInCommit:
    """A client that commits in transactions does not end the next one."""

    client: str = "a"

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        client: PacedClient = stage.clients[self.client]
        if isinstance(client, TransactionalConsumer):
            client.hangs = True


@dataclasses.dataclass(frozen=True, slots=True)
class SubscribeTo:
    """The consumer wants another topic."""

    topic: str
    client: str = "a"

    def perform(self, stage: GroupRunner) -> None:
        """See Action."""
        client = stage.clients[self.client]
        if isinstance(client, PacedConsumer):
            client.consumer.subscribe([stage.topic(self.topic)])
