"""Whether the brokers' log cleaner still keeps `__consumer_offsets` small: judged by sizes over time. Pure.

No broker tells its clients that its cleaner has died, nor how dirty a log is (both are JMX only). But sizes do: a log
is compacted once what was written since the last time is more than `min.cleanable.dirty.ratio` of it, the active
segment left out (kafka.log.LogCleanerManager#grabFilthiestCompactedLog). So a log that was compacted down to some size
may grow by that size times ratio / (1 - ratio), and by the active segment, and is then due; another segment of what is
written meanwhile is granted here. Nothing but compaction makes a log of this topic smaller. All bounds come from the
topic's own settings, none is a number of bytes.

Three signs: a replica has outgrown its bound without ever having shrunk; replicas in sync of one partition differ by
more than compaction on both would allow; a log is larger than the keys that live in it explain. The last two show also
where the cleaner died long before anybody looked. Each must stay for a while: a cleaner may have other large logs to do
first. An open transaction that hangs holds compaction back too, and so looks the same.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

PATIENCE_SECONDS: Final = 600.0
"""How long a log may be overdue: cleaners do the filthiest log first, and a few of several gigabytes take minutes."""

_SEGMENTS: Final = 2
"""The active segment, which is never compacted, and what is written while the log waits for its turn."""
_MEASURED_RECORDS: Final = 100
"""Over so many offsets, at least, the bytes of a record are measured."""
# A batch keeps its header of 61 bytes when compaction leaves only one of its records, which is about as large.
_BATCH_FACTOR: Final = 2

Replica = tuple[int, int]
"""Broker and partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class CompactionConfig:
    """The settings of `__consumer_offsets` that bound its size."""

    segment_bytes: int
    dirty_ratio: float
    # What is younger is not compacted (min.compaction.lag.ms).
    lag_seconds: float = 0.0

    def allowed(self, clean: float) -> float:
        """Give the largest size in bytes of a log whose clean part is this large, before it has been compacted."""
        return clean / (1 - min(self.dirty_ratio, 0.99)) + _SEGMENTS * self.segment_bytes

    @property
    def patience(self) -> float:
        """How long a log may be overdue, in seconds."""
        return PATIENCE_SECONDS + self.lag_seconds


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsPartitionSizes:
    """The offsets topic at one moment. Time in Unix seconds, sizes in bytes."""

    time: float
    replicas: Mapping[Replica, int]
    # The replicas that are in sync: others may still be copying.
    in_sync: Collection[Replica]
    high_watermarks: Mapping[int, int]
    # How many keys live in each partition; None while that is not known. Called only when it matters.
    keys: Callable[[], Mapping[int, int] | None] = lambda: None


class _Log(NamedTuple):
    """One replica over time: its size, and the size and the moment since which it only grows."""

    size: int
    floor: int
    since: float


class _Overdue(NamedTuple):
    """A replica that is larger than it should be; ordered by how much."""

    excess: float
    sign: str
    replica: Replica
    sentence: str


