"""One scenario in play: its group's clients take their turns in a thread, and its script is done when it is time."""

from __future__ import annotations

import functools
import threading
import time
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined] # its stubs do not re-export

from sandbox.clients.java_clients import JavaClientError
from sandbox.clients.members import REQUEST_TIMEOUT, client_config
from sandbox.waiting import LIMIT, eventually
from stream.groups.placement import partition_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox.clients.java_clients import JavaClients
    from sandbox.clients.workers import PacedClient
    from sandbox.clients.writer import FlowProducer
    from sandbox.verdict_scenarios.actions import ScenarioAction
    from sandbox.verdict_scenarios.scenario import TimedStep, VerdictScenario

TURN: Final = 0.25
"""Seconds between two turns of a group."""
OFFSETS_PARTITIONS: Final = 4
RESERVED_PARTITION: Final = 0
"""The offsets partition for those that hold a whole one back."""


def group_name(scenario: VerdictScenario) -> str:
    """Call the group like its scenario, with a number behind it where that puts it into the wrong partition."""
    name, number = scenario.name, 1
    while (partition_for(name, OFFSETS_PARTITIONS) == RESERVED_PARTITION) != scenario.corner:
        number += 1
        name = f"{scenario.name}-{number}"
    return name


class GroupRunner:
    """A group, its topics and its clients. Actions act on it; topics are told by their short names."""

    def __init__(
        self,
        desk: JavaClients,
        scenario: VerdictScenario,
        writers: Mapping[str, FlowProducer],
        clock: Callable[[], float],
    ) -> None:
        self.scenario: Final = scenario
        self.desk: Final = desk
        self.bootstrap: Final = desk.bootstrap
        self.group: Final = group_name(scenario)
        self.clients: Final[dict[str, PacedClient]] = {}
        self.marks: Final[dict[str, float]] = {}
        """When what was done (Unix seconds)."""
        self.faults: Final[list[str]] = []
        self.habit = scenario.habit
        self._joined: dict[str, ScenarioAction] = {}
        self._lost: list[ScenarioAction] = []
        self._writers = writers
        self._clock = clock
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more turns; the clients stay as they are."""
        self._ended.set()

    def close(self) -> None:
        """End, and let everybody leave."""
        self.stop()
        self._thread.join(2 * REQUEST_TIMEOUT)
        for name in list(self.clients):
            self._try(f"{name} leaves", functools.partial(self.clients.pop(name).close, leaving=True))

    def _live(self) -> None:
        steps = list(self.scenario.script)
        for action in self.scenario.cast:
            self._perform(action)
        while not self._ended.wait(TURN):
            now = self._clock()
            while steps and steps[0].time <= now:
                self._step(steps.pop(0))
            self._lost = [action for action in self._lost if not self._perform(action)]
            for name, client in list(self.clients.items()):
                if name not in self.habit.hung:
                    self._try(name, functools.partial(self._turn, name, client, now))

    def _turn(self, name: str, client: PacedClient, now: float) -> None:
        try:
            client.turn(self.habit, now)
        except KafkaException as error:
            # Such a client is of no more use: its process would end, and a supervisor would start it again.
            if error.args[0].fatal() and name in self._joined:
                self._lost.append(self._joined[name])
                self.clients.pop(name).close(leaving=True)
            raise

    def _step(self, step: TimedStep) -> None:
        for action in step.actions:
            self._perform(action)
        if step.mark:
            self.marks[step.mark] = time.time()

    def _perform(self, action: ScenarioAction) -> bool:
        """Do it; tell whether it worked."""
        before = set(self.clients)
        worked = self._try(repr(action), lambda: action.perform(self))
        self._joined.update(dict.fromkeys(self.clients.keys() - before, action))
        return worked

    def _try(self, what: str, call: Callable[[], object]) -> bool:
        try:
            call()
        except (KafkaException, JavaClientError, RuntimeError, TimeoutError, KeyError) as error:
            self.faults.append(f"{self._clock():.1f} s {what}: {error}")
            return False
        return True

    # --- topics ---

    def topic(self, short: str) -> str:
        """Give the full name of one of the scenario's topics."""
        return topic_name(self.group, short)

    def writer_of(self, short: str) -> FlowProducer:
        """Give the producer of a topic."""
        return self._writers[self.topic(short)]

    def grow(self, short: str, partitions: int) -> None:
        """Let a topic have more partitions."""
        name, admin = self.topic(short), AdminClient(client_config(self.bootstrap))
        admin.create_partitions([NewPartitions(name, partitions)])[name].result(LIMIT)
        self.writer_of(short).grow(name, partitions)

    def delete_topic(self, short: str) -> None:
        """Delete a topic; nothing is written to it any more."""
        name, admin = self.topic(short), AdminClient(client_config(self.bootstrap))
        self.writer_of(short).leave(name)
        admin.delete_topics([name])[name].result(LIMIT)

    def delete_records(self, short: str, leaving: int) -> None:
        """Move the log start of partition 0 to so many offsets before the end."""
        place = TopicPartition(self.topic(short), 0)
        consumer = Consumer({**client_config(self.bootstrap), "group.id": "verdicts-ends"})
        try:
            end = consumer.get_watermark_offsets(place, timeout=REQUEST_TIMEOUT)[1]
        finally:
            consumer.close()
        place.offset = max(end - leaving, 0)
        admin = AdminClient(client_config(self.bootstrap))
        for done in admin.delete_records([place]).values():
            done.result(LIMIT)

    def reset(self, by: int) -> None:
        """Commit partition 0 of the topic so many offsets lower, without being a member."""
        place = TopicPartition(self.topic("in"), 0)
        consumer = Consumer({**client_config(self.bootstrap), "group.id": self.group, "enable.auto.commit": False})
        try:
            (at,) = consumer.committed([place], timeout=REQUEST_TIMEOUT)
            place.offset = max(at.offset - by, 0)
            eventually(lambda: consumer.commit(offsets=[place], asynchronous=False))
        finally:
            consumer.close()


def topic_name(group: str, short: str) -> str:
    """Call a topic by its group."""
    return f"{group}-{short}"
