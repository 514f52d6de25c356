"""An animated SVG of frames: style sheets only, no script, readable on a light and on a dark page."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from sandbox.demo.picture.frames import ALERTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.demo.picture.frames import ScreenFrame, TextRun

WIDTH: Final = 8.0
"""Width of a character; the height of a line is HEIGHT."""
HEIGHT: Final = 17.0
MARGIN: Final = 14.0
_FONT: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
_LIGHT: Final = {
    "page": "#f6f8fa", "edge": "#d0d7de", "default": "#1f2328", "quiet": "#59636e",
    "red": "#b3261e", "green": "#116329", "brown": "#7d4e00", "cyan": "#0b5f76",
}  # fmt: skip
_DARK: Final = {
    "page": "#0d1117", "edge": "#3d444d", "default": "#e6edf3", "quiet": "#9198a1",
    "red": "#ff8b81", "green": "#56d364", "brown": "#e3b341", "cyan": "#76e3ea",
}  # fmt: skip


def drawing(frames: Sequence[ScreenFrame], columns: int, description: str) -> str:
    """Return an SVG that shows the frames one after the other, without end.

    A viewer that does not animate, or whose user wants no motion, shows the first one with the most findings.
    """
    rows = max(frame.text.count("\n") + 1 for frame in frames)
    width, height = columns * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN
    ends = list(itertools.accumulate(frame.shown for frame in frames))
    poster = max(range(len(frames)), key=lambda number: _findings(frames[number]))
    body = "\n".join(
        f'<g id="f{number}">{"".join(_line(row, line) for row, line in enumerate(frame.lines) if line)}</g>'
        for number, frame in enumerate(frames)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img">\n<title>{escape(description)}</title>\n'
        f"<style>{_style(ends, poster)}</style>\n"
        f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="8" class="page"/>\n{body}\n</svg>\n'
    )


def _findings(frame: ScreenFrame) -> int:
    """Return how many runs of a frame have the colour of a finding."""
    return sum(run.color in ALERTING for line in frame.lines for run in line)


def _style(ends: Sequence[float], poster: int) -> str:
    """Return the style sheet: colours of both themes, and when each frame is visible."""
    total = ends[-1]
    rules = [
        f"text{{font:13px {_FONT};white-space:pre;fill:var(--default)}}",
        ".page{fill:var(--page);stroke:var(--edge)}.b{font-weight:700}",
        *(f".{name}{{fill:var(--{name})}}" for name in _LIGHT if name not in {"page", "edge", "default"}),
        f":root{{{_variables(_LIGHT)}}}@media(prefers-color-scheme:dark){{:root{{{_variables(_DARK)}}}}}",
        f"g{{visibility:hidden}}#f{poster}{{visibility:visible}}",
    ]
    animated = []
    for number, (begin, end) in enumerate(itertools.pairwise([0.0, *ends])):
        first, last = (f"{100 * at / total:.3f}%" for at in (begin, end))
        steps = {"0%": "hidden", first: "visible"} if begin else {"0%": "visible"}
        steps[last] = "hidden" if end < total else "visible"
        frames = "".join(f"{at}{{visibility:{value}}}" for at, value in steps.items())
        animated.append(
            f"@keyframes k{number}{{{frames}}}#f{number}{{animation:k{number} {total:g}s step-end infinite}}"
        )
    motion = f"@media(prefers-reduced-motion:no-preference){{{''.join(animated)}}}"
    return "\n".join([*rules, motion])


def _variables(colors: dict[str, str]) -> str:
    return ";".join(f"--{name}:{value}" for name, value in colors.items())


def _line(row: int, line: Sequence[TextRun]) -> str:
    """Return the text elements of a line, each as wide as its characters on the terminal, whatever the font."""
    y = MARGIN + (row + 0.75) * HEIGHT
    return "".join(
        f'<text x="{MARGIN + run.column * WIDTH:g}" y="{y:g}" textLength="{len(run.text) * WIDTH:g}"'
        f' lengthAdjust="spacingAndGlyphs"{_class(run)}>{escape(run.text)}</text>'
        for run in line
        if run.text
    )


def _class(run: TextRun) -> str:
    names = [run.color if run.color in _LIGHT else "default", *(["b"] if run.bold else [])]
    names = [name for name in names if name != "default"]
    return f' class="{" ".join(names)}"' if names else ""
