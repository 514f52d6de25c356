"""The memory options of the JVM, and its heap while it runs."""

from __future__ import annotations

import subprocess

import pytest

from stream.spark.heap import HeapUsage, heap_usage
from stream.spark.java import find_java
from stream.spark.java_memory import memory_options
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, end_session, open_session

MIB = 1 << 20


def test_heap_grows_from_256_mib() -> None:
    """The initial size does not depend on the memory of the machine, and is never above the maximum."""
    initial = dict.fromkeys(("512m", "4G", "256m"), "-Xms262144k") | {"100000k": "-Xms100000k"}
    assert {heap: memory_options(heap)[:2] for heap in initial} == {
        heap: (f"-Xmx{heap}", option) for heap, option in initial.items()
    }


@pytest.mark.spark
@pytest.mark.parametrize("heap", ["512m", "128M"])
def test_java_accepts_and_uses_every_option(heap: str) -> None:
    """The JVM starts with all options. The flags of the collector and the class archive have the expected values."""
    printed = subprocess.run(
        [str(find_java()), *memory_options(heap), "-XX:+PrintFlagsFinal", "-version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    flags = {line.split()[1]: line.split()[3] for line in printed.splitlines() if " = " in line}
    assert (flags["UseSerialGC"], flags["UseParallelGC"], flags["ArchiveRelocationMode"]) == ("true", "false", "0")


@pytest.mark.spark
def test_heap_is_known_while_the_jvm_runs() -> None:
    """The maximum is near the memory of the session. The heap is unknown after the end of the JVM."""
    session = open_session(SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1))
    usage = heap_usage(session)
    assert usage.used is not None
    assert usage.maximum is not None
    assert 10 * MIB < usage.used <= usage.maximum
    assert 400 * MIB < usage.maximum <= 512 * MIB
    end_session(session, 30)
    assert heap_usage(session) == HeapUsage()
