"""The output of the demo: a live table on a terminal, plain lines elsewhere, and the comparison at the end."""

import time
from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from sandbox.demo.comparison import PartitionComparison
from sandbox.demo.scrape import GroupLine
from stream.health.verdict import SEVERITY, Severity, Verdict

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
