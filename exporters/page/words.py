"""How the pages say things: names, numbers, times, states, verdicts, and what is not known."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Final

from exporters.page.nodes import Content, Element, Node, el

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN: Final = el("span", "unknown", class_="unknown")
NONE: Final = el("span", "\N{EN DASH}", class_="unknown")
SEVERITIES: Final = ("fine", "unknown", "notice", "warning", "critical")
"""How bad a verdict is, the least first; from `warning` on somebody must act."""
_DAY: Final = 86_400
_TONES: Final = {"Stable": "good", "Empty": "quiet", "Dead": "bad"}


def printable(text: str) -> str:
    r"""Write what does not print (line feeds, direction overrides) as in Python: `\n`."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def named(text: str) -> Element:
    """Show a name that somebody chose, apart from the direction of what stands around it. An empty one is legal."""
    return el("bdi", printable(text) or "(empty name)")


def number(value: int) -> str:
    """Group the digits."""
    # A thin space that does not break: neither comma nor point, which mean opposite things in half the world.
    return f"{value:,}".replace(",", "\u202f")


def known(value: int | None) -> Node:
    """Show a number, or that it is not known."""
    return UNKNOWN if value is None else number(value)


def offsets(value: int | None) -> Node:
    """Show how many offsets, or that it is not known."""
    return UNKNOWN if value is None else count(value, "offset")


def text(value: str | None) -> Node:
    """Show a word, or that it is not known."""
    return UNKNOWN if value is None else printable(value)


def count(value: int, noun: str) -> str:
    """Say how many, with the noun in the right number."""
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def duration(seconds: float) -> str:
    """Say a length of time in its two greatest units: `3 d 4 h`, `12 s`, `0.4 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    rest, said = int(seconds), list[str]()
    for unit, size in (("d", _DAY), ("h", 3_600), ("min", 60), ("s", 1)):
        count_, rest = divmod(rest, size)
        if count_ or said:
            said.append(f"{count_} {unit}")
    return " ".join(said[:2])


def time_lag(seconds: float | None, *, exact: bool | None = True) -> Node:
    """Say how old the oldest unread record is; what is only a lower bound is marked, and nothing unread is 0."""
    if seconds is None:
        return UNKNOWN
    said = duration(seconds) if seconds else "0"
    if exact is not False:
        return said
    return el("span", f"\N{GREATER-THAN OR EQUAL TO}\u202f{said}", title="At least so old: older than what is known")


def listed(parts: Iterable[Content], between: Content = ", ") -> list[Content]:
    """Write parts one after the other with something between them."""
    return [[between if at else None, part] for at, part in enumerate(parts)]


def rate(per_second: float | None) -> Node:
    """Say how fast, in offsets per second."""
    if per_second is None:
        return UNKNOWN
    return f"{number(round(per_second))}/s" if per_second >= 10 else f"{per_second:.2g}/s"


def ago(then: float, now: float) -> str:
    """Say how long something lies back, both in Unix seconds; another clock may be a little ahead."""
    return f"{duration(max(now - then, 0.0))} ago"


def since(milliseconds: int | None, now: float) -> Node:
    """Say when something was, or that it is not known."""
    return UNKNOWN if milliseconds is None else _timed(milliseconds / 1000, ago(milliseconds / 1000, now))


def lasting(milliseconds: int, now: float) -> list[Node]:
    """Say how long something has been so."""
    begun = milliseconds / 1000
    return ["for ", _timed(begun, duration(max(now - begun, 0.0)))]


def expiry(milliseconds: int | None, now: float) -> Element:
    """Say when something will be forgotten; within a day it stands out, and nothing foreseen is a dash."""
    if milliseconds is None:
        return NONE
    left = milliseconds / 1000 - now
    shown = _timed(milliseconds / 1000, f"in {duration(left)}" if left > 0 else f"due {duration(-left)} ago")
    return shown if left > _DAY else el("span", shown, class_="warn")


def moment(unix_seconds: float) -> str:
    """Write a point in time in UTC, to the second; the bare number where no calendar reaches."""
    try:
        return dt.datetime.fromtimestamp(unix_seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(unix_seconds)


def state(name: str | None, *, asked: bool | None) -> list[Node]:
    """Show a group's state with its colour, and where it does not come from the log."""
    if name is None:
        return [UNKNOWN]
    shown: list[Node] = [el("span", printable(name), class_=f"state {tone(name)}")]
    if asked:
        shown += ["\N{NO-BREAK SPACE}", el("abbr", "asked", title="Asked from the cluster: the log does not tell")]
    return shown


def tone(state_name: str) -> str:
    """Give the colour's class of a state: what is neither at rest nor over is on its way."""
    return _TONES.get(state_name, "warn")


def phrase(word: str) -> str:
    """Say a verdict or a reason as people write it: `falling_behind` is two words."""
    return printable(word).replace("_", " ")


def badge(verdict: str | None, severity: str | None) -> Element:
    """Show a verdict in the colour of its severity; before there is a judgement there is a dash."""
    if verdict is None:
        return NONE
    return el("span", phrase(verdict), class_=f"badge {severity_class(severity)}", title=f"severity: {severity}")


def severity_class(severity: str | None) -> str:
    """Give the class of a severity; a word that is not known here looks like what is unknown."""
    return severity if severity in SEVERITIES else "unknown"


def ranges(partitions: Iterable[int]) -> str:
    """Write partitions shortly, from 0 to 3 and 7 with a dash and a comma."""
    numbered = enumerate(sorted(partitions))
    runs = [[each for _, each in run] for _, run in itertools.groupby(numbered, lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}\N{EN DASH}{run[-1]}" for run in runs)


def _timed(unix_seconds: float, said: str) -> Element:
    return el("span", said, title=f"{moment(unix_seconds)} UTC")
