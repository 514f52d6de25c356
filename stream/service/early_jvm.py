"""Starts the JVM of `lagwarden run` before the modules of the service are imported: both take a second or more.

Where nothing is read yet, the topic may be read first, on all cores, and the process that does it is started instead.
The JVM follows when it is needed: if it booted meanwhile, both would take longer, and their memory would add up.

This module imports neither PySpark nor numpy. From here on, a signal to stop ends the process in order: it removes its
temporary files: Spark's blocks, sockets of workers, unpacked native libraries. A JVM that is killed leaves about 15 MB,
which would fill the volume of a monitor that is killed often. So each process has a folder of its own, locked while it
runs, and removes those that ended processes have left.
"""

import contextlib
import dataclasses
import fcntl
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

import structlog

from stream.checkpoint.manifest import FORMAT
from stream.config.options import Config
from stream.errors import ExitCode, Refusal
from stream.process_memory import keep_arrow_from_pandas, limit_heaps
from stream.service.first_read.reader import FirstReader
from stream.service.system_limits import raise_limit
from stream.spark.class_archive import ClassArchive
from stream.spark.executors.driver_machine import jvm_environment
from stream.spark.java import find_java
from stream.spark.jvm_process import NO_JAVA, UI_ENVIRONMENT, JvmOptions, JvmProcess, JvmStartError, start_refusal
from stream.spark.object_store import find_jars

_log = structlog.get_logger(__name__)
_PREFIX: Final = "lagwarden-"
_LOCK: Final = "in-use"


@dataclasses.dataclass(slots=True)
class EarlyJvm:
    """The JVM and its options. It boots, or it is still to be started and a process waits for a first read."""

    options: JvmOptions
    stopping: threading.Event
    """Set by SIGTERM and SIGINT."""
    process: JvmProcess | None = None
    waiting: FirstReader | None = None

    def reader(self) -> FirstReader:
        """Return the process that waits for a first read, the second time another one. Raises OSError."""
        reader, self.waiting = self.waiting or FirstReader(), None
        return reader

    def start(self) -> JvmProcess:
        """Return the process of the JVM, started if it was not; the waiting one is ended. Raises Refusal."""
        self.end_waiting()
        if self.process is None:
            try:
                self.process = JvmProcess.start(self.options)
            except JvmStartError as error:
                raise start_refusal(error) from error
        return self.process

    def end_waiting(self) -> None:
        """End the process that waits for a first read, if there is one."""
        if self.waiting is not None:
            self.reader().end()


@contextlib.contextmanager
def start_jvm(config: Config, *, many_rows: bool = False) -> Iterator[EarlyJvm]:
    """Start the JVM, unless the topic may be read first, and yield it; at the end, kill it if it still runs.

    See JvmOptions for `many_rows`.

    Raises Refusal if there is no Java, if no temporary file can be written, and if jars for the checkpoint are missing.
    """
    raise_limit()
    limit_heaps()
    stopping = _stop_signals()
    with temporary_folder() as folder:
        variables = jvm_environment(config.job.master_url, folder)
        if config.job.spark_ui_port is not None:
            variables |= UI_ENVIRONMENT
        jars = () if config.checkpoint.s3_jars is None else find_jars(config.checkpoint.s3_jars)
        place = config.job.class_archive
        classes = ClassArchive.existing(place, metadata.version("pyspark"))
        if classes is None:
            _log.debug("archive of the JVM's classes missing; Spark starts slower", folder=str(place))
        jvm = EarlyJvm(JvmOptions(config.job.driver_memory, classes, folder, variables, jars, many_rows), stopping)
        try:
            if many_rows or not _may_read_first(config):
                jvm.start()
            elif find_java() is None:
                raise start_refusal(JvmStartError(NO_JAVA))
            else:
                with contextlib.suppress(OSError):  # raised where it is used
                    jvm.waiting = FirstReader()
            keep_arrow_from_pandas()
            yield jvm
        finally:
            jvm.end_waiting()
            if jvm.process is not None:
                jvm.process.kill()


def _may_read_first(config: Config) -> bool:
    """Return whether Spark has planned no batch yet in a checkpoint on this machine."""
    root = config.checkpoint.dir
    if config.job.master_url.is_on_other_machines or not isinstance(root, Path):
        return False
    return not (root / f"v{FORMAT}" / "spark" / "offsets").exists()


def _stop_signals() -> threading.Event:
    stopping = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
    return stopping


@contextlib.contextmanager
def temporary_folder(root: Path | None = None) -> Iterator[Path]:
    """Create the folder and yield its path; remove it at the end, and what ended processes left at the start.

    `root` is the system's folder for temporary files by default (TMPDIR). Raises Refusal if it cannot be written to.
    """
    try:
        root = root or Path(tempfile.gettempdir())
        _remove_abandoned(root)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        lock = _create_lock(folder)
    except OSError as error:
        raise Refusal(
            f"no folder for temporary files could be created: {error}",
            "set TMPDIR to a folder that may be written to, with free space",
            ExitCode.SPARK_UNAVAILABLE,
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _create_lock(folder: Path) -> int:
    """Create the lock file in its locked state: another process that finds it must not find it free."""
    unnamed = folder / f"{_LOCK}.new"
    lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(folder / _LOCK)
    return lock


def _remove_abandoned(root: Path) -> None:
    """Remove the folders whose process has ended. A folder without a lock file is not known to be one of these."""
    for path in root.glob(f"{_PREFIX}*/{_LOCK}"):
        # Folders of other users cannot be opened; other processes may remove the same folder at the same time.
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
                _log.info("temporary files of an ended process removed", folder=str(path.parent))
            finally:
                os.close(lock)
