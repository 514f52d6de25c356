"""Memory and CPU of the monitor's processes by role, from /proc."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from stream.service.first_read.reader import PROGRAM
from stream.service.processes import ProcessUsage, processes_by_role

TICKS = os.sysconf("SC_CLK_TCK")


def process(
    proc: Path, number: int, *children: int, pss: int | None = 1, cpu: float = 1.0, started: int = 7, name: str = "java"
) -> None:
    """Write the /proc files of a process: `pss` is in KiB, `cpu` in seconds, half of it in the kernel."""
    folder = proc / str(number)
    (folder / "task" / str(number)).mkdir(parents=True, exist_ok=True)
    (folder / "task" / str(number) / "children").write_text("".join(f"{child} " for child in children))
    half = int(cpu * TICKS / 2)
    (folder / "stat").write_text(
        f"{number} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {half} {half} 99 99 20 0 1 0 {started} 0 0\n"
    )
    if pss is not None:
        (folder / "smaps_rollup").write_text(
            f"0-1 ---p 0 00:00 0 [rollup]\nRss: 999999 kB\nPss: {pss} kB\nPss_Anon: 5 kB\n"
        )


def remove(proc: Path, number: int) -> None:
    """Remove the files that are read of a process."""
    for name in ("stat", "smaps_rollup"):
        (proc / str(number) / name).unlink()
    (proc / str(number) / "task" / str(number) / "children").unlink()


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def rows(usage: ProcessUsage) -> dict[str, tuple[Any, ...]]:
    """Return processes, memory and CPU seconds by role."""
    return {row["role"]: (row["processes"], row["memory"], row["cpu_seconds"]) for row in usage.table().to_pylist()}


ROLES = {"driver": [1], "jvm": [2], "python_daemon": [3], "python_worker": [4, 5]}


def test_each_generation_of_processes_is_a_role(tmp_path: Path) -> None:
    """The driver starts the JVM, the JVM starts the daemon of Python workers, and the daemon starts the workers.

    The driver starts the process of a first read beside the JVM, and this process forks the workers. A process that
    has ended, which has no memory, is not counted.
    """
    for number, children in {1: (2,), 2: (3,), 3: (4, 5), 4: (), 5: ()}.items():
        process(tmp_path, number, *children)
    assert processes_by_role(1, tmp_path) == ROLES
    process(tmp_path, 1, 2, 3)
    process(tmp_path, 2)
    (tmp_path / "3" / "cmdline").write_text(f"python\0-m\0{PROGRAM}\0request\0" + "1\0")
    assert processes_by_role(1, tmp_path) == ROLES
    (tmp_path / "3" / "cmdline").unlink()
    stat = tmp_path / "3" / "stat"
    stat.write_text(stat.read_text().replace(" S ", " Z "))
    assert processes_by_role(1, tmp_path)["jvm"] == [2]


def test_executors_are_counted_with_the_jvm_that_starts_them(tmp_path: Path) -> None:
    """The Python processes of an executor have the roles that those of the JVM have."""
    for number, children in {1: (2,), 2: (3, 6), 6: (7,), 7: (8,), 3: (), 8: ()}.items():
        process(tmp_path, number, *children)
    (tmp_path / "6" / "cmdline").write_text("java\0-Xmx1g\0org.apache.spark.executor.CoarseGrainedExecutorBackend\0")
    wanted = {"driver": [1], "jvm": [2, 6], "python_daemon": [3, 7], "python_worker": [8]}
    assert processes_by_role(1, tmp_path) == wanted


def test_memory_and_cpu_are_summed_per_role(tmp_path: Path) -> None:
    """Memory is the proportional set size; CPU is user and system time.

    Memory is unknown if one process does not report it, because a sum without that process would be too small. The name
    in /proc/PID/stat is in parentheses, and may contain parentheses.
    """
    process(tmp_path, 1, 2, 3, pss=10, cpu=2.0, name="a) b 1 2 (c")
    process(tmp_path, 2, pss=100, cpu=4.0)
    process(tmp_path, 3, pss=50, cpu=6.0)
    assert rows(ProcessUsage(1, tmp_path)) == {"driver": (1, 10 * 1024, 2.0), "jvm": (2, 150 * 1024, 10.0)}
    (tmp_path / "3" / "smaps_rollup").unlink()
    assert rows(ProcessUsage(1, tmp_path))["jvm"] == (2, None, 10.0)


def test_cpu_of_ended_processes_is_kept(tmp_path: Path) -> None:
    """A counter never decreases: a worker that ended has used its time.

    The CPU time of a new process with the same id is added in full, although it is less than that of the former one.
    """
    clock = Clock()
    usage = ProcessUsage(1, tmp_path, clock)
    process(tmp_path, 1, 2)
    process(tmp_path, 2, cpu=4.0, started=7)
    assert rows(usage)["jvm"] == (1, 1024, 4.0)
    process(tmp_path, 2, cpu=1.0, started=8)
    clock.now += 10
    assert rows(usage)["jvm"] == (1, 1024, 5.0)
    process(tmp_path, 1)
    remove(tmp_path, 2)
    clock.now += 10
    assert rows(usage)["jvm"] == (0, None, 5.0)


def test_unreadable_process_is_left_out(tmp_path: Path) -> None:
    """A process without a complete `stat` file, as at its end, and a system without /proc have no rows."""
    process(tmp_path, 1)
    for text in ("", "1 (java) S", "1 (java) S 1 1 1 0 -1 0 0 0 0 0 x y 0 0 20 0 1 0 7"):
        (tmp_path / "1" / "stat").write_text(text)
        assert rows(ProcessUsage(1, tmp_path)) == {}
    assert rows(ProcessUsage(1, tmp_path / "none")) == {}


def test_real_processes_are_read() -> None:
    """A child of this process has the second role; this process has its memory and its CPU time."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            assert child.pid in processes_by_role(os.getpid())["jvm"]
            processes, memory, seconds = rows(ProcessUsage(os.getpid()))["driver"]
            assert processes == 1
            assert memory > 10 << 20
            assert 0 < seconds <= sum(os.times()[:2]) + 0.1
        finally:
            child.communicate(b"\n")
