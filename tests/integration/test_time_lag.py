"""Time lag compared with the true age of records from a real producer, whose send times are known.

A steady and a bursty topic each have a group that has read everything, two that stay behind, and one that stopped
before the monitor started. The test compares the age of the first record after the shown committed offset, at the time
of the snapshot.
"""

import bisect
import contextlib
import dataclasses
import itertools
import threading
import time
from typing import Final, Self

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from sandbox.kafka.broker import Broker, create_topics
from tests.integration.traffic import consumer
from tests.support.monitor import Monitor
from tests.support.processes import eventually, patience
from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(400))]

TICK: Final = 2.0
BEFORE: Final = 12.0
WATCHED: Final = 40.0
BURST_EVERY: Final = 7.0
DISTANCES: Final = {"reads-all": 0.0, "near": 3.0, "far": 11.0, "still": None}
"""Groups, and how many seconds behind they commit; None: never again after the first commit."""


@dataclasses.dataclass
class Written:
    """A topic of one partition, and the send time of each record (Unix seconds, by offset)."""

    topic: str
    sent: list[float] = dataclasses.field(default_factory=list)

    def on_delivery(self, error: object, message: Message) -> None:
        """Record the send time of an acknowledged record; acknowledgements of one partition are in order."""
        assert error is None
        assert message.offset() == len(self.sent)
        self.sent.append(float(message.value().decode()))

    def offset_at(self, moment: float) -> int:
        """Return the end offset at a time (Unix seconds)."""
        return bisect.bisect_right(self.sent, moment)

    def age(self, committed: int, moment: float) -> float:
        """Return the age (s) of the first unread record at a time; 0 if all records were read."""
        return max(moment - self.sent[committed], 0.0) if committed < self.offset_at(moment) else 0.0


class Clients:
    """Runs producers and groups in a thread."""

    def __init__(self, bootstrap: str, clients: dict[str, Consumer]) -> None:
        self.topics = {name: Written(name) for name in ("steady", "bursty")}
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._clients = clients
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(patience(30))

    def _run(self) -> None:
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
            self._producer.produce(
                topic, repr(time.time()).encode(), partition=0, on_delivery=self.topics[topic].on_delivery
            )

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
    """(shown, true) ages in seconds per topic and group, snapshot by snapshot, and the times of all snapshots."""

    of: dict[tuple[str, str], list[tuple[float, float]]] = dataclasses.field(default_factory=dict)
    taken_at: list[float] = dataclasses.field(default_factory=list)

    def is_ready(self, monitor: Monitor) -> bool:
        """Return whether the monitor is ready, and add the time of a new snapshot.

        Time lag is interpolated between snapshots, so a record written before the monitor is ready is as inexact as
        the first interval between two snapshots is long.
        """
        ready = monitor.get("/readyz").status == 200
        snapshot = monitor.metrics().snapshot
        if snapshot is not None and snapshot not in self.taken_at:
            self.taken_at.append(snapshot)
        return ready

    def add(self, shown: Metrics, traffic: Clients) -> None:
        assert shown.snapshot is not None
        self.taken_at.append(shown.snapshot)
        for labels, age in shown.rows("lagwarden_partition_time_lag_seconds"):
            group, topic = labels["group"], labels["topic"]
            committed = shown.committed[group, topic, 0]
            true = traffic.topics[topic].age(committed, shown.snapshot)
            self.of.setdefault((topic, group), []).append((age, true))

    @property
    def tick(self) -> float:
        """The longest tick in seconds; on a busy machine ticks are longer than configured."""
        return max(TICK, *(after - before for before, after in itertools.pairwise(self.taken_at)))


@pytest.fixture(scope="module")
def ages(tmp_path_factory: pytest.TempPathFactory) -> Ages:
    found = Ages()
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(Broker())
        create_topics(broker.bootstrap, {"steady": 1, "bursty": 1})
        clients = {group: stack.enter_context(consumer(broker.bootstrap, group)) for group in DISTANCES}
        standing = [TopicPartition(name, 0, 0) for name in ("steady", "bursty")]
        eventually(lambda: clients["still"].commit(offsets=standing, asynchronous=False))
        traffic = stack.enter_context(Clients(broker.bootstrap, clients))
        time.sleep(BEFORE)
        folder = tmp_path_factory.mktemp("monitor")
        monitor = stack.enter_context(Monitor(broker.bootstrap, folder, {"job.tick_interval": f"{TICK}s"}))
        monitor.wait_for(lambda: found.is_ready(monitor), "the monitor to become ready")
        until = time.monotonic() + WATCHED
        while time.monotonic() < until:
            found.add(monitor.wait_ticks(1), traffic)
    return found


def test_time_lag_is_exact_to_a_tick(ages: Ages) -> None:
    """Time lag is exact to a tick at every snapshot, also for records from before the start of the monitor."""
    assert ages.of.keys() == set(itertools.product(("steady", "bursty"), DISTANCES))
    assert min(map(len, ages.of.values())) >= 8
    pairs = [(where, shown, true) for where, found in ages.of.items() for shown, true in found]
    assert [(where, shown, true) for where, shown, true in pairs if abs(shown - true) > ages.tick] == []


@pytest.mark.parametrize("topic", ["steady", "bursty"])
def test_groups_of_the_run_are_behind_as_intended(ages: Ages, topic: str) -> None:
    """Some groups read everything and some are behind by much more than a tick, so the comparison is meaningful."""
    read_all = [(shown, true) for shown, true in ages.of[topic, "reads-all"] if true <= ages.tick]
    assert read_all
    assert topic == "steady" or (0.0, 0.0) in read_all
    assert max(true for _, true in ages.of[topic, "far"]) > 4 * TICK
    assert max(true for _, true in ages.of[topic, "still"]) > WATCHED
