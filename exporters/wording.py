"""Plain text for people: severities, counts, durations, ages, names and the evidence of a verdict.

The status page, the terminal commands and the exposition share these words. Standard library only, no markup.
"""

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

EvidenceValue = str | float | int | bool | None

DEAD: Final = "Dead"
"""The state of a group that no longer exists."""
FINE: Final = "fine"
"""The severity of a verdict that needs no attention and no sentence."""
SEVERITIES: Final = (FINE, "unknown", "notice", "warning", "critical")
"""The severities of a verdict in ascending order; from `warning` on, the group needs attention."""
ATTENTION: Final = ("warning", "critical")
"""The severities of groups that need attention."""

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_SIZE_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_EVIDENCE_LABELS: Final = {
    "commit_time": "last commit",
    "progress_time": "last progress",
    "rewind_time": "went back",
    "rewind_from": "from offset",
    "rewind_to": "to offset",
    "jump_time": "went forward",
    "jump_from": "from offset",
    "jump_to": "to offset",
    "offset_expiry_time": "offset expires",
    "group_since": "state since",
    "stable_since": "last stable offset since",
    "catch_up_seconds": "caught up in",
    "loss_in_seconds": "loss in",
    "lost": "offsets lost",
    "margin": "offsets of margin",
}
"""Labels of evidence whose name alone is not clear."""
_VERDICT_LISTS: Final = ("also",)
"""Evidence that is verdicts, separated by commas."""


def printable(text: str) -> str:
    r"""Return a text with its unprintable characters (line feeds, direction overrides) escaped as in Python: `\n`."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def phrase(word: str) -> str:
    """Return a verdict or a reason as separate words: `falling_behind` becomes `falling behind`."""
    return printable(word).replace("_", " ")


def number(value: int) -> str:
    """Return a number with its digits in groups of three, separated by commas as in the sentences of verdicts."""
    return f"{value:,}"


def count(value: int, noun: str) -> str:
    """Return a count with its noun, in the plural where needed."""
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units, the second only if it is not 0: `3 d 4 h`, `7 d`, `12 s`, `0.4 s`."""
    if seconds < 1:
        return f"{seconds:.1f} s" if seconds >= 0.05 else "0 s"
    rest, parts = int(seconds), list[tuple[int, str]]()
    for unit, size in _UNITS:
        amount, rest = divmod(rest, size)
        if amount or parts:
            parts.append((amount, unit))
    return " ".join(f"{amount} {unit}" for amount, unit in parts[:2] if amount)


def duration_or_zero(seconds: float) -> str:
    """Return a duration, and exactly `0` for none."""
    return duration(seconds) if seconds else "0"


def rate(per_second: float) -> str:
    """Return a rate per second: whole from 10 on, two digits below."""
    return f"{number(round(per_second))}/s" if per_second >= 10 else f"{per_second:.2g}/s"


def size(byte_count: int) -> str:
    """Return a number of bytes with three digits in the largest binary unit: `1 GiB`, `1,000 KiB`, `1 MiB`."""
    unit = 0
    while byte_count >= 1024 ** (unit + 1) and unit < len(_SIZE_UNITS) - 1:
        unit += 1
    scaled = byte_count / 1024**unit
    return f"{scaled:,.0f} {_SIZE_UNITS[unit]}" if scaled >= 100 else f"{scaled:.3g} {_SIZE_UNITS[unit]}"


def ago(then: float, now: float) -> str:
    """Return the age of a time, both in Unix seconds. A time in the future (clock skew) counts as now."""
    return f"{duration(max(now - then, 0.0))} ago"


def utc(unix_seconds: float) -> str:
    """Return a time in UTC to the second, or the bare number if it is outside the range of dates."""
    try:
        return dt.datetime.fromtimestamp(unix_seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(unix_seconds)


def ranges(partitions: Iterable[int]) -> str:
    """Return partition numbers as ranges: 0, 1, 2, 3 and 7 become `0-3, 7` (with an en dash)."""
    numbered = enumerate(sorted(partitions))
    runs = [[each for _, each in run] for _, run in itertools.groupby(numbered, lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}\N{EN DASH}{run[-1]}" for run in runs)


def evidence_words(evidence: Mapping[str, EvidenceValue], now: float) -> Iterator[tuple[str, str, str]]:
    """Return each number of the evidence as (label, words, exact value), in the order of `evidence`.

    The names carry the units, as in `exporters.readmodel.FindingDetail`: `..._time` and `..._since` are RFC 3339 times,
    `time_lag` and `..._seconds` are seconds, `..._rate` is offsets per second. None becomes `unknown`. The exact value
    is empty where the words say all.
    """
    for name, value in evidence.items():
        label = _EVIDENCE_LABELS.get(name) or phrase(name.removesuffix("_seconds"))
        yield label, *_evidence_value(name, value, now)


def _evidence_value(name: str, value: EvidenceValue, now: float) -> tuple[str, str]:
    if value is None:
        return "unknown", ""
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    if isinstance(value, str):
        return _text_of_evidence(name, value, now)
    if name == "time_lag" or name.endswith("_seconds"):
        return duration_or_zero(value), f"{value} s"
    if name.endswith("_rate"):
        return rate(value), f"{value} per second"
    return (number(value) if isinstance(value, int) else f"{value:.4g}"), ""


def _text_of_evidence(name: str, value: str, now: float) -> tuple[str, str]:
    if name in _VERDICT_LISTS:
        return phrase(value), ""
    then = unix_time(value) if name.endswith(("_time", "_since")) else None
    if then is None:
        return printable(value), ""
    return (ago(then, now) if then <= now else f"in {duration(then - now)}"), printable(value)


def unix_time(text: EvidenceValue) -> float | None:
    """Return an RFC 3339 time as Unix seconds; None for any other value."""
    try:
        return dt.datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None
