"""The running groups of the traffic, one small class per behaviour of `sandbox.demo.groups`, and their producer.

A worker does something only in its turns, one per `PERIOD`, and has no thread or clock of its own. When a turn ends,
the broker has confirmed everything that was committed in it, so that between turns no offset changes.
"""

from abc import ABC, abstractmethod
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Producer, TopicPartition

from sandbox.clients.members import REQUEST_TIMEOUT, Member, client_config
from sandbox.demo.groups import STUCK_PARTITION, DemoGroup, DemoTopic

PERIOD: Final = 0.5
"""Seconds between two turns of a worker."""
REWIND_EVERY: Final = 20
FIRST_REWIND: Final = 8
REWIND_BY: Final = 30
ROLL_EVERY: Final = 12
BACKLOG: Final = 40
"""Records of each partition before the traffic begins."""


class TrafficWorker(ABC):
    """A client that works in turns. `settled` becomes true when its behaviour can be seen from outside."""

    name: str
    settled = False

    @abstractmethod
    def run_turn(self) -> None:
        """Do the work of one turn and wait for the broker's answers. After a KafkaException the next turn retries."""

    @abstractmethod
    def idle_turn(self) -> None:
        """Stay a member for one turn without changing any offset."""

    @abstractmethod
    def close(self) -> None:
        """Close all clients; they leave their groups."""


class DemoProducer(TrafficWorker):
    """The producer of all topics: every turn writes to every partition."""

    def __init__(self, bootstrap: str, topics: dict[str, DemoTopic]) -> None:
        self.name = "producer"
        self._topics = topics
        self._producer = Producer({**client_config(bootstrap), "linger.ms": 5})
        self._written = 0

    def run_turn(self) -> None:
        """See TrafficWorker."""
        for name, topic in self._topics.items():
            for partition in range(topic.partitions):
                self._write(name, partition, int(topic.records_per_second * PERIOD))
        self._flush()
        self.settled = True

    def write_backlog(self) -> None:
        """Write the backlog of every partition."""
        for name, topic in self._topics.items():
            for partition in range(topic.partitions):
                self._write(name, partition, BACKLOG)
        self._flush()

    def idle_turn(self) -> None:
        """See TrafficWorker."""

    def close(self) -> None:
        """See TrafficWorker."""
        self._producer.flush(5)

    def _write(self, topic: str, partition: int, records: int) -> None:
        for _ in range(records):
            self._written += 1
            self._producer.produce(topic, f"record {self._written}", partition=partition)

    def _flush(self) -> None:
        # Records that are not sent by then are late, not lost: the next turn continues with them.
        self._producer.flush(REQUEST_TIMEOUT)


class TrafficGroup(TrafficWorker):
    """A consumer group with its members; the plain one reads everything and commits."""

    # The number of members at the start, and the records that each of them reads per turn.
    member_count = 2
    records_per_turn = 500

    def __init__(self, bootstrap: str, row: DemoGroup, group: str, topic: str) -> None:
        self.name = group
        self.row: Final = row
        self.topic: Final = topic
        self.bootstrap: Final = bootstrap
        self.turns = 0
        self.members = [self.new_member(number) for number in range(self.member_count)]

    def new_member(self, number: int) -> Member:
        """Return a new member that subscribes to the topic."""
        member = Member(self.bootstrap, self.name, self.row.kind, number=number)
        member.consumer.subscribe([self.topic])
        return member

    def run_turn(self) -> None:
        """See TrafficWorker."""
        self.turns += 1
        committed = [self.process(member) for member in self.members]
        self.settled = self.settled or all(committed)

    def process(self, member: Member) -> bool:
        """Read and commit with one member; returns whether there was something to commit."""
        member.read(self.records_per_turn)
        return member.commit()

    def idle_turn(self) -> None:
        """See TrafficWorker."""
        for member in self.members:
            member.idle()

    def close(self) -> None:
        """See TrafficWorker."""
        for member in self.members:
            member.leave()
        self.members = []


