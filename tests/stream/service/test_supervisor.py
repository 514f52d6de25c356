"""The supervisor: when the tick thread starts, when it may publish, and how a stop ends it."""

import threading
from collections.abc import Collection
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from exporters.readmodel import QueryStatus
from sandbox.waiting import LIMIT
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.errors import ExitCode
from stream.service import supervisor
from stream.service.catch_up import CatchUpProgress
from stream.service.status import CATCHING_UP, FAILED, RUNNING, STOPPING, ServiceStatus
from stream.service.supervisor import QuerySupervisor
from stream.spark.errors import SparkCallError, SparkFailure
from stream.spark.query import BatchReport


class _Part:
    """Replaces the query, the state and the watch of the topic; methods without an answer return None."""

    def __init__(self, **answers: Any) -> None:
        self.broken: str | None = None
        self.added: tuple[int, ...] = ()
        self.added_logs: dict[int, tuple[int, int, int]] = {}
        self.calls: list[str] = []
        self.checkpoint = SimpleNamespace(folder=Path(), keeps_first_read=False)
        self.__dict__.update(answers)

    def clear(self) -> None:
        self.calls.append("clear")

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def opened() -> Future[Any]:
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


def supervisor_of(status: ServiceStatus, session: Future[Any] | None = None, **parts: Any) -> QuerySupervisor:
    """Return a supervisor of these parts: `start`, `state`, `watch` and `publisher`."""
    part: Any = _Part()
    made: dict[str, Any] = {"start": lambda _: part, "state": part, "watch": part, "publisher": part, **parts}
    opened_session = opened() if session is None else session
    return QuerySupervisor(
        opened_session, made["start"], made["state"], made["watch"], status=status, publisher=made["publisher"]
    )


def until_ended(_: threading.Event, ended: threading.Event) -> None:
    """Tick until the query has ended."""
    assert ended.wait(LIMIT)


class Supervised:
    """Supervises a query in a thread, as the main thread of the process does."""

    def __init__(self, status: ServiceStatus, session: Future[Any] | None = None, **options: Any) -> None:
        self.ticks, self.stopping, self.codes = Ticks(status), threading.Event(), list[int]()
        first = options.pop("was_read_first", False)
        made = supervisor_of(status, session, **options)

        def run() -> None:
            self.codes.append(made.supervise(self.stopping, 60.0, self.ticks, was_read_first=first))

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def stop(self, seconds: float = LIMIT) -> bool:
        self.stopping.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()


def test_the_tick_thread_starts_with_the_catch_up_and_publishes_after_it(status: ServiceStatus) -> None:
    """The tick thread only polls the offsets topic during the catch-up."""
    run = Supervised(status)
    assert run.ticks.began.wait(LIMIT)
    assert not run.ticks.may_publish.is_set()
    assert status.progress is not None
    status.progress.finish({0: 5})
    assert run.ticks.may_publish.wait(LIMIT)
    assert run.stop()
    assert run.ticks.phases == [CATCHING_UP, RUNNING, "ended"]
    assert run.codes == [ExitCode.OK]


def test_a_topic_that_was_read_first_is_shown_while_the_session_is_opened(status: ServiceStatus) -> None:
    """The query starts when the session is open. A stop does not wait for the end of its first batch."""
    session, started, part = Future[Any](), threading.Event(), _Part()

    def start(_: object) -> Any:
        started.set()
        return part

    run = Supervised(status, session, start=start, was_read_first=True)
    assert run.ticks.may_publish.wait(LIMIT)
    assert not started.is_set()
    session.set_result(part)
    assert started.wait(LIMIT)
    assert run.stop()
    assert (run.codes, run.ticks.phases) == ([ExitCode.OK], [RUNNING, RUNNING, "ended"])


