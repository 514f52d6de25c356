"""The group of one verdict scenario: its topics, its producers, its clients and how they behave."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from sandbox.clients.group_names import topic_name
from sandbox.clients.java_clients import JavaClients
from sandbox.clients.members import REQUEST_TIMEOUT, GroupKind, client_config
from sandbox.clients.paced import (
    PacedClient,
    PacedConsumer,
    PacedJavaConsumer,
    SelfAssigningConsumer,
    TransactionalConsumer,
)
from sandbox.clients.traffic import ClientBehaviour, FlowProducer
from sandbox.verdict_scenarios import pace
from sandbox.waiting import LIMIT, eventually, wait_until

_Client = TypeVar("_Client")
_FIRST_BROKER: Final = 1
"""The node id of the broker that runs from beginning to end; the other one dies."""


class VerdictGroup:
    """The group that the actions of a verdict scenario change. `behaviour` is that of all its clients.

    Methods take the short names of topics.
    """

    def __init__(
        self, java_clients: JavaClients, group: str, behaviour: ClientBehaviour, producers: Mapping[str, FlowProducer]
    ) -> None:
        self.group: Final = group
        self.clients: Final[dict[str, PacedClient]] = {}
        self.behaviour = behaviour
        self._java_clients = java_clients
        self._bootstrap = java_clients.bootstrap
        self._producers = producers
        session, heartbeat = (pace.CHOSEN.wall(each) for each in (pace.SESSION, pace.HEARTBEAT))
        self._timing: dict[str, Any] = {"session": session, "heartbeat": heartbeat}

    # --- clients

    def start_consumer(
        self,
        client: str = "a",
        *,
        topics: tuple[str, ...] = ("in",),
        kind: GroupKind = "classic",
        instance: str | None = None,
        isolated: bool = False,
        refresh: float = 1.0,
        reset: str = "earliest",
    ) -> None:
        """Start a librdkafka consumer. Every `refresh` seconds of the run it looks for new partitions."""
        self.clients[client] = PacedConsumer(
            self._bootstrap, self.group, list(map(self._topic, topics)), kind=kind, isolated=isolated, reset=reset,
            instance=instance and f"{self.group}-{instance}", refresh=pace.CHOSEN.wall(refresh), **self._timing,
        )  # fmt: skip

    def start_simple_consumer(self, client: str = "a") -> None:
        """Start a consumer that assigns all partitions to itself: a simple group."""
        topics = [self._topic("in")]
        self.clients[client] = SelfAssigningConsumer(self._bootstrap, self.group, topics, **self._timing)

    def start_transactional_consumer(self, client: str = "a") -> None:
        """Start a consumer that commits in transactions."""
        topics, output = [self._topic("in")], self._topic("out")
        self.clients[client] = TransactionalConsumer(self._bootstrap, self.group, topics, output, **self._timing)

    def start_java_consumer(self, client: str = "a", assignor: str | None = None) -> None:
        """Start Kafka's own consumer, with the assignor of this class."""
        topics = [self._topic("in")]
        self.clients[client] = PacedJavaConsumer(self._java_clients, self.group, topics, assignor, **self._timing)

    def close_clients(self, *names: str) -> None:
        """Close clients, by default `a`, which leave the group; static ones only stop their heartbeats."""
        for name in names or ("a",):
            self.clients.pop(name).close(leaving=True)

    def kill_client(self, client: str = "a") -> None:
        """Stop a Java client without a leave request."""
        self.clients.pop(client).close(leaving=False)

    def change_behaviour(self, /, **changes: Any) -> None:
        """Change these fields of the ClientBehaviour; the others stay."""
        self.behaviour = dataclasses.replace(self.behaviour, **changes)

    def seek_back(self, by: int, client: str = "a") -> None:
        """Move the position of a running consumer back by `by` offsets."""
        self.clients[client].seek_back((self._topic("in"), 0), by)

    def seek_to_end(self) -> None:
        """Move the position of a running consumer to the end of partition 0."""
        self._own_client(PacedConsumer).seek_to_end((self._topic("in"), 0))

    def subscribe_to(self, topic: str, client: str = "a") -> None:
        """Subscribe a consumer to another topic only."""
        self._own_client(PacedConsumer, client).subscribe([self._topic(topic)])

    def hang_in_commit(self) -> None:
        """Make a client that commits in transactions leave the next one open."""
        self._own_client(TransactionalConsumer).hangs = True

    def keep_transaction_open(self) -> None:
        """Make the producer of the input topic leave its next transaction open."""
        self._producers[self._topic("in")].keep_open()

    # --- topics and offsets

    def add_partitions(self, partitions: int) -> None:
        """Increase the input topic to this number of partitions, all on the broker that stays."""
        name, admin = self._topic("in"), self._admin()
        replicas = [[_FIRST_BROKER]] * (partitions - len(admin.list_topics(name, LIMIT).topics[name].partitions))
        admin.create_partitions([NewPartitions(name, partitions, replicas)])[name].result(LIMIT)
        self._producers[name].add_partitions(name, partitions)

    def delete_input_topic(self) -> None:
        """Stop writing to the input topic, delete it, and wait until the metadata no longer has it."""
        name, admin = self._topic("in"), self._admin()
        self._producers[name].remove_topic(name)
        admin.delete_topics([name])[name].result(LIMIT)
        wait_until(lambda: name not in admin.list_topics(timeout=LIMIT).topics, f"the deletion of {name}")

    def delete_records(self, leaving: int) -> None:
        """Delete all but the last `leaving` records of the input topic's partition 0."""
        with self._consumer("verdicts-ends") as consumer:
            end = consumer.get_watermark_offsets(self._place(), timeout=REQUEST_TIMEOUT)[1]
        self._delete_before(end - leaving)

    def delete_read_records(self) -> None:
        """Delete the records of the input topic's partition 0 that the group has committed, as Kafka Streams does."""
        with self._consumer(self.group) as consumer:
            (at,) = consumer.committed([self._place()], timeout=REQUEST_TIMEOUT)
        self._delete_before(at.offset)

    def delete_group(self) -> None:
        """Delete the group, which must have no members, with all of its offsets."""
        admin = self._admin()
        admin.delete_consumer_groups([self.group])[self.group].result(LIMIT)

    def reset_offsets(self, by: int) -> None:
        """Set the empty group back by `by` offsets as Kafka's tool does: with a commit without a membership."""
        with self._consumer(self.group) as consumer:
            (at,) = consumer.committed([self._place()], timeout=REQUEST_TIMEOUT)
            place = self._place(max(at.offset - by, 0))
            eventually(lambda: consumer.commit(offsets=[place], asynchronous=False))

    def _topic(self, short: str) -> str:
        return topic_name(self.group, short)

    def _place(self, offset: int = 0) -> TopicPartition:
        """Return partition 0 of the input."""
        return TopicPartition(self._topic("in"), 0, offset)

    def _own_client(self, kind: type[_Client], client: str = "a") -> _Client:
        found = self.clients[client]
        if not isinstance(found, kind):
            raise TypeError(f"client {client} is no {kind.__name__}")
        return found

    def _admin(self) -> AdminClient:
        """Return a new admin client. Keep it until its answers are there: they end with the client."""
        return AdminClient(client_config(self._bootstrap))

    @contextlib.contextmanager
    def _consumer(self, group: str) -> Iterator[Consumer]:
        consumer = Consumer({**client_config(self._bootstrap), "group.id": group, "enable.auto.commit": False})
        try:
            yield consumer
        finally:
            consumer.close()

    def _delete_before(self, offset: int) -> None:
        admin = self._admin()
        for done in admin.delete_records([self._place(max(offset, 0))]).values():
            done.result(LIMIT)
