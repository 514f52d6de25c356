"""How the pages say things, as safe HTML: names, numbers, times, states, and what is not known."""

from __future__ import annotations

import datetime as dt
import html
import itertools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN: Final = '<span class="unknown">unknown</span>'
NONE: Final = '<span class="unknown">&ndash;</span>'
_DAY: Final = 86_400
_TONES: Final = {"Stable": "good", "Empty": "quiet", "Dead": "bad"}


def safe(text: str) -> str:
    r"""Escape for HTML, and write what does not print (line feeds, direction overrides) as in Python: `\n`."""
    shown = (sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return html.escape("".join(shown))


def named(text: str) -> str:
    """Show a name that somebody chose, apart from the direction of what stands around it. An empty one is legal."""
    return f"<bdi>{safe(text) or '(empty name)'}</bdi>"


def number(value: int) -> str:
    """Group the digits."""
    # A thin space that does not break: neither comma nor point, which mean opposite things in half the world.
    return f"{value:,}".replace(",", "\u202f")


def known(value: int | None) -> str:
    """Show a number, or that it is not known."""
    return UNKNOWN if value is None else number(value)


def text(value: str | None) -> str:
    """Show a word, or that it is not known."""
    return UNKNOWN if value is None else safe(value)


def duration(seconds: float) -> str:
    """Say a length of time in its two greatest units: `3 d 4 h`, `12 s`, `0.4 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    rest, said = int(seconds), list[str]()
    for unit, size in (("d", _DAY), ("h", 3_600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or said:
            said.append(f"{count} {unit}")
    return " ".join(said[:2])


def ago(then: float, now: float) -> str:
    """Say how long something lies back, both in Unix seconds; another clock may be a little ahead."""
    return f"{duration(max(now - then, 0.0))} ago"


def since(milliseconds: int | None, now: float) -> str:
    """Say when something was, or that it is not known."""
    return UNKNOWN if milliseconds is None else _timed(milliseconds / 1000, ago(milliseconds / 1000, now))


def lasting(milliseconds: int, now: float) -> str:
    """Say how long something has been so."""
    begun = milliseconds / 1000
    return f"for {_timed(begun, duration(max(now - begun, 0.0)))}"


def expiry(milliseconds: int | None, now: float) -> str:
    """Say when something will be forgotten; within a day it stands out, and nothing foreseen is a dash."""
    if milliseconds is None:
        return NONE
    left = milliseconds / 1000 - now
    said = f"in {duration(left)}" if left > 0 else f"due {duration(-left)} ago"
    shown = _timed(milliseconds / 1000, said)
    return shown if left > _DAY else f'<span class="warn">{shown}</span>'


def moment(unix_seconds: float) -> str:
    """Write a point in time in UTC, to the second; the bare number where no calendar reaches."""
    try:
        return dt.datetime.fromtimestamp(unix_seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(unix_seconds)


def state(name: str | None, *, asked: bool | None) -> str:
    """Show a group's state with its colour, and where it does not come from the log."""
    if name is None:
        return UNKNOWN
    mark = '&nbsp;<abbr title="Asked from the cluster: the log does not tell">asked</abbr>' if asked else ""
    return f'<span class="state {tone(name)}">{safe(name)}</span>{mark}'


def tone(state_name: str) -> str:
    """Give the colour's class of a state: what is neither at rest nor over is on its way."""
    return _TONES.get(state_name, "warn")


def ranges(partitions: Iterable[int]) -> str:
    """Write partitions shortly, from 0 to 3 and 7 with a dash and a comma."""
    numbered = enumerate(sorted(partitions))
    runs = [[each for _, each in run] for _, run in itertools.groupby(numbered, lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}&ndash;{run[-1]}" for run in runs)


def _timed(unix_seconds: float, said: str) -> str:
    return f'<span title="{moment(unix_seconds)} UTC">{said}</span>'
