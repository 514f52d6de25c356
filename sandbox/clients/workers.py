"""One client of a group in the play: reads for real, processes as slowly as its habits say, commits for real."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from sandbox.clients.members import REQUEST_TIMEOUT, client_config
from sandbox.verdict_scenarios import pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.clients.java_clients import JavaClients
    from sandbox.verdict_scenarios.scenario import ClientBehaviour

Place = tuple[str, int]
Config = dict[str, str | int | float | bool]
AT_ONCE: Final = 5_000
_numbers = itertools.count()


class PacedClient(Protocol):
    """Somebody in a group."""

    def turn(self, habit: ClientBehaviour, now: float) -> None:
        """Live on for a moment."""

    def go_back(self, place: Place, by: int) -> None:
        """Read a partition again from so many offsets before."""

    def close(self, *, leaving: bool) -> None:
        """Leave the group, or (`leaving` false) be gone without a word."""


class PacedConsumer:
    """A librdkafka consumer, with a process behind it that may be slow."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        *,
        protocol: str = "classic",
        instance: str | None = None,
        isolated: bool = False,
        refresh: float = 1.0,
    ) -> None:
        config = _config(bootstrap, group) | {
            "group.protocol": protocol,
            "isolation.level": "read_committed" if isolated else "read_uncommitted",
            "topic.metadata.refresh.interval.ms": int(refresh * 1_000),
        }
        if protocol == "classic":
            config |= {
                "session.timeout.ms": int(pace.SESSION * 1_000),
                "heartbeat.interval.ms": int(pace.HEARTBEAT * 1_000),
            }
        if instance:
            config["group.instance.id"] = instance
        self.consumer: Final = Consumer(config)
        self._read: dict[Place, int] = {}
        self._done: dict[Place, float] = {}
        self._told: dict[Place, int] = {}
        self._before: float | None = None
        self._due = 0.0
        self._join(topics)

    def _join(self, topics: Sequence[str]) -> None:
        # With a callback a rebalance needs a poll, as it does in most programs: one that hangs holds up all.
        self.consumer.subscribe(list(topics), on_revoke=lambda *_: None)

    def turn(self, habit: ClientBehaviour, now: float) -> None:
        """See Client."""
        self._take()
        self._process(habit, now - (now if self._before is None else self._before))
        self._before = now
        if now >= self._due and not habit.silent:
            self._due = max(self._due + habit.every, now + habit.every / 2)
            self._commit(habit)

    def _take(self) -> None:
        for record in self.consumer.consume(AT_ONCE, timeout=0.02):
            error = record.error()
            if error is not None and error.fatal():
                raise KafkaException(error)
            if error is None:
                place = str(record.topic()), int(record.partition() or 0)
                offset = int(record.offset() or 0)
                self._done.setdefault(place, offset)
                self._read[place] = offset + 1
        owned = {(each.topic, each.partition) for each in self.consumer.assignment()}
        for column in (self._read, self._done, self._told):
            for place in column.keys() - owned:
                del column[place]

    def _process(self, habit: ClientBehaviour, seconds: float) -> None:
        for place, read in self._read.items():
            if place[1] not in habit.stuck:
                able = read if habit.rate is None else self._done[place] + habit.rate * seconds
                self._done[place] = min(read, able)

    def _commit(self, habit: ClientBehaviour) -> None:
        done = {place: int(at) for place, at in self._done.items() if place[1] not in habit.skipped}
        news = done if habit.repeats else {place: at for place, at in done.items() if self._told.get(place) != at}
        if news:
            self._store([TopicPartition(*place, at) for place, at in news.items()])
            self._told.update(news)

    def _store(self, offsets: list[TopicPartition]) -> None:
        self.consumer.commit(offsets=offsets, asynchronous=False)

    def go_back(self, place: Place, by: int) -> None:
        """See Client."""
        if place in self._done:
            at = max(int(self._done[place]) - by, 0)
            self.consumer.seek(TopicPartition(*place, at))
            self._done[place] = self._read[place] = at

    def close(self, *, leaving: bool) -> None:
        """See Client. A static member only goes silent; another one of librdkafka always says that it leaves."""
        del leaving
        self.consumer.close()


class SelfAssigningConsumer(PacedConsumer):
    """Assigns all partitions to itself: the broker stores its offsets and knows no member."""

    def _join(self, topics: Sequence[str]) -> None:
        known = self.consumer.list_topics(timeout=REQUEST_TIMEOUT).topics
        numbers = [(topic, number) for topic in topics for number in known[topic].partitions]
        self.consumer.assign([TopicPartition(*each, OFFSET_BEGINNING) for each in numbers])


class TransactionalConsumer(PacedConsumer):
    """Commits in transactions, each with a record that it writes. One that `hangs` does not end the next one."""

    def __init__(self, bootstrap: str, group: str, topics: Sequence[str], output: str) -> None:
        self._bootstrap, self._group, self._output = bootstrap, group, output
        self._producer = self._new_producer()
        self._open = False
        self.hangs = False
        super().__init__(bootstrap, group, topics, isolated=True)

    def _new_producer(self) -> Producer:
        config = {"transactional.id": self._group, "transaction.timeout.ms": 600_000}
        producer = Producer({**client_config(self._bootstrap), **config})
        producer.init_transactions(REQUEST_TIMEOUT)
        return producer

    def _store(self, offsets: list[TopicPartition]) -> None:
        if self._open:
            return
        try:
            self._transact(offsets)
        except KafkaException:
            # Whatever broke it, a new producer with the same id fences the old one and aborts what it left open.
            self._producer = self._new_producer()
            raise

    def _transact(self, offsets: list[TopicPartition]) -> None:
        self._producer.begin_transaction()
        self._producer.produce(self._output, "done", partition=0)
        self._producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata(), REQUEST_TIMEOUT)
        if self.hangs:
            self._open = True
        else:
            self._producer.commit_transaction(REQUEST_TIMEOUT)


class PacedJavaConsumer:
    """Kafka's own consumer, at the desk: one that can die without a word. Processes all that comes."""

    def __init__(self, desk: JavaClients, group: str, topics: Sequence[str], assignor: str | None = None) -> None:
        self._desk = desk
        self._actor = f"{group}/{next(_numbers)}"
        self._due = 0.0
        config = {
            "group.id": group,
            "client.id": self._actor,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "session.timeout.ms": str(int(pace.SESSION * 1_000)),
            "heartbeat.interval.ms": str(int(pace.HEARTBEAT * 1_000)),
            **({"partition.assignment.strategy": assignor} if assignor else {}),
        }
        desk.open_consumer(self._actor, config, list(topics))

    def turn(self, habit: ClientBehaviour, now: float) -> None:
        """See Client."""
        if now >= self._due and not habit.silent:
            self._due = max(self._due + habit.every, now + habit.every / 2)
            self._desk.commit(self._actor)

    def go_back(self, place: Place, by: int) -> None:
        """See Client."""
        raise NotImplementedError(f"a guest does not go back by {by} in {place}")

    def close(self, *, leaving: bool) -> None:
        """See Client."""
        self._desk.close(self._actor, leaving=leaving)


def _config(bootstrap: str, group: str) -> Config:
    return {
        **client_config(bootstrap),
        "group.id": group,
        "client.id": f"{group}-{next(_numbers)}",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "max.poll.interval.ms": 86_400_000,
        "socket.timeout.ms": 10_000,
        "queued.max.messages.kbytes": 1_024,
    }
