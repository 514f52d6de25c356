"""The supervisor: when the tick thread starts, when it may publish, and how a stop ends it."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from sandbox.waiting import LIMIT
from stream.errors import ExitCode
from stream.service import supervisor
from stream.service.catch_up import CatchUpProgress
from stream.service.status import CATCHING_UP, FAILED, RUNNING, STOPPING, ServiceStatus
from stream.service.supervisor import QuerySupervisor
from stream.spark.errors import SparkCallError, SparkFailure
from stream.spark.query import BatchReport

if TYPE_CHECKING:
    from collections.abc import Collection


class _Part:
    """Replaces the query, the state and the watch of the topic; methods without an answer return None."""

    def __init__(self, **answers: Any) -> None:
        self.broken: str | None = None
        self.added: tuple[int, ...] = ()
        self.added_logs: dict[int, tuple[int, int, int]] = {}
        self.calls: list[str] = []
        self.checkpoint = SimpleNamespace(folder=Path())
        self.__dict__.update(answers)

    def clear(self) -> None:
        """Record the call."""
        self.calls.append("clear")

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def opened() -> Future[Any]:
    """Return an open session."""
    session: Future[Any] = Future()
    session.set_result(_Part())
    return session


class Ticks:
    """Records the phases in which it was called and in which it could publish."""

    def __init__(self, status: ServiceStatus) -> None:
        self._status = status
        self.began = threading.Event()
        self.may_publish = threading.Event()
        self.phases: list[str] = []

    def __call__(self, caught_up: threading.Event, ended: threading.Event) -> None:
        """Wait as the ticker does."""
        self.phases.append(self._status.phase)
        self.began.set()
        assert caught_up.wait(LIMIT)
        if not ended.is_set():
            self.phases.append(self._status.phase)
            self.may_publish.set()
        assert ended.wait(LIMIT)
        self.phases.append("ended")


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch) -> ServiceStatus:
    """Return the status of a monitor with 5 offsets to read and a query that never fails."""
    monkeypatch.setattr(supervisor, "Watchdog", lambda *_: _Part())
    monkeypatch.setattr(supervisor, "ResourcePoller", lambda _: _Part())
    monkeypatch.setattr(supervisor, "failure", lambda _: None)
    monkeypatch.setattr(supervisor, "last_report", lambda _: None)
    monkeypatch.setattr(supervisor, "stop", lambda *_: True)
    made = ServiceStatus("1", 60)
    made.phase, made.progress = CATCHING_UP, CatchUpProgress({0: 0}, {0: 5})
    return made


def supervise(status: ServiceStatus, ticks: Ticks, stopping: threading.Event) -> threading.Thread:
    """Supervise a query in a thread, as the main thread of the process does."""
    part: Any = _Part()

    def run() -> None:
        made = QuerySupervisor(opened(), lambda _: part, part, part, status=status, publisher=part)
        assert made.supervise(stopping, 60.0, ticks) == ExitCode.OK

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_the_tick_thread_starts_with_the_catch_up_and_publishes_after_it(status: ServiceStatus) -> None:
    """The tick thread only polls the offsets topic during the catch-up."""
    ticks, stopping = Ticks(status), threading.Event()
    thread = supervise(status, ticks, stopping)
    assert ticks.began.wait(LIMIT)
    assert not ticks.may_publish.is_set()
    assert status.progress is not None
    status.progress.finish({0: 5})
    assert ticks.may_publish.wait(LIMIT)
    stopping.set()
    thread.join(LIMIT)
    assert ticks.phases == [CATCHING_UP, RUNNING, "ended"]


def test_a_topic_that_was_read_first_is_shown_while_the_session_is_opened(status: ServiceStatus) -> None:
    """The query starts when the session is open; a stop waits for its first batch, which stores what was read."""
    ticks, stopping, session, started = Ticks(status), threading.Event(), Future[Any](), threading.Event()
    part: Any = _Part()

    def start(_: object) -> Any:
        started.set()
        return part

    made = QuerySupervisor(session, start, part, part, status=status, publisher=part)
    codes: list[int] = []
    thread = threading.Thread(
        target=lambda: codes.append(made.supervise(stopping, 60.0, ticks, was_read_first=True)), daemon=True
    )
    thread.start()
    assert ticks.may_publish.wait(LIMIT)
    assert not started.is_set()
    session.set_result(part)
    assert started.wait(LIMIT)
    stopping.set()
    thread.join(0.3)
    assert thread.is_alive(), "the first batch has not ended"
    status.batches = 1
    thread.join(LIMIT)
    assert (codes, ticks.phases) == ([ExitCode.OK], [RUNNING, RUNNING, "ended"])


def test_a_topic_that_was_read_first_has_no_progress_bar(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catch-up of a topic that was read first is complete when the query starts."""
    view, stopping, part = _Part(), threading.Event(), _Part()
    calls: list[str] = []
    view.__dict__.update(done=lambda: calls.append("done"), show=lambda _: calls.append("show"))
    monkeypatch.setattr(supervisor, "CatchUpView", lambda _: view)
    status.batches = 1
    stopping.set()
    any_part: Any = part
    made = QuerySupervisor(opened(), lambda _: any_part, any_part, any_part, status=status, publisher=any_part)
    assert made.supervise(stopping, 60.0, Ticks(status), was_read_first=True) == ExitCode.OK
    assert calls == ["done"]


