"""The options of the JVM that decide how much memory it takes; docs/internals/performance.md has what each saves."""

from typing import Final

OPTIONS: Final = (
    # One thread collects. The live objects of this JVM are less than 100 MB, and the cores are busy with reading. The
    # parallel collector takes 80 MB for its own tables, and grows the heap rather than collect.
    "-XX:+UseSerialGC",
    # The class archive stays at the address that it was written for, so that its pages remain those of the file. By
    # default the JVM moves it to a random address and writes its pointers again: 135 MB of its own memory, not 61.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    # A full collection leaves a quarter of the live objects' size free, and returns the rest at once.
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=20",
    "-XX:-ShrinkHeapInSteps",
    # Netty, from which Arrow takes its buffers, keeps chunks of 64 KiB for small ones, not of 4 MiB; what is larger is
    # freed when it is no longer used.
    "-Dio.netty.allocator.maxOrder=3",
    # A thread would wake twenty times a second to sample counters for tools that read a file of the JVM.
    "-XX:-UsePerfData",
    # The memory of RocksDB and of Arrow is malloc's, which keeps what is freed: returned each minute. Java 17 to 20
    # have no such option.
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:TrimNativeHeapInterval=60000",
)
_INITIAL_HEAP: Final = 32 << 20
"""Bytes. The default is 1/64 of the machine."""
EXECUTOR_OPTIONS: Final = (f"-Xms{_INITIAL_HEAP >> 10}k", *OPTIONS)
"""Those of an executor on this machine; Spark sets the largest size of its heap."""
FEW_ROWS_OPTIONS: Final = (
    # Only the fast compiler: such a JVM plans batches and passes some hundred rows on, which is too little work to earn
    # back what the optimizing compiler costs.
    "-XX:TieredStopAtLevel=1",
    # New objects get 12 MiB, not half of what the old ones have. More collections are no cost: hardly any survives one.
    "-XX:MaxNewSize=12m",
)
_UNITS: Final = {"k": 10, "m": 20, "g": 30, "t": 40}


def memory_options(heap: str) -> tuple[str, ...]:
    """Return the options for a heap of at most this size, such as `1536m` (`stream.config.values.HeapSize`)."""
    largest = int(heap[:-1]) << _UNITS[heap[-1].lower()]
    return (f"-Xmx{heap}", f"-Xms{min(_INITIAL_HEAP, largest) >> 10}k", *OPTIONS)
