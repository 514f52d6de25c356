"""One JVM with Kafka's own Java clients, and with Kafka's tools, which need no JVM start per call there.

`JavaClients` owns the process and exchanges lines of JSON with it; `JavaClients.java` is the program. It ends when its
standard input is closed, so it never outlives this process.
"""

import contextlib
import hashlib
import itertools
import json
import subprocess
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, Final, Self

from sandbox.cache import cache_folder
from sandbox.kafka import tools
from sandbox.kafka.compiler import compile_java
from sandbox.kafka.jars import streams_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java

SOURCE: Final = Path(__file__).with_name("JavaClients.java")
LIMIT: Final = 90.0
"""Seconds that any request may take."""
HEAP: Final = "384m"


class JavaClientError(RuntimeError):
    """A request to the JVM failed; the message is Java's."""


class JavaClients:
    """`with JavaClients(bootstrap, log) as java_clients: java_clients.open("a", {...}, topics=["t"])`. Thread-safe.

    Clients have names of the caller's choice. The standard error of the JVM goes to the log.
    """

    def __init__(self, bootstrap: str, log: Path) -> None:
        self.bootstrap: Final = bootstrap
        self.log: Final = log
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[str]] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(
                _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                start_new_session=True,
            )  # fmt: skip
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        process = self._running
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._listener.join()
        if process.stdout:
            process.stdout.close()

    # --- clients ---

    def open(
        self,
        name: str,
        config: Mapping[str, str],
        topics: Collection[str] = (),
        kind: str = "consumer",
    ) -> None:
        """Start a client: `consumer` (classic or KIP-848 by its configuration) or `share`."""
        settings = {"bootstrap.servers": self.bootstrap, **config}
        self._request(do="open", name=name, kind=kind, config=settings, topics=list(topics))

    def commit(self, name: str) -> None:
        """Commit the positions of the partitions that the consumer owns."""
        self._request(do="commit", name=name)

    def close(self, name: str, *, leaving: bool = True) -> None:
        """End a client: it leaves its group, or (`leaving` false) stops without a leave request, as after a crash."""
        self._request(do="close", name=name, leaving=leaving)

    # --- tools ---

    def tool(self, main_class: str, *arguments: str) -> str:
        """Return what one of Kafka's tools printed. Raises ToolError, as `sandbox.kafka.tools.run_tool` does."""
        arguments = ("--bootstrap-server", self.bootstrap, *arguments)
        printed = self._request(do="tool", main=main_class, arguments=list(arguments))
        if any(line.startswith("Error:") for line in printed.splitlines()):
            raise tools.ToolError(printed.strip())
        return printed

    # --- requests and answers ---

    @property
    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("the JVM of the Java clients was not started: use `with JavaClients(...)`")
        return self._process

    @property
    def _input(self) -> Any:
        return self._running.stdin

    def _request(self, **request: Any) -> str:
        number = next(self._numbers)
        answer: Future[str] = Future()
        with self._lock:
            self._waiting[number] = answer
            try:
                self._input.write(json.dumps({"id": number, **request}) + "\n")
                self._input.flush()
            except OSError as error:
                log = self.log.read_text(errors="replace")[-2000:]
                raise JavaClientError(f"the JVM of the Java clients has ended; its log ends: {log}") from error
        try:
            return answer.result(LIMIT)
        except FutureTimeoutError as error:
            raise JavaClientError(f"no answer in {LIMIT:.0f} s to {request}") from error

    def _listen(self) -> None:
        for line in self._running.stdout or ():
            answer = json.loads(line)
            with self._lock:
                waiting = self._waiting.pop(answer["id"])
            if "error" in answer:
                waiting.set_exception(JavaClientError(answer["error"]))
            else:
                waiting.set_result(answer["result"])
        with self._lock:
            for waiting in self._waiting.values():
                waiting.set_exception(JavaClientError("the JVM of the Java clients has ended"))


def _command() -> Sequence[str]:
    jars = streams_jars()
    path = class_path([*jars, compiled(SOURCE, jars)])
    return [str(find_java()), f"-Xmx{HEAP}", *SMALL_JVM, tools.QUIET, "-cp", path, SOURCE.stem]


def compiled(source: Path, jars: Sequence[Path]) -> Path:
    """Return the folder with the compiled program; it is compiled once per source text and then cached."""
    digest = hashlib.sha256("\n".join([source.read_text(), *(jar.name for jar in jars)]).encode()).hexdigest()[:16]
    folder = cache_folder() / "programs" / f"{source.stem}-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            fresh = Path(scratch) / "classes"
            compile_java(source, jars, fresh)
            # When two processes compile at the same time, the second one finds a finished folder and uses that.
            with contextlib.suppress(OSError):
                fresh.rename(folder)
    return folder