class CleanerWatch:
    """Remembers sizes from poll to poll; bounded by the replicas that there are."""

    def __init__(self) -> None:
        self._logs: dict[Replica, _Log] = {}
        self._ends: dict[int, int] = {}
        self._record_bytes = 0.0
        self._since: dict[tuple[str, Replica], float] = {}

    def look(self, sizes: OffsetsPartitionSizes, limits: CompactionConfig) -> list[str]:
        """Take in the sizes and give a sentence for each broker and sign that has stayed; none: all is well."""
        self._measure(sizes)
        self._logs = {replica: self._grown(replica, size, sizes.time) for replica, size in sizes.replicas.items()}
        found = [*self._outgrown(sizes.time, limits), *_differing(sizes, limits), *self._unexplained(sizes, limits)]
        self._since = {
            (each.sign, each.replica): self._since.get((each.sign, each.replica), sizes.time) for each in found
        }
        return _worst_of_each_broker(
            [each for each in found if sizes.time - self._since[each.sign, each.replica] >= limits.patience]
        )

    def _measure(self, sizes: OffsetsPartitionSizes) -> None:
        """Learn how many bytes a record takes: the most that was seen, as a compaction in between hides some."""
        for (broker, partition), log in self._logs.items():
            written = sizes.high_watermarks.get(partition, 0) - self._ends.get(partition, math.inf)
            grown = sizes.replicas.get((broker, partition), 0) - log.size
            if written >= _MEASURED_RECORDS and grown > 0:
                self._record_bytes = max(self._record_bytes, grown / written)
        self._ends = dict(sizes.high_watermarks)

    def _grown(self, replica: Replica, size: int, time: float) -> _Log:
        before = self._logs.get(replica)
        if before is None or size < before.size:
            return _Log(size, size, time)
        return before._replace(size=size)

    def _outgrown(self, time: float, limits: CompactionConfig) -> Iterator[_Overdue]:
        """Find the logs that have grown past their bound without shrinking: their clean part was below the floor."""
        for replica, log in self._logs.items():
            allowed = limits.allowed(log.floor)
            if log.size > allowed:
                told = (
                    f"{_where(replica)} has grown from {_bytes(log.floor)} to {_bytes(log.size)} in"
                    f" {(time - log.since) / 3600:.1f} h without being compacted, which was due at {_bytes(allowed)}"
                )
                yield _Overdue(log.size - allowed, "growth", replica, told)

    def _unexplained(self, sizes: OffsetsPartitionSizes, limits: CompactionConfig) -> Iterator[_Overdue]:
        """Find the logs that are larger than their living keys explain, by the bytes that a record was seen to take."""
        large = {replica: size for replica, size in sizes.replicas.items() if size > limits.allowed(0)}
        keys = sizes.keys() if large and self._record_bytes else None
        if keys is None:
            return
        for replica, size in large.items():
            living = keys.get(replica[1], 0)
            allowed = limits.allowed(living * self._record_bytes * _BATCH_FACTOR)
            if size > allowed:
                told = (
                    f"{_where(replica)} takes {_bytes(size)} for {living} living keys in records of up to"
                    f" {_bytes(self._record_bytes)}; compaction would keep it below {_bytes(allowed)}"
                )
                yield _Overdue(size - allowed, "keys", replica, told)


def _differing(sizes: OffsetsPartitionSizes, limits: CompactionConfig) -> Iterator[_Overdue]:
    """Find the replicas that are larger than the smallest one in sync allows: each broker compacts its own copy."""
    smallest: dict[int, tuple[int, int]] = {}
    for broker, partition in sizes.in_sync:
        size = sizes.replicas.get((broker, partition))
        if size is not None:
            smallest[partition] = min(smallest.get(partition, (size, broker)), (size, broker))
    for replica, size in sizes.replicas.items():
        least, holder = smallest.get(replica[1], (size, replica[0]))
        allowed = limits.allowed(least)
        if size > allowed:
            told = (
                f"{_where(replica)} takes {_bytes(size)}, and {_bytes(least)} on broker {holder}: only there it shrinks"
            )
            yield _Overdue(size - allowed, "replicas", replica, told)


def _worst_of_each_broker(overdue: list[_Overdue]) -> list[str]:
    """Give a sentence for each broker and sign, about the worst of its replicas and how many others there are."""
    told = []
    for broker, sign in sorted({(each.replica[0], each.sign) for each in overdue}):
        alike = [each for each in overdue if (each.replica[0], each.sign) == (broker, sign)]
        others = f" (and {len(alike) - 1} more of its partitions)" if len(alike) > 1 else ""
        told.append(max(alike).sentence + others)
    return told


def _where(replica: Replica) -> str:
    return f"partition {replica[1]} of __consumer_offsets on broker {replica[0]}"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
