"""The Spark session: every setting with its reason.

The settings that decide speed and correctness were measured on a real `__consumer_offsets`; the figures are in
docs/internals/performance.md.
"""

import contextlib
import dataclasses
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import structlog
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from stream.config.master_url import MasterKind
from stream.errors import ExitCode, Refusal
from stream.process_memory import empty_pandas
from stream.spark.errors import SparkFailure
from stream.spark.executors.code_archive import write_code_archive
from stream.spark.executors.driver_machine import check_python, check_reachable
from stream.spark.executors.settings import ExecutorOptions, executor_settings
from stream.spark.java import class_path
from stream.spark.jvm import connect, hush_accumulators, set_login_user, skip_installed_data_sources
from stream.spark.jvm_process import UI_HOST, JvmOptions, JvmProcess, JvmStartError, start_refusal
from stream.spark.object_store import ObjectStorage, executor_jars, forget_credentials, storage_settings

_log = structlog.get_logger(__name__)

TASK_ATTEMPTS: Final = 3
"""Attempts of a task: the kernel kills a Python worker to free memory, and the task that it ran can run again."""

SETTINGS: Final = {
    # Stands in the names of Spark's own metrics and threads.
    "spark.app.name": "lagwarden",
    # A port less to guard, a little heap less; see `_UI`.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # transformWithState requires RocksDB; the changelog makes a commit a few milliseconds.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # The default keeps 100 batches of state; a restart needs the last.
    "spark.sql.streaming.minBatchesToRetain": "10",
    # The default forks a process per file operation on a local disk.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Each task of the stateful stage sorts in pages of the heap, by default of 32 MiB: for some hundred rows.
    "spark.buffer.pageSize": "1m",
    # The driver heap of a job that runs for years.
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    # A quiet cluster still shows that the reader lives.
    "spark.sql.streaming.noDataProgressEventInterval": "2000",
    # Workers talk to the JVM over a Unix socket instead of loopback TCP.
    "spark.python.unix.domain.socket.enabled": "true",
    # Workers are forked from a process that has imported what the tasks need.
    "spark.python.daemon.module": "stream.spark.worker_daemon",
    # Spark sets this for a part of the tasks only, as a variable, and a daemon serves one environment: two daemons with
    # everything imported, and no worker that both parts could use.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # On a cluster; `local[N]` takes the number from its URL.
    "spark.task.maxFailures": str(TASK_ATTEMPTS),
}

# Spark's pages have no login, so they are for this machine only, and stop no job.
_UI: Final = {"spark.ui.enabled": "true", "spark.ui.killEnabled": "false"}

_ADVICE: Final = "see the options job.*; the log at level debug has the output of the JVM"
_ADVICE_ON_EXECUTORS: Final = f"the logs of Spark's master, workers and executors may have the reason; {_ADVICE}"

# The path of a Unix socket has at most 107 bytes; Spark's names are `/.`, a UUID and `.sock`.
_LONGEST_SOCKET_FOLDER: Final = 107 - 43
_EXECUTOR_OPTIONS: Final = "spark.executor.extraJavaOptions"
_SOCKETS: Final = "spark.python.unix.domain.socket.dir"
_SYSTEM_FOLDER: Final = "/tmp"  # noqa: S108 - the default of the JVM


