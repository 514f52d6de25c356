"""The traffic of demo and tests: topics, a producer, and a group for every row of `sandbox.demo.groups.DEMO_GROUPS`.

`Workload` runs each worker in its own thread, all of them with less than a tenth of a core. `pause` is exact: when it
returns, committed offsets and end offsets no longer change while every member keeps its membership, so that two readers
of the cluster can be compared number by number.
"""

import collections
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.clients.members import client_config
from sandbox.demo.behaviours import (
    PERIOD,
    DemoProducer,
    DrainedGroup,
    RewoundGroup,
    RollingGroup,
    SlowGroup,
    StalledGroup,
    StoppedGroup,
    TrafficGroup,
    TrafficWorker,
    UnmanagedGroup,
)
from sandbox.demo.groups import DEMO_GROUPS, TOPICS, Behaviour, DemoGroup, DemoTopic
from sandbox.demo.transactional import TransactionalGroup
from sandbox.kafka.broker import create_topics
from sandbox.waiting import eventually

LIMIT: Final = 60.0
"""Seconds in which all workers must be idle, or settled."""
CONNECT_LIMIT: Final = 10.0
FAULTS_KEPT: Final = 50

GROUP_CLASSES: Final[dict[Behaviour, Callable[[str, DemoGroup, str, str], TrafficGroup]]] = {
    Behaviour.STEADY: TrafficGroup,
    Behaviour.SLOW: SlowGroup,
    Behaviour.STOPPED: StoppedGroup,
    Behaviour.STALLED: StalledGroup,
    Behaviour.REWOUND: RewoundGroup,
    Behaviour.DRAINED: DrainedGroup,
    Behaviour.ROLLING: RollingGroup,
}


def build_group(bootstrap: str, row: DemoGroup, prefix: str, topics: dict[str, DemoTopic]) -> TrafficGroup:
    """Return the group that behaves as the row says; `topics` are by full name, prefix included."""
    group, topic = prefix + row.name, prefix + row.topic
    if row.behaviour is Behaviour.UNMANAGED:
        return UnmanagedGroup(bootstrap, row, group, topic, topics[topic].partitions)
    if row.behaviour is Behaviour.TRANSACTIONAL:
        return TransactionalGroup(bootstrap, row, group, topic, prefix + "invoices")
    return GROUP_CLASSES[row.behaviour](bootstrap, row, group, topic)


class Workload:
    """The traffic on one cluster: `with Workload(bootstrap) as traffic: traffic.wait_until_settled(); ...`.

    `prefix` is put before all names, so that several workloads can share a cluster; `rows` may be a part of the table;
    `more` are workers in addition to it. Existing topics are used as they are. `faults` keeps the latest errors: a
    restart of the broker causes some, and every worker continues as soon as it can.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        prefix: str = "",
        rows: Sequence[DemoGroup] = DEMO_GROUPS,
        more: Sequence[TrafficWorker] = (),
    ) -> None:
        self.bootstrap: Final = bootstrap
        self.prefix: Final = prefix
        self.rows: Final = tuple(rows)
        self.topics: Final[dict[str, DemoTopic]] = {prefix + topic.name: topic for topic in TOPICS}
        self.faults: Final[collections.deque[str]] = collections.deque(maxlen=FAULTS_KEPT)
        self._more = tuple(more)
        self._workers: list[TrafficWorker] = []
        self._threads: list[threading.Thread] = []
        self._turn = threading.Condition()
        self._running = True
        self._stopping = False
        self._idle_workers: set[str] = set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def groups(self) -> list[str]:
        """The ids of the groups, prefix included."""
        return [self.prefix + row.name for row in self.rows]

    def start(self) -> Self:
        """Create missing topics and start all workers. Raises KafkaException when the cluster refuses a request."""
        existing = AdminClient(client_config(self.bootstrap)).list_topics(timeout=CONNECT_LIMIT).topics
        missing = {name: topic.partitions for name, topic in self.topics.items() if name not in existing}
        if missing:
            create_topics(self.bootstrap, missing)
        producer = DemoProducer(self.bootstrap, self.topics)
        if missing:
            producer.write_backlog()
        groups = [build_group(self.bootstrap, row, self.prefix, self.topics) for row in self.rows]
        self._workers = [producer, *groups, *self._more]
        self._threads = [threading.Thread(target=self._run, args=(worker,), daemon=True) for worker in self._workers]
        for thread in self._threads:
            thread.start()
        return self

    def wait_until_settled(self, limit: float = LIMIT) -> None:
        """Wait until every worker is settled. Raises TimeoutError with the names of those that are not."""
        self._wait(lambda: [worker.name for worker in self._workers if not worker.settled], "to settle", limit)

    def pause(self, limit: float = LIMIT) -> None:
        """Stop producing, consuming and committing; when this returns, no offset of the cluster changes any more."""
        with self._turn:
            self._running = False
            self._turn.notify_all()
        self._wait(
            lambda: [worker.name for worker in self._workers if worker.name not in self._idle_workers],
            "to be idle",
            limit,
        )
        self._wait_for_still_ends(limit)

    def resume(self) -> None:
        """Continue after a pause."""
        with self._turn:
            self._idle_workers.clear()
            self._running = True
            self._turn.notify_all()

    def stop(self) -> None:
        """End all traffic: members leave their groups, offsets stay. A worker whose broker is down is abandoned."""
        with self._turn:
            self._stopping = True
            self._turn.notify_all()
        deadline = time.monotonic() + 20
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._threads = []

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the high watermark of every partition of the traffic; repeated while a partition has no leader."""
        return eventually(self._ends)

    def _ends(self) -> dict[tuple[str, int], int]:
        consumer = Consumer(
            {**client_config(self.bootstrap), "group.id": "workload-ends", "isolation.level": "read_uncommitted"}
        )
        try:
            return {
                (name, partition): consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=10)[1]
                for name, topic in self.topics.items()
                for partition in range(topic.partitions)
            }
        finally:
            consumer.close()

    def _run(self, worker: TrafficWorker) -> None:
        """Run the turns of a worker until the end: working ones while traffic flows, idle ones while it is paused."""
        while not self._stopping:
            with self._turn:
                working = self._running
                if not working:
                    self._idle_workers.add(worker.name)
                    self._turn.notify_all()
            self._try(worker, worker.run_turn if working else worker.idle_turn)
            self._wait_a_turn(working=working)
        self._try(worker, worker.close)

    def _wait_a_turn(self, *, working: bool) -> None:
        """Wait for the next turn; a pause or the end interrupts the wait."""
        with self._turn:
            self._turn.wait_for(lambda: self._stopping or (working and not self._running), PERIOD)

    def _try(self, worker: TrafficWorker, call: Callable[[], None]) -> None:
        try:
            call()
        except (KafkaException, RuntimeError, TimeoutError) as error:
            self.faults.append(f"{worker.name}: {error}")

    def _wait(self, waiting: Callable[[], list[str]], what: str, limit: float) -> None:
        deadline = time.monotonic() + limit
        while names := waiting():
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {limit:.0f} s still waiting for {', '.join(names)} {what}: {self.faults}")
            time.sleep(0.05)

    def _wait_for_still_ends(self, limit: float) -> None:
        """Wait until the end offsets are equal twice: transaction markers are written after the commit is answered."""
        deadline = time.monotonic() + limit
        previous = self.ends()
        while True:
            time.sleep(0.25)
            now = self.ends()
            if now == previous:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {limit:.0f} s the end offsets still change")
            previous = now
