"""The offsets to read of each partition, and how many of them were passed without being read."""

import collections
import dataclasses
import enum
from collections.abc import Mapping

from decoders.log.errors import LogFault
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.errors import ErrorReason, Unreachable


@dataclasses.dataclass(slots=True)
class OffsetRange:
    """The offsets to read of one partition: from `position`, which a reader moves, to before `end`."""

    partition: int
    position: int
    end: int
    leader_epoch: int | None = None
    """The leader epoch under which the log had this end; None: not known."""


class SkipReason(enum.StrEnum):
    """The reason why a reader passed offsets without reading them."""

    DELETED = "deleted"
    """Retention or DeleteRecords has removed them: the log begins above them."""
    TRUNCATED = "truncated"
    """The log ends below them: it was truncated by an unclean leader election, or the topic was created again."""
    DAMAGED = "damaged"
    """The leader returns batches that are invalid, also when asked again."""


@dataclasses.dataclass(slots=True)
class ReadTally:
    """The counters of one reader."""

    faults: collections.Counter[LogFault] = dataclasses.field(default_factory=collections.Counter)
    """Batches that could not be decoded, by fault."""
    skipped: collections.Counter[SkipReason] = dataclasses.field(default_factory=collections.Counter)
    """Offsets that were passed without being read; offsets removed by compaction are not among them."""


def unread_ranges(cluster: Cluster, topic: str, after: Mapping[int, int]) -> list[OffsetRange]:
    """Return the offsets to read of each partition: the whole log, or the part after the partition's offset in `after`.

    All end at the last stable offset. Raises ClusterError if the end offsets of any partition are unknown, because the
    read would then be incomplete.
    """
    found = []
    for row in read_ends(cluster, [topic]).to_pylist():
        if row["error"] == ErrorReason.NOT_AUTHORIZED:
            raise no_topic_right(topic, "Read")
        if row["error"] is not None:
            where = topic if row["partition"] < 0 else f"partition {row['partition']} of {topic}"
            raise Unreachable(f"{where} cannot be read ({row['error']})", "check the topic's name and its brokers")
        start = max(row["log_start_offset"], after.get(row["partition"], -1) + 1)
        found.append(OffsetRange(row["partition"], start, row["last_stable_offset"], row["leader_epoch"]))
    return found
