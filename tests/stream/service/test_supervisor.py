"""The thread of the ticks beside the query: when it begins, when it may publish, and that nothing waits for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.waiting import LIMIT
from stream.errors import ExitCode
from stream.service import supervisor
from stream.service.catch_up import CatchUpProgress
from stream.service.status import CATCHING_UP, RUNNING, ServiceStatus
from stream.service.supervisor import QuerySupervisor

if TYPE_CHECKING:
    from collections.abc import Collection


class _Part:
    """Stands for what has no part in the ticks: the query, the state, the watch of the topic."""

    broken = None
    added: tuple[int, ...] = ()
    added_logs: tuple[int, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Ticks:
    """Notes in which phase it was called and how the wait for the end of the catch-up ended."""

    def __init__(self, status: ServiceStatus) -> None:
        self._vitals = status
        self.began = threading.Event()
        self.may_publish = threading.Event()
        self.phases: list[str] = []

    def __call__(self, caught_up: threading.Event, ended: threading.Event) -> None:
        """Do as the ticks do."""
        self.phases.append(self._vitals.phase)
        self.began.set()
        assert caught_up.wait(LIMIT)
        if not ended.is_set():
            self.phases.append(self._vitals.phase)
            self.may_publish.set()
        assert ended.wait(LIMIT)
        self.phases.append("ended")


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch) -> ServiceStatus:
    """Return the health of a monitor that has 5 offsets to read, beside a query that never fails."""
    monkeypatch.setattr(supervisor, "Watchdog", lambda *_: _Part())
    monkeypatch.setattr(supervisor, "failure", lambda _: None)
    monkeypatch.setattr(supervisor, "last_report", lambda _: None)
    monkeypatch.setattr(supervisor, "stop", lambda *_: True)
    made = ServiceStatus("1", 60)
    made.phase, made.progress = CATCHING_UP, CatchUpProgress({0: 0}, {0: 5})
    return made


def follow(status: ServiceStatus, ticks: Ticks, stopping: threading.Event) -> threading.Thread:
    """Follow a query in a thread, as the main thread of the process does."""
    part: Any = _Part()

    def start(_: Collection[int]) -> Any:
        return part

    def run() -> None:
        made = QuerySupervisor(part, start, part, part, status=status, publisher=part)
        assert made.supervise([0], stopping, 60.0, ticks) == ExitCode.OK

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_the_ticks_begin_with_the_catch_up_and_publish_after_it(status: ServiceStatus) -> None:
    """Before its end they may only say what it waits for."""
    ticks, stopping = Ticks(status), threading.Event()
    thread = follow(status, ticks, stopping)
    assert ticks.began.wait(LIMIT)
    assert not ticks.may_publish.is_set()
    assert status.progress is not None
    status.progress.finish({0: 5})
    assert ticks.may_publish.wait(LIMIT)
    stopping.set()
    thread.join(LIMIT)
    assert ticks.phases == [CATCHING_UP, RUNNING, "ended"]


def test_a_stop_during_the_catch_up_ends_the_ticks_without_a_publication(status: ServiceStatus) -> None:
    """Nobody waits for a tick that will not come."""
    ticks, stopping = Ticks(status), threading.Event()
    thread = follow(status, ticks, stopping)
    assert ticks.began.wait(LIMIT)
    stopping.set()
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert ticks.phases == [CATCHING_UP, "ended"]
