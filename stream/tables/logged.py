"""The records from which rows are made: columns of records with their transactions, from any source."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from decoders.log.vectors import LogColumns
from stream.cluster.records.ranges import OffsetRange, ReadTally
from stream.cluster.records.read import ROWS, read_records
from stream.cluster.transport.client import Cluster
from stream.groups.record_columns import RecordColumns
from stream.offline.live import tally_problems
from stream.offline.rows import OFFSETS_TOPIC

NO_PARTITION: Final = -1
"""The offsets partition of records from a file whose folder does not name one."""


@dataclasses.dataclass(frozen=True, slots=True)
class LoggedRecords:
    """Records of `__consumer_offsets`. A time of -1 is none."""

    records: RecordColumns
    producer: NDArray[np.int64] | None
    """The producer id of the record's transaction, -1 outside of transactions; None: not known."""
    aborted: bool = False

    @classmethod
    def of_log(
        cls, partition: int, columns: LogColumns, producer: NDArray[np.int64], *, aborted: bool
    ) -> LoggedRecords:
        """Return records of one partition."""
        partitions = np.full(len(columns.offset), partition, np.int32)
        return cls(RecordColumns(partitions, *columns), producer, aborted)


def read_topic(cluster: Cluster, ranges: Sequence[OffsetRange], limit: float) -> Iterator[LoggedRecords | str]:
    """Yield the records of these ranges with those of aborted transactions, then a line for each kind of problem.

    Raises ClusterError, as `read_records`.
    """
    tally, aborted = ReadTally(), list[LoggedRecords]()

    def add_aborted(partition: int, producer: int, columns: LogColumns) -> None:
        producers = np.full(len(columns.offset), producer, np.int64)
        aborted.append(LoggedRecords.of_log(partition, columns, producers, aborted=True))

    reads = read_records(
        cluster,
        OFFSETS_TOPIC,
        ranges,
        rows=ROWS,
        ahead=True,
        limit=limit,
        tally=tally,
        on_aborted=add_aborted,
        with_producers=True,
    )
    for read in reads:
        yield from aborted
        aborted.clear()
        records = RecordColumns(read.partition, read.offset, read.timestamp, read.keys, read.values)
        yield LoggedRecords(records, read.producer)
    yield from aborted
    yield from tally_problems(OFFSETS_TOPIC, tally)
