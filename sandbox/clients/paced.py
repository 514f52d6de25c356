"""Clients that a scenario drives turn by turn: they read for real, process as slowly as set, and commit for real."""

import itertools
from collections.abc import Sequence
from typing import Final, Protocol

from confluent_kafka import OFFSET_BEGINNING, KafkaException, Producer, TopicPartition

from sandbox.clients.java_clients import JavaClients
from sandbox.clients.members import (
    LONGEST_TIMEOUT_MS,
    REQUEST_TIMEOUT,
    Config,
    GroupKind,
    Member,
    transactional_producer,
)
from sandbox.clients.traffic import ClientBehaviour

Place = tuple[str, int]
"""A topic and a partition."""
MAX_RECORDS: Final = 5_000
READ_TIMEOUT: Final = 0.02
REJOIN_LIMIT: Final = 12.0
"""Seconds of the run after which a consumer that has lost its assignment and got no other one must be replaced.

After a restart of the broker the group waits for the session of the previous member, 9 s in these scenarios.
"""
_numbers = itertools.count()


class RejoinError(RuntimeError):
    """A consumer lost its membership and does not join its group again, although it polls."""


class PacedClient(Protocol):
    """A member of a group that does something only in its turns."""

    def turn(self, behaviour: ClientBehaviour, now: float) -> None:
        """Poll, process and commit what is due at `now` (seconds of the run)."""

    def seek_back(self, place: Place, by: int) -> None:
        """Read a partition again from `by` offsets before its position."""

    def close(self, *, leaving: bool) -> None:
        """Leave the group, or (`leaving` false) stop without a leave request."""


class PacedConsumer:
    """A librdkafka consumer whose simulated processing may lag behind what it has read.

    `session` and `heartbeat` are of the classic protocol only; it looks for new partitions every `refresh`. All three
    are seconds of the wall clock. Without a valid offset it begins where `reset` says.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        *,
        kind: GroupKind = "classic",
        instance: str | None = None,
        isolated: bool = False,
        refresh: float = 1.0,
        reset: str = "earliest",
        session: float = 9.0,
        heartbeat: float = 0.6,
    ) -> None:
        settings: Config = {
            "topic.metadata.refresh.interval.ms": int(refresh * 1_000),
            "socket.timeout.ms": 10_000,
            "queued.max.messages.kbytes": 1_024,
            "auto.offset.reset": reset,
        }
        if kind != "consumer":
            settings |= {
                "session.timeout.ms": int(session * 1_000),
                "heartbeat.interval.ms": int(heartbeat * 1_000),
            }
        self.member: Final = Member(
            bootstrap, group, kind, number=next(_numbers), instance=instance or "", isolated=isolated, settings=settings
        )
        self._processed: dict[Place, float] = {}
        self._committed: dict[Place, int] = {}
        self._previous_turn: float | None = None
        self._commit_due = 0.0
        self.is_member = False
        """True from an assignment, which may be of no partitions, until the membership is lost."""
        self._is_lost = False
        self._lost_since: float | None = None
        self._join(topics)

    def _join(self, topics: Sequence[str]) -> None:
        self.subscribe(topics)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Replace the subscription."""
        # With callbacks a rebalance needs a poll, as in most programs: one member that hangs blocks its group.
        self.member.consumer.subscribe(
            list(topics), on_assign=self._assigned, on_revoke=lambda *_: None, on_lost=self._lost
        )

    def _assigned(self, *_: object) -> None:
        self.is_member = True
        self._is_lost = False

    def _lost(self, *_: object) -> None:
        self.is_member = False
        self._is_lost = True

    def turn(self, behaviour: ClientBehaviour, now: float) -> None:
        """See PacedClient. Raises KafkaException, and RejoinError when the membership is lost for good."""
        self._read()
        self._check_membership(now)
        self._process(behaviour, 0.0 if self._previous_turn is None else now - self._previous_turn)
        self._previous_turn = now
        if now >= self._commit_due and not behaviour.silent:
            self._commit_due = max(self._commit_due + behaviour.every, now + behaviour.every / 2)
            self._commit(behaviour)

    def _read(self) -> None:
        for record in self.member.read(MAX_RECORDS, READ_TIMEOUT):
            place = str(record.topic()), int(record.partition() or 0)
            self._processed.setdefault(place, float(record.offset() or 0))
        self.member.owned_positions()
        for offsets in (self._processed, self._committed):
            for place in offsets.keys() - self.member.positions.keys():
                del offsets[place]

    def _check_membership(self, now: float) -> None:
        """Raise RejoinError REJOIN_LIMIT seconds after the membership was lost, when there is no new assignment.

        In one run an idle librdkafka client (2.16) was without a membership from a restart of the broker to the end,
        although it was polled. Such a client does not commit, so nothing else fails.
        """
        if not self._is_lost:
            self._lost_since = None
        elif self._lost_since is None:
            self._lost_since = now
        elif now > self._lost_since + REJOIN_LIMIT:
            raise RejoinError(f"no assignment for {now - self._lost_since:.1f} s after the membership was lost")

    def _process(self, behaviour: ClientBehaviour, seconds: float) -> None:
        for place, read in self.member.positions.items():
            if place[1] not in behaviour.stuck:
                able = read if behaviour.rate is None else self._processed[place] + behaviour.rate * seconds
                self._processed[place] = min(read, able)

    def _commit(self, behaviour: ClientBehaviour) -> None:
        processed = {
            place: max(int(at) - behaviour.behind, 0)
            for place, at in self._processed.items()
            if place[1] not in behaviour.skipped
        }
        due = {place: at for place, at in processed.items() if behaviour.repeats or self._committed.get(place) != at}
        if due:
            self._store([TopicPartition(*place, at) for place, at in due.items()])
            self._committed.update(due)

    def _store(self, offsets: list[TopicPartition]) -> None:
        self.member.commit(offsets)

    def seek_back(self, place: Place, by: int) -> None:
        """See PacedClient."""
        if place in self._processed:
            at = max(int(self._processed[place]) - by, 0)
            self.member.seek(*place, at)
            self._processed[place] = at

    def seek_to_end(self, place: Place) -> None:
        """Read a partition from its end on."""
        end = int(self.member.consumer.get_watermark_offsets(TopicPartition(*place), timeout=REQUEST_TIMEOUT)[1])
        self.member.seek(*place, end)
        self._processed[place] = end

    def close(self, *, leaving: bool) -> None:
        """See PacedClient. A static member never sends a leave request; another one of librdkafka always does."""
        del leaving
        self.member.leave()


