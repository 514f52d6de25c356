"""Time lag against the true age: of records whose send time is known, as a real producer wrote them.

A steady and a bursty topic, and on each a group that has read everything, two that keep a distance, and one that stands
still since before the monitor was started. What is compared is the age of the first record that the shown committed
offset leaves unread, at the moment of the snapshot.
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import itertools
import threading
import time
from typing import TYPE_CHECKING, Final, Self

import pytest
from confluent_kafka import Producer, TopicPartition

from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topics
from sandbox.waiting import eventually
from tests.integration.traffic import consumer
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(400)]

TICK: Final = 2.0
BEFORE: Final = 12.0
WATCHED: Final = 40.0
BURST_EVERY: Final = 7.0
DISTANCES: Final = {"reads-all": 0.0, "near": 3.0, "far": 11.0, "still": None}
"""Groups, and how many seconds behind they commit; None: never again after the first commit."""


@dataclasses.dataclass
class Written:
    """A topic of one partition, and when each of its records was sent (Unix seconds, by offset)."""

    topic: str
    sent: list[float] = dataclasses.field(default_factory=list)

    def told(self, error: object, message: Message) -> None:
        """Note a record that the broker has taken; records of one partition are told in their order."""
        assert error is None
        assert message.offset() == len(self.sent)
        self.sent.append(float(message.value().decode()))

    def offset_at(self, moment: float) -> int:
        """Give the end as it was at a moment."""
        return bisect.bisect_right(self.sent, moment)

    def age(self, committed: int, moment: float) -> float:
        """Give how long the first unread record had waited at a moment; 0 where nothing was unread."""
        return max(moment - self.sent[committed], 0.0) if committed < self.offset_at(moment) else 0.0


class Life:
    """Producers and groups, in a thread of their own."""

    def __init__(self, bootstrap: str, clients: dict[str, Consumer]) -> None:
        self.topics = {name: Written(name) for name in ("steady", "bursty")}
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._clients = clients
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _live(self) -> None:
        burst = commit = 0.0
        while not self._stop.wait(0.05):
            now = time.time()
            self._write("steady", 2)
            if now - burst >= BURST_EVERY:
                burst = now
                self._write("bursty", 300)
            self._producer.flush(10)
            if now - commit >= 1.0:
                commit = now
                self._commit(now)

    def _write(self, topic: str, records: int) -> None:
        for _ in range(records):
            self._producer.produce(topic, repr(time.time()).encode(), partition=0, on_delivery=self.topics[topic].told)

    def _commit(self, now: float) -> None:
        for group, distance in DISTANCES.items():
            places = [
                TopicPartition(name, 0, written.offset_at(now - distance))
                for name, written in self.topics.items()
                if distance is not None
            ]
            if places:
                client = self._clients[group]
                eventually(lambda c=client, p=places: c.commit(offsets=p, asynchronous=False))


@dataclasses.dataclass
class Ages:
    """By topic and group the (shown, true) ages in seconds, snapshot by snapshot, and when these were taken."""

    of: dict[tuple[str, str], list[tuple[float, float]]] = dataclasses.field(default_factory=dict)
    taken_at: list[float] = dataclasses.field(default_factory=list)

    def note(self, shown: Metrics, life: Life) -> None:
        """Hold what is shown against the truth."""
        assert shown.snapshot is not None
        self.taken_at.append(shown.snapshot)
        for labels, age in shown.rows("lagwarden_partition_time_lag_seconds"):
            group, topic = labels["group"], labels["topic"]
            committed = shown.committed[group, topic, 0]
            true = life.topics[topic].age(committed, shown.snapshot)
            self.of.setdefault((topic, group), []).append((age, true))

    @property
    def tick(self) -> float:
        """How long a tick was at most; a busy machine makes them longer than was asked for."""
        return max(TICK, *(after - before for before, after in itertools.pairwise(self.taken_at)))


@pytest.fixture(scope="module")
def ages(tmp_path_factory: pytest.TempPathFactory) -> Ages:
    """Watch it all."""
    found = Ages()
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(Broker())
        create_topics(broker.bootstrap, {"steady": 1, "bursty": 1})
        clients = {group: stack.enter_context(consumer(broker.bootstrap, group)) for group in DISTANCES}
        standing = [TopicPartition(name, 0, 0) for name in ("steady", "bursty")]
        eventually(lambda: clients["still"].commit(offsets=standing, asynchronous=False))
        life = stack.enter_context(Life(broker.bootstrap, clients))
        time.sleep(BEFORE)
        folder = tmp_path_factory.mktemp("monitor")
        monitor = stack.enter_context(Monitor(broker.bootstrap, folder, {"job.tick_interval": f"{TICK}s"}))
        monitor.wait_ready()
        until = time.monotonic() + WATCHED
        while time.monotonic() < until:
            found.note(monitor.wait_ticks(1), life)
    return found


@pytest.mark.parametrize("topic", ["steady", "bursty"])
@pytest.mark.parametrize("group", DISTANCES)
def test_time_lag_is_right_to_the_tick(ages: Ages, topic: str, group: str) -> None:
    """At every snapshot, also of what was written before the monitor began."""
    pairs = ages.of[topic, group]
    assert len(pairs) >= 8
    assert [(shown, true) for shown, true in pairs if abs(shown - true) > ages.tick] == []


@pytest.mark.parametrize("topic", ["steady", "bursty"])
def test_the_lives_are_what_they_are_meant_to_be(ages: Ages, topic: str) -> None:
    """Some read everything, some are behind by much more than a tick: else nothing was proven."""
    read_all = [(shown, true) for shown, true in ages.of[topic, "reads-all"] if true <= ages.tick]
    assert read_all
    assert topic == "steady" or (0.0, 0.0) in read_all
    assert max(true for _, true in ages.of[topic, "far"]) > 4 * TICK
    assert max(true for _, true in ages.of[topic, "still"]) > WATCHED
