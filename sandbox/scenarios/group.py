"""The group of one history: its topics, its clients, and the offsets that are committed without a membership."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import Producer, TopicPartition

from sandbox.clients.group_control import GroupControl
from sandbox.clients.members import REQUEST_TIMEOUT, Member, client_config
from sandbox.clients.self_polling import JavaClient, LibrdkafkaClient, PollingClient
from sandbox.clients.transactions import transactional_producer
from sandbox.kafka.topics import create_topics
from sandbox.waiting import LIMIT, eventually, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sandbox.clients.java_clients import JavaClients, Offset
    from sandbox.clients.self_polling import ClientSpec

RECORDS: Final = 20
"""Records that each partition of a new topic gets."""


class HistoryGroup(GroupControl[PollingClient]):
    """The group that the actions of a history change. Offsets name topics by their short names."""

    def __init__(self, java_clients: JavaClients, group: str) -> None:
        super().__init__(java_clients, group)
        self.topics: Final[dict[str, int]] = {}
        self._producer: Producer | None = None

    # --- topics ---

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create topics (short name -> partitions) and write RECORDS records to each partition."""
        create_topics(self.bootstrap, {self.topic(short): partitions for short, partitions in topics.items()})
        self.topics.update(topics)
        self._write(topics, RECORDS)

    def _write(self, topics: Mapping[str, int], records: int) -> None:
        producer = Producer(client_config(self.bootstrap))
        for short, partitions in topics.items():
            for partition in range(partitions):
                for number in range(records):
                    producer.produce(self.topic(short), f"{number}", key=f"{number}", partition=partition)
        if producer.flush(LIMIT):
            raise TimeoutError(f"the topics of {self.group} could not be written in {LIMIT:.0f} s")

    def delete_topic(self, short: str) -> None:
        """See GroupControl."""
        del self.topics[short]
        super().delete_topic(short)

    # --- clients ---

    def join(self, name: str, spec: ClientSpec, *, java: bool = True) -> None:
        """Start a client."""
        if java:
            self.clients[name] = JavaClient(self.java_clients, self.group, name, spec)
        else:
            self.clients[name] = LibrdkafkaClient(self.bootstrap, self.group, spec, len(self.clients))

    def commit_all(self) -> None:
        """Commit the positions of every client; repeated while the group rebalances.

        Streams programs commit by themselves when they have read something, so their topics get a record.
        """
        for client in self.clients.values():
            eventually_ok(client.commit)
        if any(client.spec.protocol == "streams" for client in self.clients.values()):
            self._write(self.topics, 1)

    @property
    def subscribed_partitions(self) -> int:
        """The number of partitions of all topics that running clients subscribe to."""
        subscribed = {topic for client in self.clients.values() for topic in client.spec.topics}
        return sum(partitions for short, partitions in self.topics.items() if self.topic(short) in subscribed)

    def close(self) -> None:
        """Close all clients; they leave the group."""
        for name in list(self.clients):
            self.close_client(name)

    # --- offsets without membership ---

    def with_full_names(self, offsets: Collection[Offset]) -> list[Offset]:
        """Return the offsets with the full names of their topics."""
        return [(self.topic(short), partition, offset) for short, partition, offset in offsets]

    def store(self, offsets: Collection[Offset]) -> None:
        """Commit offsets as a simple group does."""
        self.restore(self.with_full_names(offsets))

    def restore(self, offsets: Collection[Offset]) -> None:
        """Commit like `store`, with the full names of topics."""
        member = Member(self.bootstrap, self.group, "simple")
        try:
            eventually(lambda: member.commit([TopicPartition(*each) for each in offsets]))
        finally:
            member.leave()

    def send_in_transaction(self, offsets: Collection[Offset]) -> None:
        """Begin a transaction and send offsets in it; they take effect when it is committed."""
        if self._producer is None:
            self._producer = eventually(lambda: transactional_producer(self.bootstrap, self.group))
        producer = self._producer
        producer.begin_transaction()
        member = Member(self.bootstrap, self.group, "simple")
        try:
            metadata = member.consumer.consumer_group_metadata()
            places = [TopicPartition(*each) for each in self.with_full_names(offsets)]
            eventually(lambda: producer.send_offsets_to_transaction(places, metadata, REQUEST_TIMEOUT))
        finally:
            member.leave()

    def end_transaction(self, *, committing: bool) -> None:
        """Commit or abort the open transaction."""
        if self._producer is None:
            raise RuntimeError("no transaction is open")
        (self._producer.commit_transaction if committing else self._producer.abort_transaction)(REQUEST_TIMEOUT)


def eventually_ok(call: Callable[[], None], limit: float = LIMIT) -> None:
    """Call until no exception is raised, as long as a rebalance refuses it; after `limit` s the last one is raised."""
    failed: list[Exception] = []

    def works() -> bool:
        try:
            call()
        except Exception as error:  # noqa: BLE001 -- of either client; raised in the end
            failed.append(error)
            return False
        return True

    try:
        wait_until(works, "a call to work", limit=limit, pause=0.3)
    except TimeoutError:
        raise failed[-1] from None
