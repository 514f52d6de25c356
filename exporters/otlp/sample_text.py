"""Reads the sample lines that `exporters.text` has rendered, one line at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LABEL: Final = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)")
_CHARACTERS: Final = {"n": "\n", '"': '"', "\\": "\\"}


def parse_samples(text: Iterable[bytes]) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the labels and the value of each sample line; the text may be cut anywhere.

    An empty label is missing, as in Prometheus. Comment lines are not allowed.
    """
    for line in _lines(text):
        head, _, value = line.rpartition(" ")
        _, opened, labels = head.partition("{")
        yield dict(_labels(labels)) if opened else {}, float(value)


def _labels(text: str) -> Iterator[tuple[str, str]]:
    is_escaped = "\\" in text
    for name, value in _LABEL.findall(text):
        if value:
            yield name, _ESCAPED.sub(_unescaped, value) if is_escaped else value


def _unescaped(match: re.Match[str]) -> str:
    return _CHARACTERS[match[1]]


def _lines(text: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines without line feeds. Only a line feed ends a line: other line breaks can be part of a name."""
    rest = b""
    for piece in text:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode()
    if rest:
        yield rest.decode()
