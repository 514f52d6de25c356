"""Measurements as Markdown tables, with targets next to the measured values."""

import dataclasses
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.processes import ROLES
from bench.service import Start
from bench.warm import Measured

_COSTS: Final = ("CPU s", *(f"peak MB {role}" for role in ROLES))


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A performance target: the limit, and the measured value."""

    what: str
    limit: float
    found: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """True when the measured value is within the limit."""
        return self.found >= self.limit if self.at_least else self.found <= self.limit


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned Markdown table; all columns but the first are aligned to the right."""
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [
        [
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in (heads, *rows)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def catch_up_table(rows: Sequence[Measured], reader_rate: float) -> str:
    """Return the table of full reads of the topic; the ratio is to the reader alone in one warm process."""
    heads = ("reading the whole topic", "records", "seconds", "records/s", "to reader", *_COSTS)
    cells = [
        (
            row.what,
            f"{row.records:,}",
            f"{row.seconds:.1f}",
            f"{row.rate:,.0f}",
            f"{row.rate / reader_rate:.2f}",
            *_costs(row),
        )
        for row in rows
    ]
    return table(heads, cells)


def steady_table(rows: Sequence[Measured]) -> str:
    """Return the table of triggers under steady traffic."""
    heads = ("steady traffic", "trigger s (median)", "fastest", "slowest", *_COSTS)
    cells = [
        (
            row.what,
            *(f"{each:.2f}" for each in (row.seconds, min(row.batch_seconds), max(row.batch_seconds))),
            *_costs(row),
        )
        for row in rows
    ]
    return table(heads, cells)


def service_table(starts: Mapping[int, Sequence[Start]]) -> str:
    """Return the table of starts of `lagwarden run`, by records in the topic."""
    heads = ("lagwarden run", "records in topic", "seconds", "records read", "SIGTERM to exit s", "answer", *_COSTS)
    cells = [
        (
            start.what,
            f"{records:,}",
            f"{start.seconds:.1f}",
            f"{start.records_read:,}",
            f"{start.stop_seconds:.1f}",
            "true" if not start.differences else "WRONG",
            *_costs(start),
        )
        for records, each in starts.items()
        for start in each
    ]
    return table(heads, cells)


def target_table(targets: Sequence[Target]) -> str:
    """Return the table of targets, with the measured values."""
    heads = ("target", "limit", "measured", "met")
    return table(
        heads,
        [
            (
                each.what,
                f"{'≥' if each.at_least else '≤'} {each.limit:g} {each.unit}".rstrip(),
                f"{each.found:.3g} {each.unit}".rstrip(),
                "yes" if each.met else "no",
            )
            for each in targets
        ],
    )


def machine() -> str:
    """Return a line that describes the machine."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{_processor()}, {cores} cores, {memory:.0f} GiB, Python {platform.python_version()}, load at start {load:.1f}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _costs(row: Measured | Start) -> tuple[str, ...]:
    peaks = (f"{row.peak.get(role, 0) / 2**20:.0f}" for role in ROLES)
    return (f"{sum(row.cpu.values()):.1f}", *peaks)
