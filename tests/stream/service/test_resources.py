"""Heap and checkpoint, which are measured every 15 seconds."""

from pathlib import Path
from typing import Any

from py4j.protocol import Py4JNetworkError

from exporters.readmodel import HeapUsage
from stream.service.resources import ResourcePoller


class Runtime:
    """Answers as `java.lang.Runtime`."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.collections = 0

    def totalMemory(self) -> int:  # noqa: N802 - Java's name
        if self.fault is not None:
            raise self.fault
        return 400

    def freeMemory(self) -> int:  # noqa: N802 - Java's name
        return 150

    def gc(self) -> None:
        self.collections += 1

    def maxMemory(self) -> int:  # noqa: N802 - Java's name
        return 512


def session(runtime: Runtime) -> Any:

    class Node:
        System = runtime

        def __getattr__(self, _name: str) -> Any:
            return self

        def getRuntime(self) -> Runtime:  # noqa: N802 - Java's name
            return runtime

    return Node()


def test_heap_in_use_is_what_is_not_free(tmp_path: Path) -> None:
    """The used heap is the committed heap without its free part.

    The checkpoint is still measured after the JVM has ended.
    """
    (tmp_path / "file").write_bytes(b"12345")
    heaps = (
        (None, HeapUsage(250, 512)),
        (Py4JNetworkError("gone"), HeapUsage()),
        (ConnectionResetError(), HeapUsage()),
    )
    for fault, heap in heaps:
        found = ResourcePoller(session(Runtime(fault))).poll(tmp_path)
        assert found is not None
        assert (found.heap, found.checkpoint.used) == (heap, 5)


def test_resources_are_read_every_fifteen_seconds(tmp_path: Path) -> None:
    """`poll` returns None until 15 seconds after the last reading; the supervisor polls more often."""
    now = [50.0]
    poller = ResourcePoller(session(Runtime()), lambda: now[0])
    assert poller.poll(tmp_path) is not None
    now[0] = 64.9
    assert poller.poll(tmp_path) is None
    now[0] = 65.0
    assert poller.poll(tmp_path) is not None


def test_heap_is_shrunk_once_a_minute_after_the_catch_up(tmp_path: Path) -> None:
    """The JVM runs one full collection: what the catch-up needed is garbage by then."""
    now, runtime = [0.0], Runtime()
    poller = ResourcePoller(session(runtime), lambda: now[0])
    collections = []
    for now[0] in (0.0, 30.0, 90.0, 105.0, 200.0):
        if now[0] == 30.0:
            poller.caught_up()
        poller.poll(tmp_path)
        collections.append(runtime.collections)
    assert collections == [0, 0, 1, 1, 1]