def test_a_topic_that_was_read_first_has_no_progress_bar(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catch-up of a topic that was read first is complete when the query starts."""
    calls: list[str] = []
    view = _Part(done=lambda: calls.append("done"), show=lambda _: calls.append("show"))
    monkeypatch.setattr(supervisor, "CatchUpView", lambda _: view)
    status.query = QueryStatus(batches=1)
    run = Supervised(status, was_read_first=True)
    assert run.stop()
    assert (run.codes, calls) == ([ExitCode.OK], ["done"])


def test_a_stop_does_not_wait_for_the_session(status: ServiceStatus) -> None:
    """The process ends with exit code 0 although the query could not be started."""
    run = Supervised(status, Future(), start=pytest.fail, was_read_first=True)
    assert run.stop()
    assert (run.codes, status.phase, run.ticks.phases[-1]) == ([ExitCode.OK], STOPPING, "ended")


@pytest.mark.parametrize(("kept", "grace"), [(True, 0.0), (False, 15.0)])
def test_a_stop_waits_for_a_batch_that_is_not_kept(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch, *, kept: bool, grace: float
) -> None:
    """The files of a first read are in the checkpoint until their batch has ended."""
    waited: list[float] = []
    monkeypatch.setattr(supervisor, "stop", lambda _, seconds: waited.append(seconds) or True)
    run = Supervised(status, state=_Part(checkpoint=_Part(keeps_first_read=kept), lost=lambda: None))
    assert run.ticks.began.wait(LIMIT)
    assert run.stop()
    assert waited == [grace]


def test_tasks_that_make_progress_reset_the_watchdog(status: ServiceStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first batch on a slow link may exceed its limit while it reads; a batch that reads nothing may not."""
    beats = threading.Semaphore(0)
    monkeypatch.setattr(supervisor, "Watchdog", lambda *_: _Part(beat=beats.release))
    run = Supervised(status)
    assert status.progress is not None
    for position in (2, 4):
        status.progress.record_task_progress({0: position})
        assert beats.acquire(timeout=LIMIT)
    status.progress.record_task_progress({0: 4})
    assert run.stop()
    assert not beats.acquire(blocking=False), "nothing was read"


def exit_code(status: ServiceStatus, *, ticks: Any = until_ended, **parts: Any) -> tuple[int, _Part]:
    """Supervise a query after the catch-up until it ends; return the exit code and the publisher."""
    status.phase, status.progress = RUNNING, CatchUpProgress({0: 5}, {0: 5})
    publisher = _Part()
    made = supervisor_of(status, publisher=publisher, **parts)
    return made.supervise(threading.Event(), 60.0, ticks), publisher


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
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

    The status reports the partitions until a tick shows them to the ends that they had when they were noticed.
    """
    status.phase, status.progress, status.shown = RUNNING, CatchUpProgress({0: 5}, {0: 5}), {0: 5}
    started: list[object] = []
    stopping = threading.Event()
    watch = _Part(added=(1,), added_logs={1: (2, 9, 8)})

    def add_partitions(partitions: Collection[int]) -> None:
        assert set(partitions) == {1}
        watch.added, watch.added_logs = (), {}
        stopping.set()

    def start(session: object) -> Any:
        started.append(session)
        return _Part()

    watch.__dict__["add_partitions"] = add_partitions
    made = supervisor_of(status, start=start, watch=watch)
    assert made.supervise(stopping, 60.0, until_ended) == ExitCode.OK
    assert (len(started), status.partitions_added) == (1, (1,))
    assert status.progress.positions == {0: 5, 1: 2}
    assert status.progress.behind == [1]
    assert killed == []
    made._added.clear()
    status.progress.finish({1: 8})
    for shown, added in (({0: 5}, (1,)), ({0: 5, 1: 8}, ())):
        status.shown = shown
        made._follow_added_partitions()
        assert (shown, status.partitions_added) == (shown, added), "the snapshot has the groups of the partition"


def test_a_progress_report_is_recorded_once(status: ServiceStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status has the positions, number and duration of batches, and counts a batch once.

    The first batch that has ended ends the processes that planned the query.
    """
    ended: list[int] = []
    monkeypatch.setattr(supervisor, "end_planners", ended.append)
    report = BatchReport(batch=3, seconds=0.5, offsets=SourceOffsets({0: 5}), at="now", worked=True)
    monkeypatch.setattr(supervisor, "last_report", lambda _: report)
    run = Supervised(status)
    assert run.ticks.may_publish.wait(LIMIT)
    assert run.stop()
    assert (status.query.batches, status.query.last_seconds, len(ended)) == (1, 0.5, 1)


SLOW = SparkFailure("Python worker failed to connect back.", "Python worker failed to connect back.")


@pytest.mark.parametrize("raised", [True, False], ids=["error of the start", "error of the query"])
def test_a_query_that_does_not_start_in_time_is_started_again(
    status: ServiceStatus, monkeypatch: pytest.MonkeyPatch, killed: list[bool], *, raised: bool
) -> None:
    """Two slow starts, as on a busy machine, do not end the process; the third start succeeds.

    All starts use the same session. The JVM, the state and the published snapshot are kept.
    """
    sessions: list[object] = []
    failures: list[SparkFailure] = []
    stopping, session = threading.Event(), opened()

    def start(given: object) -> Any:
        sessions.append(given)
        if len(sessions) == 3:
            stopping.set()
        elif raised:
            raise SparkCallError("start the query", SLOW)
        return _Part()

    monkeypatch.setattr(supervisor, "failure", lambda _: None if len(sessions) == 3 else SLOW)
    part = _Part(record_failure=lambda failed, **_: failures.append(failed))
    made = supervisor_of(status, session, start=start, state=part, watch=part, publisher=part)
    assert made.supervise(stopping, 60.0, until_ended) == ExitCode.OK
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
