"""An internal failure ends all processes with one line with the cause, and a documented exit code."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from sandbox.ports import LOOPBACK
from sandbox.waiting import wait_until
from stream.errors import ExitCode
from tests.integration.traffic import commit
from tests.support.monitor import Ending, Monitor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.kafka.broker import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]


def kill_the_jvm(monitor: Monitor) -> None:
    """Kill Spark's JVM, as the kernel does when memory runs out."""
    os.kill(monitor.jvm, signal.SIGKILL)


def ended_by_killed_workers(monitor: Monitor) -> bool:
    """Kill the Python workers, and return whether the monitor has ended."""
    for process in monitor.processes:
        if process.role == "worker":
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    return not monitor.running


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


def assert_query_failed(monitor: Monitor, ending: Ending, words: str) -> None:
    """Check that the query failed with these words in its one-line cause, and left no process."""
    assert (ending.code, ending.left_behind) == (ExitCode.QUERY_FAILED, ())
    (line,) = monitor.events("query failed")
    assert words in line["cause"]
    assert "\n" not in line["cause"]
    assert "Traceback" not in monitor.output
    assert "str() failed" not in monitor.output
    assert "internal error of lagwarden" not in monitor.output


def test_jvm_that_is_killed_is_named_as_the_cause(cluster: Broker, tmp_path: Path) -> None:
    """The process ends within seconds with one line with the signal, and the code of a failed query."""
    with Monitor(cluster.bootstrap, tmp_path) as monitor:
        monitor.wait_ready()
        kill_the_jvm(monitor)
        commit(cluster.bootstrap, "unlucky", "t", {0: 1})
        assert_query_failed(monitor, monitor.ending(30), "Spark's JVM was killed by SIGKILL")


@pytest.mark.long
def test_workers_that_always_die_are_named_as_the_cause(cluster: Broker, tmp_path: Path) -> None:
    """A task whose worker is killed runs again. The query fails when each of its attempts is killed."""
    with Monitor(cluster.bootstrap, tmp_path) as monitor, committing(cluster):
        monitor.wait_ready()
        wait_until(functools.partial(ended_by_killed_workers, monitor), "the monitor to end", limit=120, pause=0.0)
        assert_query_failed(monitor, monitor.ending(30), "Python worker")


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced by a file"])
def test_checkpoint_that_is_deleted_while_in_use_ends_the_process(
    cluster: Broker, tmp_path: Path, *, replaced: bool
) -> None:
    """One line names the checkpoint, with a specific exit code, even on an idle cluster without writes of Spark."""
    with Monitor(cluster.bootstrap, tmp_path) as monitor:
        monitor.wait_ready()
        shutil.rmtree(monitor.checkpoint)
        if replaced:
            monitor.checkpoint.write_text("")
        ending = monitor.ending(30)
        assert (ending.code, ending.left_behind) == (ExitCode.CHECKPOINT_DAMAGED, ())
        (line,) = (line for line in monitor.lines if "checkpoint deleted while in use" in line.get("event", ""))
        assert str(monitor.checkpoint) in line["why"]
        assert "Traceback" not in monitor.output


def test_failed_tick_ends_the_process(cluster: Broker, tmp_path: Path) -> None:
    """An internal error ends the process with its traceback and exit code, so that it serves no stale metrics."""
    fault = (
        "import sys, stream.tick.publisher as publish; from stream.cli.app import main\n"
        "ticks = iter([publish.Publisher.tick] * 2)\n"
        "publish.Publisher.tick = lambda *given, **named: next(ticks)(*given, **named)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    with Monitor(cluster.bootstrap, tmp_path, program=("-c", fault)) as monitor:
        monitor.wait_ready()
        ending = monitor.ending(60)
        assert (ending.code, ending.left_behind) == (ExitCode.INTERNAL, ())
        assert "StopIteration" in monitor.output
        assert monitor.events(
            "internal error in the evaluation loop; exiting so that the supervisor restarts the process"
        )


def test_jvm_and_workers_end_with_the_driver(cluster: Broker, tmp_path: Path) -> None:
    """The JVM and the workers of a driver killed alone, as by the OOM killer, end and release the checkpoint."""
    with Monitor(cluster.bootstrap, tmp_path) as monitor:
        monitor.wait_ready()
        os.kill(monitor.pid, signal.SIGKILL)
        ending = monitor.ending()
        assert (ending.code, ending.left_behind) == (-signal.SIGKILL, ())
        monitor.start().wait_ready()


@pytest.mark.long
def test_watchdog_ends_a_blocked_query(cluster: Broker, tmp_path: Path) -> None:
    """A process whose JVM hangs exits after the limit with a specific code, and no process is left."""
    with Monitor(cluster.bootstrap, tmp_path, {"job.watchdog_limit": "45s"}) as monitor:
        monitor.wait_ready()
        os.kill(monitor.jvm, signal.SIGSTOP)
        ending = monitor.ending(150)
        assert (ending.code, ending.left_behind) == (ExitCode.WATCHDOG, ())
        assert len(monitor.events("no micro-batch ended within the limit; exiting for a restart")) == 1


def test_sigterm_without_a_broker_ends_with_0(tmp_path: Path) -> None:
    """SIGTERM ends the process with code 0 while it waits for Kafka, and while its JVM boots."""
    with Monitor(f"{LOOPBACK}:9", tmp_path) as monitor:
        monitor.wait_answering()
        ending = monitor.stop()
        assert (ending.code, ending.left_behind) == (ExitCode.OK, ())
        assert ending.seconds < 30
