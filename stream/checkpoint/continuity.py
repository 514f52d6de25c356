"""Whether the state can be continued: from the current topic, from a first read, and from Spark's offset log. Pure.

The state is right if no record was missed since it was written: the same topic, positions inside its log, nothing lost
of the log that was read (KIP-320), and no interruption longer than `delete.retention.ms`. Tombstones are removed from a
compacted log that long after their compaction (KAFKA-4545, KIP-354), and a reader that missed one keeps an offset, or a
whole group, that no longer exists.

The checkpoint keeps a first read in files until Spark's first batch has ended: a process that ends before leaves them
to the next start. The index is written last and has the checksum of each file.

The position of a shard is the last record of its partition that the query received. If that is not the record before
the position of the offset log, either only transaction markers are in between, or the state is older than the offset
log; only a read of the topic shows which.
"""

import dataclasses
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Self

from stream.checkpoint.files import CheckpointPath, replace_bytes
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import is_cut
from stream.groups.placement import Placement
from stream.groups.shard import ShardState
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

    `epoch_ends` is where the epochs of the read positions end in the current log, where known.
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


FOLDER: Final = "first-read"
_INDEX: Final = "index.json"


@dataclasses.dataclass(frozen=True, slots=True)
class KeptRead:
    """What was read: from `starts` to before `ends`; the ranges (partition, first, end) of the file of each task."""

    starts: Mapping[int, int]
    ends: SourceOffsets
    tasks: tuple[tuple[tuple[int, int, int], ...], ...]

    def write(self, folder: Path) -> None:
        """Complete the folder with the index of its files. Raises OSError."""
        content = {
            "starts": SourceOffsets(self.starts).to_json(),
            "ends": self.ends.to_json(),
            "tasks": self.tasks,
            "crc32": [_crc32(result_file(folder, task)) for task in range(len(self.tasks))],
        }
        replace_bytes(folder / _INDEX, json.dumps(content).encode())

    @classmethod
    def read(cls, checkpoint: CheckpointPath) -> Self | None:
        """Return what the folder of a checkpoint keeps; None if there is nothing, or if it is not complete."""
        if not isinstance(checkpoint, Path):
            return None
        folder = checkpoint / FOLDER
        try:
            found = json.loads((folder / _INDEX).read_bytes())
            tasks = tuple(tuple((int(a), int(b), int(c)) for a, b, c in ranges) for ranges in found["tasks"])
            if [_crc32(result_file(folder, task)) for task in range(len(tasks))] != found["crc32"]:
                return None
            starts, ends = (SourceOffsets.of_json(found[name]) for name in ("starts", "ends"))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return cls(starts.positions, ends, tasks)


def result_file(folder: Path, task: int) -> Path:
    """Return the file with the result of a task."""
    return folder / f"{task}.arrow"


def _crc32(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            checksum = zlib.crc32(piece, checksum)
    return checksum


def misplaced(
    shards: Iterable[tuple[int, ShardState]], positions: Mapping[int, int], placement: Placement
) -> str | None:
    """Return, as a sentence, which shard is ahead of the offset log or duplicate; None if all are consistent.

    `positions` are those of the offset log: the next offsets to read.
    """
    seen: set[int] = set()
    for number, shard in shards:
        if number in seen:
            return f"shard {number} occurs twice in the state"
        seen.add(number)
        partition = placement.offsets_partition(number)
        end = positions.get(partition)
        if end is None or shard.position >= end:
            known = "does not have that partition" if end is None else f"ends at {end}"
            return f"the state has read partition {partition} of {NAME} up to {shard.position}, the offset log {known}"
    return None


def unseen(
    shards: Iterable[tuple[int, ShardState]],
    positions: Mapping[int, int],
    placement: Placement,
    log_starts: Mapping[int, int],
) -> list[tuple[int, int, int]]:
    """Return (partition, first, end): the offsets that are read according to the offset log but missing in the state.

    Empty if a partition has several shards: a record without a group advances none of them.
    """
    if placement.sub_shards != 1:
        return []
    after = {placement.offsets_partition(number): shard.position + 1 for number, shard in shards}
    found = []
    for partition, end in sorted(positions.items()):
        first = max(after.get(partition, 0), log_starts.get(partition, 0))
        if first < end:
            found.append((partition, first, end))
    return found
