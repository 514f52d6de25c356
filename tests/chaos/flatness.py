"""Checks that a series of measurements is flat: a robust slope over time, compared with a bound for its kind.

The slope is that of Theil and Sen, the median of the slopes between all pairs of samples. Up to 29 % of the samples may
be outliers, for example after a garbage collection or a replaced worker, without a change of the slope.
"""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Final

WARM_UP: Final = 1 / 3
"""The share of the time that is ignored: class loading, compilation, pools and caches that fill, and the checkpoint
until it has the configured number of versions."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bound:
    """The allowed growth of a series over the measured time: a share of its median, but at least `least`."""

    share: float
    least: float
    highest_of: int = 1
    """Samples of which only the highest is judged, for a series that falls in steps."""


BOUNDS: Final = {
    # Tasks and batches open and close sockets and files; one leaked descriptor per batch is hundreds in 13 min.
    "descriptors": Bound(share=0.05, least=8),
    # Pools of the JVM grow by a few threads when tasks overlap for the first time.
    "threads": Bound(share=0.10, least=4),
    # The heap is touched page by page up to its limit, so the JVM may still grow a little after the warm-up.
    "PSS": Bound(share=0.15, least=24),
    # Files of old versions are removed about once a minute, and not always all of them: a sawtooth of uneven teeth,
    # whose highest points of each two minutes are judged.
    "checkpoint": Bound(share=0.15, least=4, highest_of=12),
}
"""By the first word of the name of a series. Other series (RSS, processes) are recorded only."""


@dataclasses.dataclass(frozen=True, slots=True)
class FlatnessCheck:
    """The check of one series: the median of its first and last tenth, the growth over the measured time, its limit."""

    name: str
    first: float
    last: float
    growth: float
    limit: float

    @property
    def flat(self) -> bool:
        """True when the growth is within the limit."""
        return self.growth <= self.limit

    def __str__(self) -> str:
        numbers = f"{self.first:10.1f} {self.last:10.1f} {self.growth:+10.1f} {self.limit:10.1f}"
        return f"{self.name:22} {numbers}  {'flat' if self.flat else 'GROWS'}"


HEADER: Final = f"{'series':22} {'first':>10} {'last':>10} {'growth':>10} {'limit':>10}"


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Return the median of the slopes between all pairs of samples."""
    pairs = [
        (values[right] - values[left]) / (times[right] - times[left])
        for left in range(len(times))
        for right in range(left + 1, len(times))
    ]
    return statistics.median(pairs)


def check_flatness(name: str, times: Sequence[float], values: Sequence[float]) -> FlatnessCheck | None:
    """Return the check of a series after its warm-up; None without a bound for its kind."""
    bound = BOUNDS.get(name.split(maxsplit=1)[0])
    if bound is None:
        return None
    begin = times[0] + WARM_UP * (times[-1] - times[0])
    first = next(at for at, time in enumerate(times) if time >= begin)
    times, values = times[first:], values[first:]
    times, values = _highest(times, values, bound.highest_of)
    tenth = max(1, len(values) // 10)
    growth = slope(times, values) * (times[-1] - times[0])
    limit = max(bound.least, bound.share * statistics.median(values))
    return FlatnessCheck(name, statistics.median(values[:tenth]), statistics.median(values[-tenth:]), growth, limit)


def _highest(times: Sequence[float], values: Sequence[float], count: int) -> tuple[Sequence[float], Sequence[float]]:
    """Return the highest value of each `count` successive samples, and its time; the last ones take the remainder."""
    blocks = max(1, len(values) // count)
    starts = [block * count for block in range(blocks)]
    ends = [*starts[1:], len(values)]
    highest = [max(range(start, end), key=values.__getitem__) for start, end in zip(starts, ends, strict=True)]
    return [times[at] for at in highest], [values[at] for at in highest]
