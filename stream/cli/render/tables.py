"""Tables of text: drawn by rich on a terminal, aligned with blanks in a pipe.

Text for a terminal as values: sentences of styled spans, and tables. Drawn by rich, or plain in a pipe.

Defines the colours of severities. Texts have to be printable already (`tables.display_text`): nothing here is parsed as
markup, and no text moves the cursor of a terminal.
"""

# ruff: noqa: PLC0415 -- rich is loaded when it draws
from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from exporters.wording import printable
from stream.cli.render.stdout import print_lines

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


COLOURS: Final[Mapping[str, str]] = {
    "critical": "bold red",
    "warning": "yellow",
    "notice": "cyan",
    "unknown": "magenta",
    "fine": "green",
}
"""Of severities. Only the sixteen colours of the terminal: they are readable on any background that a person chose."""

StyledText = tuple[str, str]
"""A text and a style of rich: empty, `bold`, `dim`, or one of `COLOURS`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """Spans one after the other, wrapped at the edge of a terminal. Each line is indented by so many cells."""

    spans: Sequence[StyledText]
    indent: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class TextBlock:
    """Sentences, a table, or a table under sentences. Blocks are separated by an empty line."""

    sentences: Sequence[Sentence] = ()
    table: TextTable | None = None


def plain_sentence(text: str, style: str = "", indent: int = 0) -> Sentence:
    """Return a sentence of one span."""
    return Sentence([(text, style)], indent)


def print_blocks(blocks: Iterable[TextBlock]) -> None:
    """Print on stdout: as wide as a terminal and with its colours, or plain in a pipe."""
    if not sys.stdout.isatty():
        print_lines(plain_block_lines(blocks))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for renderable in draw_blocks(blocks):
        console.print(renderable)


def print_tables(tables: Iterable[TextTable]) -> None:
    """Print on stdout, with an empty line between tables."""
    print_blocks(TextBlock(table=table) for table in tables)


def plain_block_lines(blocks: Iterable[TextBlock]) -> Iterator[str]:
    """Yield the lines without styles; a sentence is one line, however long."""
    for number, block in enumerate(blocks):
        if number:
            yield ""
        for sentence in block.sentences:
            yield " " * sentence.indent + "".join(text for text, _ in sentence.spans)
        if block.table is not None:
            yield from plain_lines(block.table)


def draw_blocks(blocks: Iterable[TextBlock]) -> Iterator[RenderableType]:
    """Yield what rich draws."""
    from rich.padding import Padding
    from rich.text import Text

    for number, block in enumerate(blocks):
        if number:
            yield Text("")
        for sentence in block.sentences:
            yield Padding(Text.assemble(*sentence.spans), (0, 0, 0, sentence.indent), expand=False)
        if block.table is not None:
            yield block.table
