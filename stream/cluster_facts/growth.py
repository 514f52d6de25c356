"""The growth rate of sizes over a window long enough to include the effect of compaction. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW_SECONDS: Final = 3600.0
_MOST_POINTS: Final = 256


class LogGrowth:
    """The values of each key measured in the last hour."""

    def __init__(self) -> None:
        self._points: dict[int, deque[tuple[float, int]]] = {}

    def update(self, time: float, values: Mapping[int, int | None]) -> dict[int, float | None]:
        """Add values at `time` (Unix s) and return the change per second of each key; None before its second value.

        The growth of a key whose value is None is None too, and its earlier values are kept. A key that is no longer
        among the values is removed.
        """
        self._points = {key: self._points.get(key, deque(maxlen=_MOST_POINTS)) for key in values}
        return {key: self._growth_of(key, time, value) for key, value in values.items()}

    def _growth_of(self, key: int, time: float, value: int | None) -> float | None:
        points = self._points[key]
        while points and time - points[0][0] > WINDOW_SECONDS:
            points.popleft()
        if value is None:
            return None
        points.append((time, value))
        since, previous = points[0]
        return (value - previous) / (time - since) if time > since else None
