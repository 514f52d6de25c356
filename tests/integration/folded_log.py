"""The offsets topic of a real broker, read and folded as by the job, without Spark."""

from collections.abc import Iterator, Sequence
from typing import Final

from stream.cluster.offsets_topic import NAME
from stream.cluster.records.ranges import OffsetRange, unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.transport.client import Cluster
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import reduce
from stream.groups.shard import ShardChange, ShardState, StateLimits, empty_state
from tests.support.commits import KEEP, SLOT_MS

_LIMITS: Final = StateLimits(KEEP)


class FoldedLog:
    """Reads the committed records of the offsets topic, and keeps the state of each offsets partition."""

    def __init__(self, cluster: Cluster) -> None:
        self.positions: dict[int, int] = {}
        """The next offset of each offsets partition that was read."""
        self._cluster = cluster
        self._states: dict[int, ShardState] = {}
        # One shard per offsets partition, with the same number.
        self._fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)

    def read(self, wanted: Sequence[OffsetRange] | None = None) -> Iterator[tuple[int, ShardChange]]:
        """Read these ranges, and yield offsets partitions with the changes of their state.

        None reads what is new, up to the last stable offsets. Raises ClusterError if the end offsets are unknown.
        """
        for fetched in read_records(self._cluster, NAME, self._unread() if wanted is None else wanted):
            self.positions |= fetched.positions
            self._fold.add(
                RecordColumns(fetched.partition, fetched.offset, fetched.timestamp, fetched.keys, fetched.values)
            )
            for partition, delta in self._fold.drain():
                state, change = reduce(self._states.get(partition, empty_state()), [delta], _LIMITS)
                self._states[partition] = state
                yield partition, change

    def _unread(self) -> list[OffsetRange]:
        return unread_ranges(self._cluster, NAME, {partition: at - 1 for partition, at in self.positions.items()})
