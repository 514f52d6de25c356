"""Groups of every kind on a real broker, with the names of the other exporters' published queries.

`PeerWorld` creates the groups; two of them commit from `move` until `stand_still`. Nothing is simulated.
"""

import contextlib
import itertools
import threading
import time
from typing import Final, Self

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.clients.self_polling import ClientSpec, LibrdkafkaClient
from sandbox.kafka.topics import create_topics
from sandbox.waiting import LIMIT, wait_until
from tests.integration.traffic import commit, delete_groups, make_topic

MOVING: Final = "bigquery-sink"
"""Four members of a classic group on three partitions, which continue to commit."""
UNOWNED: Final = ("trimmed", 0, 12)
"""A commit of the group MOVING for a partition that none of its members owns."""
MODERN: Final = "modern"
"""A KIP-848 group with one member."""
STORED: Final = frozenset({"consumergroup-A", "partial", "beyond", "behind-the-start", "up-to-date", "rewinding"})
"""Groups that only store offsets."""
PARTIAL: Final = ("partial", "orders", 1)
"""A group with a commit for one of the four partitions of its topic."""
REWINDING: Final = "rewinding"
DELETED: Final = "deleted"
_AGE: Final = 15 * 60
"""The age of the records of `payments` in seconds."""


class PeerWorld:
    """`with PeerWorld(bootstrap) as world: ... world.stand_still()`. The clients end with the context."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._members = contextlib.ExitStack()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        # The topic has 500 records, so the offsets suffice for the longest wait of a test.
        self._rewound = itertools.count(499, -1)

    def __enter__(self) -> Self:
        make = self._bootstrap
        create_topics(make, {"shop-activity": 3}, {"cleanup.policy": "compact"})
        make_topic(make, "orders", 4)
        make_topic(make, "trimmed", 1, records=30)
        make_topic(make, "unread", 2)
        create_topics(make, {"payments": 1})
        self._write("payments", 500, timestamp=int(1000 * (time.time() - _AGE)))
        commit(make, "consumergroup-A", "payments", {0: 10})
        commit(make, "beyond", "payments", {0: 600})
        commit(make, "up-to-date", "payments", {0: 500})
        commit(make, PARTIAL[0], PARTIAL[1], {PARTIAL[2]: 5})
        commit(make, "behind-the-start", "trimmed", {0: 5})
        self._delete_records(TopicPartition("trimmed", 0, 10))
        commit(make, DELETED, "orders", {0: 3})
        delete_groups(make, [DELETED])
        left = LibrdkafkaClient(make, "left", ClientSpec(("orders",)), 0)
        wait_until(lambda: self._has_state("left", "STABLE"), "a member of left")
        left.commit([("orders", 0, 4), ("orders", 1, 4)])
        left.close(leaving=True)
        modern = self._member(MODERN, ClientSpec(("orders",), protocol="consumer"), 0)
        self._moving = [self._member(MOVING, ClientSpec(("shop-activity",)), number) for number in range(4)]
        wait_until(lambda: self._has_state(MODERN, "STABLE"), f"the member of {MODERN}")
        wait_until(lambda: self._has_state(MOVING, "STABLE", members=4), f"the members of {MOVING}")
        modern.commit([("orders", partition, 2) for partition in range(3)])
        self._moving[0].commit([UNOWNED])
        return self

    def __exit__(self, *_: object) -> None:
        self.stand_still()
        self._members.close()

    def move(self) -> None:
        """Begin to write and commit."""
        self.stand_still()
        self._ended.clear()
        self._thread = threading.Thread(target=self._move, daemon=True)
        self._thread.start()

    def stand_still(self) -> None:
        """Stop writing and committing. The members stay."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _member(self, group: str, spec: ClientSpec, number: int) -> LibrdkafkaClient:
        client = LibrdkafkaClient(self._bootstrap, group, spec, number)
        self._members.callback(client.close, leaving=True)
        return client

    def _move(self) -> None:
        """Write and commit; one group commits decreasing offsets."""
        for offset in self._rewound:
            self._write("shop-activity", 6)
            for client in self._moving:
                client.commit()
            commit(self._bootstrap, REWINDING, "payments", {0: max(0, offset)})
            if self._ended.wait(0.5):
                return

    def _write(self, topic: str, records: int, timestamp: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "log_level": 0})
        for number in range(records):
            producer.produce(topic, str(number), key=str(number), timestamp=timestamp)
        assert producer.flush(LIMIT) == 0

    def _delete_records(self, until: TopicPartition) -> None:
        admin = self._admin()
        for done in admin.delete_records([until]).values():
            done.result(LIMIT)

    def _has_state(self, group: str, state: str, members: int = 1) -> bool:
        admin = self._admin()
        found = admin.describe_consumer_groups([group], request_timeout=LIMIT)[group].result(LIMIT)
        return found.state.name == state and len(found.members) == members

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