def test_a_stop_while_the_session_does_not_open_ends_the_process(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends with exit code 0 and does not start the query."""
    monkeypatch.setattr(supervisor, "_FIRST_BATCH_SECONDS", 0.1)
    ticks, stopping, part = Ticks(status), threading.Event(), _Part()
    made = QuerySupervisor(Future(), pytest.fail, part, part, status=status, publisher=part)  # type: ignore[arg-type]
    stopping.set()
    assert made.supervise(stopping, 60.0, ticks, was_read_first=True) == ExitCode.OK
    assert status.phase == STOPPING
    assert ticks.phases[-1] == "ended"


def test_a_stop_waits_for_the_first_batch_for_a_limited_time(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends with exit code 0 although no batch has ended."""
    monkeypatch.setattr(supervisor, "_FIRST_BATCH_SECONDS", 0.1)
    stopping, part = threading.Event(), _Part()
    stopping.set()
    any_part: Any = part
    made = QuerySupervisor(opened(), lambda _: any_part, any_part, any_part, status=status, publisher=any_part)
    assert made.supervise(stopping, 60.0, Ticks(status), was_read_first=True) == ExitCode.OK


def test_tasks_that_make_progress_reset_the_watchdog(status: ServiceStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first batch on a slow link may exceed its limit while it reads; a batch that reads nothing may not."""
    beats = threading.Semaphore(0)
    monkeypatch.setattr(supervisor, "Watchdog", lambda *_: _Part(beat=beats.release))
    ticks, stopping = Ticks(status), threading.Event()
    thread = supervise(status, ticks, stopping)
    assert status.progress is not None
    for position in (2, 4):
        status.progress.record_task_progress({0: position})
        assert beats.acquire(timeout=LIMIT)
    status.progress.record_task_progress({0: 4})
    stopping.set()
    thread.join(LIMIT)
    assert not beats.acquire(blocking=False), "nothing was read"


def test_a_stop_during_the_catch_up_ends_the_tick_thread_without_a_snapshot(status: ServiceStatus) -> None:
    """The process ends without a wait for a tick."""
    ticks, stopping = Ticks(status), threading.Event()
    thread = supervise(status, ticks, stopping)
    assert ticks.began.wait(LIMIT)
    stopping.set()
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert ticks.phases == [CATCHING_UP, "ended"]


def exit_code(status: ServiceStatus, *, state: Any = None, watch: Any = None, ticks: Any = None) -> tuple[int, _Part]:
    """Supervise a query after the catch-up until it ends; return the exit code and the publisher."""
    status.phase = RUNNING
    status.progress = CatchUpProgress({0: 5}, {0: 5})
    part, publisher = _Part(), _Part()
    made = QuerySupervisor(
        opened(),
        lambda _: part,  # type: ignore[arg-type,return-value]
        state or part,
        watch or part,
        status=status,
        publisher=publisher,  # type: ignore[arg-type]
    )
    return made.supervise(threading.Event(), 60.0, ticks or (lambda _, ended: ended.wait(LIMIT))), publisher


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return an entry per kill of the JVM."""
    kills: list[bool] = []
    monkeypatch.setattr(supervisor, "kill_jvm", lambda _: kills.append(True))
    monkeypatch.setattr(supervisor, "_POLL_SECONDS", 0.01)
    return kills


def test_a_deleted_checkpoint_ends_the_process_at_once(status: ServiceStatus, killed: list[bool]) -> None:
    """The exit code is that of a damaged checkpoint, and the JVM is killed so that it writes nothing else."""
    state = _Part(lost=lambda: "metadata was deleted")
    assert exit_code(status, state=state)[0] == ExitCode.CHECKPOINT_DAMAGED
    assert (status.phase, killed) == (FAILED, [True])


def test_a_state_that_does_not_match_the_topic_is_withdrawn(status: ServiceStatus, killed: list[bool]) -> None:
    """The publisher is cleared, the exit code is TOPIC_CHANGED, and the JVM is not killed."""
    code, publisher = exit_code(status, watch=_Part(broken="the topic was recreated"))
    assert (code, publisher.calls, killed) == (ExitCode.TOPIC_CHANGED, ["clear"], [])


def test_a_tick_thread_that_ended_ends_the_process(status: ServiceStatus, killed: list[bool]) -> None:
    """The process ends, because no more snapshots would be published; the JVM is not killed if the query stops."""
    assert exit_code(status, ticks=lambda *_: None)[0] == ExitCode.INTERNAL
    assert (status.phase, killed) == (FAILED, [])


def test_added_partitions_are_read_without_a_restart_of_the_query(status: ServiceStatus, killed: list[bool]) -> None:
    """The query reads added partitions from their log starts.

    The status reports the partitions until they are read to the ends that they had when they were noticed.
    """
    status.phase = RUNNING
    status.progress = CatchUpProgress({0: 5}, {0: 5})
    started: list[bool] = []
    stopping, part = threading.Event(), _Part()
    watch = _Part(added=(1,), added_logs={1: (2, 9, 8)})

    def add_partitions(partitions: Collection[int]) -> None:
        assert set(partitions) == {1}
        watch.added, watch.added_logs = (), {}
        stopping.set()

    def start(_: object) -> Any:
        started.append(True)
        return part

    watch.add_partitions = add_partitions  # type: ignore[attr-defined]
    any_part: Any = part
    made = QuerySupervisor(opened(), start, any_part, watch, status=status, publisher=any_part)  # type: ignore[arg-type]
    assert made.supervise(stopping, 60.0, lambda _, ended: ended.wait(LIMIT)) == ExitCode.OK  # type: ignore[arg-type,return-value]
    assert (started, status.partitions_added) == ([True], (1,))
    assert status.progress.positions == {0: 5, 1: 2}
    assert status.progress.behind == [1]
    assert killed == []


def test_a_progress_report_is_recorded_once(status: ServiceStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status has the positions, number and duration of batches, and counts a batch once."""
    report = BatchReport(batch=3, seconds=0.5, positions={0: 5}, at="now", worked=True)
    monkeypatch.setattr(supervisor, "last_report", lambda _: report)
    ticks, stopping = Ticks(status), threading.Event()
    thread = supervise(status, ticks, stopping)
    assert ticks.may_publish.wait(LIMIT)
    stopping.set()
    thread.join(LIMIT)
    assert (status.batches, status.last_batch_seconds) == (1, 0.5)


SLOW = SparkFailure("Python worker failed to connect back.", "Python worker failed to connect back.")


@pytest.mark.parametrize("raised", [True, False], ids=["error of the start", "error of the query"])
def test_a_query_that_does_not_start_in_time_is_started_again(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch, killed: list[bool], *, raised: bool
) -> None:
    """Two slow starts, as on a busy machine, do not end the process; the third start succeeds.

    All starts use the same session. The JVM, the state and the published snapshot are kept.
    """
    started: list[_Part] = []
    sessions: list[object] = []
    failures: list[SparkFailure] = []
    stopping = threading.Event()

    def start(session: object) -> Any:
        sessions.append(session)
        started.append(_Part())
        if len(started) == 3:
            stopping.set()
        elif raised:
            raise SparkCallError("start the query", SLOW)
        return started[-1]

    monkeypatch.setattr(supervisor, "failure", lambda _: None if len(started) == 3 else SLOW)
    part: Any = _Part(record_failure=lambda failed, **_: failures.append(failed))
    session = opened()
    made = QuerySupervisor(session, start, part, part, status=status, publisher=part)
    assert made.supervise(stopping, 60.0, lambda _, ended: ended.wait(LIMIT)) == ExitCode.OK  # type: ignore[arg-type,return-value]
    assert status.phase == STOPPING
    assert sessions == [session.result()] * 3
    assert (killed, failures, part.calls) == ([], [], [])


def test_a_query_that_never_starts_in_time_ends_the_process(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process fails with the cause after a few attempts."""
    monkeypatch.setattr(supervisor, "failure", lambda _: SLOW)
    with structlog.testing.capture_logs() as logs:
        assert exit_code(status, state=_Part(record_failure=lambda *_, **__: False))[0] == ExitCode.QUERY_FAILED
    assert [line.get("attempt") for line in logs] == [1, 2, 3, None, None]
    assert logs[3]["cause"] == SLOW.cause
