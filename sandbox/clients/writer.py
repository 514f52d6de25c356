"""The producers of the play: one thread writes all plain topics, one each those that are written in transactions."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException, Producer

from sandbox.clients.members import REQUEST_TIMEOUT, client_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox.verdict_scenarios.scenario import ScenarioTopic

PERIOD: Final = 0.5
"""Seconds between two turns of a producer: every consumer has a fetch to be answered in each."""


class FlowProducer:
    """Writes topics as their flows say. `clock` gives the seconds of the play."""

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
        self._began: float | None = None
        self._holds = False
        self._bootstrap = bootstrap
        self._producer = self._new_producer()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def _new_producer(self) -> Producer:
        config = {**client_config(self._bootstrap), "topic.metadata.refresh.interval.ms": 1_000, "linger.ms": 5}
        if self._transaction is None:
            return Producer(config)
        more = {"transactional.id": f"writer-of-{min(self._topics)}", "transaction.timeout.ms": 600_000}
        producer = Producer({**config, **more})
        producer.init_transactions(REQUEST_TIMEOUT)
        return producer

    # --- what happens to it ---

    def start(self) -> None:
        """Begin; the flows begin at 0 of the clock."""
        self._thread.start()

    def grow(self, name: str, partitions: int) -> None:
        """Write to more partitions from now on."""
        flows = range(len(self._topics[name].flows))
        now = self._clock()
        for partition in range(self._partitions[name], partitions):
            for at in flows:
                self._written[name, at, partition] = self._topics[name].flows[at].written(now)
        self._partitions[name] = partitions

    def leave(self, name: str) -> None:
        """Write no more to a topic."""
        self._topics.pop(name)

    def hold(self) -> None:
        """Begin to forget to end transactions."""
        self._holds = True

    def close(self) -> None:
        """End. An open transaction stays open."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(2 * REQUEST_TIMEOUT)

    # --- what it does ---

    def backlog(self) -> None:
        """Write what stands there before the play begins."""
        self._begin()
        for name, topic in self._topics.items():
            for partition in range(topic.partitions):
                self._write(name, topic, partition, topic.backlog)
        self._producer.flush(REQUEST_TIMEOUT)
        self._end()

    def _live(self) -> None:
        while not self._ended.wait(PERIOD):
            try:
                self._turn()
            except (KafkaException, BufferError):
                self._recover()

    def _recover(self) -> None:
        """Go on after a broker was restarted; a transaction that was open then is aborted by its successor."""
        if self._transaction is not None and not self._holds:
            with contextlib.suppress(KafkaException):
                self._producer = self._new_producer()
                self._began = None

    def _turn(self) -> None:
        now = self._clock()
        due = [each for each in self._due(now) if each[3] > 0]
        if due:
            self._begin()
        for name, topic, partition, records in due:
            self._write(name, topic, partition, records)
        self._producer.flush(PERIOD)  # what is not out by then is late, not lost
        if self._began is not None and not self._holds and now - self._began >= (self._transaction or 0.0):
            self._end()

    def _due(self, now: float) -> list[tuple[str, ScenarioTopic, int, int]]:
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

    def _begin(self) -> None:
        if self._transaction is not None and self._began is None:
            self._producer.begin_transaction()
            self._began = self._clock()

    def _end(self) -> None:
        if self._began is not None:
            self._producer.commit_transaction(REQUEST_TIMEOUT)
            self._began = None
