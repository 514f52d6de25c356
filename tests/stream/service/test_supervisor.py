"""The phases of the supervisor, step by step: when ticks start and publish, and what ends the process."""

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from stream.checkpoint.spark_offsets import SourceOffsets
from stream.errors import ExitCode
from stream.service import supervisor
from stream.service.catch_up import CatchUpProgress
from stream.service.status import CATCHING_UP, FAILED, RUNNING, STOPPING, ServiceStatus
from stream.service.supervisor import QuerySupervisor
from stream.service.ticker import TickThread
from stream.spark.errors import SparkCallError, SparkFailure
from stream.spark.planners import CREATOR, PLANNER
from stream.spark.query import BatchReport


class _Part:
    """Replaces a part: records the names of its calls, which return None if they have no answer."""

    def __init__(self, **answers: Any) -> None:
        self.broken: str | None = None
        self.added: tuple[int, ...] = ()
        self.added_logs: dict[int, tuple[int, int, int]] = {}
        self.calls: list[str] = []
        self.checkpoint = SimpleNamespace(folder=Path(), keeps_first_read=False)
        self.__dict__.update(answers)

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self.calls.append(name)


class Stopping(threading.Event):
    """Is set, or not, without waiting."""

    def wait(self, timeout: float | None = None) -> bool:
        del timeout
        return self.is_set()


class Job:
    """A supervisor of stand-ins for a topic of which 5 offsets are to be read, with a query that never fails."""

    def __init__(
        self, phase: str = CATCHING_UP, start: Callable[[object], Any] = lambda _: _Part(), **parts: Any
    ) -> None:
        self.status = ServiceStatus("1", 60)
        self.status.phase, self.status.progress = phase, CatchUpProgress({0: 0}, {0: 5})
        self.ticks, self.stopping = _Part(is_alive=lambda: True), Stopping()
        self.publisher = parts.get("publisher", _Part())
        self.session: Future[Any] = Future()
        state, watch = parts.get("state", _Part()), parts.get("watch", _Part())
        self.made = QuerySupervisor(
            lambda: self.session,
            start,
            state,
            watch,
            parts.get("ticks", self.ticks),
            self.status,
            self.publisher,
            self.stopping,
            60.0,
        )

    def opened(self) -> Any:
        """Return the step after the session was opened."""
        self.session.set_result(_Part())
        return self.made.open()()

    def read_up(self) -> Any:
        """Return the step with which the query is watched."""
        step = self.opened()
        assert self.status.progress is not None
        self.status.progress.finish({0: 5})
        return step()


