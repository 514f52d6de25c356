"""What is read before the query starts, and where the result is written.

The driver pickles the request; `worker` reads it.
"""

from __future__ import annotations

import dataclasses
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Self

import pyarrow as pa
import structlog

from stream.checkpoint.continuity import KeptRead, result_file
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.groups.codec import unpack_change
from stream.groups.decode_stats import DecodeStats
from stream.groups.shard import ShardChange, StateLimits
from stream.service.first_read.reader import FirstReader, FirstReadError
from stream.spark.batch_plan import ReadRange, split_into_tasks
from stream.spark.pipeline import PipelineOptions
from stream.spark.reading_options import FoldedRanges, ReadingOptions

_log = structlog.get_logger(__name__)
_LIMIT_SECONDS: Final = 30.0
"""Seconds without progress after which the read fails. The query then reads the topic, and waits longer."""
_LARGEST: Final = 2
"""Micro-batches of the largest size that are read at most: a read that is interrupted begins again from the start."""


@dataclasses.dataclass(frozen=True, slots=True)
class FirstRead:
    """The ranges of a first read by task, and how they are folded and reduced."""

    reading: ReadingOptions
    rules: StateLimits
    live_from: Mapping[int, int]
    ends: SourceOffsets
    """The end per partition, also of partitions without records, and the leader epochs of the logs that had it."""
    tasks: tuple[tuple[ReadRange, ...], ...]
    folder: Path
    """Where the results are written."""

    @classmethod
    def plan(
        cls, job: PipelineOptions, stable: Mapping[int, int], epochs: Mapping[int, int], folder: Path
    ) -> Self | None:
        """Return the read from the starts of a fresh query to the last stable offsets `stable` of these leader epochs.

        None for a topic without unread records, or too large for one batch.
        """
        reading = job.reading
        ends = {partition: max(start, stable.get(partition, start)) for partition, start in reading.starts.items()}
        if not 0 < sum(ends.values()) - sum(reading.starts.values()) <= _LARGEST * reading.most_offsets:
            return None
        return cls(
            dataclasses.replace(reading, limit=min(reading.limit, _LIMIT_SECONDS)),
            job.rules,
            job.live_from,
            SourceOffsets(ends, {each: epoch for each, epoch in epochs.items() if each in ends}),
            tuple(split_into_tasks(reading.starts, ends, reading.tasks)),
            folder,
        )

    @classmethod
    def of_kept(cls, job: PipelineOptions, kept: KeptRead, folder: Path) -> Self:
        """Return the read of an earlier process, whose results are in `folder`."""
        reading = dataclasses.replace(job.reading, starts=kept.starts)
        return cls(reading, job.rules, job.live_from, kept.ends, kept.tasks, folder)

    def keep(self) -> None:
        """Record that all results are written, for the next start. Raises OSError."""
        KeptRead(self.reading.starts, self.ends, self.tasks).write(self.folder)

    def result(self, task: int) -> Path:
        """Return the file with the result of a task."""
        return result_file(self.folder, task)

    @property
    def folded(self) -> FoldedRanges:
        """The read as the source takes it over when all results are written."""
        tasks = tuple((ranges, str(self.result(task))) for task, ranges in enumerate(self.tasks))
        return FoldedRanges(self.ends.positions, tasks, self.ends.epochs)


FirstResult = tuple[list[tuple[int, ShardChange]], DecodeStats]
"""What was read: the change of each shard, and the decode statistics."""


def read_first(
    read: FirstRead, stopped: Callable[[], bool], start: Callable[[], FirstReader] = FirstReader
) -> FirstResult | None:
    """Return what the processes have read; None if they failed, which is logged, or if `stopped`.

    The result is kept in the folder of the read. `stopped` is called ten times a second while they read; what it raises
    is raised. `start` returns the process, which waits for its request.
    """
    try:
        with start() as reader:
            read.folder.mkdir(exist_ok=True)
            reader.begin(read)
            while not reader.finished():
                if stopped():
                    return None
        result = result_of(read)
        read.keep()
    except (FirstReadError, OSError) as error:
        _log.warning("topic not read before the JVM starts; the query reads it", cause=str(error))
        shutil.rmtree(read.folder, ignore_errors=True)
        return None
    return result


def result_of(read: FirstRead) -> FirstResult:
    """Return what was read, when all processes have ended. Raises FirstReadError."""
    stats = DecodeStats()
    try:
        return list(_changes(read, stats)), stats
    except (OSError, pa.ArrowException, ValueError, TypeError, LookupError, struct.error) as error:
        raise FirstReadError(f"a result cannot be read: {error}") from error


def _changes(read: FirstRead, stats: DecodeStats) -> Iterator[tuple[int, ShardChange]]:
    for task in range(len(read.tasks)):
        with pa.ipc.open_file(str(read.result(task))) as file:
            for number in range(file.num_record_batches):
                (row,) = file.get_batch(number).to_pylist()
                if row["tally"] is not None:
                    stats.add(DecodeStats.from_json(row["tally"]))
                yield row["shard"], unpack_change(row["change"])
