"""What is on the screen of `lagwarden top` and what a key changes in it: values and pure functions, no terminal."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from exporters.wording import SEVERITIES
from stream.cli.top.keys import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from stream.cli.group_source import Answer


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """What a person sees and has typed. The chosen group is kept by its name: rows come, go and change places."""

    groups: tuple[Answer, ...] = ()
    """All that is known, the worst first."""
    snapshot_time: float | None = None
    """Of what moment that is, in Unix seconds."""
    trouble: str = ""
    """Why nothing newer comes."""
    filter: str = ""
    typing: bool = False
    """Whether every sign belongs to the filter, also those that are commands otherwise."""
    chosen: str | None = None
    first: int = 0
    """The row at the top of the list."""
    opened: str | None = None
    """The group of which all is shown, instead of the list."""
    detail: Answer | None = None
    scrolled: int = 0
    """The line of the opened group at the top."""
    ended: bool = False

    @property
    def rows(self) -> Sequence[Answer]:
        """Give the groups whose name or verdict has in it what was typed."""
        wanted = self.filter.casefold()
        return [group for group in self.groups if wanted in _searched(group)] if wanted else self.groups

    @property
    def place(self) -> int:
        """Give the row of the chosen group; the first where it is not among the rows."""
        return next((at for at, group in enumerate(self.rows) if group["group"] == self.chosen), 0)


def worst_first(groups: Sequence[Answer]) -> tuple[Answer, ...]:
    """Sort by severity, then by how long records wait, then by lag, then by name; the dead come last."""
    return tuple(sorted(groups, key=_badness))


def _badness(group: Answer) -> tuple[bool, int, float, int, str]:
    severity = SEVERITIES.index(group["severity"]) if group["severity"] in SEVERITIES else 1
    time_lag, lag = group["time_lag_max"], group["lag_sum"]
    waits = -1.0 if time_lag is None else time_lag
    return group["state"] == "Dead", -severity, -waits, -1 if lag is None else -lag, group["group"]


def _searched(group: Answer) -> str:
    verdict = (group["verdict"] or "").replace("_", " ")
    return f"{group['group']}\n{verdict}".casefold()


def press(state: State, key: str, height: int) -> State:
    """Give what a key makes of it; `height` is how many rows of the list, or lines of a group, are seen at once."""
    if state.opened is not None:
        return _in_group(state, key, height)
    if key in _STEPS:
        return _choose(state, _STEPS[key](state.place, height), height)
    if key == Key.ENTER or (key == Key.RIGHT and not state.typing):
        name = state.rows[state.place]["group"] if state.rows else None
        return dataclasses.replace(state, chosen=name, opened=name, detail=None, scrolled=0)
    return settled(_type(state, key), height)


_FAR: Final = 1 << 30
_STEPS: Final[Mapping[str, Callable[[int, int], int]]] = {
    Key.UP: lambda at, _: at - 1,
    Key.DOWN: lambda at, _: at + 1,
    Key.PAGE_UP: lambda at, height: at - height,
    Key.PAGE_DOWN: lambda at, height: at + height,
    Key.HOME: lambda _, __: 0,
    Key.END: lambda _, __: _FAR,
}
"""Where a key leads from a row or a line; beyond the ends is at the end."""


def settled(state: State, height: int) -> State:
    """Have the chosen row on the screen, after rows have come or gone or the window has another size."""
    return _choose(state, state.place, height)


def _choose(state: State, at: int, height: int) -> State:
    rows = state.rows
    if not rows:
        return dataclasses.replace(state, chosen=None, first=0)
    at = min(max(at, 0), len(rows) - 1)
    first = min(max(state.first, at - max(height, 1) + 1), at)
    # Where all fits on the screen nothing is scrolled away.
    first = min(first, max(len(rows) - max(height, 1), 0))
    return dataclasses.replace(state, chosen=rows[at]["group"], first=first)


def _in_group(state: State, key: str, height: int) -> State:
    """Scroll, or go back to the list. How long the text is, only who draws it knows: it holds the line at the end."""
    if key in _STEPS:
        return dataclasses.replace(state, scrolled=max(_STEPS[key](state.scrolled, height), 0))
    if key in {Key.ESCAPE, Key.LEFT, Key.BACKSPACE, Key.ENTER}:
        return dataclasses.replace(state, opened=None, detail=None)
    return dataclasses.replace(state, ended=True) if key == "q" else state


def _type(state: State, key: str) -> State:
    """Filter as one types. While nothing is typed `q` ends, and `/` begins a filter that may begin with a `q`."""
    if key in {Key.ESCAPE, Key.CLEAR}:
        return _filtered(state, "", typing=False)
    if key == Key.BACKSPACE:
        return _filtered(state, state.filter[:-1], typing=len(state.filter) > 1)
    if isinstance(key, Key):
        return state
    if not state.typing and key == "q":
        return dataclasses.replace(state, ended=True)
    if not state.typing and key == "/":
        return dataclasses.replace(state, typing=True)
    return _filtered(state, state.filter + key, typing=True)


def _filtered(state: State, words: str, *, typing: bool) -> State:
    """Begin at the top; what was chosen stays so where it is among the rows."""
    return dataclasses.replace(state, filter=words, typing=typing, first=0)
