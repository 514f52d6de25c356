"""Tables of text: drawn by rich on a terminal, aligned with blanks in a pipe."""

# ruff: noqa: PLC0415 -- rich is loaded when it draws
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from stream.cli.render.stdout import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

_NAME_WIDTH: Final = 24
"""The width in cells that a name keeps before spare columns are dropped for it."""


@dataclasses.dataclass(frozen=True, slots=True)
class TableColumn:
    """The head of a column. `right`: cells are right-aligned.

    `spare` is not 0 if the column is dropped where a terminal is too narrow; the greatest is dropped first.
    """

    head: str
    right: bool = False
    spare: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class TextTable:
    """Columns and the cells under them, row by row. rich draws it as wide as its console allows."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.table import Table
        from rich.text import Text

        fitted = fit_columns(self, options.max_width)
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in fitted.columns:
            table.add_column(column.head, justify="right" if column.right else "left", overflow="fold")
        for row in fitted.rows:
            table.add_row(*map(Text, row))  # a name as Text is not parsed as markup
        yield table


def plain_lines(table: TextTable) -> Iterator[str]:
    """Yield the heads and a line per row for a pipe: columns two blanks apart, no line folded, no trailing blanks.

    rich would fold cells at the width of its console and leave trailing blanks, and takes three seconds of CPU for the
    5,000 rows that take 10 ms here.
    """
    lines = [[column.head for column in table.columns], *table.rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, table.columns, strict=True)
        yield "  ".join(
            cell.rjust(width) if column.right else cell.ljust(width) for cell, width, column in cells
        ).rstrip()


def fit_columns(table: TextTable, width: int) -> TextTable:
    """Return the table without as many spare columns, the least important first, as it takes to fit into `width` cells.

    A name counts with at most 24 cells: it folds if it is longer.
    """
    from rich.cells import cell_len

    def column_width(index: int) -> int:
        widest = max(cell_len(cells[index]) for cells in [[column.head for column in table.columns], *table.rows])
        return widest if table.columns[index].right else min(widest, _NAME_WIDTH)

    kept = list(range(len(table.columns)))
    spare = sorted((index for index in kept if table.columns[index].spare), key=lambda at: table.columns[at].spare)
    while spare and sum(map(column_width, kept)) + 2 * (len(kept) - 1) > width:
        kept.remove(spare.pop())
    return TextTable([table.columns[index] for index in kept], [[row[index] for index in kept] for row in table.rows])


def display_text(text: str) -> str:
    r"""Return a text from outside as one printable line: escaped as in Python (`\n`), `''` if it is empty."""
    return printable(text) or "''"
