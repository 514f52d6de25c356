"""Text for a terminal as values: sentences of styled spans, and tables. Drawn by rich, or plain in a pipe.

Defines the colours of severities. Texts have to be printable already (`tables.display_text`): nothing here is parsed as
markup, and no text moves the cursor of a terminal.
"""

# ruff: noqa: PLC0415 -- rich is loaded when it draws
from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from stream.cli.render.stdout import print_lines
from stream.cli.render.tables import TextTable, plain_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

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
