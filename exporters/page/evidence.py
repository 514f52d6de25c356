"""The numbers behind a verdict, with the words and units in which people read them. Only the standard library here."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from exporters.page.words import ago, duration, number, phrase, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Value = str | float | int | bool | None


_LABELS: Final = {
    "commit_time": "last commit",
    "progress_time": "last progress",
    "rewind_time": "went back",
    "rewind_from": "from offset",
    "rewind_to": "to offset",
    "offset_expiry_time": "offset expires",
    "group_since": "state since",
    "stable_since": "stable end since",
    "catch_up_seconds": "caught up in",
    "loss_in_seconds": "loss in",
    "lost": "offsets lost",
    "margin": "offsets of margin",
}
"""Where a name's own words would not be understood."""


def evidence_words(
    evidence: Mapping[str, Value], now: float, numbered: Callable[[int], str] = number
) -> Iterator[tuple[str, str, str]]:
    """Give each number as (label, words, what stands behind the words), in their order. Not known is said so.

    Names tell the unit, as `exporters.readmodel.Finding` has it: `..._time` and `..._since` are moments (RFC 3339),
    `time_lag` and `..._seconds` seconds, `..._rate` offsets per second. `numbered` writes whole numbers.
    """
    for name, value in evidence.items():
        label = _LABELS.get(name) or phrase(name.removesuffix("_seconds"))
        yield label, *_said(name, value, now, numbered)


def _said(name: str, value: Value, now: float, numbered: Callable[[int], str]) -> tuple[str, str]:
    if value is None:
        return "unknown", ""
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    if isinstance(value, str):
        then = _moment(value) if name.endswith(("_time", "_since")) else None
        return (printable(value), "") if then is None else (_when(then, now), printable(value))
    if name == "time_lag" or name.endswith("_seconds"):
        return (duration(value) if value else "0"), f"{value} s"
    if name.endswith("_rate"):
        return (f"{numbered(round(value))}/s" if value >= 10 else f"{value:.2g}/s"), f"{value} per second"
    return (numbered(value) if isinstance(value, int) else f"{value:.4g}"), ""


def _when(then: float, now: float) -> str:
    return ago(then, now) if then <= now else f"in {duration(then - now)}"


def _moment(text: str) -> float | None:
    try:
        return dt.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
