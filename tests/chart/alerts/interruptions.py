"""Interruptions of a scrape: the series of a story have a gap, as after a reschedule or a lost network."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Final

SAMPLES_PER_MINUTE: Final = 2
_REPEATED: Final = re.compile(r"(?P<first>-?[0-9.]+|_)(?P<step>[+-][0-9.]+)?x(?P<times>[0-9]+)")


@dataclasses.dataclass(frozen=True, slots=True)
class Interruption:
    """A time without samples. `marked`: the target was removed, so Prometheus marks its series as stale at once."""

    minutes: int
    marked: bool


def samples(values: str) -> list[str]:
    """Return the samples of promtool's short form, one word each: `1+2x2` is 1, 3, 5, and `_x2` is two gaps."""
    return [sample for word in values.split() for sample in _expanded(word)]


def _expanded(word: str) -> Iterator[str]:
    found = _REPEATED.fullmatch(word)
    if found is None:
        yield word
    elif found["first"] == "_":
        yield from ["_"] * int(found["times"])
    else:
        # A value with `xN` occurs N + 1 times.
        for count in range(int(found["times"]) + 1):
            yield f"{float(found['first']) + count * float(found['step'] or 0):.17g}"


def interrupted(series: Mapping[str, str], start: int, interruption: Interruption) -> dict[str, str]:
    """Return the series of a story without the samples of an interruption that begins at minute `start`."""
    first, length = start * SAMPLES_PER_MINUTE, interruption.minutes * SAMPLES_PER_MINUTE
    gap = ["stale" if interruption.marked else "_", *["_"] * (length - 1)]
    found = {}
    for name, values in series.items():
        each = samples(values)
        found[name] = " ".join(each[:first] + (gap if len(each) > first else []) + each[first + length :])
    return found