@dataclasses.dataclass(frozen=True, slots=True)
class SessionOptions:
    """The settings of the session that depend on its environment."""

    master: str
    jvm: JvmOptions
    driver_host: str
    shuffle_partitions: int
    traces: bool = False
    """True if Spark prints its own stack traces."""
    executors: ExecutorOptions | None = None
    """The executors in processes of their own; None with a local master."""
    python: str | None = None
    """The interpreter of Spark's Python processes; None: that of this process."""
    storage: ObjectStorage | None = None
    """The object store of the checkpoint; None if it is in a directory."""
    ui_port: int | None = None
    """The port of Spark's own pages, 0: a free one; None: no pages. The JVM needs UI_ENVIRONMENT, too."""
    further: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Further settings of Spark, none of those that are set here."""


def open_session(options: SessionOptions, jvm: JvmProcess | None = None) -> SparkSession:
    """Open a session in this JVM, by default in one that is started now.

    Raises Refusal if there is no Java or the JVM does not start.
    """
    # Workers would take `python3` from PATH, whatever that is.
    os.environ["PYSPARK_PYTHON"] = options.python or sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if options.executors is None:
        os.environ.setdefault("SPARK_LOCAL_IP", options.driver_host)
    hush_accumulators()
    if options.executors is not None:
        check_python(options.python)
        check_reachable(options.executors.master)
    # With `local[N]` alone, the first failure of a task fails the query.
    master = re.sub(r"^local\[(\d+|\*)\]$", rf"local[\1,{TASK_ATTEMPTS}]", options.master)
    conf = SparkConf().setMaster(master).setAll(list(session_settings(options).items()))
    try:
        gateway = connect(jvm or JvmProcess.start(options.jvm))
        # The first call of the JVM imports PySpark's utilities for tests, which import pandas.
        with empty_pandas():
            set_login_user(gateway.jvm)
            session = SparkSession(SparkContext(conf=conf, gateway=gateway))
        if options.executors is not None and options.executors.ships_code:
            assert options.jvm.temporary_folder is not None  # noqa: S101 -- the PYTHONPATH of the JVM names it
            session.sparkContext.addFile(str(write_code_archive(options.jvm.temporary_folder)))
        if options.storage is not None:
            forget_credentials(session.sparkContext._jsc)  # noqa: SLF001 -- the only way to it
        skip_installed_data_sources(gateway.jvm)
        # lagwarden logs a failed query in one line; Spark's stack traces are printed only on request.
        session.sparkContext.setLogLevel("WARN" if options.traces else "OFF")
        if (url := session.sparkContext.uiWebUrl) is not None:
            _log.info("spark ui open on this machine", url=f"http://{UI_HOST}:{url.rpartition(':')[2]}")
    except JvmStartError as error:
        raise start_refusal(error) from error
    except (Py4JError, PySparkException, OSError) as error:
        cause = SparkFailure.of(error).cause
        advice = _ADVICE if options.executors is None else _ADVICE_ON_EXECUTORS
        raise Refusal(f"Spark did not start: {cause}", advice, ExitCode.SPARK_UNAVAILABLE) from error
    return session


def end_session(session: SparkSession, grace: float) -> bool:
    """Stop the session and its JVM; return whether the JVM exited normally within `grace` seconds.

    Otherwise it is killed. It may have died, or hang in a client whose broker is away: nothing here waits without a
    limit.
    """
    process = session.sparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001 - the only way to it

    def end() -> None:
        with contextlib.suppress(Exception):
            session.stop()
        # The JVM ends when its standard input does.
        process.stdin.close()

    threading.Thread(target=end, name="end-session", daemon=True).start()
    try:
        ended: bool = process.wait(grace) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        ended = False
    # So that the next session of this process starts its own JVM.
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001
    return ended


def session_settings(options: SessionOptions) -> dict[str, str]:
    """Return all settings of a session, by name."""
    sockets = _socket_folder(options.jvm.temporary_folder)
    return {
        **options.further,
        **SETTINGS,
        **({} if options.ui_port is None else {**_UI, "spark.ui.port": str(options.ui_port)}),
        "spark.driver.memory": options.jvm.heap,
        "spark.driver.host": options.driver_host,
        "spark.driver.bindAddress": options.driver_host,
        # Fixed for the life of a checkpoint.
        "spark.sql.shuffle.partitions": str(options.shuffle_partitions),
        # The folders of executors are not those of the driver; without this setting each JVM takes its own.
        **({} if options.executors and sockets != _SYSTEM_FOLDER else {_SOCKETS: sockets}),
        # Without executors the ports on loopback are open to every user of the machine; Spark makes the secret itself.
        **({"spark.authenticate": "true"} if options.executors is None else executor_settings(options.executors)),
        **({} if options.storage is None else _storage_settings(options, options.storage)),
        **_local_executors(options),
    }


def _local_executors(options: SessionOptions) -> dict[str, str]:
    """Return the settings of executors that Spark starts on this machine: their JVMs start as the driver's does.

    The class archive needs the class path with which it was written, at its beginning.
    """
    if options.executors is None or options.executors.master.kind is not MasterKind.LOCAL_CLUSTER:
        return {}
    own = map(shlex.quote, options.jvm.executor_arguments())
    given = options.further.get(_EXECUTOR_OPTIONS, "")
    return {
        _EXECUTOR_OPTIONS: " ".join(filter(None, [*own, given])),
        "spark.executor.extraClassPath": os.pathsep.join(
            [*class_path(), *filter(None, [options.further.get("spark.executor.extraClassPath")])]
        ),
    }


def _storage_settings(options: SessionOptions, storage: ObjectStorage) -> dict[str, str]:
    settings = storage_settings(storage, None if options.executors else options.jvm.temporary_folder)
    if options.executors is not None:
        settings |= executor_jars(storage, options.further.get("spark.jars", ""))
    return settings


def _socket_folder(temporary: Path | None) -> str:
    """Return the folder for the sockets of workers: as the JVM chooses it where a path would be too long."""
    fits = temporary is not None and len(os.fsencode(temporary)) <= _LONGEST_SOCKET_FOLDER
    return str(temporary) if fits else _SYSTEM_FOLDER
