"""Recordings of a terminal, in the format of asciinema: a header line, then one line per output with its time."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import pty
import struct
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class TerminalRecording:
    """The output of a program on a terminal of a fixed size: seconds since its start, and text."""

    columns: int
    rows: int
    outputs: tuple[tuple[float, str], ...]

    def write(self, path: Path) -> None:
        """Write the recording as asciicast, version 2."""
        header = {"version": 2, "width": self.columns, "height": self.rows}
        lines = [json.dumps(header), *(json.dumps([at, "o", text]) for at, text in self.outputs)]
        path.write_text("\n".join(lines) + "\n", "utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a recording of asciicast, version 2; only its outputs."""
        header, *events = (json.loads(line) for line in path.read_text("utf-8").splitlines())
        return cls(header["width"], header["height"], tuple((at, text) for at, kind, text in events if kind == "o"))


def record(
    command: Sequence[str], columns: int, rows: int, on_output: Callable[[str], None] = lambda _: None
) -> TerminalRecording:
    """Run a command on a terminal of its own until it ends. The first output is the prompt with the command.

    The path of the home folder is written as `~`. `on_output` gets each output at once. Raises RuntimeError if the
    command fails.
    """
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover -- the process of the command
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LINES=str(rows))
        os.execvp(command[0], list(command))  # noqa: S606 -- the command is the caller's
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    began = time.monotonic()
    outputs = [(0.0, f"$ {' '.join(command)}\r\n")]
    while text := _read(terminal):
        output = text.decode("utf-8", "replace").replace(str(Path.home()), "~")
        outputs.append((round(time.monotonic() - began, 3), output))
        on_output(output)
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise RuntimeError(f"{command[0]} ended with exit code {code}; its last output: {outputs[-1:]}")
    return TerminalRecording(columns, rows, tuple(outputs))


def _read(terminal: int) -> bytes:
    """Return the next output up to the end of a character, and nothing at the end of the program."""
    found = b""
    while True:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # the other side of the terminal is closed
            return found
        found += more
        if not more or _ends_with_a_character(found):
            return found


def _ends_with_a_character(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"
    return True
