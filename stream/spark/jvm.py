"""Starts the driver's JVM with its output redirected to the log; the error of a failed start includes that output."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import threading
from collections import deque
from subprocess import STDOUT, TimeoutExpired
from typing import IO, TYPE_CHECKING, Any, Final

import structlog
from pyspark import accumulators
from pyspark.java_gateway import launch_gateway

if TYPE_CHECKING:
    from subprocess import Popen

    from pyspark import SparkConf

_log = structlog.get_logger(__name__)
JVM_GONE: Final = "Spark's JVM does not answer"
_REMEMBERED_LINES: Final = 30
_END_SECONDS: Final = 2.0
_REASON_TO_END: Final = re.compile(r"OutOfMemoryError|insufficient memory|fatal error|SIG[A-Z]+ \(0x|^Error: ")


class JvmStartError(RuntimeError):
    """The JVM ended before it accepted a connection; the message is its last output."""


def launch(conf: SparkConf) -> Any:
    """Start the JVM with this configuration and return py4j's gateway to it. Raises JvmStartError.

    What the JVM and Spark's Python workers print goes to the log, at level debug: most of it is chatter about things
    that are as they should be.
    """
    reader, writer = _Pipe.open()
    try:
        gateway = launch_gateway(conf, popen_kwargs={"stdout": writer, "stderr": STDOUT})  # type: ignore[no-untyped-call]
    except Exception as error:
        writer.close()
        raise JvmStartError(reader.last_line() or str(error)) from error
    writer.close()
    _launched.append(_Launched(gateway.proc, reader))
    return gateway


def describe_end() -> str:
    """Return in one line how the last JVM ended: signal or exit code, and its last output."""
    if not _launched:
        return JVM_GONE
    process, output = _launched[-1].process, _launched[-1].output
    try:
        code = process.wait(_END_SECONDS)
    except TimeoutExpired:
        return "Spark's JVM does not answer, though it runs"
    reason = output.last_line_with(_REASON_TO_END)
    return f"Spark's JVM {_how_it_ended(code)}{f': {reason}' if reason else ''}"


def _how_it_ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return "was killed by SIGKILL, as the kernel does when memory is short"
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def hush_accumulators() -> None:
    """Make PySpark's accumulator servers log the end of a JVM, instead of printing a traceback."""

    def handle_error(_server: object, _request: object, _address: object) -> None:
        _log.debug("the accumulator connection ended", exc_info=True)

    # Over TCP, and over a Unix socket where the system has them.
    for name in ("AccumulatorTCPServer", "AccumulatorUnixServer"):
        server = getattr(accumulators, name, None)
        if server is not None:
            server.handle_error = handle_error


class _Pipe:
    """Reads the output of a process line by line, in a thread of its own."""

    def __init__(self, source: IO[str]) -> None:
        self._lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self._source = source
        self._thread = threading.Thread(target=self._read, name="jvm-output", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls) -> tuple[_Pipe, IO[bytes]]:
        reading, writing = os.pipe()
        return cls(os.fdopen(reading, errors="replace")), os.fdopen(writing, "wb")

    def last_line(self) -> str:
        """Return the last line that is not empty, after the process has ended."""
        self._thread.join(1.0)
        lines = [line for line in self._lines if line.strip() and not line.startswith(("\t", "WARNING"))]
        return lines[-1] if lines else ""

    def last_line_with(self, words: re.Pattern[str]) -> str:
        """Return the last line with these words, after the process has ended; empty if there is none."""
        self._thread.join(1.0)
        return next((line for line in reversed(self._lines) if words.search(line)), "")

    def _read(self) -> None:
        with self._source:
            for line in self._source:
                text = line.rstrip()
                if text:
                    self._lines.append(text)
                    _log.debug("jvm", line=text)


@dataclasses.dataclass(frozen=True, slots=True)
class _Launched:
    """A running or ended JVM."""

    process: Popen[bytes]
    output: _Pipe


_launched: Final[deque[_Launched]] = deque(maxlen=1)
"""The JVM started last: PySpark has one per process at a time."""
