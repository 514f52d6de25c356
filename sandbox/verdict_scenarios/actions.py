"""What can happen to a group in the play, each a value that knows how to do it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Protocol

from sandbox.clients.workers import ExactlyOnce, Guest, Loner, Worker

if TYPE_CHECKING:
    from sandbox.clients.workers import Client
    from sandbox.verdict_scenarios.group_runner import Stage

LEAVING_OUT: Final = "JavaClients$LeavingOut"
"""An assignor that leaves the last partition to nobody."""


class Action(Protocol):
    """Something that is done; when `perform` returns it has been done."""

    def perform(self, stage: Stage) -> None:
        """Do it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Join:
    """A librdkafka consumer begins."""

    client: str = "a"
    topics: tuple[str, ...] = ("in",)
    protocol: str = "classic"
    instance: str | None = None
    isolated: bool = False
    refresh: float = 1.0

    def perform(self, stage: Stage) -> None:
        """See Action."""
        topics = [stage.topic(short) for short in self.topics]
        instance = self.instance and f"{stage.group}-{self.instance}"
        stage.clients[self.client] = Worker(
            stage.bootstrap, stage.group, topics, protocol=self.protocol, instance=instance,
            isolated=self.isolated, refresh=self.refresh,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class JoinAlone:
    """A consumer begins that assigns all partitions to itself: a simple group."""

    client: str = "a"

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.clients[self.client] = Loner(stage.bootstrap, stage.group, [stage.topic("in")])


@dataclasses.dataclass(frozen=True, slots=True)
class JoinExactlyOnce:
    """A consumer begins that commits in transactions."""

    client: str = "a"

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.clients[self.client] = ExactlyOnce(stage.bootstrap, stage.group, [stage.topic("in")], stage.topic("out"))


@dataclasses.dataclass(frozen=True, slots=True)
class JoinGuest:
    """Kafka's own consumer begins, with the assignor of this class."""

    client: str = "a"
    assignor: str | None = None

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.clients[self.client] = Guest(stage.desk, stage.group, [stage.topic("in")], self.assignor)


@dataclasses.dataclass(frozen=True, slots=True)
class Leave:
    """Clients leave in good order; static ones only go silent."""

    clients: tuple[str, ...] = ("a",)

    def perform(self, stage: Stage) -> None:
        """See Action."""
        for name in self.clients:
            stage.clients.pop(name).close(leaving=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Vanish:
    """A guest is gone without a word."""

    client: str = "a"

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.clients.pop(self.client).close(leaving=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Live:
    """From now on the members have these habits, what is not named as it was."""

    changes: dict[str, object]

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.habit = dataclasses.replace(stage.habit, **self.changes)  # type: ignore[arg-type] # fields of Habit


@dataclasses.dataclass(frozen=True, slots=True)
class GoBack:
    """A live consumer goes back by so many offsets."""

    by: int
    client: str = "a"

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.clients[self.client].go_back((stage.topic("in"), 0), self.by)


@dataclasses.dataclass(frozen=True, slots=True)
class Reset:
    """Somebody sets the group back while it is empty, as the official tool does: by a commit without a member."""

    by: int

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.reset(self.by)


@dataclasses.dataclass(frozen=True, slots=True)
class Grow:
    """The topic gets more partitions."""

    partitions: int

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.grow("in", self.partitions)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteTopic:
    """The topic is deleted."""

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.delete_topic("in")


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteRecords:
    """The log start moves on, up to so many records before the end."""

    leaving: int

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.delete_records("in", self.leaving)


@dataclasses.dataclass(frozen=True, slots=True)
class HoldTransaction:
    """The topic's producer forgets to end its transactions."""

    def perform(self, stage: Stage) -> None:
        """See Action."""
        stage.writer_of("in").hold()


@dataclasses.dataclass(frozen=True, slots=True)
class HangInTransaction:
    """A client that commits in transactions does not end the next one."""

    client: str = "a"

    def perform(self, stage: Stage) -> None:
        """See Action."""
        client: Client = stage.clients[self.client]
        if isinstance(client, ExactlyOnce):
            client.hangs = True


@dataclasses.dataclass(frozen=True, slots=True)
class MoveTo:
    """The consumer wants another topic."""

    topic: str
    client: str = "a"

    def perform(self, stage: Stage) -> None:
        """See Action."""
        client = stage.clients[self.client]
        if isinstance(client, Worker):
            client.consumer.subscribe([stage.topic(self.topic)])
