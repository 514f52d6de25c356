"""The thread of a verdict scenario that drives the clients of its group."""

from __future__ import annotations

import dataclasses
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

import pytest

from sandbox.clients.paced import PacedConsumer, RejoinError
from sandbox.clients.traffic import ScenarioTopic
from sandbox.verdict_scenarios import group_runner, pace
from sandbox.verdict_scenarios.actions import ChangeBehaviour, CloseClients
from sandbox.verdict_scenarios.group_runner import PAUSE, GroupRunner
from sandbox.verdict_scenarios.memberships import LostMemberships
from sandbox.verdict_scenarios.pace import RunPace
from sandbox.verdict_scenarios.scenario import TimedStep, VerdictScenario
from sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.clients.java_clients import JavaClients
    from sandbox.clients.paced import Place
    from sandbox.clients.traffic import ClientBehaviour
    from sandbox.verdict_scenarios.group import VerdictGroup

SCENARIO: Final = VerdictScenario("keeps-up", "healthy", "it keeps up", {"in": ScenarioTopic()}, ())


class BlockedClient:
    """A client whose turns do not return until `answered` is set."""

    def __init__(self) -> None:
        self.answered: Final = threading.Event()
        self.in_turn: Final = threading.Event()
        self.closed = False

    def turn(self, behaviour: ClientBehaviour, now: float) -> None:
        """See PacedClient."""
        del behaviour, now
        self.in_turn.set()
        self.answered.wait()

    def seek_back(self, place: Place, by: int) -> None:
        """See PacedClient."""

    def close(self, *, leaving: bool) -> None:
        """See PacedClient."""
        del leaving
        self.closed = True


@pytest.fixture
def blocked() -> Iterator[tuple[GroupRunner, BlockedClient]]:
    """Return a runner whose only client does not return from its first turn."""
    no_programs = cast("JavaClients", SimpleNamespace(bootstrap=""))
    runner, client = GroupRunner(no_programs, SCENARIO, {}, lambda: 0.0), BlockedClient()
    runner.group.clients["a"] = client
    runner.start()
    assert client.in_turn.wait(10)
    yield runner, client
    client.answered.set()


