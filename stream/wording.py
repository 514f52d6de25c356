"""Formats numbers for people: durations, times, counts and rates."""

import datetime as dt
import itertools
from collections.abc import Iterable
from typing import Final

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
"""Lengths in ms, and their symbols."""


def duration(milliseconds: int) -> str:
    """Return a duration in its two largest units, as in `3 min 20 s`, and as in `0.4 s` below one second.

    It is that of `exporters.wording`, which this package must not import.
    """
    if milliseconds < 1_000:
        return f"{milliseconds / 1_000:.1f} s" if milliseconds >= 50 else "0 s"
    for at, (size, unit) in enumerate(_UNITS):
        if milliseconds >= size:
            rest = milliseconds % size
            smaller = [f"{rest // length} {symbol}" for length, symbol in _UNITS[at + 1 : at + 2] if rest >= length]
            return " ".join([f"{milliseconds // size} {unit}", *smaller])
    raise AssertionError(milliseconds)


def duration_in_one_unit(milliseconds: float, *, exact: bool) -> str:
    """Return a duration in a single unit.

    Exact: in the largest unit that divides it, as in `36 h`, else in ms. Otherwise: rounded to the largest unit of
    which it has at least two, else to seconds, as in `26 h`.
    """
    for size, unit in _UNITS:
        if (milliseconds >= size and milliseconds % size == 0) if exact else milliseconds >= 2 * size:
            return f"{milliseconds / size:.0f} {unit}"
    return f"{milliseconds:.0f} ms" if exact else f"{milliseconds / 1_000:.0f} s"


def moment(milliseconds: int) -> str:
    """Return a time (Unix ms) in UTC, as in `2023-11-14 22:13:20 UTC`; as a number if it is beyond the calendar."""
    try:
        return f"{dt.datetime.fromtimestamp(milliseconds / 1_000, dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms after 1970"


def utc_time(milliseconds: int | None) -> str:
    """Return a time (Unix ms) in UTC for a column, as in `2023-11-14 22:13:20.123`.

    `-` for None and negative numbers, and the number itself if it is beyond the calendar.
    """
    if milliseconds is None or milliseconds < 0:
        return "-"
    try:
        time = dt.datetime.fromtimestamp(milliseconds / 1_000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
    return time.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def count(number: int, noun: str, plural: str = "", *, separators: bool = True) -> str:
    """Return a count with its noun in singular or plural (default: with s), and with thousands separators."""
    digits = f"{number:,}" if separators else str(number)
    return f"{digits} {noun if number == 1 else plural or f'{noun}s'}"


def per_second(rate: float) -> str:
    """Return a rate per second, with two significant digits below 10."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in ascending order with ranges, as in `0-3, 7`."""
    # Within a range, number and place differ by the same amount.
    grouped = itertools.groupby(enumerate(sorted(set(numbers))), key=lambda each: each[1] - each[0])
    runs = [[number for _, number in run] for _, run in grouped]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
