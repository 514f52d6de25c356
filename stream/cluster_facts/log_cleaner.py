"""Detects from the sizes of `__consumer_offsets` that the log cleaner of a broker has stopped. Pure.

The state of the cleaner and the dirty ratio of a log are available only over JMX, but sizes show both: a log is
compacted when the part written since the last compaction, without the active segment, is more than
`min.cleanable.dirty.ratio` of it (kafka.log.LogCleanerManager#grabFilthiestCompactedLog). So a log that was compacted
to some size may grow by that size times ratio / (1 - ratio) and by the active segment before it is due; one more
segment is allowed for what is written until then. Only compaction makes a log of this topic smaller. All limits come
from the topic's settings; there is no fixed number of bytes.

Three signs: a replica has grown past its limit without ever shrinking; in-sync replicas of one partition differ by more
than compaction on both allows; a log is larger than its live keys explain. The last two also find a cleaner that
stopped long before the monitor started. A sign must persist for a while, because a cleaner may have other large logs to
compact first. A hanging transaction also prevents compaction and causes the same signs.
"""

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from stream import wording as say

PATIENCE_SECONDS: Final = 600.0
"""The time a log may be overdue: a cleaner compacts the dirtiest log first, and several gigabytes take minutes."""

_SEGMENTS: Final = 2
"""The active segment, which is never compacted, and one for what is written until the log is compacted."""
_MEASURED_RECORDS: Final = 100
"""The minimum number of offsets over which the size of a record is measured."""
# A batch keeps its header of 61 bytes if compaction leaves one of its records, which has about the same size.
_BATCH_FACTOR: Final = 2

WINDOW_SECONDS: Final = 3600.0
_MOST_POINTS: Final = 256

