"""Values as HTML elements: names, numbers, times, states and verdicts, and the marks for unknown and for none.

The words themselves are in `exporters.wording`.
"""

from collections.abc import Iterable
from typing import Final

from exporters.page.html_tree import Content, Element, Node, el
from exporters.wording import SEVERITIES, ago, count, duration, duration_or_zero, number, phrase, printable, utc
from exporters.wording import rate as rate_words

UNKNOWN: Final = el("span", "unknown", class_="unknown")
NONE: Final = el("span", "\N{EN DASH}", class_="unknown")
_DAY: Final = 86_400
_STATE_CLASSES: Final = {"Stable": "good", "Empty": "quiet", "Dead": "bad"}


def named(text: str) -> Element:
    """Return a name from the cluster, isolated from the writing direction around it. The empty name is legal."""
    return el("bdi", printable(text) or "(empty name)")


def known(value: int | None) -> Node:
    """Return a number, or the mark for unknown."""
    return UNKNOWN if value is None else number(value)


def offsets(value: int | None) -> Node:
    """Return a count of offsets, or the mark for unknown."""
    return UNKNOWN if value is None else count(value, "offset")


def text(value: str | None) -> Node:
    """Return a word, or the mark for unknown."""
    return UNKNOWN if value is None else printable(value)


def time_lag(seconds: float | None, *, exact: bool | None = True) -> Node:
    """Return the age of the oldest unread record: a lower bound is marked, and 0 means that nothing is unread."""
    if seconds is None:
        return UNKNOWN
    words = duration_or_zero(seconds)
    if exact is not False:
        return words
    return el("span", f"\N{GREATER-THAN OR EQUAL TO}\u202f{words}", title="Lower bound: older than the known history")


def listed(parts: Iterable[Content], between: Content = ", ") -> list[Content]:
    """Return the parts in their order with a separator between them."""
    return [[between if at else None, part] for at, part in enumerate(parts)]


def rate(per_second: float | None) -> Node:
    """Return a rate in offsets per second, or the mark for unknown."""
    return UNKNOWN if per_second is None else rate_words(per_second)


def since(milliseconds: int | None, now: float) -> Node:
    """Return the age of a time (Unix milliseconds), or the mark for unknown."""
    return UNKNOWN if milliseconds is None else _timed(milliseconds / 1000, ago(milliseconds / 1000, now))


def lasting(milliseconds: int, now: float) -> list[Node]:
    """Return for how long something has lasted that began at `milliseconds` (Unix)."""
    begun = milliseconds / 1000
    return ["for ", _timed(begun, duration(max(now - begun, 0.0)))]


def expiry(milliseconds: int | None, now: float) -> Element:
    """Return the time left until an expiry, highlighted within the last day; a dash if none is predicted."""
    if milliseconds is None:
        return NONE
    left = milliseconds / 1000 - now
    shown = _timed(milliseconds / 1000, f"in {duration(left)}" if left > 0 else f"due {duration(-left)} ago")
    return shown if left > _DAY else el("span", shown, class_="warn")


def state(name: str | None, *, described: bool | None) -> list[Node]:
    """Return a group's state in its colour; `described` marks a state that the coordinator returned."""
    if name is None:
        return [UNKNOWN]
    shown: list[Node] = [el("span", printable(name), class_=f"state {state_class(name)}")]
    if described:
        shown += ["\N{NO-BREAK SPACE}", el("abbr", "described", title="From the coordinator: not in the log")]
    return shown


def state_class(state_name: str) -> str:
    """Return the CSS class of a state; all states but Stable, Empty and Dead are transitional."""
    return _STATE_CLASSES.get(state_name, "warn")


def badge(verdict: str | None, severity: str | None) -> Element:
    """Return a verdict in the colour of its severity; a dash before the first evaluation."""
    if verdict is None:
        return NONE
    return el("span", phrase(verdict), class_=f"badge {severity_class(severity)}", title=f"severity: {severity}")


def severity_class(severity: str | None) -> str:
    """Return the CSS class of a severity; a severity that is not one of `SEVERITIES` looks like `unknown`."""
    return severity if severity in SEVERITIES else "unknown"


def _timed(unix_seconds: float, words: str) -> Element:
    return el("span", words, title=f"{utc(unix_seconds)} UTC")
