"""The thread of a verdict scenario that drives the clients of its group."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

import pytest

from sandbox.clients.traffic import ScenarioTopic
from sandbox.verdict_scenarios import group_runner, pace
from sandbox.verdict_scenarios.group_runner import PAUSE, GroupRunner
from sandbox.verdict_scenarios.pace import RunPace
from sandbox.verdict_scenarios.scenario import VerdictScenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.clients.java_clients import JavaClients
    from sandbox.clients.paced import Place
    from sandbox.clients.traffic import ClientBehaviour

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
