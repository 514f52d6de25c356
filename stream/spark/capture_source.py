"""A capture file as a streaming source of Spark: the same columns that the offsets topic gives.

One input partition per partition of the topic, rows in the order of the log. The offset of the stream is, per
partition, the next one to read; so a capture that grows is read on, and a checkpoint over one means what it does over
the topic. Spark calls the parts of this in processes of their own, which open the file anew.
"""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from stream.offline.capture import CaptureFile
from stream.offline.rows import OFFSETS_TOPIC, in_lists

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql.types import StructType

    from stream.offline.rows import Row

NAME: Final = "lagwarden_capture"
"""What `spark.readStream.format` is told."""
COLUMNS: Final = "partition int, offset long, timestamp timestamp, key binary, value binary"
_SCHEMA: Final = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
_ROWS_AT_ONCE: Final = 4096
_LARGEST_MS: Final = 9_000_000_000_000_000


@dataclasses.dataclass
class _Stretch(InputPartition):
    """Some rows of one partition, and the blocks of the file between which they lie (bytes)."""

    partition: int
    start: int
    end: int
    first_block: int
    last_block: int


class CaptureSource(DataSource):
    """The source; its one option is `path`."""

    @classmethod
    def name(cls) -> str:
        """See DataSource."""
        return NAME

    def schema(self) -> str:
        """See DataSource."""
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 -- Spark's name
        """See DataSource."""
        return _Reader(self.options["path"])


class _Reader(DataSourceStreamReader):
    """Reads a capture as far as it has grown when it is asked."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        # Spark asks one reader again and again, every trigger: the file is not to be read whole each time.
        self._extents = _Extents(self._path)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Begin before the first row of every partition."""
        return {}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802 -- Spark's name
        """Give the end of every partition: one more than its last offset."""
        return {str(number): end for number, (end, _, _) in sorted(self._extents.now().items())}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Split a micro-batch: a partition of the topic is never split, so that its records stay in order."""
        extents = self._extents.now()
        return [
            _Stretch(int(number), int(start.get(number, 0)), int(until), *extents[int(number)][1:])
            for number, until in end.items()
            if int(until) > int(start.get(number, 0))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Give the rows of one input partition."""
        assert isinstance(partition, _Stretch)  # noqa: S101  # for the type checker
        blocks = CaptureFile(self._path).blocks(partition.first_block)
        wanted = itertools.takewhile(lambda block: block.start <= partition.last_block, blocks)
        rows = (row for block in wanted for row in block.rows if _is_in(row, partition))
        yield from map(_columns, in_lists(rows, _ROWS_AT_ONCE))


class _Extents:
    """Where the rows of each partition lie in the file; looks only at what the file has gained since the last time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: int | None = None
        self._found: dict[int, tuple[int, int, int]] = {}

    def now(self) -> dict[int, tuple[int, int, int]]:
        """Give per partition its end offset, and where the first and the last block begin that hold rows of it."""
        capture = CaptureFile(self._path)
        for block in capture.blocks(self._seen):
            for row in block.rows:
                if row.topic == OFFSETS_TOPIC:
                    end, first, _ = self._found.get(row.partition, (0, block.start, 0))
                    self._found[row.partition] = max(end, row.offset + 1), first, block.start
        self._seen = capture.end
        return self._found


def _is_in(row: Row, wanted: _Stretch) -> bool:
    return row.topic == OFFSETS_TOPIC and row.partition == wanted.partition and wanted.start <= row.offset < wanted.end


def _columns(rows: list[Row]) -> pa.RecordBatch:
    """Put rows into columns; a record without a timestamp gets the one of 1970, as Spark's Kafka source gives it."""
    # A producer may write any number as its time; what microseconds cannot hold is the end of all time.
    times = [max(-_LARGEST_MS, min(row.timestamp or 0, _LARGEST_MS)) * 1000 for row in rows]
    return pa.record_batch(
        [
            pa.array([row.partition for row in rows], pa.int32()),
            pa.array([row.offset for row in rows], pa.int64()),
            pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            pa.array([row.key for row in rows], pa.binary()),
            pa.array([row.value for row in rows], pa.binary()),
        ],
        schema=_SCHEMA,
    )
