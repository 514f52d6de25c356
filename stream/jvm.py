"""The driver's JVM: started with its voice in our log instead of on the terminal, and heard when it cannot start."""

from __future__ import annotations

import os
import threading
from collections import deque
from subprocess import STDOUT
from typing import IO, TYPE_CHECKING, Any, Final

import structlog
from pyspark import accumulators
from pyspark.java_gateway import launch_gateway

if TYPE_CHECKING:
    from pyspark import SparkConf

_log = structlog.get_logger(__name__)
_REMEMBERED_LINES: Final = 30


class JvmStartError(RuntimeError):
    """The JVM ended before it could be spoken to; the message is what it said last."""


def launch(conf: SparkConf) -> Any:
    """Start the JVM with this configuration and give py4j's gateway to it. Raises JvmStartError.

    What the JVM and Spark's Python workers print goes to the log, at level debug: most of it is chatter about things
    that are as they should be.
    """
    reader, writer = _Pipe.open()
    try:
        gateway = launch_gateway(conf, popen_kwargs={"stdout": writer, "stderr": STDOUT})  # type: ignore[no-untyped-call]
    except Exception as error:
        writer.close()
        raise JvmStartError(reader.last_words() or str(error)) from error
    writer.close()
    return gateway


def hush_accumulators() -> None:
    """Let PySpark's accumulator server log a JVM that went away, instead of printing a page about it."""

    def handle_error(_server: object, _request: object, _address: object) -> None:
        _log.debug("the accumulator connection ended", exc_info=True)

    accumulators.AccumulatorTCPServer.handle_error = handle_error  # type: ignore[method-assign, assignment]


class _Pipe:
    """Reads what a process prints, line by line, on a thread of its own."""

    def __init__(self, source: IO[str]) -> None:
        self._lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self._source = source
        self._thread = threading.Thread(target=self._read, name="jvm-output", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls) -> tuple[_Pipe, IO[bytes]]:
        reading, writing = os.pipe()
        return cls(os.fdopen(reading, errors="replace")), os.fdopen(writing, "wb")

    def last_words(self) -> str:
        """Give the last line that says something, once the process has ended."""
        self._thread.join(1.0)
        told = [line for line in self._lines if line.strip() and not line.startswith(("\t", "WARNING"))]
        return told[-1] if told else ""

    def _read(self) -> None:
        with self._source:
            for line in self._source:
                text = line.rstrip()
                if text:
                    self._lines.append(text)
                    _log.debug("jvm", line=text)
