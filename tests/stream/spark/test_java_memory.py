"""The memory options of the JVM."""

from __future__ import annotations

import subprocess

import pytest

from stream.spark.java import find_java
from stream.spark.java_memory import memory_options


@pytest.mark.parametrize(
    ("heap", "initial"),
    [
        pytest.param("512m", "-Xms262144k", id="the default"),
        pytest.param("4G", "-Xms262144k", id="a large heap"),
        pytest.param("256m", "-Xms262144k", id="a maximum equal to the initial size"),
        pytest.param("100000k", "-Xms100000k", id="a maximum below the initial size"),
    ],
)
def test_heap_grows_from_256_mib(heap: str, initial: str) -> None:
    """The initial size does not depend on the memory of the machine, and is never above the maximum."""
    assert memory_options(heap)[:2] == (f"-Xmx{heap}", initial)


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
