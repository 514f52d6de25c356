"""Reads what open transactions hide in offsets partitions, tick after tick, and forgets it when the job has read it."""

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
    """Used by the thread of the ticks alone."""

    def __init__(self, cluster: Cluster, allowances: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._seconds = allowances.request_seconds
        self._clock = clock
        self.logs: dict[int, HiddenLog] = {}

    @property
    def touched(self) -> frozenset[str]:
        """Return the groups with membership records behind a last stable offset."""
        return frozenset(group for log in self.logs.values() for group in log.memberships)

    def read(self, stable: Mapping[int, int]) -> None:
        """Read on in these partitions, in a new one from its last stable offset on."""
        for partition, offset in stable.items():
            log = self.logs.get(partition)
            if log is None or log.position < offset:  # else the job may have read what is missing here
                self.logs[partition] = HiddenLog(offset)
        positions = {partition: self.logs[partition].position for partition in stable}
        if not positions:
            return
        deadline = self._clock() + self._seconds
        found = read_hidden(self._cluster, NAME, positions, clock=self._clock, deadline=deadline)
        for partition in positions:
            told = found.get(partition)
            log = self.logs[partition]
            if told is None:
                continue
            if told.gone:
                del self.logs[partition]
                continue
            log.take(told.batches)
            log.position = told.position
            log.complete = log.complete or told.complete

    def forget(self, positions: Mapping[int, int], held: Collection[int], settling: Collection[int]) -> None:
        """Forget partitions that are not held back any more and that the job has read as far (`positions`).

        Those that are not `settling` any more are forgotten too.
        """
        for partition, log in list(self.logs.items()):
            if partition in held:
                continue
            if partition not in settling or positions.get(partition, -1) >= log.position:
                del self.logs[partition]
