"""Tables of `bench.many_groups`: starts, batches, ticks, the steps of one tick, memory and targets."""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING, Any, Final

from bench.processes import ROLES
from bench.report import Target, table, target_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.many_groups.monitor import Batch, MonitorStart, Tick
    from bench.traffic import Traffic

_BYTES_PER_PARTITION: Final = 1024.0
_START_SECONDS: Final = 40.0
_TICK_SECONDS: Final = 8.0
_MB: Final = 2**20


@dataclasses.dataclass(frozen=True, slots=True)
class GroupsResults:
    """The measurements of a run. Memory is that of the driver process, in bytes."""

    traffic: Traffic
    starts: list[MonitorStart]
    batches: list[Batch]
    ticks: list[Tick]
    resident: int
    """Between two ticks."""
    peak: int
    """During a tick."""
    checkpoint: int
    series: int
    scrapes: dict[str, tuple[int, float]]
    """By encoding: bytes on the wire and seconds."""
    differences: list[str]
    tiny_resident: int = 0
    """Resident memory, between two ticks, of a driver with a few small groups."""
    steps: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The output of `bench.many_groups.tick`."""

    def per_partition(self, size: float) -> float:
        """Return bytes per partition, without the memory of a driver with few groups."""
        return (size - self.tiny_resident) / self.traffic.keys

    @property
    def targets(self) -> list[Target]:
        """The targets, which are those of 100,000 groups of 20 partitions, with the measured values."""
        return [
            Target("process start to ready", _START_SECONDS, self.starts[0].seconds, "s"),
            Target("tick", _TICK_SECONDS, statistics.median(tick.seconds for tick in self.ticks), "s"),
            Target(
                "driver memory per partition between ticks",
                _BYTES_PER_PARTITION,
                self.per_partition(self.resident),
                "B",
            ),
        ]


def tables(results: GroupsResults) -> list[str]:
    """Return every table of a run."""
    return [
        _starts(results.starts),
        _batches(results.batches),
        _ticks(results.ticks),
        _steps(results.steps),
        _sizes(results),
        target_table(results.targets),
    ]


def _starts(starts: Sequence[MonitorStart]) -> str:
    heads = ("lagwarden run", "seconds", "CPU s", *(f"peak MB {role}" for role in ROLES))
    cells = [
        (
            start.what,
            f"{start.seconds:.1f}",
            f"{sum(start.cpu.values()):.1f}",
            *(f"{start.peak.get(role, 0) / _MB:,.0f}" for role in ROLES),
        )
        for start in starts
    ]
    return table(heads, cells)


def _batches(batches: Sequence[Batch]) -> str:
    heads = (
        "steady batches",
        "commits",
        "batch s (median)",
        "fastest",
        "slowest",
        *(f"CPU s {role}" for role in ROLES),
    )
    seconds = [batch.seconds for batch in batches]
    medians = (statistics.median(batch.cpu.get(role, 0.0) for batch in batches) for role in ROLES)
    numbers = (statistics.median(seconds), min(seconds), max(seconds))
    row = (f"{len(batches)} batches", f"{batches[0].records:,}", *(f"{each:.2f}" for each in numbers))
    return table(heads, [(*row, *(f"{each:.1f}" for each in medians))])


def _ticks(ticks: Sequence[Tick]) -> str:
    heads = ("ticks", "ends read to seen s (median)", "fastest", "slowest", "between ticks s", "driver CPU s")
    seconds = [tick.seconds for tick in ticks]
    row = (
        f"{len(ticks)} ticks",
        *(f"{each:.2f}" for each in (statistics.median(seconds), min(seconds), max(seconds))),
        f"{statistics.median(tick.since_last for tick in ticks):.1f}",
        f"{statistics.median(tick.cpu for tick in ticks):.1f}",
    )
    return table(heads, [row])


def _steps(found: dict[str, Any]) -> str:
    heads = ("in one process", "CPU s", "seconds", "CPU s at first")
    by_name: dict[str, list[dict[str, Any]]] = {}
    for step in found["steps"]:
        by_name.setdefault(step["what"], []).append(step)
    cells = [
        (
            what,
            f"{statistics.median(step['cpu'] for step in steps[1:] or steps):.2f}",
            f"{statistics.median(step['seconds'] for step in steps[1:] or steps):.2f}",
            f"{steps[0]['cpu']:.2f}",
        )
        for what, steps in by_name.items()
    ]
    return table(heads, cells)


def _sizes(results: GroupsResults) -> str:
    resident = results.steps["resident"]
    rows = [
        ("state, packed", results.steps["state_bytes"]),
        ("checkpoint on disk", results.checkpoint),
        *((f"/metrics, {encoding}", size) for encoding, (size, _) in results.scrapes.items()),
        ("driver, one process: state alone", resident["state"]),
        ("driver, one process: with the published snapshot", resident["published"]),
        ("driver of lagwarden run between ticks, minus one with few groups", results.resident - results.tiny_resident),
        ("the same, peak during a tick", results.peak - results.tiny_resident),
    ]
    keys = results.traffic.keys
    cells = [(what, f"{size / _MB:,.1f}", f"{size / keys:,.0f}") for what, size in rows]
    read = ", ".join(f"{encoding} in {seconds:.1f} s" for encoding, (_, seconds) in results.scrapes.items())
    return table(("sizes", "MB", "bytes per partition"), cells) + f"\n\n{results.series:,} series; a scrape: {read}."
