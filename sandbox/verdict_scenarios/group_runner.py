"""Runs one verdict scenario: a thread drives the group's clients turn by turn and performs the script in time."""

import functools
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import KafkaException

from sandbox.clients.group_names import group_name
from sandbox.clients.java_clients import JavaClientError, JavaClients
from sandbox.clients.members import REQUEST_TIMEOUT
from sandbox.clients.paced import PacedClient, PacedConsumer, RejoinError
from sandbox.clients.traffic import FlowProducer
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.group import VerdictGroup
from sandbox.verdict_scenarios.scenario import ScenarioAction, TimedStep, VerdictScenario

TURN: Final = 0.25
"""Seconds of the run between two turns of a group."""
PAUSE: Final = 1.5
"""Seconds of the run without a turn after which clients are late: more than a commit interval."""
OFFSETS_PARTITIONS: Final = 4


def scenario_group(scenario: VerdictScenario) -> str:
    """Return the name of a scenario's group."""
    return group_name(scenario.name, OFFSETS_PARTITIONS, reserved=scenario.reserved)


class LostMemberships:
    """Records in which periods a client was no member although its scenario has it as one, by what a runner notes.

    A period begins when the client was a member for the last time and ends when the client that replaces it, which has
    the same name, is a member, or when the scenario removes it. Times are Unix seconds.
    """

    def __init__(self) -> None:
        self._member_at: dict[str, float] = {}
        self._lost_since: dict[str, float] = {}
        self._ended: list[tuple[float, float]] = []

    def note_member(self, name: str, now: float) -> None:
        """Note that a client is a member."""
        self._end(name, now)
        self._member_at[name] = now

    def note_lost(self, name: str, now: float) -> None:
        """Note that a client has lost its membership, does not join again, and is replaced."""
        self._lost_since.setdefault(name, self._member_at.get(name, now))

    def note_removed(self, name: str, now: float) -> None:
        """Note that the scenario closes or hangs a client: that it is no member from then on is intended."""
        self._end(name, now)
        self._member_at.pop(name, None)

    def periods(self, now: float) -> list[tuple[float, float]]:
        """Return all periods; those that have not ended end `now`."""
        return [*self._ended, *((since, now) for since in list(self._lost_since.values()))]

    def _end(self, name: str, now: float) -> None:
        if name in self._lost_since:
            self._ended.append((self._lost_since[name], now))
            del self._lost_since[name]


class GroupRunner:
    """Runs a scenario. A client that has failed for good is replaced, as a supervisor restarts a process."""

    def __init__(
        self,
        java_clients: JavaClients,
        scenario: VerdictScenario,
        producers: Mapping[str, FlowProducer],
        clock: Callable[[], float],
    ) -> None:
        """Run `scenario` by `clock`, which returns the seconds of the run."""
        self.scenario: Final = scenario
        self.group: Final = VerdictGroup(java_clients, scenario_group(scenario), scenario.behaviour, producers)
        self.marks: Final[dict[str, float]] = {}
        """The time (Unix seconds) of each mark."""
        self.faults: Final[list[str]] = []
        self._pauses: Final[list[tuple[float, float]]] = []
        self._memberships: Final = LostMemberships()
        self._latest_turn: float | None = None
        self._started_by: dict[str, ScenarioAction] = {}
        self._restarts: list[ScenarioAction] = []
        self._clock = clock
        self._ended = threading.Event()
        self._waits_until = math.inf
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the turns; the clients stay as they are."""
        self._ended.set()
        self._waits_until = min(self._waits_until, time.monotonic() + 2 * REQUEST_TIMEOUT)

    def close(self) -> None:
        """End the turns and close all clients, which waits for a last turn until 20 s after the first `stop`.

        In one run, commits of two librdkafka clients (2.16) got no answer for ten minutes after a broker restarted. To
        close such a client waits for its commit, so the clients of that group end with the process.
        """
        self.stop()
        self._thread.join(max(self._waits_until - time.monotonic(), 0.0))
        if not self._thread.is_alive():
            for name in list(self.group.clients):
                self._try(f"close {name}", functools.partial(self.group.close_clients, name))

    def pauses(self, now: float) -> list[tuple[float, float]]:
        """Return the periods (Unix seconds) longer than PAUSE between the beginnings of two turns.

        The last period ends `now` if a call of a client has not returned.
        """
        latest = self._latest_turn
        if latest is None or now - latest <= pace.CHOSEN.wall(PAUSE):
            return list(self._pauses)
        return [*self._pauses, (latest, now)]

    def lost_memberships(self, now: float) -> list[tuple[float, float]]:
        """Return the periods (Unix seconds) in which a client had lost its membership, until its successor is a member.

        A period that has not ended ends `now`.
        """
        return self._memberships.periods(now)

    def _run(self) -> None:
        steps = list(self.scenario.script)
        for action in self.scenario.start:
            self._perform(action)
        self._latest_turn = time.time()
        while not self._ended.wait(pace.CHOSEN.wall(TURN)):
            self._latest_turn = self._note_turn(self._latest_turn)
            now = self._clock()
            while steps and steps[0].time <= now:
                self._step(steps.pop(0))
            self._restarts = [action for action in self._restarts if not self._perform(action)]
            for name, client in list(self.group.clients.items()):
                if name in self.group.behaviour.hung:
                    self._memberships.note_removed(name, time.time())
                else:
                    self._try(name, functools.partial(self._turn, name, client, now))

    def _note_turn(self, previous: float) -> float:
        """Return the time of this turn, which is recorded when it is late."""
        now = time.time()
        if now - previous > pace.CHOSEN.wall(PAUSE):
            self._pauses.append((previous, now))
        return now

    def _turn(self, name: str, client: PacedClient, now: float) -> None:
        if isinstance(client, PacedConsumer) and client.is_member:
            self._memberships.note_member(name, time.time())
        try:
            client.turn(self.group.behaviour, now)
        except KafkaException as error:
            if error.args[0].fatal():
                self._replace(name)
            raise
        except RejoinError:
            self._memberships.note_lost(name, time.time())
            self._replace(name)
            raise

    def _replace(self, name: str) -> None:
        """Close a client that is of no more use, and perform the action that started it again in the next turn."""
        if name in self._started_by:
            self._restarts.append(self._started_by[name])
            self.group.close_clients(name)

    def _step(self, step: TimedStep) -> None:
        for action in step.actions:
            self._perform(action)
        if step.mark:
            self.marks[step.mark] = time.time()

    def _perform(self, action: ScenarioAction) -> bool:
        """Perform an action; returns whether it succeeded."""
        previous = set(self.group.clients)
        succeeded = self._try(str(action), lambda: action.perform(self.group))
        self._started_by.update(dict.fromkeys(self.group.clients.keys() - previous, action))
        for name in previous - self.group.clients.keys():
            self._memberships.note_removed(name, time.time())
        return succeeded

    def _try(self, what: str, call: Callable[[], object]) -> bool:
        """Call this; an expected exception becomes a line of `faults`. Returns whether there was none."""
        try:
            call()
        except (KafkaException, JavaClientError, RuntimeError, TimeoutError, KeyError) as error:
            self.faults.append(f"{self._clock():.1f} s {what}: {error}")
            return False
        return True
