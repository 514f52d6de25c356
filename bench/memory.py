"""`python -m bench.memory`: the memory of `lagwarden run` by role, during the catch-up, with commits, and idle.

Memory is the proportional set size of all processes, so a page that several processes share counts once. Other load on
the machine does not change it. One topic is written per size; `lagwarden run` starts on it once per heap size.
"""

import argparse
import dataclasses
import functools
import math
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench import report
from bench.monitor import READY_LIMIT, TRIGGER_SECONDS, Monitor
from bench.processes import Sampler
from bench.topic import Writer, broker_with
from bench.traffic import Traffic, one_commit_each
from stream.service.processes import ROLES, ProcessUsage

PARTITIONS_PER_GROUP: Final = 20
_DEFAULT_SIZE: Final = 33_000
_DEFAULT_RECORDS: Final = 20_000_000
_COMMIT_ROUNDS: Final = 6
_IDLE_SECONDS: Final = 70.0
"""Spark ends Python workers that had nothing to do for a minute."""
_HEAP_USED: Final = "lagwarden_jvm_heap_used_bytes"
_READ: Final = "lagwarden_records_read_total"


@dataclasses.dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory of one phase of a run, in bytes."""

    partitions: int
    """The number of (group, topic, partition)."""
    heap: str
    """The option job.driver_memory."""
    phase: str
    roles: Mapping[str, int]
    """Proportional set size by role, at the moment at which all roles together used most."""
    heap_used: int | None
    """Heap in use at the end of the phase, with garbage; None if the run does not report it."""

    @property
    def total(self) -> int:
        """All roles together."""
        return sum(self.roles.values())


class MemoryPeak(Sampler):
    """Keeps the sample of the memory of a process tree with the highest sum."""

    seconds = 0.5

    def __init__(self, root: int) -> None:
        super().__init__(root)
        self.roles: dict[str, int] = {}

    def _sample(self) -> None:
        self.roles = max(self.roles, memory_by_role(self._root), key=lambda roles: sum(roles.values()))


def memory_by_role(root: int) -> dict[str, int]:
    """Return the proportional set size of each role of a process tree in bytes; roles without processes are absent."""
    rows = ProcessUsage(root).table().to_pylist()
    return {row["role"]: row["memory"] for row in rows if row["memory"] is not None}


def measure(bootstrap: str, traffic: Traffic, heap: str, settings: Mapping[str, str], scratch: Path) -> list[MemoryUse]:
    """Return the memory of one run on an empty checkpoint: start, commits of all groups in each trigger, idle.

    Raises RuntimeError when the run does not become ready, ends, or has not read all records.
    """
    found = []
    settings = {"job.driver_memory": heap, "job.trigger_interval": str(TRIGGER_SECONDS), **settings}

    def note(phase: str, peak: MemoryPeak, monitor: Monitor) -> None:
        used = monitor.samples(_HEAP_USED)
        heap_used = int(sum(used.values())) if used else None
        found.append(MemoryUse(traffic.keys, heap, phase, peak.roles, heap_used))

    writer = Writer(bootstrap, traffic)
    with Monitor(bootstrap, scratch / "checkpoint", scratch / "lagwarden.log", settings) as monitor:
        with MemoryPeak(monitor.process.pid) as peak:
            monitor.wait_until_ready(READY_LIMIT)
        note("start", peak, monitor)
        if (read := int(monitor.number(_READ))) < traffic.records:
            raise RuntimeError(f"{read} of {traffic.records} records were read")
        with MemoryPeak(monitor.process.pid) as peak:
            for number in range(_COMMIT_ROUNDS):
                monitor.write_batch(functools.partial(writer.write, one_commit_each(traffic, traffic.groups, number)))
        note("commits", peak, monitor)
        time.sleep(_IDLE_SECONDS)
        with MemoryPeak(monitor.process.pid) as peak:
            monitor.wait_for_ticks(2)
        note("idle", peak, monitor)
        if code := monitor.stop():
            raise RuntimeError(f"lagwarden ended with {code}:\n{monitor.log_tail()}")
    return found


def memory_table(rows: Sequence[MemoryUse]) -> str:
    """Return the table of memory by role, in MB (10^6 bytes); a dash where a role has no process."""
    heads = ("group partitions", "job.driver_memory", "phase", *(f"{role} MB" for role in ROLES), "all MB", "heap MB")
    cells = [
        (
            f"{row.partitions:,}",
            row.heap,
            row.phase,
            *(_megabytes(row.roles.get(role)) for role in ROLES),
            _megabytes(row.total),
            _megabytes(row.heap_used),
        )
        for row in rows
    ]
    return report.table(heads, cells)


def _megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:,.0f}"


def main() -> int:
    """Write one topic per size, and print the memory of a run for each size and heap."""
    given = _options()
    settings = dict(each.partition("=")[::2] for each in given.set)
    rows: list[MemoryUse] = []
    print(f"{report.machine()}; {given.records:,} records\n", flush=True)
    for partitions in given.group_partitions:
        traffic = Traffic(records=given.records, groups=math.ceil(partitions / PARTITIONS_PER_GROUP))
        with broker_with(traffic) as broker:
            for heap in given.heap:
                with tempfile.TemporaryDirectory(prefix="lagwarden-memory-") as scratch:
                    rows += measure(broker.bootstrap, traffic, heap, settings, Path(scratch))
    print(memory_table(rows))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--group-partitions", type=int, nargs="+", default=[_DEFAULT_SIZE])
    parser.add_argument("--records", type=int, default=_DEFAULT_RECORDS, help="records of each topic")
    parser.add_argument("--heap", nargs="+", default=["512m"], help="values of job.driver_memory")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another option of the run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
