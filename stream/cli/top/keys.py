"""What a terminal sends, as keys: signs as they are, and names for what is no sign. Pure: bytes in, keys out.

Sources: ECMA-48 and xterm's control sequences, in both modes of the cursor keys.
"""

from __future__ import annotations

import codecs
import enum
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


class Key(enum.StrEnum):
    """A key that is no sign."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    HOME = "home"
    END = "end"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"
    CLEAR = "clear"
    """Control-U: all that was typed goes."""
    REDRAW = "redraw"
    """Control-L."""


_CONTROLS: Final = {
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x7f": Key.BACKSPACE,
    "\x08": Key.BACKSPACE,
    "\x15": Key.CLEAR,
    "\x0c": Key.REDRAW,
}
_SEQUENCES: Final = {
    "A": Key.UP,
    "B": Key.DOWN,
    "C": Key.RIGHT,
    "D": Key.LEFT,
    "H": Key.HOME,
    "F": Key.END,
    "1~": Key.HOME,
    "4~": Key.END,
    "5~": Key.PAGE_UP,
    "6~": Key.PAGE_DOWN,
    "7~": Key.HOME,
    "8~": Key.END,
}
_ESCAPE: Final = "\x1b"
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~]|[^\[O\x1b])", re.DOTALL)
_UNFINISHED: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")


class Keys:
    """Reads keys from bytes, however they are cut; half a sequence or half a sign waits for its rest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._rest = ""

    @property
    def waiting(self) -> bool:
        """Tell whether there is a beginning that may be the escape key or a longer sequence: only time tells."""
        return bool(self._rest)

    def feed(self, came: bytes) -> list[str]:
        """Give the keys that are complete now: a `Key`, or a sign that prints. What is neither is no key."""
        text, self._rest = self._rest + self._decoder.decode(came), ""
        return list(self._keys(text))

    def rest(self) -> list[str]:
        """Give what waits as it is: nothing more has come, so an escape was the key of that name."""
        rest, self._rest = self._rest, ""
        return [Key.ESCAPE] if rest == _ESCAPE else []

    def _keys(self, text: str) -> Iterator[str]:
        at = 0
        while at < len(text):
            if text[at] != _ESCAPE:
                yield from _sign(text[at])
                at += 1
            elif _UNFINISHED.match(text, at):
                self._rest = text[at:]
                return
            elif found := _SEQUENCE.match(text, at):
                if named := _SEQUENCES.get(found[0][2:]):
                    yield named
                at = found.end()
            else:
                yield Key.ESCAPE
                at += 1


def _sign(sign: str) -> Iterator[str]:
    if sign in _CONTROLS:
        yield _CONTROLS[sign]
    elif sign.isprintable():
        yield sign
