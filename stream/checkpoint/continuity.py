"""Checks that the state can be continued from the current offsets topic, and describes the reason if not. Pure.

The state is right if no record was missed since it was written: the same topic, positions inside its log, nothing lost
of the log that was read (KIP-320), and no interruption longer than `delete.retention.ms`. Tombstones are removed from a
compacted log that long after their compaction (KAFKA-4545, KIP-354), and a reader that missed one keeps an offset, or a
whole group, that no longer exists.
"""

import dataclasses
from collections.abc import Callable, Mapping

from stream.cluster.epoch_ends import is_cut
from stream.cluster.offsets_topic import NAME
from stream.wording import duration_in_one_unit


@dataclasses.dataclass(frozen=True, slots=True)
class ReadPositions:
    """The read positions: the topic's id (None: the broker has no ids) and the next offset per partition.

    `current_at` (Unix seconds) is when the reader last reached the end of the topic; None: unknown. `epochs` are the
    leader epochs, where known, under which the log had at least the offsets before the positions.
    """

    topic_id: str | None
    positions: Mapping[int, int]
    current_at: float | None
    epochs: Mapping[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsTopicEnds:
    """The offsets topic: (log start offset, high watermark, last stable offset) per partition; `now` in Unix s.

    `tombstone_seconds` is the topic's `delete.retention.ms`; None: unknown, and Kafka's default is assumed.
    `epochs` are the leader epochs of the logs, where brokers report them; `epoch_ends` returns where such epochs end in
    the current logs, without the partitions for which that is unknown.
    """

    logs: dict[int, tuple[int, int, int]]
    now: float
    tombstone_seconds: float | None = None
    epochs: Mapping[int, int] = dataclasses.field(default_factory=dict)
    epoch_ends: Callable[[Mapping[int, int]], Mapping[int, int | None]] = dict.fromkeys

    @property
    def log_starts(self) -> dict[int, int]:
        """The log start offset per partition."""
        return {partition: first for partition, (first, _, _) in self.logs.items()}

    @property
    def last_stable(self) -> dict[int, int]:
        """The last stable offset per partition."""
        return {partition: stable for partition, (_, _, stable) in self.logs.items()}


DEFAULT_TOMBSTONE_SECONDS = 86_400.0
"""Kafka's default of `delete.retention.ms`."""


def gap(
    past: ReadPositions, topic_id: str | None, present: OffsetsTopicEnds, epoch_ends: Mapping[int, int | None]
) -> str | None:
    """Return the reason, as a sentence, why reading from the positions would miss records; None if it would not.

    `epoch_ends` is where the epochs of the read positions end in the current log, where known (`cluster.epoch_ends`).
    """
    if None not in (past.topic_id, topic_id) and past.topic_id != topic_id:
        return f"the topic {NAME} was deleted and created again"
    for partition, position in sorted(past.positions.items()):
        start, end, _ = present.logs.get(partition, (None, None, None))
        if end is not None and position > end:
            return f"partition {partition} of {NAME} ends at {end}, before {position}, which was already read"
        if start is not None and position < start:
            return f"partition {partition} of {NAME} begins at {start}; records from {position} on were missed"
        epoch_end = epoch_ends.get(partition)
        if is_cut(position, epoch_end):
            return (
                f"partition {partition} of {NAME} lost its end: it was read up to {position} under leader epoch "
                f"{past.epochs[partition]}, of which {max(epoch_end or 0, 0)} offsets are left, and was written again"
            )
    return _exceeded_tombstone_retention(past, present)


def _exceeded_tombstone_retention(past: ReadPositions, present: OffsetsTopicEnds) -> str | None:
    limit = DEFAULT_TOMBSTONE_SECONDS if present.tombstone_seconds is None else present.tombstone_seconds
    if not past.positions or past.current_at is None or present.now - past.current_at <= limit:
        return None
    unread_for, kept = (
        duration_in_one_unit(seconds * 1000, exact=False) for seconds in (present.now - past.current_at, limit)
    )
    return f"nothing was read for {unread_for}, but {NAME} keeps tombstones for {kept}: some may have been missed"