Replica = tuple[int, int]
"""Broker and partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class CompactionConfig:
    """The settings of `__consumer_offsets` that limit its size."""

    segment_bytes: int
    dirty_ratio: float
    # Younger records are not compacted (min.compaction.lag.ms).
    lag_seconds: float = 0.0

    def allowed(self, clean: float) -> float:
        """Return the largest size in bytes that a log with a clean part of this size may have before compaction."""
        return clean / (1 - min(self.dirty_ratio, 0.99)) + _SEGMENTS * self.segment_bytes


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsPartitionSizes:
    """The sizes of the offsets topic at one time. Time in Unix seconds, sizes in bytes."""

    time: float
    replicas: Mapping[Replica, int]
    # The in-sync replicas: others may still be copying.
    in_sync: Collection[Replica]
    high_watermarks: Mapping[int, int]
    # Returns the number of live keys per partition, None if unknown. Called only if a log is large.
    keys: Callable[[], Mapping[int, int] | None] = lambda: None


class _Log(NamedTuple):
    """One replica over time: its size, and the size (`floor`) and the time since which it has only grown."""

    size: int
    floor: int
    since: float


class _Overdue(NamedTuple):
    """A replica that is larger than allowed; ordered by the excess in bytes."""

    excess: float
    sign: str
    replica: Replica
    sentence: str


class CleanerWatch:
    """The sizes of replicas over several polls; bounded by the number of replicas."""

    def __init__(self) -> None:
        self._logs: dict[Replica, _Log] = {}
        self._ends: dict[int, int] = {}
        self._record_bytes = 0.0
        self._since: dict[tuple[str, Replica], float] = {}

    def evaluate(self, sizes: OffsetsPartitionSizes, limits: CompactionConfig) -> list[str]:
        """Add the sizes and return a sentence for each broker and persistent sign; an empty list if there is none."""
        self._measure(sizes)
        self._logs = {replica: self._grown(replica, size, sizes.time) for replica, size in sizes.replicas.items()}
        found = [*self._outgrown(sizes.time, limits), *_differing(sizes, limits), *self._unexplained(sizes, limits)]
        self._since = {
            (each.sign, each.replica): self._since.get((each.sign, each.replica), sizes.time) for each in found
        }
        patience = PATIENCE_SECONDS + limits.lag_seconds
        return _worst_of_each_broker(
            [each for each in found if sizes.time - self._since[each.sign, each.replica] >= patience]
        )

    def _measure(self, sizes: OffsetsPartitionSizes) -> None:
        """Update the size of a record: the maximum seen, because a compaction between two polls hides some bytes."""
        for (broker, partition), log in self._logs.items():
            written = sizes.high_watermarks.get(partition, 0) - self._ends.get(partition, math.inf)
            grown = sizes.replicas.get((broker, partition), 0) - log.size
            if written >= _MEASURED_RECORDS and grown > 0:
                self._record_bytes = max(self._record_bytes, grown / written)
        self._ends = dict(sizes.high_watermarks)

    def _grown(self, replica: Replica, size: int, time: float) -> _Log:
        previous = self._logs.get(replica)
        if previous is None or size < previous.size:
            return _Log(size, size, time)
        return previous._replace(size=size)

    def _outgrown(self, time: float, limits: CompactionConfig) -> Iterator[_Overdue]:
        """Yield the logs that have grown past their limit without shrinking: their clean part was below the floor."""
        for replica, log in self._logs.items():
            allowed = limits.allowed(log.floor)
            if log.size > allowed:
                sentence = (
                    f"{_where(replica)} has grown from {_bytes(log.floor)} to {_bytes(log.size)} in"
                    f" {say.duration(int((time - log.since) * 1000))} without being compacted, which was due at"
                    f" {_bytes(allowed)}"
                )
                yield _Overdue(log.size - allowed, "growth", replica, sentence)

    def _unexplained(self, sizes: OffsetsPartitionSizes, limits: CompactionConfig) -> Iterator[_Overdue]:
        """Yield the logs that are larger than their live keys explain at the measured size of a record."""
        large = {replica: size for replica, size in sizes.replicas.items() if size > limits.allowed(0)}
        keys = sizes.keys() if large and self._record_bytes else None
        if keys is None:
            return
        for replica, size in large.items():
            live = keys.get(replica[1], 0)
            allowed = limits.allowed(live * self._record_bytes * _BATCH_FACTOR)
            if size > allowed:
                sentence = (
                    f"{_where(replica)} takes {_bytes(size)} for {live} live keys in records of up to"
                    f" {_bytes(self._record_bytes)}; compaction would keep it below {_bytes(allowed)}"
                )
                yield _Overdue(size - allowed, "keys", replica, sentence)


def _differing(sizes: OffsetsPartitionSizes, limits: CompactionConfig) -> Iterator[_Overdue]:
    """Yield the replicas that are larger than the smallest in-sync one allows: each broker compacts its own replica."""
    smallest: dict[int, tuple[int, int]] = {}
    for broker, partition in sizes.in_sync:
        size = sizes.replicas.get((broker, partition))
        if size is not None:
            smallest[partition] = min(smallest.get(partition, (size, broker)), (size, broker))
    for replica, size in sizes.replicas.items():
        least, holder = smallest.get(replica[1], (size, replica[0]))
        allowed = limits.allowed(least)
        if size > allowed:
            sizes_of_both = f"{_bytes(size)}, and {_bytes(least)} on broker {holder}"
            sentence = f"{_where(replica)} takes {sizes_of_both}: only the latter is compacted"
            yield _Overdue(size - allowed, "replicas", replica, sentence)


def _worst_of_each_broker(overdue: list[_Overdue]) -> list[str]:
    """Return a sentence for each broker and sign: its worst replica and the number of others."""
    sentences = []
    for broker, sign in sorted({(each.replica[0], each.sign) for each in overdue}):
        same_sign = [each for each in overdue if (each.replica[0], each.sign) == (broker, sign)]
        others = f" (and {len(same_sign) - 1} more of its partitions)" if len(same_sign) > 1 else ""
        sentences.append(max(same_sign).sentence + others)
    return sentences


def _where(replica: Replica) -> str:
    return f"partition {replica[1]} of __consumer_offsets on broker {replica[0]}"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


class LogGrowth:
    """The growth of sizes over a window long enough to include the effect of compaction: those of the last hour."""

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
