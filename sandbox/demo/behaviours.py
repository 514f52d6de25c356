"""The groups of the living traffic in action: one small class per behaviour of `sandbox.demo.groups`.

An actor acts when it is told to, once per `PERIOD`, and has no thread and no clock of its own. After each act all that
it has committed is with the broker, so that between acts nothing of it moves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Producer, TopicPartition

from sandbox.clients.members import REQUEST_TIMEOUT, Member, client_config
from sandbox.demo.groups import STUCK_PARTITION, DemoGroup, DemoTopic

PERIOD: Final = 0.5
"""Seconds between the acts of one actor."""
REWIND_EVERY: Final = 20
FIRST_REWIND: Final = 8
REWIND_BY: Final = 30
ROLL_EVERY: Final = 12
BACKLOG: Final = 40
"""Records that each partition has before the traffic begins."""


class TrafficWorker(ABC):
    """Something that acts in turns. `settled` turns true when its story can be seen from outside."""

    name: str
    settled = False

    @abstractmethod
    def act(self) -> None:
        """Do one turn's work and see it confirmed by the broker. On a KafkaException the next turn tries again."""

    @abstractmethod
    def rest(self) -> None:
        """Spend one turn without changing anything, yet alive."""

    @abstractmethod
    def close(self) -> None:
        """Leave in good order."""


class DemoProducer(TrafficWorker):
    """The producer of all topics: every partition gets its share in every turn."""

    def __init__(self, bootstrap: str, topics: dict[str, DemoTopic]) -> None:
        self.name = "producer"
        self._topics = topics
        self._producer = Producer({**client_config(bootstrap), "linger.ms": 5})
        self._written = 0

    def act(self) -> None:
        """See Actor."""
        for name, topic in self._topics.items():
            for partition in range(topic.partitions):
                self._write(name, partition, int(topic.records_per_second * PERIOD))
        self._flush()
        self.settled = True

    def write_backlog(self) -> None:
        """Give every partition what stands there before the traffic begins."""
        for name, topic in self._topics.items():
            for partition in range(topic.partitions):
                self._write(name, partition, BACKLOG)
        self._flush()

    def rest(self) -> None:
        """See Actor."""

    def close(self) -> None:
        """See Actor."""
        self._producer.flush(5)

    def _write(self, topic: str, partition: int, records: int) -> None:
        for _ in range(records):
            self._written += 1
            self._producer.produce(topic, f"record {self._written}", partition=partition)

    def _flush(self) -> None:
        # Whatever is not out by now is late, not lost: the next turn goes on with it.
        self._producer.flush(REQUEST_TIMEOUT)


class TrafficGroup(TrafficWorker):
    """A consumer group with its members; the plain one reads everything and commits."""

    # How many members the behaviour starts with, and how many records each of them takes in a turn.
    crew = 2
    appetite = 500

    def __init__(self, bootstrap: str, fate: DemoGroup, group: str, topic: str) -> None:
        self.name = group
        self.fate: Final = fate
        self.topic: Final = topic
        self.bootstrap: Final = bootstrap
        self.turns = 0
        self.members = [self.recruit(number) for number in range(self.crew)]

    def recruit(self, number: int) -> Member:
        """Give a new member that wants the topic."""
        member = Member(self.bootstrap, self.name, self.fate.kind, number=number)
        member.consumer.subscribe([self.topic])
        return member

    def act(self) -> None:
        """See Actor."""
        self.turns += 1
        committed = [self.work(member) for member in self.members]
        self.settled = self.settled or all(committed)

    def work(self, member: Member) -> bool:
        """Let one member read and commit; tell whether it had something to commit."""
        member.read(self.appetite)
        return member.commit()

    def rest(self) -> None:
        """See Actor."""
        for member in self.members:
            member.rest()

    def close(self) -> None:
        """See Actor."""
        for member in self.members:
            member.leave()
        self.members = []


