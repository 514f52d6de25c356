"""Where one scenario is played: the cluster, its group, its topics by their full names, and the clients alive in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.clients.members import REQUEST_TIMEOUT, Member, client_config
from sandbox.clients.self_polling import JavaClient, LibrdkafkaClient
from sandbox.kafka.topics import create_topics
from sandbox.waiting import LIMIT, eventually, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sandbox.clients.java_clients import JavaClients, Offset
    from sandbox.clients.self_polling import ClientSpec, PollingClient

RECORDS: Final = 20
"""Records that each partition of a new topic gets."""


class ScenarioGroup:
    """One group's surroundings. Actions act on it; offsets name topics by their short names."""

    def __init__(self, desk: JavaClients, group: str) -> None:
        self.desk: Final = desk
        self.bootstrap: Final = desk.bootstrap
        self.group: Final = group
        self.clients: Final[dict[str, PollingClient]] = {}
        self.topics: Final[dict[str, int]] = {}
        self._producer: Producer | None = None

    # --- topics ---

    def topic(self, short: str) -> str:
        """Give the full name of one of the scenario's topics."""
        return f"{self.group}-{short}"

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Make topics and give each partition some records."""
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
            raise TimeoutError(f"the topics of {self.group} could not be written")

    def delete_topic(self, short: str) -> None:
        """Delete a topic and wait until nobody knows it any more."""
        name, admin = self.topic(short), AdminClient(client_config(self.bootstrap))
        admin.delete_topics([name])[name].result(LIMIT)
        del self.topics[short]
        wait_until(lambda: name not in admin.list_topics(timeout=LIMIT).topics, f"{name} to go")

    # --- clients ---

    def join(self, name: str, wish: ClientSpec, *, java: bool = True) -> None:
        """Let a client begin."""
        if java:
            self.clients[name] = JavaClient(self.desk, self.group, name, wish)
        else:
            self.clients[name] = LibrdkafkaClient(self.bootstrap, self.group, wish, len(self.clients))

    def end(self, name: str, *, leaving: bool) -> None:
        """Let a client end."""
        self.clients.pop(name).close(leaving=leaving)

    def commit_all(self) -> None:
        """Let every client commit where it stands, patiently: a group may be rebalancing.

        Streams programs commit by themselves, when they have read something: they get something to read.
        """
        for client in self.clients.values():
            eventually_ok(client.commit)
        if any(client.wish.protocol == "streams" for client in self.clients.values()):
            self._write(self.topics, 1)

    @property
    def wanted_partitions(self) -> int:
        """How many partitions the topics have that living clients subscribe to."""
        wanted = {topic for client in self.clients.values() for topic in client.wish.topics}
        return sum(partitions for short, partitions in self.topics.items() if self.topic(short) in wanted)

    def close(self) -> None:
        """Let everybody leave."""
        for name in list(self.clients):
            self.end(name, leaving=True)

    # --- offsets without membership ---

    def full(self, offsets: Collection[Offset]) -> list[Offset]:
        """Write the offsets with the full names of their topics."""
        return [(self.topic(short), partition, offset) for short, partition, offset in offsets]

    def store(self, offsets: Collection[Offset]) -> None:
        """Commit as a simple group does."""
        self.restore(self.full(offsets))

    def restore(self, offsets: Collection[Offset]) -> None:
        """Commit like `store`, with the full names of topics."""
        member = Member(self.bootstrap, self.group, "simple")
        try:
            eventually(lambda: member.commit([TopicPartition(*each) for each in offsets]))
        finally:
            member.leave()

    def send_in_transaction(self, offsets: Collection[Offset]) -> None:
        """Begin a transaction and send offsets in it; they count once it is committed."""
        producer = self._producer
        if producer is None:
            producer = Producer({**client_config(self.bootstrap), "transactional.id": self.group})
            eventually(lambda: producer.init_transactions(REQUEST_TIMEOUT))
            self._producer = producer
        producer.begin_transaction()
        member = Member(self.bootstrap, self.group, "simple")
        try:
            metadata = member.consumer.consumer_group_metadata()
            places = [TopicPartition(*each) for each in self.full(offsets)]
            eventually(lambda: producer.send_offsets_to_transaction(places, metadata, REQUEST_TIMEOUT))
        finally:
            member.leave()

    def end_transaction(self, *, committing: bool) -> None:
        """End the open transaction."""
        if self._producer is None:
            raise RuntimeError("no transaction is open")
        (self._producer.commit_transaction if committing else self._producer.abort_transaction)(REQUEST_TIMEOUT)


def eventually_ok(call: Callable[[], None], limit: float = LIMIT) -> None:
    """Call until it works, for what a rebalance refuses; the last error is raised after `limit` s."""
    failed: list[Exception] = []

    def works() -> bool:
        try:
            call()
        except Exception as error:  # noqa: BLE001 -- either client's; raised in the end
            failed.append(error)
            return False
        return True

    try:
        wait_until(works, "a call to work", limit=limit, pause=0.3)
    except TimeoutError:
        raise failed[-1] from None
