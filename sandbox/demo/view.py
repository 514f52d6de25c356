"""The output of the demo: a live table on a terminal, plain lines elsewhere, and the comparison at the end.

Compares what lagwarden shows with a second opinion.

Offsets and lags are compared with those of Kafka's own tool, partition by partition, and verdicts with those that the
table of the demo's groups expects.
"""

import dataclasses
import time
from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from sandbox.demo.groups import DemoGroup
from sandbox.demo.scrape import GroupLine, PartitionKey, Scrape, scrape
from sandbox.kafka import tools
from sandbox.kafka.tools import GroupOffset
from stream.health.verdict import SEVERITY, Severity, Verdict

LIMIT: Final = 60.0
"""Seconds in which lagwarden must have read all commits from before a pause."""


VERDICT_LIMIT: Final = 60.0
"""Seconds in which every group must have its verdict, once all of them can be known."""


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictComparison:
    """The verdict of one group as expected and as shown; None where none is shown."""

    group: str
    expected: tuple[str, ...]
    shown: str | None

    @property
    def agrees(self) -> bool:
        """True when one of the expected verdicts is shown."""
        return self.shown in self.expected


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionComparison:
    """One partition of one group as both show it; None where one of them shows nothing."""

    group: str
    topic: str
    partition: int
    official_offset: int | None
    official_lag: int | None
    shown_offset: int | None
    shown_lag: int | None

    @property
    def agrees(self) -> bool:
        """True when both show the same values, or both none."""
        return (self.official_offset, self.official_lag) == (self.shown_offset, self.shown_lag)


def compare(official: Sequence[GroupOffset], shown: Scrape) -> list[PartitionComparison]:
    """Return every partition that either of them shows, in name order."""
    offsets = shown.by_partition("lagwarden_partition_committed_offset")
    lags = shown.by_partition("lagwarden_partition_lag")
    listed: dict[PartitionKey, GroupOffset] = {
        (row.group, row.topic, row.partition): row
        for row in official
        # The tool also lists owned partitions without a commit.
        if row.topic is not None and row.partition is not None and row.current_offset is not None
    }
    return [
        PartitionComparison(
            *key,
            official_offset=listed[key].current_offset if key in listed else None,
            official_lag=listed[key].lag if key in listed else None,
            shown_offset=offsets.get(key),
            shown_lag=lags.get(key),
        )
        for key in sorted(listed.keys() | offsets.keys() | lags.keys())
    ]


def compare_until_agreed(bootstrap: str, address: str, limit: float = LIMIT) -> list[PartitionComparison]:
    """Compare lagwarden, which may be some seconds behind, with a cluster without traffic; returns the last comparison.

    The official tool runs only once: call this while traffic is paused.
    """
    official = tools.describe_groups(bootstrap)
    deadline = time.monotonic() + limit
    while True:
        rows = compare(official, scrape(address))
        if all(row.agrees for row in rows) or time.monotonic() > deadline:
            return rows
        time.sleep(0.5)


def compare_verdicts(rows: Sequence[DemoGroup], shown: Scrape) -> list[VerdictComparison]:
    """Return every group of the table with the verdict that lagwarden shows."""
    verdicts = {line.group: line.verdict for line in shown.group_lines()}
    return [VerdictComparison(row.name, row.verdicts, verdicts.get(row.name)) for row in rows]


def compare_verdicts_until_agreed(
    rows: Sequence[DemoGroup], address: str, limit: float = VERDICT_LIMIT
) -> list[VerdictComparison]:
    """Compare verdicts while traffic flows, until all agree or the limit has passed; returns the last comparison."""
    deadline = time.monotonic() + limit
    while True:
        found = compare_verdicts(rows, scrape(address))
        if all(each.agrees for each in found) or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


HEADER = ("group", "kind", "state", "members", "lag", "time lag", "last commit", "verdict")
COMPARISON_HEADER = ("group", "topic", "partition", "offset: kafka", "lagwarden", "lag: kafka", "lagwarden", "")

STYLES: Final = {
    Severity.FINE: "green",
    Severity.UNKNOWN: "",
    Severity.NOTICE: "cyan",
    Severity.WARNING: "bold yellow",
    Severity.CRITICAL: "bold red",
}
"""The style of a verdict on a terminal."""


def groups_table(lines: Sequence[GroupLine]) -> Table:
    """Return the groups as a table for a terminal."""
    table = Table(title="groups, as lagwarden shows them", title_justify="left")
    for number, name in enumerate(HEADER):
        table.add_column(name, justify="right" if 2 < number < len(HEADER) - 1 else "left")
    for line in lines:
        *cells, verdict = _cells(line)
        style = STYLES[SEVERITY[Verdict(line.verdict)]] if line.verdict else ""
        table.add_row(*cells, Text(verdict, style=style))
    return table


def groups_lines(lines: Sequence[GroupLine]) -> str:
    """Return the groups as plain lines."""
    return _aligned([HEADER, *(_cells(line) for line in lines)])


def comparison_lines(rows: Sequence[PartitionComparison]) -> str:
    """Return a comparison as plain lines, one per partition, with differences marked."""
    cells = [
        (
            row.group,
            row.topic,
            str(row.partition),
            _number(row.official_offset),
            _number(row.shown_offset),
            _number(row.official_lag),
            _number(row.shown_lag),
            "" if row.agrees else "<- differs",
        )
        for row in rows
    ]
    return _aligned([COMPARISON_HEADER, *cells])


def _cells(line: GroupLine) -> tuple[str, ...]:
    age = "-" if line.last_commit_at is None else f"{max(0.0, time.time() - line.last_commit_at):.0f} s ago"
    waiting = "-" if line.time_lag is None else f"{line.time_lag:.0f} s"
    verdict = "-" if line.verdict is None else line.verdict.replace("_", " ")
    return (line.group, line.kind, line.state or "-", _number(line.members), _number(line.lag), waiting, age, verdict)


def _number(value: int | None) -> str:
    """Return the number as text; an unknown one is a dash, never zero."""
    return "-" if value is None else str(value)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
