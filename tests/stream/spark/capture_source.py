"""A capture file as a streaming source of Spark, with the rows of the offsets topic's source: the job without a broker.

One input partition per partition of the topic, folded into deltas. The offset of the stream is, per partition, the next
offset to read. A capture that grows is therefore read on, and a checkpoint means the same as over the topic.
Spark runs the reader in Python processes of its own, which open the file again.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.offline.capture import CaptureFile
from stream.offline.rows import OFFSETS_TOPIC, LogRow, batch_rows
from stream.spark.delta_source import COLUMNS
from stream.spark.offsets_reading import delta_rows
from stream.spark.reading_options import ReadingOptions

_FORMAT: Final = "lagwarden_capture"
_MAX_ROWS_PER_BATCH: Final = 4096


def capture_file(spark: SparkSession, path: Path, reading: ReadingOptions) -> DataFrame:
    """Return the deltas of the offsets topic in a capture file as a stream; rows appended later are read too."""
    spark.dataSource.register(CaptureDataSource)
    reader = spark.readStream.format(_FORMAT).option("path", str(path.absolute()))
    placement = reading.placement
    numbers = (placement.offsets_partitions, placement.sub_shards, reading.slot_ms, reading.keep_slots)
    return reader.option("layout", ",".join(map(str, numbers))).load()


@dataclasses.dataclass
class _RowRange(InputPartition):
    """The rows of one partition from offset `start` to before `end`, and the file positions of the blocks with them."""

    partition: int
    start: int
    end: int
    first_block: int
    last_block: int


class CaptureDataSource(DataSource):
    """The data source; its options are `path` and `layout`."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 -- Spark's name
        partitions, sub_shards, slot_ms, keep_slots = map(int, self.options["layout"].split(","))
        return _CaptureReader(self.options["path"], Placement(partitions, sub_shards), slot_ms, keep_slots)


class _CaptureReader(DataSourceStreamReader):
    """Reads a capture up to its current end."""

    def __init__(self, path: str, placement: Placement, slot_ms: int, keep_slots: int) -> None:
        self._path = Path(path)
        self._placement, self._slot_ms, self._keep_slots = placement, slot_ms, keep_slots
        # Spark calls the same reader at every trigger; the index avoids reading the whole file each time.
        self._index = _BlockIndex(self._path)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Return the offset before the first row of every partition."""
        return {}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802 -- Spark's name
        """Return the end of every partition: its last offset + 1."""
        return {str(number): end for number, (end, _, _) in sorted(self._index.update().items())}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return one input partition per partition of the topic with new rows, so that its records stay in order."""
        index = self._index.update()
        return [
            _RowRange(int(number), int(start.get(number, 0)), int(until), *index[int(number)][1:])
            for number, until in end.items()
            if int(until) > int(start.get(number, 0))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _RowRange)
        blocks = CaptureFile(self._path).blocks(partition.first_block)
        in_range = itertools.takewhile(lambda block: block.start <= partition.last_block, blocks)
        rows = (row for block in in_range for row in block.rows if _contains(partition, row))
        fold = Fold(self._placement, slot_ms=self._slot_ms, keep_slots=self._keep_slots)
        for batch in batch_rows(rows, _MAX_ROWS_PER_BATCH):
            fold.add(_columns(batch))
        yield from delta_rows(fold, self._placement)


class _BlockIndex:
    """The blocks of the file that hold rows of each partition. An update reads only the appended part."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end: int | None = None
        self._by_partition: dict[int, tuple[int, int, int]] = {}

    def update(self) -> dict[int, tuple[int, int, int]]:
        """Return per partition its end offset, and the file positions of the first and last block with its rows."""
        capture = CaptureFile(self._path)
        for block in capture.blocks(self._end):
            for row in block.rows:
                if row.topic == OFFSETS_TOPIC:
                    end, first, _ = self._by_partition.get(row.partition, (0, block.start, 0))
                    self._by_partition[row.partition] = max(end, row.offset + 1), first, block.start
        self._end = capture.end
        return self._by_partition


def _contains(part: _RowRange, row: LogRow) -> bool:
    return row.topic == OFFSETS_TOPIC and row.partition == part.partition and part.start <= row.offset < part.end


def _columns(rows: list[LogRow]) -> RecordColumns:
    return RecordColumns(
        np.array([row.partition for row in rows], np.int32),
        np.array([row.offset for row in rows], np.int64),
        np.array([-1 if row.timestamp is None else row.timestamp for row in rows], np.int64),
        pa.array([row.key for row in rows], pa.binary()),
        pa.array([row.value for row in rows], pa.binary()),
    )