def test_a_blocked_client_does_not_block_the_end_of_the_run(
    blocked: tuple[GroupRunner, BlockedClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`close` returns while a call of a client has not returned, and does not close that client."""
    runner, client = blocked
    monkeypatch.setattr(group_runner, "REQUEST_TIMEOUT", 0.05)
    runner.close()
    assert not client.closed


def test_the_last_turn_may_last_until_a_time_after_the_first_stop(
    blocked: tuple[GroupRunner, BlockedClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All runners of a run are stopped together, so that many blocked clients delay its end as long as one."""
    runner, client = blocked
    monkeypatch.setattr(group_runner, "REQUEST_TIMEOUT", 0.05)
    runner.stop()
    monkeypatch.setattr(group_runner, "REQUEST_TIMEOUT", 3_600.0)
    runner.close()
    assert not client.closed


def test_clients_are_closed_at_the_end(blocked: tuple[GroupRunner, BlockedClient]) -> None:
    """`close` closes all clients when their last turn has ended."""
    runner, client = blocked
    client.answered.set()
    runner.close()
    assert client.closed


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_a_call_that_does_not_return_is_a_pause(
    blocked: tuple[GroupRunner, BlockedClient], monkeypatch: pytest.MonkeyPatch, stretch: float
) -> None:
    """A call that has not returned counts as a pause from the beginning of its turn until now.

    In a slower run, a pause is as much longer on the wall clock.
    """
    monkeypatch.setattr(pace, "CHOSEN", RunPace(stretch))
    runner, _ = blocked
    later = time.time() + 2 * PAUSE * stretch
    ((since, until),) = runner.pauses(later)
    assert since < until == later
    assert runner.pauses(since + PAUSE * stretch) == []


class LosingConsumer(PacedConsumer):
    """A consumer whose membership the test sets, and whose turns raise `error`."""

    def __init__(self, *, is_member: bool = True) -> None:
        self.is_member = is_member
        self.error: RejoinError | None = None
        self.turns = 0

    def turn(self, behaviour: ClientBehaviour, now: float) -> None:
        """See PacedClient."""
        del behaviour, now
        self.turns += 1
        if self.error is not None:
            raise self.error

    def close(self, *, leaving: bool) -> None:
        """See PacedClient."""


@dataclasses.dataclass
class StartLosingConsumer:
    """Starts the first consumer as a member, and its successors as none."""

    started: list[LosingConsumer] = dataclasses.field(default_factory=list)

    def perform(self, group: VerdictGroup) -> None:
        """See ScenarioAction."""
        self.started.append(LosingConsumer(is_member=not self.started))
        group.clients["a"] = self.started[-1]


def wait_for_turns(client: LosingConsumer, turns: int = 2) -> None:
    """Wait until the client has had more turns."""
    enough = client.turns + turns
    wait_until(lambda: client.turns >= enough, "turns of the client")


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param("is a member", id="its successor becomes a member"),
        pytest.param("is closed", id="the script closes its successor"),
        pytest.param("hangs", id="the script hangs its successor"),
    ],
)
def test_a_lost_membership_lasts_until_the_successor_is_a_member_or_is_removed(ending: str) -> None:
    """The period begins at the last time as a member. What the script removes is no lost membership."""
    start, now = StartLosingConsumer(), [0.0]
    removal = {
        "is a member": (),
        "is closed": (TimedStep(10.0, (CloseClients(),)),),
        "hangs": (TimedStep(10.0, (ChangeBehaviour({"hung": ("a",)}),)),),
    }[ending]
    scenario = dataclasses.replace(SCENARIO, start=(start,), script=removal)
    runner = GroupRunner(cast("JavaClients", SimpleNamespace(bootstrap="")), scenario, {}, lambda: now[0])
    runner.start()
    try:
        wait_until(lambda: bool(start.started), "the client")
        first = start.started[0]
        wait_for_turns(first)
        assert runner.lost_memberships(time.time()) == []
        first.is_member = False
        lost = time.time()
        wait_for_turns(first)
        assert runner.lost_memberships(time.time()) == []
        first.error = RejoinError("no assignment")
        wait_until(lambda: len(start.started) == 2, "its successor")
        wait_for_turns(start.started[1])
        later = time.time() + 100.0
        assert [until for _, until in runner.lost_memberships(later)] == [later]
        if ending == "is a member":
            start.started[1].is_member = True
        now[0] = 10.0
        wait_until(lambda: runner.lost_memberships(later)[0][1] < later, "the end of the period")
        ((since, until),) = runner.lost_memberships(later)
        assert since <= lost < until
    finally:
        runner.close()


def test_a_client_that_the_script_closes_has_no_lost_membership() -> None:
    """Neither a client that leaves nor one that hangs, and not the next client of the same name, has a period."""
    memberships = LostMemberships()
    memberships.note_member("a", 1.0)
    memberships.note_removed("a", 2.0)
    assert memberships.periods(9.0) == []
    memberships.note_lost("a", 5.0)
    assert memberships.periods(9.0) == [(5.0, 9.0)]


def test_each_client_of_a_group_has_its_own_periods() -> None:
    """A member does not end the period of another client."""
    memberships = LostMemberships()
    memberships.note_member("a", 1.0)
    memberships.note_member("b", 1.5)
    memberships.note_lost("a", 13.0)
    memberships.note_member("b", 13.5)
    assert memberships.periods(20.0) == [(1.0, 20.0)]
    memberships.note_member("a", 15.0)
    assert memberships.periods(20.0) == [(1.0, 15.0)]
    memberships.note_lost("b", 30.0)
    assert memberships.periods(40.0) == [(1.0, 15.0), (13.5, 40.0)]
