"""Starts the JVM of `lagwarden run` before the modules of the service are imported: both take a second or more.

This module imports neither PySpark nor numpy. From here on, a signal to stop ends the process in order: it removes its
temporary files.
"""

import contextlib
import dataclasses
import signal
import threading
from collections.abc import Iterator
from importlib import metadata

import structlog

from stream.config.options import Config
from stream.process_memory import keep_arrow_from_pandas, limit_heaps
from stream.service.system_limits import raise_limit
from stream.service.temporary_folder import temporary_folder
from stream.spark.class_archive import ClassArchive
from stream.spark.executors.driver_machine import jvm_environment
from stream.spark.jvm_process import UI_ENVIRONMENT, JvmOptions, JvmProcess, JvmStartError, start_refusal
from stream.spark.object_store import find_jars

_log = structlog.get_logger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class StartedJvm:
    """The booting JVM and its options."""

    process: JvmProcess
    options: JvmOptions
    stopping: threading.Event
    """Set by SIGTERM and SIGINT."""


@contextlib.contextmanager
def start_jvm(config: Config, *, many_rows: bool = False) -> Iterator[StartedJvm]:
    """Start the JVM and yield it while it boots; at the end, kill it if it still runs. See JvmOptions for `many_rows`.

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
        options = JvmOptions(config.job.driver_memory, _class_archive(config), folder, variables, jars, many_rows)
        try:
            process = JvmProcess.start(options)
        except JvmStartError as error:
            raise start_refusal(error) from error
        try:
            keep_arrow_from_pandas()
            yield StartedJvm(process, options, stopping)
        finally:
            process.kill()


def _stop_signals() -> threading.Event:
    stopping = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
    return stopping


def _class_archive(config: Config) -> ClassArchive | None:
    archive = ClassArchive.existing(config.job.class_archive, metadata.version("pyspark"))
    if archive is None:
        _log.debug("archive of the JVM's classes missing; Spark starts slower", folder=str(config.job.class_archive))
    return archive
