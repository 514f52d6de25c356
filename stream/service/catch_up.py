"""How far the reader has come: positions against the ends captured at start. No clock of its own, no Spark.

Positions, not records: the tail of a partition may be a control record or may have been compacted away, and an empty
one has no record at all. A partition is caught up when the reader's next offset is at or past the last stable offset it
had at start. Positions of finished batches are exact; while a batch runs, pulses of its tasks say how far they are (for
the eye only, readiness does not believe them).
"""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_RATE_SECONDS: Final = 10.0
_RATE_SAMPLES: Final = 64


@dataclasses.dataclass(frozen=True, slots=True)
class CatchUp:
    """The catch-up as shown: share of the offsets done (0 to 1), offsets per second, seconds left; None: not known."""

    ratio: float
    rate: float | None
    seconds_left: float | None


class CatchUpProgress:
    """Progress from where the reader started to the ends captured at start."""

    def __init__(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Begin with the positions of the state (or the log starts), and the last stable offsets, by partition."""
        self._ends = dict(ends)
        self._starts = {partition: min(starts.get(partition, 0), end) for partition, end in ends.items()}
        self._finished = dict(starts)
        self._seen = dict(self._starts)
        self._samples: deque[tuple[float, int]] = deque(maxlen=_RATE_SAMPLES)

    @property
    def positions(self) -> dict[int, int]:
        """Next offset to read per partition, after the last finished batch."""
        return dict(self._finished)

    @property
    def caught_up(self) -> bool:
        """Whether all that was there at start is in the state."""
        return all(self._finished.get(partition, 0) >= end for partition, end in self._ends.items())

    @property
    def behind(self) -> list[int]:
        """Which partitions are not caught up."""
        return [partition for partition, end in self._ends.items() if self._finished.get(partition, 0) < end]

    def finish(self, positions: Mapping[int, int]) -> None:
        """Note the positions after a finished batch."""
        self._finished.update(positions)
        self.pulse(positions)

    def pulse(self, positions: Mapping[int, int]) -> None:
        """Note how far a running batch is."""
        for partition, position in positions.items():
            if partition in self._ends:
                self._seen[partition] = max(self._seen[partition], min(position, self._ends[partition]))

    def catch_up(self, now: float) -> CatchUp:
        """Give the catch-up as of now (seconds, any clock that only goes forward)."""
        done = sum(self._seen[partition] - start for partition, start in self._starts.items())
        whole = sum(self._ends[partition] - start for partition, start in self._starts.items())
        while self._samples and now - self._samples[0][0] > _RATE_SECONDS:
            self._samples.popleft()
        self._samples.append((now, done))
        (since, before) = self._samples[0]
        rate = (done - before) / (now - since) if now > since else None
        left = (whole - done) / rate if rate else None
        return CatchUp(done / whole if whole else 1.0, rate, 0.0 if done >= whole else left)
