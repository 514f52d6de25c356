"""Starts the processes of a first read, and returns what they have read."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
import structlog

from stream.groups.codec import unpack_change
from stream.groups.decode_stats import DecodeStats
from stream.groups.shard import ShardChange
from stream.process_memory import CHILD_ENVIRONMENT
from stream.spark.jvm_process import OutputReader, describe_exit_code

if TYPE_CHECKING:
    from stream.service.first_read.request import FirstRead

_log = structlog.get_logger(__name__)
PROGRAM: Final = "stream.service.first_read.worker"
"""The module that the processes run; stands in their command lines."""


FirstResult = tuple[list[tuple[int, ShardChange]], DecodeStats]
"""What was read: the change of each shard, and the decode statistics."""


class FirstReadError(RuntimeError):
    """The topic was not read to the end; the message is the reason."""


def read_first(read: FirstRead, stopped: Callable[[], bool]) -> FirstResult | None:
    """Return what the processes have read; None if they failed, which is logged, or if `stopped`.

    The result is kept in the folder of the read. `stopped` is called again and again while they read, and must wait a
    little; what it raises is raised.
    """
    try:
        with FirstReader(read) as reader:
            while not reader.finished():
                if stopped():
                    return None
        result = result_of(read)
        read.keep()
    except (FirstReadError, OSError) as error:
        _log.warning("topic not read while the JVM started; the query reads it", cause=str(error))
        shutil.rmtree(read.folder, ignore_errors=True)
        return None
    return result


class FirstReader:
    """The running processes of a first read. They end with the `with` block, and with this process."""

    def __init__(self, read: FirstRead) -> None:
        self._read = read

    def __enter__(self) -> Self:
        """Start the processes. Raises FirstReadError."""
        read, request = self._read, self._read.folder / "request"
        self._output, writer = OutputReader.open("first read")
        try:
            read.folder.mkdir(exist_ok=True)
            request.write_bytes(pickle.dumps(read))
            self._process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, str(request), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=subprocess.STDOUT,
                env={**CHILD_ENVIRONMENT, **os.environ},
                # Ctrl-C is for this process.
                start_new_session=True,
            )
        except OSError as error:
            raise FirstReadError(f"the processes cannot be started: {error}") from error
        finally:
            writer.close()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()

    def finished(self) -> bool:
        """Return whether all is read. Raises FirstReadError."""
        code = self._process.poll()
        if code:
            raise FirstReadError(self._output.last_line() or f"the process {describe_exit_code(code)}")
        return code == 0


def result_of(read: FirstRead) -> FirstResult:
    """Return what was read, when all processes have ended. Raises FirstReadError."""
    stats = DecodeStats()
    try:
        return list(_changes(read, stats)), stats
    except (OSError, pa.ArrowException, ValueError, TypeError, LookupError, struct.error) as error:
        raise FirstReadError(f"a result cannot be read: {error}") from error


def _changes(read: FirstRead, stats: DecodeStats) -> Iterator[tuple[int, ShardChange]]:
    for task in range(len(read.tasks)):
        with pa.ipc.open_file(str(read.result(task))) as file:
            for number in range(file.num_record_batches):
                (row,) = file.get_batch(number).to_pylist()
                if row["tally"] is not None:
                    stats.add(DecodeStats.from_json(row["tally"]))
                yield row["shard"], unpack_change(row["change"])
