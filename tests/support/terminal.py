"""Runs a Python program on a pseudo-terminal: its output, its screen, and keys pressed in it."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from rich.cells import cell_len

PATIENCE: Final = 60.0
"""The limit of every wait in seconds, for a busy machine."""

_CONTROL: Final = re.compile(
    r"\x1b\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]"
)


_SYNCHRONIZED_OUTPUT: Final = "?2026"
"""The mode of a terminal that shows a frame only when it is complete."""


class Display:
    """The cells of a terminal: printed characters, cursor positions and erasing; styles and most modes are ignored.

    It supports synchronized output, so a program that uses it never shows half a frame. `reply` sends the answer to the
    query for that mode.
    """

    def __init__(self, size: tuple[int, int], reply: Callable[[str], None]) -> None:
        self._reply = reply
        self._unread = ""
        self._shown: list[str] | None = None
        self.resize(size)

    def resize(self, size: tuple[int, int]) -> None:
        """Start with empty cells; `size` is (lines, columns)."""
        self._cells = [[" "] * size[1] for _ in range(size[0])]
        self._line = self._column = 0
        self._shown = None

    @property
    def lines(self) -> list[str]:
        """The text of each line without trailing blanks, before a frame that is not complete yet."""
        return ["".join(line).rstrip() for line in self._cells] if self._shown is None else self._shown

    def feed(self, text: str) -> None:
        """Apply the output of a program; an incomplete control sequence is kept for the next call."""
        text, self._unread = self._unread + text, ""
        position = 0
        while position < len(text):
            if text[position] != "\x1b":
                self._print(text[position])
                position += 1
            elif control := _CONTROL.match(text, position):
                self._apply_control(control["final"], control["parameters"])
                position = control.end()
            else:
                self._unread = text[position:]
                return

    def _print(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._line = min(self._line + 1, len(self._cells) - 1)
        elif character.isprintable() and self._column < len(self._cells[self._line]):
            width = cell_len(character)
            if width:
                self._cells[self._line][self._column : self._column + width] = [character, *[""] * (width - 1)]
                self._column += width
            elif self._column:
                self._cells[self._line][self._column - 1] += character

    def _apply_control(self, final: str | None, parameters: str | None) -> None:
        if final == "H":
            line, _, column = (parameters or "").partition(";")
            self._line = min(int(line or 1), len(self._cells)) - 1
            self._column = int(column or 1) - 1
        elif final == "J":
            self._cells = [[" "] * len(line) for line in self._cells]
        elif parameters == _SYNCHRONIZED_OUTPUT:
            if final == "p":
                self._reply("\x1b[?2026;2$y")
            else:
                self._shown = None
                self._shown = self.lines if final == "h" else None


class Program:
    """A Python program on its own pseudo-terminal. `output` is all that the program has written."""

    def __init__(
        self,
        script: str,
        *arguments: str,
        size: tuple[int, int] = (24, 100),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._terminal, below = pty.openpty()
        self._display = Display(size, self.press)
        self.resize(size)
        self.mode = termios.tcgetattr(below)
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdin=below,
            stdout=below,
            stderr=below,
            env={**os.environ, "TERM": "xterm", **(environment or {})},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 -- the terminal's own keys need it
        )
        # Kept open, so that the mode can be read after the end of the program.
        self._below = below
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.output = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._below)
        os.close(self._terminal)

    def resize(self, size: tuple[int, int]) -> None:
        """Set the size of the window, in (lines, columns)."""
        self._display.resize(size)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    @property
    def screen(self) -> list[str]:
        """The lines of the screen without styles."""
        return self._display.lines

    def wait_for(self, words: str) -> list[str]:
        """Wait until a line of the screen contains these words; returns the lines."""
        self._until(lambda: any(words in line for line in self.screen), words)
        return self.screen

    def wait_for_end(self) -> int:
        """Wait until the program has ended; returns its exit code."""
        self._until(lambda: self._process.poll() is not None, "the end")
        self._listen(0.05)
        return self._process.returncode

    @property
    def is_as_before(self) -> bool:
        """True when mode, normal screen and cursor of the terminal are restored."""
        left = self.output.rpartition("\x1b[?1049h")[2]
        back = all(mark in left for mark in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?7h"))
        return back and termios.tcgetattr(self._below) == self.mode

    def _until(self, fact: Any, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not fact():
            assert time.monotonic() < deadline, f"timeout while waiting for {what}; the screen: {self.screen}"
            self._listen(0.05)

    def _listen(self, seconds: float) -> None:
        """Read output, waiting at most `seconds` for its beginning."""
        while select.select([self._terminal], [], [], seconds)[0]:
            text = self._decoder.decode(os.read(self._terminal, 65536))
            self.output += text
            self._display.feed(text)
            seconds = 0

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