@pytest.fixture(autouse=True)
def spark(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Replace Spark; return what it was asked: kills of the JVM, the graces of stops, and the watchdogs."""
    asked = SimpleNamespace(kills=[], graces=[], planners=[], runs_tasks=False, watchdog=_Part(), view=_Part())
    monkeypatch.setattr(supervisor, "Watchdog", lambda *_: asked.watchdog)
    monkeypatch.setattr(supervisor, "CatchUpView", lambda _: asked.view)
    monkeypatch.setattr(supervisor, "ResourcePoller", lambda _: _Part())
    monkeypatch.setattr(supervisor, "end_planners", lambda _, *which: asked.planners.append(which))
    monkeypatch.setattr(supervisor, "runs_tasks", lambda _: asked.runs_tasks)
    monkeypatch.setattr(supervisor, "shrink_heap", lambda _: asked.planners.append("heap"))
    monkeypatch.setattr(supervisor, "failure", lambda _: None)
    monkeypatch.setattr(supervisor, "last_report", lambda *_: None)
    monkeypatch.setattr(supervisor, "stop", lambda _, grace: asked.graces.append(grace) or True)
    monkeypatch.setattr(supervisor, "kill_jvm", lambda _: asked.kills.append(True))
    return asked


def test_the_ticks_start_with_the_query_and_publish_after_the_catch_up() -> None:
    """Open, start, catch up, watch, stop: each phase returns the next one."""
    job = Job()
    assert job.made.open() == job.made.open
    step = job.opened()
    assert (step.func, job.ticks.calls) == (job.made.catch_up, ["start"])
    assert step().func == job.made.catch_up
    job.status.progress.finish({0: 5})
    step = step()
    assert (step.func, job.status.phase, job.ticks.calls) == (job.made.watch, RUNNING, ["start", "publish"])
    assert step().func == job.made.watch
    job.stopping.set()
    assert (step().func, step()()) == (job.made.stop, ExitCode.OK)
    assert job.status.phase == STOPPING


def test_a_topic_that_was_read_first_is_shown_before_the_session_is_opened(spark: SimpleNamespace) -> None:
    """The JVM waits for the first snapshot, a stop for nothing. The query is watched without a progress bar.

    The status knows since when a query that reports nothing is silent, and what was not read.
    """
    snapshots = iter([None, None, "a snapshot"])
    job, asked = Job(publisher=_Part(current=lambda: next(snapshots)), watch=_Part(added=(1,))), []
    job.made._session = lambda: asked.append(next(snapshots, "none is left")) or job.stopping.set() or job.session
    assert job.made.supervise(was_read_first=True) == ExitCode.OK
    assert asked == ["none is left"]
    assert (job.ticks.calls, job.status.phase) == (["publish", "start", "join"], STOPPING)
    assert (job.status.query_seen_at is not None, job.status.partitions_added) == (True, (1,))
    job = Job(RUNNING)
    assert job.opened().func == job.made.watch
    assert spark.view.calls == ["done"]


def test_a_stop_does_not_wait_for_a_query_that_is_being_started(spark: SimpleNamespace) -> None:
    """Spark waits for ever for a process that hangs while it creates the source. The watchdog runs meanwhile."""
    hangs = threading.Event()
    job = Job(start=lambda _: job.stopping.set() or hangs.wait())
    job.session.set_result(_Part())
    try:
        assert job.made.supervise() == ExitCode.OK
    finally:
        hangs.set()
    assert (job.status.phase, spark.kills, spark.watchdog.calls) == (STOPPING, [True], ["close"])
    assert job.ticks.calls == ["end", "join"]


@pytest.mark.parametrize(("kept", "grace"), [(True, 0.0), (False, 15.0)])
def test_a_stop_waits_for_a_batch_that_is_not_kept(spark: SimpleNamespace, *, kept: bool, grace: float) -> None:
    """The files of a first read are in the checkpoint until their batch has ended."""
    job = Job(state=_Part(checkpoint=_Part(keeps_first_read=kept), lost=lambda: None))
    job.session.set_result(_Part())
    job.stopping.set()
    assert job.made.supervise() == ExitCode.OK
    assert (spark.graces, spark.watchdog.calls) == ([grace], ["beat", "close", "close"])
    assert job.ticks.calls == ["start", "end", "join"]


def test_tasks_that_make_progress_reset_the_watchdog(spark: SimpleNamespace) -> None:
    """A first batch on a slow link may exceed its limit while it reads; a batch that reads nothing may not."""
    job = Job()
    step = job.opened()
    for position in (2, 4, 4):
        job.status.progress.record_task_progress({0: position})
        step = step()
    assert spark.watchdog.calls == ["beat"] * 3, "with that of the start"


def test_a_deleted_checkpoint_ends_the_process_at_once(spark: SimpleNamespace) -> None:
    """The exit code is that of a damaged checkpoint, and the JVM is killed so that it writes nothing else."""
    job = Job(state=_Part(lost=lambda: "metadata was deleted"))
    assert job.read_up() == ExitCode.CHECKPOINT_DAMAGED
    assert (job.status.phase, spark.kills, spark.graces) == (FAILED, [True], [])


def test_a_state_that_does_not_match_the_topic_is_withdrawn(spark: SimpleNamespace) -> None:
    """The publisher is cleared, the exit code is TOPIC_CHANGED, and the JVM is not killed."""
    job = Job(watch=_Part(broken="the topic was recreated"))
    assert job.read_up() == ExitCode.TOPIC_CHANGED
    assert (job.publisher.calls, spark.kills, spark.graces) == (["clear"], [], [15.0])


def test_a_tick_thread_that_ended_ends_the_process(spark: SimpleNamespace) -> None:
    """The process ends, because no more snapshots would be published; the JVM is not killed if the query stops."""
    ticks = TickThread(lambda *_: None)
    job = Job(ticks=ticks)
    step = job.opened()
    ticks.join()
    job.status.progress.finish({0: 5})
    assert step() == ExitCode.INTERNAL
    assert (job.status.phase, spark.kills) == (FAILED, [])


def test_added_partitions_are_read_without_a_restart_of_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query reads added partitions from their log starts.

    The status reports the partitions until a tick shows them to the ends that they had when they were noticed.
    """
    added: list[set[int]] = []

    def add(partitions: Collection[int]) -> None:
        added.append(set(partitions))
        watch.added, watch.added_logs = (), {}

    watch = _Part(added=(1,), added_logs={1: (2, 9, 8)}, add_partitions=add)
    job = Job(RUNNING, watch=watch)
    status = job.status
    status.progress = CatchUpProgress({0: 5}, {0: 5})
    step = job.opened()()
    assert (added, status.partitions_added) == ([{1}], (1,))
    assert (status.progress.positions, status.progress.behind) == ({0: 5, 1: 2}, [1])
    report = BatchReport(1, 0.5, SourceOffsets({0: 5, 1: 8}), "now", worked=True)
    monkeypatch.setattr(supervisor, "last_report", lambda *_: report)
    for shown, added in (({0: 5}, (1,)), ({0: 5, 1: 8}, ())):
        status.shown = shown
        step = step()
        assert (shown, status.partitions_added) == (shown, added), "the snapshot has the groups of the partition"


def test_a_progress_report_is_recorded_once(monkeypatch: pytest.MonkeyPatch, spark: SimpleNamespace) -> None:
    """The status has the positions, number and duration of batches, and counts a batch once.

    The process that created the source ends when the query has started, the one that planned the reading when the first
    batch has tasks, or has ended already. After the first batch the heap shrinks.
    """
    report = BatchReport(batch=3, seconds=0.5, offsets=SourceOffsets({0: 5}), at="now", worked=True, repairs=2)
    monkeypatch.setattr(supervisor, "last_report", lambda _, read_at: None if read_at == report.at else report)
    job = Job()
    assert job.opened()()().func == job.made.watch
    query = job.status.query
    assert (query.batches, query.last_seconds, query.state_repairs) == (1, 0.5, 2)
    assert spark.planners == [(CREATOR,), (PLANNER,), "heap"]
    monkeypatch.setattr(supervisor, "last_report", lambda *_: None)
    spark.runs_tasks = True
    Job().opened()()()
    assert spark.planners[3:] == [(CREATOR,), (PLANNER,)]


SLOW = SparkFailure("Python worker failed to connect back.", "Python worker failed to connect back.")


@pytest.mark.parametrize("raised", [True, False], ids=["error of the start", "error of the query"])
def test_a_query_that_does_not_start_in_time_is_started_again(
    monkeypatch: pytest.MonkeyPatch, spark: SimpleNamespace, *, raised: bool
) -> None:
    """Two slow starts, as on a busy machine, do not end the process; the third start succeeds.

    All starts use the same session. The JVM, the state and the published snapshot are kept.
    """
    sessions: list[object] = []

    def start(given: object) -> Any:
        sessions.append(given)
        if raised and len(sessions) < 3:
            raise SparkCallError("start the query", SLOW)
        return _Part()

    monkeypatch.setattr(supervisor, "failure", lambda _: None if len(sessions) == 3 else SLOW)
    state = _Part()
    job = Job(start=start, state=state)
    step = job.opened()()()
    assert step.func == job.made.catch_up
    assert sessions == [job.session.result()] * 3
    assert (spark.kills, job.publisher.calls, set(state.calls)) == ([], [], {"lost"})


def test_a_query_that_is_started_again_is_planned_again(
    monkeypatch: pytest.MonkeyPatch, spark: SimpleNamespace
) -> None:
    """The processes that planned it end too, and it has as many slow starts as the first one; the heap is small."""
    slow: tuple[Any, Any] = None, SLOW
    done = [(BatchReport(at, 0.5, SourceOffsets({0: 1}), str(at), worked=True), None) for at in range(2)]
    polls = [slow, slow, slow, done[0], slow, slow, slow, done[1]]
    job = Job()
    step = job.opened()
    for report, failed in polls:
        monkeypatch.setattr(supervisor, "last_report", lambda *_, report=report: report)
        monkeypatch.setattr(supervisor, "failure", lambda _, failed=failed: failed)
        step = step()
    assert spark.planners == [(CREATOR,)] * 4 + [(PLANNER,), "heap"] + [(CREATOR,)] * 3 + [(PLANNER,)]


def test_a_query_that_never_starts_in_time_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process fails with the cause after a few attempts."""
    monkeypatch.setattr(supervisor, "failure", lambda _: SLOW)
    job = Job(RUNNING, state=_Part(record_failure=lambda *_, **__: False))
    job.session.set_result(_Part())
    with structlog.testing.capture_logs() as logs:
        assert job.made.supervise() == ExitCode.QUERY_FAILED
    assert [line.get("attempt") for line in logs] == [1, 2, 3, None, None]
    assert logs[3]["cause"] == SLOW.cause
