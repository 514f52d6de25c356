"""Heap and checkpoint, which are measured every 15 seconds."""

from pathlib import Path
from typing import Any

from py4j.protocol import Py4JNetworkError

from stream.service.resources import ResourcePoller, Resources
from stream.service.status import ServiceStatus
from stream.spark.heap import HeapUsage


class Runtime:
    """Answers as `java.lang.Runtime`."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault

    def totalMemory(self) -> int:  # noqa: N802 - Java's name
        """Return the committed heap, or raise the fault."""
        if self.fault is not None:
            raise self.fault
        return 400

    def freeMemory(self) -> int:  # noqa: N802 - Java's name
        """Return the free part of the committed heap."""
        return 150

    def maxMemory(self) -> int:  # noqa: N802 - Java's name
        """Return the maximum."""
        return 512


def session(runtime: Runtime) -> Any:
    """Return a session whose JVM has this runtime."""

    class Node:
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


def test_the_status_has_heap_and_checkpoint(tmp_path: Path) -> None:
    """The status has the measured sizes; a size that was not measured is None."""
    status = ServiceStatus("1.2.3", 60.0)
    assert status.monitor_status().heap_used_bytes is None
    assert status.monitor_status().checkpoint_bytes is None
    found = ResourcePoller(session(Runtime())).poll(tmp_path)
    assert isinstance(found, Resources)
    status.resources = found
    shown = status.monitor_status()
    assert (shown.heap_used_bytes, shown.heap_max_bytes) == (250, 512)
    assert (shown.checkpoint_bytes, shown.checkpoint_files, shown.state_snapshot_at) == (0, 0, None)
