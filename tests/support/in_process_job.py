"""Runs `lagwarden run` in the process of the test, and all starts on one JVM: a start takes a second or two.

Everything is that of the process: the command line, its refusals, the HTTP server, the log, the checkpoint, the query
and the ticks. Only three things differ: the JVM and its session outlive a run, SIGTERM is an event, and a run ends with
a return value instead of an exit. So exit codes are tested here. Signals, kills, locks between processes, memory and
what a dead process leaves behind need `tests.support.monitor.Monitor`.

The fixture `jvm` of the integration tests is the JVM that the tests of a module share:

    def test_state_is_restored(jvm: Jvm, broker: Broker, tmp_path: Path) -> None:
        with InProcessJob(broker.bootstrap, tmp_path, jvm) as job:
            job.wait_ready()
            assert job.stop().code == ExitCode.OK
            job.start().wait_ready()
            assert job.events("state restored")
"""

import contextlib
import gc
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Self
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from stream.cli.app import main
from stream.config.options import Config
from stream.service.early_jvm import EarlyJvm
from stream.spark import query
from stream.spark.jvm_process import JvmOptions
from stream.spark.object_store import ObjectStorage
from stream.spark.session import SessionOptions, end_session, open_session
from tests.support.logging_state import logging_as_before
from tests.support.monitor import STOP_LIMIT, Ending, ObservedMonitor
from tests.support.processes import Process, marked_processes, new_mark, patience

TASKS: Final = 2
"""Tasks that read at once, and partitions of the state: a session fixes both."""
_GRACE: Final = 10.0


class Jvm:
    """One JVM with one Spark session for many jobs: `with Jvm() as jvm: ...`.

    It starts with the first job that needs it. A process has one session, so there is one `Jvm` at a time.
    """

    def __init__(self, storage: ObjectStorage | None = None) -> None:
        """Open sessions with access to this object store; None: checkpoints are in directories."""
        self._mark = new_mark()
        options = JvmOptions("512m", environment=self._mark, jars=() if storage is None else storage.jars)
        self._options: Final = SessionOptions(f"local[{TASKS}]", options, "127.0.0.1", TASKS, storage=storage)
        self._opening = threading.Lock()
        self._session: SparkSession | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._opening:
            self._end()

    @property
    def processes(self) -> list[Process]:
        """Return the living processes of Spark: the JVM, the Python daemon and its workers."""
        return marked_processes(self._mark, 0)

    def kill(self) -> None:
        if self._session is not None:
            query.kill_jvm(self._session)

    def session(self) -> SparkSession:
        """Return the session. Opens it the first time, and again after the end of its JVM."""
        with self._opening:
            if self._session is not None and self._session.sparkContext._gateway.proc.poll() is not None:
                self._end()
            self._session = self._session or open_session(self._options)
            return self._session

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            end_session(session, _GRACE)


class InProcessJob(ObservedMonitor):
    """One `lagwarden run` in a thread: `with InProcessJob(bootstrap, folder, jvm) as job: job.wait_ready()`.

    It has the requests, waits and log of `Monitor`. After `stop`, `start` runs it again over the same checkpoint. At
    most one runs at a time, because what it replaces belongs to the whole process. A job that is refused before it
    needs a session has no `jvm`.
    """

    def __init__(
        self, bootstrap: str, folder: Path, jvm: Jvm | None, settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(bootstrap, folder, {"job.read_tasks": str(TASKS), **(settings or {})})
        self.jvms_killed = 0
        """How often the job has killed its JVM since its last start. Here the JVM goes on, and only the query ends."""
        self._jvm = jvm
        self._folder = folder
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._code = -1

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(patience(STOP_LIMIT))
            if self._thread.is_alive() and self._jvm is not None:
                # A failed test left it in a call of the JVM, and the next test has a job of its own.
                self._jvm.kill()
                self._thread.join(patience(STOP_LIMIT))
        # A job that fails leaves its connections to the end of its process. They must not be found in a later test.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    def start(self, *more: str) -> Self:
        """Start the job, with additional arguments; do not wait for it."""
        arguments = self._begin(*more)
        self._stopping, self._ended, self._code, self.jvms_killed = threading.Event(), threading.Event(), -1, 0
        self._thread = threading.Thread(target=self._run, args=(arguments,), name="job", daemon=True)
        self._thread.start()
        return self

    @property
    def running(self) -> bool:
        """True while the job runs."""
        return self._thread is not None and not self._ended.is_set()

    def stop(self) -> Ending:
        """Stop the job as SIGTERM does, and wait for its end."""
        self._stopping.set()
        return self.ending()

    def ending(self, limit: float = STOP_LIMIT) -> Ending:
        """Wait for the end of the job. Raises AssertionError with the log when it does not end."""
        began = time.monotonic()
        assert self._ended.wait(patience(limit)), f"the job has not ended; output\n{self.output}"
        return Ending(self._code, time.monotonic() - began, ())

    def _run(self, arguments: list[str]) -> None:
        with contextlib.ExitStack() as process:
            process.callback(self._ended.set)
            output = process.enter_context(self.log.open("a", buffering=1))
            process.enter_context(logging_as_before())
            process.enter_context(contextlib.redirect_stderr(output))
            patch = process.enter_context(pytest.MonkeyPatch.context())
            # pytest's own hook reports the traceback of a thread as a warning; a process prints it.
            patch.setattr(threading, "excepthook", threading.__excepthook__)
            for name, value in self._secrets.items():
                patch.setenv(name, value)
            patch.setattr("stream.service.early_jvm.start_jvm", self._start_jvm)
            patch.setattr("stream.service.run.open_session", self._open_session)
            patch.setattr("stream.service.run.end_session", lambda *_: True)
            patch.setattr("stream.service.supervisor.kill_jvm", self._kill_jvm)
            self._code = main(arguments)

    @contextlib.contextmanager
    def _start_jvm(self, config: Config) -> Iterator[EarlyJvm]:
        folder = self._folder / "temporary"
        folder.mkdir(exist_ok=True)
        options = JvmOptions(config.job.driver_memory, temporary_folder=folder)
        yield EarlyJvm(options, self._stopping, mock.Mock())

    def _open_session(self, *_: object) -> SparkSession:
        if self._jvm is None:
            self._ended.wait()
            raise RuntimeError("this job has no JVM")
        return self._jvm.session()

    def _kill_jvm(self, session: SparkSession) -> None:
        self.jvms_killed += 1
        for thread in threading.enumerate():
            if thread.name == "start":  # the query that it starts would be active in the session of the next job
                thread.join(patience(_GRACE))
        for each in session.streams.active:
            if not query.stop(each, _GRACE):
                query.kill_jvm(session)
