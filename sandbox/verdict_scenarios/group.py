"""The group of one verdict scenario: its topics, its producers, its clients and how they behave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from sandbox.clients.group_names import topic_name
from sandbox.clients.members import REQUEST_TIMEOUT, client_config
from sandbox.waiting import LIMIT, eventually, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.clients.flow_producer import FlowProducer
    from sandbox.clients.java_clients import JavaClients
    from sandbox.clients.paced import PacedClient
    from sandbox.clients.traffic import ClientBehaviour

_FIRST_BROKER: Final = 1
"""The node id of the broker that runs from beginning to end; the other one dies."""


class VerdictGroup:
    """The group that the actions of a verdict scenario change. `behaviour` is that of all its clients.

    Methods take the short names of topics.
    """

    def __init__(
        self, java_clients: JavaClients, group: str, behaviour: ClientBehaviour, producers: Mapping[str, FlowProducer]
    ) -> None:
        self.java_clients: Final = java_clients
        self.bootstrap: Final = java_clients.bootstrap
        self.group: Final = group
        self.clients: Final[dict[str, PacedClient]] = {}
        self.behaviour = behaviour
        self._producers: Final = producers

    def topic(self, short: str) -> str:
        """Return the full name of one of the group's topics."""
        return topic_name(self.group, short)

    def admin(self) -> AdminClient:
        """Return a new admin client. Keep it until its answers are there: they end with the client."""
        return AdminClient(client_config(self.bootstrap))

    def close_client(self, name: str, *, leaving: bool = True) -> None:
        """Close and remove a client, which leaves the group, or (`leaving` false) stops without a leave request."""
        self.clients.pop(name).close(leaving=leaving)

    def producer_of(self, short: str) -> FlowProducer:
        """Return the producer of a topic."""
        return self._producers[self.topic(short)]

    def add_partitions(self, short: str, partitions: int) -> None:
        """Increase a topic to this number of partitions, all on the broker that stays."""
        name = self.topic(short)
        admin = self.admin()
        replicas = [[_FIRST_BROKER]] * (partitions - len(admin.list_topics(name, LIMIT).topics[name].partitions))
        admin.create_partitions([NewPartitions(name, partitions, replicas)])[name].result(LIMIT)
        self.producer_of(short).add_partitions(name, partitions)

    def delete_topic(self, short: str) -> None:
        """Stop writing to a topic, delete it, and wait until the metadata no longer has it."""
        self.producer_of(short).remove_topic(self.topic(short))
        name, admin = self.topic(short), self.admin()
        admin.delete_topics([name])[name].result(LIMIT)
        wait_until(lambda: name not in admin.list_topics(timeout=LIMIT).topics, f"the deletion of {name}")

    def delete_records(self, short: str, leaving: int) -> None:
        """Move the log start offset of partition 0 to `leaving` offsets before its end offset."""
        place = TopicPartition(self.topic(short), 0)
        consumer = Consumer({**client_config(self.bootstrap), "group.id": "verdicts-ends"})
        try:
            end = consumer.get_watermark_offsets(place, timeout=REQUEST_TIMEOUT)[1]
        finally:
            consumer.close()
        self._delete_before(place, max(end - leaving, 0))

    def delete_read_records(self) -> None:
        """Move the log start offset of partition 0 of the input to the committed offset."""
        place = TopicPartition(self.topic("in"), 0)
        consumer = Consumer({**client_config(self.bootstrap), "group.id": self.group})
        try:
            (at,) = consumer.committed([place], timeout=REQUEST_TIMEOUT)
        finally:
            consumer.close()
        self._delete_before(place, max(at.offset, 0))

    def _delete_before(self, place: TopicPartition, offset: int) -> None:
        place.offset = offset
        admin = self.admin()
        for done in admin.delete_records([place]).values():
            done.result(LIMIT)

    def delete_offsets(self) -> None:
        """Delete the group, which must have no members, with all of its offsets."""
        admin = self.admin()  # kept until the answer: without a client there is none
        admin.delete_consumer_groups([self.group])[self.group].result(LIMIT)

    def reset(self, by: int) -> None:
        """Commit partition 0 of the input `by` offsets lower, without being a member."""
        place = TopicPartition(self.topic("in"), 0)
        consumer = Consumer({**client_config(self.bootstrap), "group.id": self.group, "enable.auto.commit": False})
        try:
            (at,) = consumer.committed([place], timeout=REQUEST_TIMEOUT)
            place.offset = max(at.offset - by, 0)
            eventually(lambda: consumer.commit(offsets=[place], asynchronous=False))
        finally:
            consumer.close()
