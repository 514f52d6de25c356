"""Checks at start whether executors can run the tasks: their packages, their code, and the shared checkpoint.

Tasks of Spark run the check, on each core of the executors. Without it a missing package fails the first batch, and a
checkpoint that is not shared is noticed when a task moves to another executor.
"""

import functools
import importlib
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import structlog
from pyspark.sql import SparkSession

from stream.errors import ExitCode, Refusal
from stream.spark.errors import SLOW_START, SparkCallError, spark_call

_log = structlog.get_logger(__name__)
TASK_MODULES: Final = ("stream.spark.offsets_reading", "stream.spark.shard_processor")
"""The modules that tasks run; they import all packages that executors need."""
_ATTEMPTS: Final = 4
_ADVICE: Final = "docs/cluster.md has what executors need"


def check_executors(spark: SparkSession, tasks: int, folder: Path | None, files: Sequence[Path] = ()) -> None:
    """Run the check in so many tasks; waits for the first executor. Raises Refusal with what is wrong on which host.

    `folder` is the shared folder of the checkpoint, and `files` are those that tasks read, such as passwords.
    """
    marker = None if folder is None else _write_marker(folder)
    check = functools.partial(
        problems_here, marker=None if marker is None else str(marker), files=tuple(map(str, files))
    )
    try:
        found = _run(spark, check, tasks)
    except SparkCallError as error:
        raise Refusal(str(error), _ADVICE, ExitCode.SPARK_UNAVAILABLE) from None
    finally:
        if marker is not None:
            marker.unlink(missing_ok=True)
    if found:
        raise Refusal(
            f"executors cannot run tasks: {'; '.join(sorted(set(found)))}", _ADVICE, ExitCode.SPARK_UNAVAILABLE
        )


def _run(spark: SparkSession, check: Callable[[Iterable[int]], Iterator[str]], tasks: int) -> list[str]:
    """Return what the tasks found; tries again when a Python process did not start in time. Raises SparkCallError."""
    attempt = 1
    while True:
        try:
            with spark_call("run a task on the executors"):
                return list(spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(check).collect())
        except SparkCallError as error:
            if attempt == _ATTEMPTS or SLOW_START not in error.failure.detail:
                raise
            _log.warning("executors not ready in time; trying again", attempt=attempt, cause=error.failure.cause)
        attempt += 1


def problems_here(_: Iterable[int], *, marker: str | None, files: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong in this process, each with the name of the host. Runs on an executor."""
    host = socket.gethostname()
    for module in TASK_MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            yield f"{host}: {error}"
    for path in files:
        if not os.access(path, os.R_OK):
            yield f"{host}: {path} cannot be read"
    if marker is not None and not Path(marker).exists():
        yield f"{host}: the checkpoint folder {Path(marker).parent} is not the one of this process (checkpoint.shared)"
    elif marker is not None and not os.access(Path(marker).parent, os.W_OK | os.X_OK):
        yield f"{host}: the checkpoint folder {Path(marker).parent} cannot be written (checkpoint.shared)"


def _write_marker(folder: Path) -> Path | None:
    """Create a file that only a shared folder has; None if the folder cannot be written, which `run` refuses itself."""
    marker = folder / f"executor-check-{os.urandom(8).hex()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        marker.touch()
    except OSError:
        return None
    return marker
