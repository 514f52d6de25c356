"""The desk: one JVM with Kafka's own Java clients as actors, and its official tools without a JVM start for each call.

Owns the process and the lines that go to and fro; what the actors do is `JavaClients.java`. The desk ends when its
standard input does, so it never outlives this process.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import itertools
import json
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from sandbox.cache import cache_folder
from sandbox.kafka import tools
from sandbox.kafka.compiler import compile_java
from sandbox.kafka.jars import broker_jars, jar_set
from sandbox.kafka.java import SMALL_JVM, class_path, find_java

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SOURCE: Final = Path(__file__).with_name("JavaClients.java")
LIMIT: Final = 90.0
"""Seconds that any request may take."""
HEAP: Final = "384m"
CLIENTS: Final = "messages-4.3.1"
"""The jar set that has Kafka Streams beside the clients."""
NO_ERROR: Final = "has no active members."
"""What the tool for streams groups calls an error, and prints its table all the same."""

Offset = tuple[str, int, int]
"""A topic, a partition and an offset to commit."""


class JavaClientError(RuntimeError):
    """A request failed; the message is Java's."""


class JavaClients:
    """`with Desk(bootstrap, log) as desk: desk.open_consumer("a", {...}, topics=["t"])`. Thread-safe.

    Actors are known by names of the caller's choice. What Java complains about goes to the log.
    """

    def __init__(self, bootstrap: str, log: Path) -> None:
        self.bootstrap: Final = bootstrap
        self.log: Final = log
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[str]] = {}
        self._lock = threading.Lock()
        self._scratch = tempfile.TemporaryDirectory(prefix="lagwarden-desk-")
        self._process: subprocess.Popen[str] | None = None
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        with self.log.open("ab") as complaints:
            self._process = subprocess.Popen(
                _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True,
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
        self._scratch.cleanup()

    # --- actors ---

    def open_consumer(
        self,
        actor: str,
        config: Mapping[str, str],
        topics: Collection[str] = (),
        regex: str | None = None,
        client: str = "consumer",
    ) -> None:
        """Let a client begin: `consumer` (classic or KIP-848 by its configuration), `share` or `streams`."""
        settings = {"bootstrap.servers": self.bootstrap, **config}
        if client == "streams":
            settings["state.dir"] = str(Path(self._scratch.name) / actor)
        self._ask(do="open", actor=actor, client=client, config=settings, topics=list(topics), regex=regex)

    def subscribe(self, actor: str, topics: Collection[str]) -> None:
        """Let a consumer want other topics."""
        self._ask(do="subscribe", actor=actor, topics=list(topics))

    def commit(self, actor: str, offsets: Collection[Offset] = ()) -> None:
        """Let a consumer commit these offsets; without any, its positions in the partitions that it owns."""
        self._ask(do="commit", actor=actor, offsets=list(offsets))

    def close(self, actor: str, *, leaving: bool = True) -> None:
        """End a client: it leaves its group, or (`leaving` false) is gone without a word, as after a crash."""
        self._ask(do="close", actor=actor, leaving=leaving)

    # --- tools ---

    def tool(self, main_class: str, *arguments: str) -> str:
        """Return what one of Kafka's tools printed. Raises ToolError, as `sandbox.kafka.tools.run_tool` does."""
        said = self._ask(do="tool", main=main_class, arguments=["--bootstrap-server", self.bootstrap, *arguments])
        if any(line.startswith("Error:") and not line.endswith(NO_ERROR) for line in said.splitlines()):
            raise tools.ToolError(said.strip())
        return said

    # --- lines ---

    @property
    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("the desk was not started")
        return self._process

    @property
    def _input(self) -> Any:
        return self._running.stdin

    def _ask(self, **request: Any) -> str:
        number = next(self._numbers)
        answer: Future[str] = Future()
        with self._lock:
            self._waiting[number] = answer
            try:
                self._input.write(json.dumps({"id": number, **request}) + "\n")
                self._input.flush()
            except OSError as error:
                raise JavaClientError(f"the desk is gone: {self.log.read_text(errors='replace')[-2000:]}") from error
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
                waiting.set_result(answer["said"])
        with self._lock:
            for waiting in self._waiting.values():
                waiting.set_exception(JavaClientError("the desk is gone"))


def _command() -> Sequence[str]:
    jars = [*broker_jars(), *(jar for jar in jar_set(CLIENTS) if jar.name.startswith("kafka-streams")), *_rocksdb()]
    path = class_path([*jars, _compiled(jars)])
    return [str(find_java()), f"-Xmx{HEAP}", *SMALL_JVM, tools.QUIET, "-cp", path, SOURCE.stem]


def _compiled(jars: Sequence[Path]) -> Path:
    """Give the folder with the compiled program; it is compiled once per text and cached."""
    digest = hashlib.sha256("\n".join([SOURCE.read_text(), *(jar.name for jar in jars)]).encode()).hexdigest()[:16]
    folder = cache_folder() / "programs" / f"{SOURCE.stem}-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            fresh = Path(scratch) / "classes"
            compile_java(SOURCE, jars, fresh)
            # Two processes may both come here: the second finds the folder taken, and as good.
            with contextlib.suppress(OSError):
                fresh.rename(folder)
    return folder


def _rocksdb() -> list[Path]:
    """Find the native store that Kafka Streams wants beside it: Spark ships the same library."""
    found = importlib.util.find_spec("pyspark")
    folder = Path(found.origin or "").parent if found else Path()
    return sorted((folder / "jars").glob("rocksdbjni-*.jar"))