class SlowGroup(TrafficGroup):
    """Reads the backlog, so that it has committed every partition, and from then on a quarter of what is written."""

    crew = 1
    appetite_afterwards = 2

    def work(self, member: Member) -> bool:
        """See Group."""
        committed = super().work(member)
        if committed:
            self.appetite = self.appetite_afterwards
        return committed


class StoppedGroup(TrafficGroup):
    """Is gone after its first commits."""

    crew = 1

    def act(self) -> None:
        """See Actor."""
        if self.members and self.work(self.members[0]) and self.done():
            self.close()
            self.settled = True

    def done(self) -> bool:
        """Tell whether it is time to go: after a few turns with commits."""
        self.turns += 1
        return self.turns >= 4


class DrainedGroup(StoppedGroup):
    """Is gone when it has read all there is."""

    def done(self) -> bool:
        """See StoppedGroup."""
        member = self.members[0]
        assigned = member.consumer.assignment()
        ends = {
            each.partition: member.consumer.get_watermark_offsets(each, timeout=REQUEST_TIMEOUT)[1] for each in assigned
        }
        return {partition: offset for (_, partition), offset in member.positions.items()} == ends


class StalledGroup(TrafficGroup):
    """Once it has committed the stuck partition, it commits that offset for ever."""

    crew = 1
    stuck_at: int | None = None

    def work(self, member: Member) -> bool:
        """See Group."""
        member.read(self.appetite)
        stuck = (self.topic, STUCK_PARTITION)
        if stuck in member.positions:
            self.stuck_at = member.positions[stuck] if self.stuck_at is None else self.stuck_at
            member.positions[stuck] = self.stuck_at
        return member.commit() and self.stuck_at is not None


class RewoundGroup(TrafficGroup):
    """Goes back on one partition, commits that, and reads the stretch again a little faster than it is written."""

    crew = 1
    appetite_afterwards = 8

    def work(self, member: Member) -> bool:
        """See Group."""
        member.read(self.appetite)
        position = member.positions.get((self.topic, STUCK_PARTITION), 0)
        if self.turns % REWIND_EVERY == FIRST_REWIND and position > REWIND_BY:
            member.go_back(self.topic, STUCK_PARTITION, position - REWIND_BY)
            self.appetite = self.appetite_afterwards
        return member.commit() and self.appetite == self.appetite_afterwards


class RollingGroup(TrafficGroup):
    """Two static members; one of them restarts now and then under its instance id."""

    def recruit(self, number: int) -> Member:
        """See Group."""
        member = Member(self.bootstrap, self.name, self.fate.kind, number=number, instance=f"{self.name}-{number}")
        member.consumer.subscribe([self.topic])
        return member

    def act(self) -> None:
        """See Actor."""
        self.turns += 1
        committed = [self.work(member) for member in self.members]
        self.settled = self.settled or (self.turns > ROLL_EVERY and all(committed))
        if all(committed) and self.turns % ROLL_EVERY == 0:
            number = self.turns // ROLL_EVERY % self.crew
            # A static member does not leave when it closes: the broker keeps its place until the session times out.
            self.members[number].leave()
            self.members[number] = self.recruit(number)


class UnmanagedGroup(TrafficGroup):
    """Assigns partitions to itself: the broker stores its offsets and knows no member."""

    crew = 1

    def __init__(self, bootstrap: str, fate: DemoGroup, group: str, topic: str, partitions: int) -> None:
        self._partitions = partitions
        super().__init__(bootstrap, fate, group, topic)

    def recruit(self, number: int) -> Member:
        """See Group."""
        return Member(self.bootstrap, self.name, self.fate.kind, number=number)

    def work(self, member: Member) -> bool:
        """See Group."""
        if not member.consumer.assignment():
            # With explicit offsets: where librdkafka has to ask for them itself, it asks once, and never again when the
            # answer is NOT_COORDINATOR, as it is while the broker makes the offsets topic.
            known = member.committed(self.topic, self._partitions)
            member.consumer.assign(
                [
                    TopicPartition(self.topic, each, known.get(each, OFFSET_BEGINNING))
                    for each in range(self._partitions)
                ]
            )
        return super().work(member)
