"""The traffic of a scenario as data, and its producers: one thread for plain topics, one per transactional topic."""

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import KafkaException, Producer

from sandbox.clients.members import LONGEST_TIMEOUT_MS, REQUEST_TIMEOUT, client_config, transactional_producer

RATE: Final = 20.0
"""Records per second of the run and partition of an ordinary flow."""


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """Records that are written to each partition in pulses: `per_second` on average, a pulse every `every` seconds.

    Times are seconds of the run.
    """

    per_second: float = RATE
    every: float = 0.5
    start: float = 0.0
    until: float = 10_000.0
    partitions: tuple[int, ...] | None = None
    """None: all partitions."""

    def written(self, time: float) -> int:
        """Return the number of records that each partition has received by a time."""
        pulses = int(max(min(time, self.until) - self.start, 0.0) / self.every + 1e-9)
        return int(pulses * self.every * self.per_second + 1e-9)


@dataclasses.dataclass(frozen=True, slots=True)
class ScenarioTopic:
    """A topic of a group, and what is written to it."""

    partitions: int = 1
    flows: tuple[Flow, ...] = (Flow(),)
    backlog: int = 0
    """Records in each partition before the run begins."""
    config: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Its settings. Those whose names end with `.ms` are milliseconds of the run."""
    transaction: float | None = None
    """Seconds of the run that each transaction lasts; None: records are written without transactions."""
    keys: int = 0
    """Number of different keys; 0: records have no key."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientBehaviour:
    """The way members of a group process and commit. They read for real; only the processing is simulated.

    Partitions are given by number, for every topic of the group.
    """

    every: float = 1.0
    """Seconds of the run between commits."""
    rate: float | None = None
    """Offsets that are processed per second of the run and partition; None: as fast as records arrive."""
    repeats: bool = True
    """Commits unchanged offsets again."""
    stuck: tuple[int, ...] = ()
    """Partitions whose processing has stopped."""
    behind: int = 0
    """Commits this many offsets less than the next one to read; 1: the offset of the last record."""
    skipped: tuple[int, ...] = ()
    """Partitions that are never committed."""
    silent: bool = False
    """Commits nothing."""
    abort_every: int = 0
    """Of a client that commits in transactions: every n-th one is aborted; 0: none, 1: all."""
    hung: tuple[str, ...] = ()
    """Members that do not poll; their heartbeats go on."""


PERIOD: Final = 0.5
"""Seconds of the wall clock between two turns of a producer: every fetch of a consumer is answered once per turn."""
SETTINGS: Final = {"topic.metadata.refresh.interval.ms": 1_000, "linger.ms": 5}


class FlowProducer:
    """Writes records to topics as their flows say. `clock` returns the seconds of the run."""

    def __init__(
        self,
        bootstrap: str,
        topics: Mapping[str, ScenarioTopic],
        clock: Callable[[], float],
        *,
        transactional: bool = False,
    ) -> None:
        self._topics = dict(topics)
        self._partitions = {name: topic.partitions for name, topic in topics.items()}
        self._written: dict[tuple[str, int, int], int] = {}
        self._clock = clock
        self._transaction = next(iter(topics.values())).transaction if transactional else None
        self._transaction_began: float | None = None
        self._keeps_open = False
        self._bootstrap = bootstrap
        self._producer = self._new_producer()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _new_producer(self) -> Producer:
        if self._transaction is None:
            return Producer({**client_config(self._bootstrap), **SETTINGS})
        name = f"writer-of-{min(self._topics)}"
        return transactional_producer(self._bootstrap, name, timeout_ms=LONGEST_TIMEOUT_MS, settings=SETTINGS)

    # --- control ---

    def start(self) -> None:
        """Start the thread; the flows begin at 0 of the clock."""
        self._thread.start()

    def add_partitions(self, name: str, partitions: int) -> None:
        """Write to `partitions` partitions of a topic from now on; the new ones get no records for the past."""
        flows = range(len(self._topics[name].flows))
        now = self._clock()
        for partition in range(self._partitions[name], partitions):
            for at in flows:
                self._written[name, at, partition] = self._topics[name].flows[at].written(now)
        self._partitions[name] = partitions

    def remove_topic(self, name: str) -> None:
        """Stop writing to a topic."""
        self._topics.pop(name)

    def keep_open(self) -> None:
        """Leave the next transaction open for ever."""
        self._keeps_open = True

    def close(self) -> None:
        """Stop the thread. An open transaction stays open."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(2 * REQUEST_TIMEOUT)

    # --- writing ---

    def write_backlog(self) -> None:
        """Write the records that exist before the run begins."""
        self._begin_transaction()
        for name, topic in self._topics.items():
            for partition in range(topic.partitions):
                self._write(name, topic, partition, topic.backlog)
        self._producer.flush(REQUEST_TIMEOUT)
        self._commit_transaction()

    def _run(self) -> None:
        while not self._ended.wait(PERIOD):
            try:
                self._turn()
            except (KafkaException, BufferError):
                self._recover()

    def _recover(self) -> None:
        """Replace a transactional producer after an outage; its successor aborts the open transaction."""
        if self._transaction is not None and not self._keeps_open:
            with contextlib.suppress(KafkaException):
                self._producer = self._new_producer()
                self._transaction_began = None

    def _turn(self) -> None:
        now = self._clock()
        due = [each for each in self._due(now) if each[3] > 0]
        if due:
            self._begin_transaction()
        for name, topic, partition, records in due:
            self._write(name, topic, partition, records)
        self._producer.flush(PERIOD)  # records that are not sent by then are late, not lost
        began = self._transaction_began
        if began is not None and not self._keeps_open and now - began >= (self._transaction or 0.0):
            self._commit_transaction()

    def _due(self, now: float) -> list[tuple[str, ScenarioTopic, int, int]]:
        """Return topic name, topic, partition and number of records for each flow of each partition."""
        found = []
        for name, topic in list(self._topics.items()):
            for at, flow in enumerate(topic.flows):
                for partition in range(self._partitions[name]) if flow.partitions is None else flow.partitions:
                    key = name, at, partition
                    written = flow.written(now)
                    found.append((name, topic, partition, written - self._written.get(key, 0)))
                    self._written[key] = written
        return found

    def _write(self, name: str, topic: ScenarioTopic, partition: int, records: int) -> None:
        for number in range(records):
            key = f"{number % topic.keys}" if topic.keys else None
            self._producer.produce(name, "record", key=key, partition=partition)
        self._producer.poll(0)

    def _begin_transaction(self) -> None:
        if self._transaction is not None and self._transaction_began is None:
            self._producer.begin_transaction()
            self._transaction_began = self._clock()

    def _commit_transaction(self) -> None:
        if self._transaction_began is not None:
            self._producer.commit_transaction(REQUEST_TIMEOUT)
            self._transaction_began = None
