"""Checks the offsets topic in every tick while the job runs: its identity, its partitions and the read positions.

Records in the checkpoint when the reader last reached the end of the topic, because a later start needs the length of
the interruption. Detects that the topic was created again, lost unread records, or has new partitions. The rules are in
`stream.checkpoint.continuity`; the job acts on them.
"""

import dataclasses
import threading
import time
from collections.abc import Collection, Mapping

from stream.checkpoint.continuity import OffsetsTopicEnds, ReadPositions, gap
from stream.checkpoint.directory import CheckpointDirectory
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.checkpoint.usage import HEARTBEAT, SideFiles
from stream.cluster.offsets_topic import NAME, describe
from stream.cluster.partition_offsets import read_epoch_ends
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.groups.placement import EVERY_GROUP, InstancePart


@dataclasses.dataclass(eq=False)
class TopicWatch:
    """The state of the topic; `update` is called by the tick thread, the attributes are read by any thread."""

    _checkpoint: CheckpointDirectory
    _tombstone_seconds: float | None
    _partitions: Collection[int]
    """Those that the topic had. Those of other instances than `part` are neither read nor watched."""
    _files: SideFiles = dataclasses.field(default_factory=SideFiles)
    """Counts failed writes."""
    part: InstancePart = EVERY_GROUP
    broken: str | None = None
    """The reason, as a sentence, why the state no longer matches the topic; None while it does."""
    current: bool = False
    """True if everything that existed at the previous update was read at the last one."""
    added: tuple[int, ...] = ()
    """The partitions of the topic that are not read, ascending."""
    added_logs: dict[int, tuple[int, int, int]] | None = None
    """Log start offset, high watermark and last stable offset of each of them; None until all are known."""
    read: SourceOffsets = dataclasses.field(default_factory=lambda: SourceOffsets({}))
    """The offsets at the end of the last batch, set by the thread that watches the query."""
    _current_at: float | None = None
    _previous_ends: dict[int, int] = dataclasses.field(default_factory=dict)
    _suspected: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._read = frozenset(self.part.owned(self._partitions))

    def update(
        self,
        cluster: Cluster,
        logs: Mapping[int, tuple[int, int, int]],
        positions: Mapping[int, int],
        epochs: Mapping[int, int],
    ) -> None:
        """Compare (log start offset, high watermark, last stable offset) per partition with the reader's positions.

        `positions` must be older than `logs`: the current positions may be ahead of end offsets polled earlier.
        `epochs` are the leader epochs of the logs.
        """
        logs = self.part.of(logs)
        self._update_current(positions, logs)
        moved = self.read.epochs_other_than(epochs)
        try:
            topic = describe(cluster)
            epoch_ends = read_epoch_ends(cluster, NAME, moved)
        except ClusterError:
            return  # the tick reports cluster errors; the next one describes the topic again
        self._update_added(() if topic is None else self.part.owned(topic.partitions), logs)
        topic_id = None if topic is None or topic.topic_id is None else str(topic.topic_id)
        past = ReadPositions(self._checkpoint.manifest.topic_id, positions, self._current_at, moved)
        found = gap(past, topic_id, OffsetsTopicEnds(dict(logs), time.time(), self._tombstone_seconds), epoch_ends)
        # Twice in a row: a new leader may for a moment have older offsets than the previous one.
        self.broken = found if self._suspected else None
        self._suspected = found is not None

    def add_partitions(self, partitions: Collection[int]) -> None:
        """Add partitions that are read from now on."""
        with self._lock:
            self._read |= frozenset(partitions)
            self.added, self.added_logs = (), None

    def _update_added(self, partitions: Collection[int], logs: Mapping[int, tuple[int, int, int]]) -> None:
        """Update the partitions that are not read; partitions are never removed, so stale metadata changes nothing."""
        with self._lock:
            self.added = tuple(sorted(set(partitions) - self._read | set(self.added)))
            known = bool(self.added) and logs.keys() >= set(self.added)
            self.added_logs = {each: logs[each] for each in self.added} if known else None

    def _update_current(self, positions: Mapping[int, int], logs: Mapping[int, tuple[int, int, int]]) -> None:
        """Update `current` with the ends of the previous update: a busy topic is never read to its current end."""
        ends = self._previous_ends
        self.current = bool(ends) and all(positions.get(partition, -1) >= end for partition, end in ends.items())
        if self.current:
            self._current_at = time.time()
            with self._files.writing(HEARTBEAT, self._checkpoint.folder):
                self._checkpoint.record_current()
        self._previous_ends = {partition: stable for partition, (_, _, stable) in logs.items()}
