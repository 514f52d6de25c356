"""What the tasks of a table read, and where a read of the whole topic begins and ends."""

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from decoders.log.vectors import LogColumns
from stream.checkpoint.spark_offsets import TOPIC, SourceOffsets
from stream.cluster.records.ranges import OffsetRange, ReadTally, unread_ranges
from stream.cluster.records.read import ROWS, read_records
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.groups.record_columns import RecordColumns
from stream.offline.live import UNKNOWN_TOPIC, tally_problems
from stream.process_memory import release_memory
from stream.spark.batch_plan import ReadRange
from stream.spark.reading_options import TopicReading
from stream.spark.tables.options import TableOptions
from stream.spark.topic_ends import cluster_of
from stream.tables.build import table_batches
from stream.tables.events import CauseFacts
from stream.tables.files import FileRead, read_files
from stream.tables.rows import AskedNames, LoggedRecords


def whole_topic(reading: TopicReading) -> tuple[SourceOffsets, SourceOffsets]:
    """Return the first offset and the last stable offset of each partition, without epochs. Raises ClusterError."""
    cluster = cluster_of(reading.access)
    ranges = unread_ranges(cluster, TOPIC, {})
    starts, ends = ({each.partition: getattr(each, name) for each in ranges} for name in ("position", "end"))
    return SourceOffsets(starts, cluster_id=cluster.cluster_id), SourceOffsets(ends, cluster_id=cluster.cluster_id)


def read_task(
    options: TableOptions,
    names: Sequence[str],
    ranges: Sequence[ReadRange],
    files: Sequence[FileRead],
    asked: Mapping[str, frozenset[str]],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task with these columns. Raises ClusterError and Refusal."""
    name_filter = AskedNames(asked.get("group"), asked.get("topic"))
    cluster = CauseFacts(options.retention, functools.cache(functools.partial(_topic_exists, options.brokers)))
    yield from table_batches(options.table, names, _records(options, ranges, files), name_filter, cluster)
    # The worker runs other tasks after this one.
    release_memory()


def _records(
    options: TableOptions, ranges: Sequence[ReadRange], files: Sequence[FileRead]
) -> Iterator[LoggedRecords | str]:
    for each in files:
        yield from read_files(each)
    if options.brokers is not None and ranges:
        cluster = cluster_of(options.brokers.access)
        yield from read_topic(cluster, [OffsetRange(*each) for each in ranges], options.brokers.limit)


def read_topic(cluster: Cluster, ranges: Sequence[OffsetRange], limit: float) -> Iterator[LoggedRecords | str]:
    """Yield the records of these ranges with those of aborted transactions, then a line for each kind of problem.

    Raises ClusterError, as `read_records`.
    """
    tally, aborted = ReadTally(), list[LoggedRecords]()

    def add_aborted(partition: int, producer: int, columns: LogColumns) -> None:
        producers = np.full(len(columns.offset), producer, np.int64)
        aborted.append(LoggedRecords(RecordColumns.of_partition(partition, *columns), producers, aborted=True))

    reads = read_records(
        cluster,
        TOPIC,
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
    yield from tally_problems(TOPIC, tally)


def _topic_exists(brokers: TopicReading | None, topic: str) -> bool | None:
    """Return whether the cluster has a topic; None if it cannot be asked."""
    if brokers is None:
        return None
    try:
        (described,) = cluster_of(brokers.access).metadata([topic]).topics
    except ClusterError:
        return None
    return {0: True, UNKNOWN_TOPIC: False}.get(described.error_code)
