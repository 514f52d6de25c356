"""The memory options of the JVM."""

import subprocess

import pytest

from stream.spark.java import find_java
from stream.spark.java_memory import FEW_ROWS_OPTIONS, memory_options


def test_heap_grows_from_32_mib() -> None:
    """The initial size does not depend on the memory of the machine, and is never above the maximum."""
    initial = dict.fromkeys(("512m", "4G", "32m"), "-Xms32768k") | {"10000k": "-Xms10000k"}
    assert {heap: memory_options(heap)[:2] for heap in initial} == {
        heap: (f"-Xmx{heap}", option) for heap, option in initial.items()
    }


@pytest.mark.spark
@pytest.mark.parametrize("heap", ["512m", "128M"])
def test_java_accepts_and_uses_every_option(heap: str) -> None:
    """The JVM starts with all options. The flags of the collector and the class archive have the expected values."""
    printed = subprocess.run(
        [str(find_java()), *memory_options(heap), *FEW_ROWS_OPTIONS, "-XX:+PrintFlagsFinal", "-version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    flags = {line.split()[1]: line.split()[3] for line in printed.splitlines() if " = " in line}
    assert (flags["UseSerialGC"], flags["UseParallelGC"], flags["ArchiveRelocationMode"]) == ("true", "false", "0")
    assert (flags["TieredStopAtLevel"], flags["MaxNewSize"]) == ("1", str(12 << 20))
    assert flags["UsePerfData"] == "false"