class SelfAssigningConsumer(PacedConsumer):
    """Assigns all partitions to itself: the broker stores its offsets and knows no member."""

    def _join(self, topics: Sequence[str]) -> None:
        known = self.member.consumer.list_topics(timeout=REQUEST_TIMEOUT).topics
        numbers = [(topic, number) for topic in topics for number in known[topic].partitions]
        self.member.consumer.assign([TopicPartition(*each, OFFSET_BEGINNING) for each in numbers])


class TransactionalConsumer(PacedConsumer):
    """Commits in transactions, each with a record that it writes. One that `hangs` does not end the next one.

    After an aborted transaction it reads on, as an application does that passes a bad batch on to another topic.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        output: str,
        *,
        session: float = 9.0,
        heartbeat: float = 0.6,
    ) -> None:
        self._bootstrap, self._group, self._output = bootstrap, group, output
        self._producer = self._new_producer()
        self._open = False
        self.hangs = False
        self._abort_every = self._transactions = 0
        super().__init__(bootstrap, group, topics, isolated=True, session=session, heartbeat=heartbeat)

    def _new_producer(self) -> Producer:
        return transactional_producer(self._bootstrap, self._group, timeout_ms=LONGEST_TIMEOUT_MS)

    def turn(self, behaviour: ClientBehaviour, now: float) -> None:
        """See PacedConsumer."""
        self._abort_every = behaviour.abort_every
        super().turn(behaviour, now)

    def _store(self, offsets: list[TopicPartition]) -> None:
        if self._open:
            return
        try:
            self._transact(offsets)
        except KafkaException:
            # Whatever failed, a new producer with the same id fences the previous one and aborts its transaction.
            self._producer = self._new_producer()
            raise

    def _transact(self, offsets: list[TopicPartition]) -> None:
        metadata = self.member.consumer.consumer_group_metadata()
        self._producer.begin_transaction()
        self._producer.produce(self._output, "done", partition=0)
        self._producer.send_offsets_to_transaction(offsets, metadata, REQUEST_TIMEOUT)
        self._transactions += 1
        if self.hangs:
            self._open = True
        elif self._abort_every and self._transactions % self._abort_every == 0:
            self._producer.abort_transaction(REQUEST_TIMEOUT)
        else:
            self._producer.commit_transaction(REQUEST_TIMEOUT)


class PacedJavaConsumer:
    """Kafka's own Java consumer, which can be killed without a leave request. Commits the positions it has read to."""

    def __init__(
        self,
        java_clients: JavaClients,
        group: str,
        topics: Sequence[str],
        assignor: str | None = None,
        *,
        session: float = 9.0,
        heartbeat: float = 0.6,
    ) -> None:
        self._java_clients = java_clients
        self._name = f"{group}/{next(_numbers)}"
        config = {
            "group.id": group,
            "client.id": self._name.replace("/", "-"),
            "group.protocol": "classic",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "session.timeout.ms": f"{session * 1_000:.0f}",
            "heartbeat.interval.ms": f"{heartbeat * 1_000:.0f}",
            **({} if assignor is None else {"partition.assignment.strategy": assignor}),
        }
        java_clients.open(self._name, config, topics)
        self._commit_due = 0.0

    def turn(self, behaviour: ClientBehaviour, now: float) -> None:
        """See PacedClient."""
        if now >= self._commit_due and not behaviour.silent:
            self._commit_due = max(self._commit_due + behaviour.every, now + behaviour.every / 2)
            self._java_clients.commit(self._name)

    def seek_back(self, place: Place, by: int) -> None:
        """See PacedClient."""
        raise NotImplementedError(f"a Java consumer cannot go back by {by} in {place}")

    def close(self, *, leaving: bool) -> None:
        """See PacedClient."""
        self._java_clients.close(self._name, leaving=leaving)
