"""Heap and checkpoint, which are measured every 15 seconds."""

from pathlib import Path
from typing import Any

from py4j.protocol import Py4JNetworkError

from exporters.readmodel import HeapUsage
from stream.service.processes import ResourcePoller


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
        assert (found[0], found[1].used) == (heap, 5)


def test_resources_are_read_every_fifteen_seconds(tmp_path: Path) -> None:
    """The supervisor polls more often. The JVM runs a full collection after the start, and every ten minutes."""
    now, runtime, seen = [0.0], Runtime(), []
    poller = ResourcePoller(session(runtime), lambda: now[0])
    for now[0] in (0.0, 14.9, 15.0, 75.0, 90.0, 675.0, 690.0):
        read = poller.poll(tmp_path)
        seen.append((read is not None, runtime.collections))
    assert seen == [(True, 0), (False, 0), (True, 0), (True, 0), (True, 1), (True, 1), (True, 2)]
