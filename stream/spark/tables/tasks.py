"""What the tasks of a table read, and where a read of the whole topic begins and ends."""

import functools
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from stream.checkpoint.spark_offsets import TOPIC, SourceOffsets
from stream.cluster.records.ranges import OffsetRange, unread_ranges
from stream.cluster.transport.errors import ClusterError
from stream.offline.live import UNKNOWN_TOPIC
from stream.process_memory import release_memory
from stream.spark.batch_plan import ReadRange
from stream.spark.reading_options import TopicReading
from stream.spark.tables.options import TableOptions
from stream.spark.topic_ends import cluster_of
from stream.tables.build import table_batches
from stream.tables.events import CauseFacts
from stream.tables.files import FileRead, read_files
from stream.tables.keys import AskedNames
from stream.tables.logged import LoggedRecords, read_topic


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
    exists = functools.cache(functools.partial(_topic_exists, options.brokers))
    cluster = CauseFacts(options.retention, exists)
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


def _topic_exists(brokers: TopicReading | None, topic: str) -> bool | None:
    """Return whether the cluster has a topic; None if it cannot be asked."""
    if brokers is None:
        return None
    try:
        (described,) = cluster_of(brokers.access).metadata([topic]).topics
    except ClusterError:
        return None
    return {0: True, UNKNOWN_TOPIC: False}.get(described.error_code)
