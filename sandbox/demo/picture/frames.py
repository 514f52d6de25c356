"""Frames of a recording: the screens that differ in what a reader looks at, each with the time that it is shown."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import sys
from typing import TYPE_CHECKING, Any, Final

from deploy.chart.tools import installed
from deploy.site.build import REQUIREMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.demo.picture.recording import TerminalRecording

TABLE: Final = "groups, as lagwarden shows them"
DONE: Final = "demo: traffic is paused"
ALERTING: Final = frozenset({"cyan", "brown", "red"})
"""Colours of verdicts that are findings."""
ONE_OUTPUT: Final = 0.3
"""Seconds within which outputs are parts of one."""
LEAST_SECONDS: Final = 4.0
MOST_SECONDS: Final = 30.0
"""Seconds of the run between two tables: at least, and until a table with the same findings is shown again."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextRun:
    """Characters of one style in a line; `color` is a name of the 16 colours of a terminal, or "default"."""

    column: int
    text: str
    color: str = "default"
    bold: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ScreenFrame:
    """What the terminal shows: the runs of each line, the time of the run in seconds, and the seconds it is shown."""

    lines: tuple[tuple[TextRun, ...], ...]
    at: float
    shown: float = 1.0

    @property
    def text(self) -> str:
        """The characters of all lines, without trailing space."""
        return "\n".join(_text(line) for line in self.lines).rstrip()


def _text(line: Sequence[TextRun]) -> str:
    text = ""
    for run in line:
        text = text.ljust(run.column) + run.text
    return text.rstrip()


def screens(recording: TerminalRecording) -> list[ScreenFrame]:
    """Return the screen after each output of a recording. Raises ToolsError if the terminal cannot be installed."""
    tools = str(installed(REQUIREMENTS))
    if tools not in sys.path:
        # Last, so that it hides no package of the environment.
        sys.path.append(tools)
    pyte = importlib.import_module("pyte")
    screen = pyte.Screen(recording.columns, recording.rows)
    stream = pyte.Stream(screen)
    found = []
    for at, text in recording.outputs:
        stream.feed(text)
        found.append(
            ScreenFrame(tuple(_runs(screen.buffer[row], recording.columns) for row in range(screen.lines)), at)
        )
    return found


def _runs(cells: Any, columns: int) -> tuple[TextRun, ...]:
    """Return the runs of a line of the terminal; spaces before, between and after words of one style stay in it."""
    runs: list[TextRun] = []
    for column in range(columns):
        cell = cells[column]
        if runs and (cell.data == " " or (cell.fg, cell.bold) == (runs[-1].color, runs[-1].bold)):
            runs[-1] = dataclasses.replace(runs[-1], text=runs[-1].text + cell.data)
        elif cell.data != " ":
            runs.append(TextRun(column, cell.data, cell.fg, cell.bold))
    return tuple(dataclasses.replace(run, text=run.text.rstrip()) for run in runs)


def chosen(found: Sequence[ScreenFrame]) -> list[ScreenFrame]:
    """Return the screens to show: each step of the start, the table when its findings change, and the end.

    A table is redrawn in several outputs and is shown when its last line is there. Numbers change with every table,
    so one with the same findings is shown once in MOST_SECONDS only.
    """
    frames: list[ScreenFrame] = []
    for screen, following in itertools.zip_longest(found, found[1:]):
        last = frames[-1] if frames else None
        if following and following.at - screen.at < ONE_OUTPUT:
            continue
        table = TABLE in screen.text and DONE not in screen.text
        if table and not screen.text.endswith("┘"):
            continue
        if not table and last and screen.text == last.text:
            continue
        if table and last and TABLE in last.text:
            limit = MOST_SECONDS if findings(screen) == findings(last) else LEAST_SECONDS
            if screen.at - last.at < limit:
                continue
        frames.append(dataclasses.replace(screen, shown=3.0 if DONE in screen.text else 1.6 if table else 0.8))
    return [*frames[:-1], dataclasses.replace(frames[-1], shown=6.0)]


def findings(frame: ScreenFrame) -> list[tuple[str, str]]:
    """Return the group and the verdict of each row whose verdict has the colour of a notice or of an alert."""
    return [(line[0].text.split()[1], run.text) for line in frame.lines for run in line if run.color in ALERTING]
