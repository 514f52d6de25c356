"""Numbers in words for people: durations, moments, counts."""

from __future__ import annotations

import datetime as dt

_STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(milliseconds: int) -> str:
    """Say how long: the two greatest units that matter, as in "3 min 20 s"."""
    seconds = max(milliseconds, 0) // 1_000
    if not seconds:
        return "less than a second"
    for at, (size, unit) in enumerate(_STEPS):
        if seconds >= size:
            rest = _STEPS[at + 1 : at + 2]
            below = [f"{seconds % size // smaller} {word}" for smaller, word in rest if seconds % size // smaller]
            return " ".join([f"{seconds // size} {unit}", *below])
    raise AssertionError(seconds)


def moment(milliseconds: int) -> str:
    """Say when, in UTC; as a number where no calendar has the time."""
    try:
        return f"{dt.datetime.fromtimestamp(milliseconds / 1_000, dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms after 1970"


def utc_time(milliseconds: int | None) -> str:
    """Return a time in UTC with milliseconds, `-` for None or a negative number, the number beyond the calendar."""
    if milliseconds is None or milliseconds < 0:
        return "-"
    try:
        time = dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
    return time.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def count(number: int, noun: str) -> str:
    """Say how many, with the noun in the right number."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def per_second(rate: float) -> str:
    """Say how fast."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"