class SlowGroup(TrafficGroup):
    """Reads the backlog, which commits every partition, and from then on a quarter of what is written."""

    member_count = 1
    records_per_turn_afterwards = 2

    def process(self, member: Member) -> bool:
        """See TrafficGroup."""
        committed = super().process(member)
        if committed:
            self.records_per_turn = self.records_per_turn_afterwards
        return committed


class StoppedGroup(TrafficGroup):
    """Leaves after its first commits."""

    member_count = 1

    def run_turn(self) -> None:
        """See TrafficWorker."""
        if self.members and self.process(self.members[0]) and self.finished():
            self.close()
            self.settled = True

    def finished(self) -> bool:
        """Return whether it is time to leave: after a few turns with commits."""
        self.turns += 1
        return self.turns >= 4


class DrainedGroup(StoppedGroup):
    """Leaves when it has read its topic to the end."""

    def finished(self) -> bool:
        """See StoppedGroup."""
        member = self.members[0]
        assigned = member.consumer.assignment()
        ends = {
            each.partition: member.consumer.get_watermark_offsets(each, timeout=REQUEST_TIMEOUT)[1] for each in assigned
        }
        return {partition: offset for (_, partition), offset in member.positions.items()} == ends


class StalledGroup(TrafficGroup):
    """Commits the stuck partition always with the offset of its first commit."""

    member_count = 1
    stuck_at: int | None = None

    def process(self, member: Member) -> bool:
        """See TrafficGroup."""
        member.read(self.records_per_turn)
        stuck = (self.topic, STUCK_PARTITION)
        if stuck in member.positions:
            self.stuck_at = member.positions[stuck] if self.stuck_at is None else self.stuck_at
            member.positions[stuck] = self.stuck_at
        return member.commit() and self.stuck_at is not None


class RewoundGroup(TrafficGroup):
    """Rewinds one partition, commits that, and reads the records again a little faster than new ones are written."""

    member_count = 1
    records_per_turn_afterwards = 8

    def process(self, member: Member) -> bool:
        """See TrafficGroup."""
        member.read(self.records_per_turn)
        position = member.positions.get((self.topic, STUCK_PARTITION), 0)
        if self.turns % REWIND_EVERY == FIRST_REWIND and position > REWIND_BY:
            member.seek(self.topic, STUCK_PARTITION, position - REWIND_BY)
            self.records_per_turn = self.records_per_turn_afterwards
        return member.commit() and self.records_per_turn == self.records_per_turn_afterwards


class RollingGroup(TrafficGroup):
    """Two static members; from time to time one of them restarts under its instance id."""

    def new_member(self, number: int) -> Member:
        """See TrafficGroup."""
        member = Member(self.bootstrap, self.name, self.row.kind, number=number, instance=f"{self.name}-{number}")
        member.consumer.subscribe([self.topic])
        return member

    def run_turn(self) -> None:
        """See TrafficWorker."""
        self.turns += 1
        committed = [self.process(member) for member in self.members]
        self.settled = self.settled or (self.turns > ROLL_EVERY and all(committed))
        if all(committed) and self.turns % ROLL_EVERY == 0:
            number = self.turns // ROLL_EVERY % self.member_count
            # A static member does not leave when it closes: the broker keeps its assignment until the session ends.
            self.members[number].leave()
            self.members[number] = self.new_member(number)


class UnmanagedGroup(TrafficGroup):
    """Assigns partitions to itself: the broker stores its offsets and knows no member."""

    member_count = 1

    def __init__(self, bootstrap: str, row: DemoGroup, group: str, topic: str, partitions: int) -> None:
        self._partitions = partitions
        super().__init__(bootstrap, row, group, topic)

    def new_member(self, number: int) -> Member:
        """See TrafficGroup."""
        return Member(self.bootstrap, self.name, self.row.kind, number=number)

    def process(self, member: Member) -> bool:
        """See TrafficGroup."""
        if not member.consumer.assignment():
            # With explicit offsets: librdkafka requests missing ones only once, and not again when the answer is
            # NOT_COORDINATOR, as it is while the broker creates the offsets topic.
            known = member.committed(self.topic, self._partitions)
            member.consumer.assign(
                [
                    TopicPartition(self.topic, each, known.get(each, OFFSET_BEGINNING))
                    for each in range(self._partitions)
                ]
            )
        return super().process(member)
