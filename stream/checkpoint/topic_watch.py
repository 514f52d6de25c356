"""While the job runs: is the topic still the one that is read, and is all of it read? Asked at every tick.

Notes in the checkpoint when the reader had read all there was (a later start must know how long nobody read), and finds
out when the topic was made anew, lost records before they were read, or was given more partitions. Decides nothing
else: `stream.checkpoint.continuity` has the rules, the job acts.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from stream.checkpoint.continuity import ReadPositions, TopicNow, gap
from stream.checkpoint.side_files import HEARTBEAT, SideFiles
from stream.cluster.offsets_topic import describe
from stream.cluster.transport.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from stream.checkpoint.directory import CheckpointDirectory
    from stream.cluster.transport.client import Cluster


class TopicWatch:
    """One per process; `look` is called by the thread of the ticks, what it found is read by any."""

    def __init__(
        self,
        checkpoint: CheckpointDirectory,
        tombstone_seconds: float | None,
        partitions: Collection[int],
        files: SideFiles | None = None,
    ) -> None:
        """Watch over the topic of which these partitions are read; `files` counts the notes that cannot be written."""
        self.broken: str | None = None
        """Why the state does not fit the topic any more, as a sentence; None while it does."""
        self.current = False
        """Whether at the last look all was read that was there at the look before."""
        self.added: tuple[int, ...] = ()
        """The partitions that the topic has and that are not read, ascending."""
        self.added_logs: dict[int, tuple[int, int, int]] | None = None
        """Log start, high watermark and last stable offset of each of them; None as long as one is not known."""
        self._checkpoint = checkpoint
        self._lock = threading.Lock()
        self._read = frozenset(partitions)
        self._tombstone_seconds = tombstone_seconds
        self._files = files or SideFiles()
        self._current_at: float | None = None
        self._ends_before: dict[int, int] = {}
        self._suspected = False

    def look(self, cluster: Cluster, logs: Mapping[int, tuple[int, int, int]], positions: Mapping[int, int]) -> None:
        """Compare (log start, high watermark, last stable offset) per partition with the reader's positions before.

        The positions of now would not do: by now the reader may well have passed ends that were read a while ago.
        """
        self._note_current(positions, logs)
        try:
            topic = describe(cluster)
        except ClusterError:
            return  # what is wrong with the cluster is said by the tick; the topic is asked again with the next
        self._note_added(() if topic is None else topic.partitions, logs)
        topic_id = None if topic is None or topic.topic_id is None else str(topic.topic_id)
        bounds = {partition: (first, high) for partition, (first, high, _) in logs.items()}
        past = ReadPositions(self._checkpoint.manifest.topic_id, positions, self._current_at)
        found = gap(past, TopicNow(topic_id, bounds, time.time(), self._tombstone_seconds))
        # Twice in a row: a new leader may for a moment know less than the old one did.
        self.broken = found if self._suspected else None
        self._suspected = found is not None

    def read_also(self, partitions: Collection[int]) -> None:
        """Note that these partitions are read from now on."""
        with self._lock:
            self._read |= frozenset(partitions)
            self.added, self.added_logs = (), None

    def _note_added(self, partitions: Collection[int], logs: Mapping[int, tuple[int, int, int]]) -> None:
        """See which partitions are not read; a topic never loses one, so a broker that knows fewer changes nothing."""
        with self._lock:
            self.added = tuple(sorted(set(partitions) - self._read | set(self.added)))
            known = bool(self.added) and logs.keys() >= set(self.added)
            self.added_logs = {each: logs[each] for each in self.added} if known else None

    def _note_current(self, positions: Mapping[int, int], logs: Mapping[int, tuple[int, int, int]]) -> None:
        """See whether all is read that was there at the look before: of a busy topic, never all of now is."""
        ends = self._ends_before
        self.current = bool(ends) and all(positions.get(partition, -1) >= end for partition, end in ends.items())
        if self.current:
            self._current_at = time.time()
            with self._files.writing(HEARTBEAT, self._checkpoint.folder):
                self._checkpoint.note_current()
        self._ends_before = {partition: stable for partition, (_, _, stable) in logs.items()}
