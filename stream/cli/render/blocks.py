"""Text for a terminal as values: sentences of styled spans, and tables; drawn by rich, or plain for what reads a pipe.

Owns the colours of severities. What is put in has been made printable already (`tables.shown`): nothing
here is read as markup, and nothing reaches a terminal that moves its cursor.
"""

# ruff: noqa: PLC0415 -- rich is loaded when it draws
from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Final

from stream.cli.render.stdout import print_lines
from stream.cli.render.tables import TextTable, drawn_table, plain_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

COLOURS: Final[Mapping[str, str]] = {
    "critical": "bold red",
    "warning": "yellow",
    "notice": "cyan",
    "unknown": "magenta",
    "fine": "green",
}
"""Of severities. The sixteen colours alone: they are readable on whatever ground somebody has chosen."""


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """A piece of a sentence in a style of rich: empty, `bold`, `dim`, or one of `COLOURS`."""

    text: str
    style: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """Spans one after the other, wrapped where a terminal ends, each line so far from the edge."""

    spans: Sequence[Span]
    indent: int = 0

    @property
    def text(self) -> str:
        """Give the words alone."""
        return " " * self.indent + "".join(span.text for span in self.spans)


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """What belongs together: sentences, or a table with a sentence above it. Blocks stand apart by an empty line."""

    sentences: Sequence[Sentence] = ()
    table: TextTable | None = None


def say(text: str, style: str = "", indent: int = 0) -> Sentence:
    """Make a sentence of one span."""
    return Sentence((Span(text, style),), indent)


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print on stdout."""
    if not sys.stdout.isatty():
        print_lines(plain(blocks))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for renderable in drawn(blocks):
        console.print(renderable)


def plain(blocks: Iterable[Block]) -> Iterator[str]:
    """Give the lines without colours; a sentence is a line, however long."""
    for at, block in enumerate(blocks):
        if at:
            yield ""
        yield from (sentence.text for sentence in block.sentences)
        if block.table is not None:
            yield from plain_lines(block.table)


def drawn(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    """Give what rich draws."""
    from rich.padding import Padding
    from rich.text import Text

    for at, block in enumerate(blocks):
        if at:
            yield Text("")
        for sentence in block.sentences:
            text = Text.assemble(*((span.text, span.style) for span in sentence.spans))
            yield Padding(text, (0, 0, 0, sentence.indent), expand=False)
        if block.table is not None:
            yield drawn_table(block.table)
