"""Tables as text: drawn by rich on a terminal, plain aligned columns for everything that reads a pipe."""

# ruff: noqa: PLC0415 -- rich is loaded when it draws
from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Final

from stream.cli.render.stdout import print_lines, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

_NAME: Final = 24
"""Places that a name has at least before other columns are given up for it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; numbers stand at its right edge. A spare one is given up where a terminal is too narrow."""

    head: str
    right: bool = False
    spare: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class TextTable:
    """Columns and the cells under them, row by row."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]


def print_tables(tables: Iterable[TextTable]) -> None:
    """Print tables on stdout, an empty line between them."""
    if sys.stdout.isatty():
        _draw(tables)
    else:
        print_lines(_joined(tables))


def plain_lines(table: TextTable) -> Iterator[str]:
    """Give a table's lines: a head and a line per row, columns two blanks apart, none at the end of a line."""
    lines = [[column.head for column in table.columns], *table.rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, table.columns, strict=True)
        yield "  ".join(
            cell.rjust(width) if column.right else cell.ljust(width) for cell, width, column in cells
        ).rstrip()


def shown(text: str) -> str:
    r"""Write a name that somebody chose as one line: what does not print as in Python (`\n`), an empty one as `''`."""
    return printable(text) or "''"


def _joined(tables: Iterable[TextTable]) -> Iterator[str]:
    for at, table in enumerate(tables):
        if at:
            yield ""
        yield from plain_lines(table)


def _draw(tables: Iterable[TextTable]) -> None:
    from rich.console import Console

    console = Console()
    for at, table in enumerate(tables):
        if at:
            console.print()
        console.print(drawn_table(table))


def narrowed(table: TextTable, width: int) -> TextTable:
    """Leave spare columns out, the last first, until the others stand side by side in so many places; names fold."""
    from rich.cells import cell_len

    def wide(at: int) -> int:
        most = max(cell_len(cells[at]) for cells in [[column.head for column in table.columns], *table.rows])
        return most if table.columns[at].right else min(most, _NAME)

    kept = list(range(len(table.columns)))
    spare = [at for at in kept if table.columns[at].spare]
    while spare and sum(map(wide, kept)) + 2 * (len(kept) - 1) > width:
        kept.remove(spare.pop())
    return TextTable([table.columns[at] for at in kept], [[row[at] for at in kept] for row in table.rows])


@dataclasses.dataclass(frozen=True, slots=True)
class _Drawn:
    """A table that rich draws as wide as there is room."""

    table: TextTable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield _folded(narrowed(self.table, options.max_width))


def drawn_table(table: TextTable) -> RenderableType:
    """Give what rich draws: where the terminal is too narrow, spare columns are left out and the others folded."""
    return _Drawn(table)


def _folded(table: TextTable) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for column in table.columns:
        drawn.add_column(column.head, justify="right" if column.right else "left", overflow="fold")
    for row in table.rows:
        # Names are anybody's: as Text they are shown as they are, and no markup.
        drawn.add_row(*map(Text, row))
    return drawn
