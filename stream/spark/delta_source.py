"""The streaming source: `__consumer_offsets`, fetched, decoded and folded by Python tasks, as one delta per shard.

Spark keeps the offsets in its own log, as `SourceOffsets`, and fixes them before a batch runs: a batch that runs again
reads the same offsets.

Spark imports this module in several processes that only plan, one after the other at the start of a query. So nothing
heavy is imported at its top; what asks the cluster, reads and folds is imported where it is used.
"""

# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from stream.checkpoint.spark_offsets import SourceOffsets
from stream.process_memory import keep_arrow_from_pandas
from stream.spark.reading_options import ReadingOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from stream.spark.batch_plan import ReadRange

FORMAT: Final = "lagwarden_deltas"
COLUMNS: Final = "shard int, delta binary, tally string"
"""Columns of the deltas. `tally` has the decode statistics of the task, in its first row only."""
_OPTION: Final = "reading"


def deltas(spark: SparkSession, options: ReadingOptions) -> DataFrame:
    """Return the deltas of the topic as a stream."""
    spark.dataSource.register(DeltaSource)
    return spark.readStream.format(FORMAT).option(_OPTION, options.to_text()).load()


class DeltaSource(DataSource):
    """The data source; its only option is the text of the ReadingOptions."""

    @classmethod
    def name(cls) -> str:
        """See DataSource."""
        return FORMAT

    def schema(self) -> str:
        """See DataSource."""
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 -- Spark's name
        """See DataSource."""
        return DeltaReader(self.options[_OPTION])


@dataclasses.dataclass(frozen=True, slots=True)
class ReadTask(InputPartition):
    """The ranges that one task reads."""

    ranges: tuple[ReadRange, ...]
    file: str | None = None
    """The file with the deltas of these ranges, if they are folded already."""


class DeltaReader(DataSourceStreamReader):
    """Plans the batches in a process of its own, and reads them in Spark's workers."""

    def __init__(self, options_text: str) -> None:
        # As text: the processes that pass the reader on without using it need not import the classes of the options.
        self._text = options_text
        self._latest: SourceOffsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Return where a fresh query begins."""
        return SourceOffsets(self._options.starts).to_json()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802 -- Spark's name
        """Return the end of the next batch; the start while the cluster does not answer."""
        keep_arrow_from_pandas()
        from stream.spark.topic_ends import next_ends

        folded, starts = self._options.folded, SourceOffsets.of_json(start)
        if folded is not None and starts.positions == self._options.starts:
            starts = SourceOffsets(folded.ends, folded.epochs)
        end, self._latest = next_ends(self._options, starts)
        return end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 -- Spark's name
        """Return the ends of the topic as the last `latestOffset` found them; None if it did not ask, or in vain.

        For Spark's progress reports: it is called in the same process, right after `latestOffset`.
        """
        return None if self._latest is None else self._latest.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a batch."""
        from stream.spark.batch_plan import split_into_tasks

        folded, first, last = self._options.folded, SourceOffsets.of_json(start).positions, SourceOffsets.of_json(end)
        tasks = []
        if folded is not None and first == self._options.starts and last.are_past(folded.ends):
            tasks, first = [ReadTask(ranges, file) for ranges, file in folded.tasks], folded.ends
        return [*tasks, *map(ReadTask, split_into_tasks(first, last.positions, self._options.tasks))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the deltas of one task. Runs in a worker.

        Those of a file that is not there, as on another machine, are read from the topic.
        """
        from stream.spark.offsets_reading import folded_rows, read_deltas

        assert isinstance(partition, ReadTask)  # noqa: S101 -- what `partitions` returned
        rows = None if partition.file is None else folded_rows(partition.file)
        return read_deltas(self._options, partition.ranges) if rows is None else iter(rows)

    @property
    def _options(self) -> ReadingOptions:
        return ReadingOptions.of_text(self._text)
