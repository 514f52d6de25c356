"""An internal failure ends all processes with one line with the cause, and a documented exit code."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.kafka.broker import Broker
from sandbox.ports import LOOPBACK
from stream.errors import ExitCode
from stream.tick.publisher import Publisher
from tests.conftest import MakeBroker
from tests.integration.traffic import commit, make_topic
from tests.support.in_process_job import InProcessJob, Jvm
from tests.support.monitor import START_LIMIT, Monitor
from tests.support.processes import patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]


@contextlib.contextmanager
def committing(cluster: Broker) -> Iterator[None]:
    """Write records for a batch about every 200 ms."""
    over = threading.Event()

    def write() -> None:
        while not over.wait(0.2):
            commit(cluster.bootstrap, "unlucky", "t", {0: 1})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def assert_query_failed(monitor: Monitor | InProcessJob, words: str) -> None:
    """Check that the query failed with these words in its one-line cause, and left no process."""
    ending = monitor.ending(30)
    assert (ending.code, ending.left_behind) == (ExitCode.QUERY_FAILED, ())
    (line,) = monitor.events("query failed")
    assert words in line["cause"]
    assert "\n" not in line["cause"]
    assert "Traceback" not in monitor.output
    assert "str() failed" not in monitor.output
    assert "internal error of lagwarden" not in monitor.output


def test_no_process_outlives_one_that_is_killed(cluster: Broker, tmp_path: Path) -> None:
    """A driver killed alone, as by the OOM killer, takes JVM and workers with it, which release the checkpoint.

    A killed JVM ends the monitor within seconds with one line with the signal, and the code of a failed query.
    """
    with Monitor(cluster.bootstrap, tmp_path) as monitor:
        monitor.wait_ready().wait_batch()
        os.kill(monitor.pid, signal.SIGKILL)
        ending = monitor.ending()
        assert (ending.code, ending.left_behind) == (-signal.SIGKILL, ())

        monitor.start().wait_ready()
        os.kill(monitor.jvm, signal.SIGKILL)
        commit(cluster.bootstrap, "unlucky", "t", {0: 1})
        assert_query_failed(monitor, "Spark's JVM was killed by SIGKILL")


@pytest.mark.long
@pytest.mark.parametrize("hangs", [".jar", "python_streaming_source_runner"], ids=["the JVM", "the planner"])
def test_watchdog_ends_a_blocked_query(cluster: Broker, tmp_path: Path, hangs: str) -> None:
    """A monitor whose JVM hangs, or the process that plans its batches, is not ready although it ticks, and says so.

    It exits after the limit with a specific code, and no process is left.
    """
    settings = {"job.watchdog_limit": "45s", "job.freshness_limit": "10s"}
    with Monitor(cluster.bootstrap, tmp_path, settings) as monitor:
        monitor.wait_ready().wait_batch()
        (stopped,) = (each.pid for each in monitor.processes if hangs in each.command)
        os.kill(stopped, signal.SIGSTOP)
        monitor.wait_for(lambda: "the query has reported nothing for" in monitor.reasons(), "the silence to be seen")
        assert monitor.metrics().value("lagwarden_ready") == 0
        ending = monitor.ending(150)
        assert (ending.code, ending.left_behind) == (ExitCode.WATCHDOG, ())
        assert monitor.events("query silent; new commits are not read")
        assert len(monitor.events("no micro-batch ended within the limit; exiting for a restart")) == 1


def test_sigterm_without_a_broker_ends_with_0(tmp_path: Path) -> None:
    """SIGTERM ends the process with code 0 while it waits for Kafka, and a process for the request of a first read."""
    with Monitor(f"{LOOPBACK}:9", tmp_path) as monitor:
        assert_ends_with_0(monitor.wait_answering())


@pytest.mark.long
def test_sigterm_ends_the_process_while_the_broker_is_paused(make_broker: MakeBroker, tmp_path: Path) -> None:
    """The broker accepts connections without answers. SIGTERM gives exit code 0 within 30 s and leaves no process."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 3})
    with Monitor(broker.bootstrap, tmp_path, {"kafka.request_timeout": "3s"}) as monitor:
        monitor.wait_ready()
        broker.pause()
        try:
            monitor.wait_for(lambda: monitor.metrics().value("lagwarden_kafka_reachable") == 0, "the outage to be seen")
            assert_ends_with_0(monitor)
        finally:
            broker.resume()


def assert_ends_with_0(monitor: Monitor) -> None:
    """Send SIGTERM, and check that the process ends in time and leaves no other process."""
    ending = monitor.stop()
    assert (ending.code, ending.left_behind) == (ExitCode.OK, ())
    assert ending.seconds < 30


def test_checkpoint_that_is_replaced_while_in_use_ends_the_job(cluster: Broker, jvm: Jvm, tmp_path: Path) -> None:
    """A file in the place of the checkpoint is a deletion, and the JVM, which would write there, is killed."""
    with InProcessJob(cluster.bootstrap, tmp_path, jvm) as job:
        job.wait_ready().wait_batch()
        job.checkpoint.rename(tmp_path / "moved")  # at once: the JVM writes there meanwhile
        job.checkpoint.write_text("")
        assert_deletion_seen(job)
        assert job.jvms_killed == 1


def assert_deletion_seen(monitor: Monitor | InProcessJob) -> None:
    """Check that the monitor ends with one line that names its checkpoint."""
    ending = monitor.ending(30)
    assert (ending.code, ending.left_behind) == (ExitCode.CHECKPOINT_DAMAGED, ())
    (line,) = (line for line in monitor.lines if "checkpoint deleted while in use" in line.get("event", ""))
    assert str(monitor.checkpoint) in line["why"]
    assert "Traceback" not in monitor.output


def test_failed_tick_ends_the_job(cluster: Broker, jvm: Jvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An internal error ends the job with its traceback and exit code, so that it serves no stale metrics."""
    ticks = iter([Publisher.tick] * 2)

    def tick(*given: Any, **named: Any) -> object:
        return next(ticks)(*given, **named)

    monkeypatch.setattr(Publisher, "tick", tick)
    with InProcessJob(cluster.bootstrap, tmp_path, jvm) as job:
        assert job.ending(START_LIMIT).code == ExitCode.INTERNAL
        assert "monitor ready" in job.output
        assert "StopIteration" in job.output
        assert job.events("internal error in the evaluation loop; exiting so that the supervisor restarts the process")


@pytest.mark.long
def test_workers_that_always_die_are_named_as_the_cause(cluster: Broker, jvm: Jvm, tmp_path: Path) -> None:
    """A task whose worker is killed runs again. The query fails when each of its attempts is killed."""

    def ended_by_killed_workers() -> bool:
        for process in jvm.processes:
            if process.role == "worker":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        return not job.running

    with InProcessJob(cluster.bootstrap, tmp_path, jvm) as job, committing(cluster):
        job.wait_ready()
        wait_until(ended_by_killed_workers, "the job to end", limit=120, pause=0.0)
        assert_query_failed(job, "Python worker")
