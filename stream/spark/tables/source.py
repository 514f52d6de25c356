"""The data source `consumer_offsets`: tables of the offsets topic in batch and as a stream.

A stream plans its batches as the job's own source does (`stream.spark.delta_source`): offsets are fixed before a batch,
and the tasks read with the same reader and the same decoders. Heavy modules are imported where they are used, because
Spark imports this module in several processes that only plan.
"""

# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, EqualTo, In, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow

from stream.checkpoint.spark_offsets import SourceOffsets
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    from stream.spark.batch_plan import ReadRange
    from stream.spark.reading_options import TopicReading
    from stream.spark.tables.options import TableOptions
    from stream.tables.files import FileRead

FORMAT: Final = "consumer_offsets"
_FILTERED: Final = ("group", "topic")


class ConsumerOffsets(DataSource):
    """The data source; `stream.spark.tables.options` has its options."""

    @classmethod
    def name(cls) -> str:
        """See DataSource."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of the table. Raises Refusal for invalid options."""
        read = self._options()
        return read.table.ddl(read.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """See DataSource. Raises Refusal for what only a stream does."""
        read = self._options()
        if read.from_latest or read.limited:
            what = "a batch query reads all: it has no startingOffsets = latest and no maxOffsetsPerTrigger"
            raise Refusal(what, "leave them out, or use readStream", ExitCode.USAGE)
        return TableReader(read, _checked_names(read, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 -- Spark's name
        """See DataSource. Raises Refusal for what only a batch query reads."""
        read = self._options()
        if read.brokers is None:
            raise Refusal(f"a stream reads brokers, not the path {read.path}", "read the path in batch", ExitCode.USAGE)
        if not read.table.streams:
            what = f"table {read.table.name} needs the whole history, and a stream reads its new part"
            raise Refusal(what, "read it in batch", ExitCode.USAGE)
        return TableStreamReader(read, _checked_names(read, schema))

    def _options(self) -> TableOptions:
        from stream.spark.tables.options import table_options

        return table_options({name.lower(): value for name, value in self.options.items()})


def _checked_names(read: TableOptions, schema: StructType) -> tuple[str, ...]:
    """Return the names of the columns that Spark asks for. Raises Refusal for a column or a type of no column."""
    from pyspark.sql.pandas.types import to_arrow_schema

    names = tuple(schema.fieldNames())
    own = read.table.schema(names)
    for field, asked in zip(own, to_arrow_schema(schema, timezone="UTC"), strict=True):
        if field.type != asked.type:
            what = f"column {field.name} of table {read.table.name} is not {asked.type}"
            raise Refusal(what, f"its type is {field.type}", ExitCode.USAGE)
    return names


@dataclasses.dataclass(frozen=True, slots=True)
class TableTask(InputPartition):
    """What one task reads: ranges of the topic, or files."""

    ranges: tuple[ReadRange, ...] = ()
    files: tuple[FileRead, ...] = ()


class _PushFilters:
    """`pushFilters` of a reader.

    PySpark fails every query of a reader that overrides the method while spark.sql.python.filterPushdown.enabled is
    off, which is the default. It recognises the method of its own class by this attribute; it calls it only if the
    setting is on.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, names: Iterable[str]) -> None:
        self.names: Final = tuple(name for name in _FILTERED if name in names)
        self.asked: dict[str, frozenset[str]] = {}

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        """Add the filters by name; return those that Spark must evaluate."""
        for each in filters:
            values: Sequence[Any] = each.value if isinstance(each, In) else ()
            if isinstance(each, EqualTo):
                values = (each.value,)
            column = each.attribute[0] if isinstance(each, EqualTo | In) and len(each.attribute) == 1 else None
            if column not in self.names:
                yield each
                continue
            texts = frozenset(value for value in values if isinstance(value, str))
            self.asked[column] = self.asked.get(column, texts) & texts


class _Reader:
    """Reads the tasks of a query."""

    def __init__(self, options: TableOptions, names: tuple[str, ...]) -> None:
        self._options = options
        self._names = names
        self.pushFilters = _PushFilters(names)

    @property
    def _brokers(self) -> TopicReading:
        assert self._options.brokers is not None  # noqa: S101 -- there is no path
        return self._options.brokers

    def _tasks(self, starts: SourceOffsets, ends: SourceOffsets) -> list[InputPartition]:
        from stream.spark.batch_plan import split_into_tasks

        return [TableTask(each) for each in split_into_tasks(starts.positions, ends.positions, self._options.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task. Runs in a worker."""
        from stream.spark.tables.tasks import read_task

        assert isinstance(partition, TableTask)  # noqa: S101 -- what `partitions` returned
        return read_task(self._options, self._names, partition.ranges, partition.files, self.pushFilters.asked)


class TableReader(_Reader, DataSourceReader):
    """Reads a table in batch: what is there when the query is planned."""

    def partitions(self) -> list[InputPartition]:
        """Return the tasks. Raises Refusal and ClusterError."""
        if self._options.path is not None:
            from stream.tables.files import plan_files

            reads, tasks = plan_files(self._options.path), self._options.tasks
            return [TableTask(files=tuple(reads[number::tasks])) for number in range(min(tasks, len(reads)))]
        from stream.spark.tables.tasks import whole_topic

        return self._tasks(*whole_topic(self._brokers)) or [TableTask()]


class TableStreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a table as a stream."""

    _target: SourceOffsets | None = None
    _latest: SourceOffsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Return where a fresh query begins. Raises ClusterError."""
        from stream.spark.tables.tasks import whole_topic

        starts, ends = whole_topic(self._brokers)
        return (ends if self._options.from_latest else starts).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """Return the limit of a micro-batch."""
        return ReadMaxRows(self._brokers.most_offsets) if self._options.limited else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Fix the end of the query. Raises ClusterError."""
        from stream.spark.tables.tasks import whole_topic

        self._target = whole_topic(self._brokers)[1]

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Return the end of the next batch; the start while no broker answers.

        Raises Refusal for a cut log, and for the log of another cluster.
        """
        from stream.spark.batch_plan import batch_ends
        from stream.spark.tables.options import ALL
        from stream.spark.topic_ends import next_ends

        most = limit.max_rows if isinstance(limit, ReadMaxRows) else ALL
        starts = SourceOffsets.of_json(start)
        reading = dataclasses.replace(self._brokers, most_offsets=most)
        found, self._latest = next_ends(reading, starts, refuse_cut=True)
        if self._target is None:
            return found.to_json()
        # Not the ends that were found: without an answer these are the starts, and Spark would take them for the end.
        added = {each: 0 for each in self._target.positions if each not in starts.positions}
        ends = batch_ends({**starts.positions, **added}, self._target.positions, most)
        return dataclasses.replace(found, positions=ends).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 -- Spark's name
        """Return the ends of the topic as the last `latestOffset` found them; None if no broker answered."""
        return None if self._latest is None else self._latest.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a batch."""
        return self._tasks(SourceOffsets.of_json(start), SourceOffsets.of_json(end))
