"""Reads the hidden part of blocked offsets partitions, tick after tick, until the job has read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.cluster.hidden_records import read_hidden
from stream.cluster.offsets_topic import NAME
from stream.tick.hidden_commits.log import HiddenLog

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from stream.cluster.transport.client import Cluster
    from stream.tick.lookups.budget import LookupLimits


class HiddenLogReader:
    """The hidden logs by offsets partition. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._seconds = limits.request_seconds
        self._clock = clock
        self.logs: dict[int, HiddenLog] = {}

    @property
    def groups(self) -> frozenset[str]:
        """The groups with hidden membership records."""
        return frozenset(group for log in self.logs.values() for group in log.memberships)

    def read(self, last_stable: Mapping[int, int]) -> None:
        """Continue reading these partitions; a new one starts at its last stable offset."""
        for partition, offset in last_stable.items():
            log = self.logs.get(partition)
            if log is None or log.position < offset:  # records in between are no longer hidden, and are missing here
                self.logs[partition] = HiddenLog(offset)
        positions = {partition: self.logs[partition].position for partition in last_stable}
        if not positions:
            return
        deadline = self._clock() + self._seconds
        reads = read_hidden(self._cluster, NAME, positions, clock=self._clock, deadline=deadline)
        for partition in positions:
            read = reads.get(partition)
            log = self.logs[partition]
            if read is None:
                continue
            if read.position_lost:
                del self.logs[partition]
                continue
            log.add(read.batches)
            log.position = read.position
            log.complete = log.complete or read.complete

    def drop_read(self, positions: Mapping[int, int], blocked: Collection[int], settling: Collection[int]) -> None:
        """Drop the logs that the job has read (up to `positions`), except those of `blocked` partitions.

        Logs of partitions that are not `settling` any more are dropped too.
        """
        for partition, log in list(self.logs.items()):
            if partition in blocked:
                continue
            if partition not in settling or positions.get(partition, -1) >= log.position:
                del self.logs[partition]
