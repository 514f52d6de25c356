"""Capture files: records of internal topics in an Avro container, to store, send and replay.

Rows are `topic, partition, offset, timestamp, key, value`; the header names cluster and topics. A file is only appended
to, block by block. A torn file (crash, incomplete download) is readable up to the tear, and the next run cuts off its
incomplete last block. Nothing else is ever cut off: a file that is damaged in another way, or that cannot be read
completely, is refused and not changed.
"""

import contextlib
import dataclasses
import datetime as dt
import importlib.metadata
import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, NoReturn, Self

import fastavro
from fastavro.write import Writer

from stream.offline.container import (
    ContainerError,
    DamagedBlockError,
    Header,
    RawBlock,
    TornBlockError,
    read_blocks,
    read_header,
)
from stream.offline.paths import (
    display_path,
    open_to_append,
    open_to_read,
    os_error_text,
    unreadable,
    unwritable_refusal,
)
from stream.offline.rows import LogRow, Origin, TopicAndPartition, UnreadableRefusal

SCHEMA: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Row",
    "namespace": "lagwarden.capture",
    "doc": "One record of one of Kafka's internal topics",
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": ["null", "long"], "doc": "Unix milliseconds; null: the record has none"},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
    ],
}
BLOCK_BYTES: Final = 256 << 10
"""The size of a block before compression, which is the most that a tear loses."""
MAX_ROW_BYTES: Final = 32 << 20
"""The maximum size of key and value of a row, so that its block stays below the limit of the reader."""
_CODEC: Final = "deflate"  # supported by every Avro reader
_PARSED: Final = fastavro.parse_schema(SCHEMA)
_FIELDS: Final = [(field["name"], field["type"]) for field in SCHEMA["fields"]]
_LARGEST_PARTITION: Final = 0x7FFFFFFF
_NAME: Final = "lagwarden.capture.Row"
_PREFIX: Final = "lagwarden."


@dataclasses.dataclass(frozen=True, slots=True)
class CaptureBlock:
    """Consecutive rows, and the positions in the file where their block starts and ends."""

    rows: list[LogRow]
    start: int
    end: int


class CaptureFile:
    """A capture as a source of rows."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raises UnreadableRefusal if the file is not a capture."""
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.can_be_continued = False
        """Whether the last read of the blocks reached the end of the file, or an incomplete last block."""
        with open_to_read(path) as file:
            self._header = _header(path, file)
        self.end = self._header.end
        """The end of the last valid block in bytes, after the rows have been read."""
        self.origin: Final = _origin(path, self._header.metadata)

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[LogRow]:
        """Yield the rows in file order; of each partition in `after` only those with a greater offset."""
        for block in self.blocks():
            for row in block.rows:
                if after is None or row.offset > after.get(row.place, -1):
                    yield row

    def blocks(self, start: int | None = None) -> Iterator[CaptureBlock]:
        """Yield the blocks from the one at position `start`. If the file ends early, `problems` has the reason."""
        self.problems, self.can_be_continued = [], False
        self.end = self._header.end if start is None else start
        with open_to_read(self.path) as file:
            try:
                for raw in read_blocks(file, self._header, self.end):
                    rows = _rows_of(raw)
                    self.end = raw.end
                    yield CaptureBlock(rows, raw.start, raw.end)
                self.can_be_continued = True
            except OSError as error:
                self._add_problem(f"cannot be read from byte {self.end} on: {os_error_text(error)}")
            except (TornBlockError, DamagedBlockError) as error:
                self.can_be_continued = isinstance(error, TornBlockError)
                state, left = "torn" if self.can_be_continued else "damaged", os.fstat(file.fileno()).st_size - self.end
                self._add_problem(f"{state} at byte {self.end}: {error}; the last {left} bytes are not read")

    def _add_problem(self, problem: str) -> None:
        self.problems.append(f"{display_path(self.path)}: {problem}")

    def last_offsets(self) -> dict[TopicAndPartition, int]:
        """Return the highest offset per partition in the file."""
        last: dict[TopicAndPartition, int] = {}
        for row in self.rows():
            last[row.place] = max(row.offset, last.get(row.place, -1))
        return last


def _rows_of(raw: RawBlock) -> list[LogRow]:
    """Return the rows of a block. Raises DamagedBlockError if they cannot be decoded."""
    data, rows = io.BytesIO(raw.data), []
    for _ in range(raw.count):
        try:
            fields: Any = fastavro.schemaless_reader(data, _PARSED, None)
        except (EOFError, ValueError, IndexError, OverflowError, TypeError, KeyError):
            raise DamagedBlockError("a row cannot be decoded") from None
        row = LogRow._make(fields.values())
        if not (0 <= row.partition <= _LARGEST_PARTITION and row.offset >= 0):
            raise DamagedBlockError("a row has an invalid partition or offset")
        rows.append(row)
    if data.tell() < len(raw.data):
        raise DamagedBlockError("there are bytes after the last row")
    return rows


class CaptureWriter:
    """Writes a new capture, or continues one: `last` then has the last offset per partition.

    The rows of a partition must be written in log order.
    """

    def __init__(self, path: Path, origin: Origin) -> None:
        """Create the file, or open it to continue it.

        Raises UnwritableRefusal, and UnreadableRefusal for a file that must not be continued, which is not changed.
        """
        self.path = path
        self.last: dict[TopicAndPartition, int] = {}
        self.cut = 0
        """The size of the incomplete last block that was cut off, in bytes."""
        self.problems: list[str] = []
        """Rows that could not be written, one line each."""
        self._failed = False
        self._file, is_new = open_to_append(path)
        size = os.fstat(self._file.fileno()).st_size
        try:
            if size:
                self._resume(origin, size)
            self._writer = Writer(self._file, SCHEMA, _CODEC, sync_interval=BLOCK_BYTES, metadata=_metadata(origin))
            self._file.flush()
        except BaseException as error:
            self._abandon()
            if not size:  # there is at most a part of the header
                with contextlib.suppress(OSError):
                    path.unlink() if is_new else os.truncate(path, 0)
            if isinstance(error, OSError):
                raise unwritable_refusal(path, error) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, row: LogRow) -> None:
        """Append a row; one above `MAX_ROW_BYTES` is skipped and added to `problems`. Raises UnwritableRefusal."""
        size = len(row.key or b"") + len(row.value or b"")
        if size > MAX_ROW_BYTES:
            where = f"{row.topic}-{row.partition}, offset {row.offset}"
            self.problems.append(f"{where}: a record of {size} bytes is not captured: the maximum is {MAX_ROW_BYTES}")
            return
        try:
            self._writer.write(row._asdict())
        except OSError as error:
            self._fail(error)
        self.last[row.place] = row.offset

    def flush(self) -> None:
        """Write the pending rows as a block and flush the file. Raises UnwritableRefusal."""
        try:
            self._writer.flush()
            self._file.flush()
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Write the pending rows and close the file. Raises UnwritableRefusal."""
        if self._failed or self._file.closed:
            self._abandon()
            return
        self.flush()
        self._file.close()

    def _fail(self, error: OSError) -> NoReturn:
        """Raise UnwritableRefusal. The file may end inside a block, which the next run cuts off."""
        self._failed = True
        raise unwritable_refusal(self.path, error) from error

    def _abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()  # tries again to write its buffer

    def _resume(self, origin: Origin, size: int) -> None:
        """Read the last offset per partition, and cut off an incomplete last block. Raises UnreadableRefusal."""
        known = CaptureFile(self.path)
        if why := known.origin.conflict_with(origin):
            raise UnreadableRefusal(f"{display_path(self.path)} cannot be continued: {why}", "name another file")
        self.last = known.last_offsets()
        if not known.can_be_continued:
            raise UnreadableRefusal(
                f"{'; '.join(known.problems)}; nothing was changed",
                "name another file, or replace it by a complete copy: only an incomplete last block is cut off",
            )
        self.cut = size - known.end
        if self.cut:
            self._file.truncate(known.end)
        self._file.seek(0, 2)


def _metadata(origin: Origin) -> dict[str, str]:
    created = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return {
        f"{_PREFIX}version": importlib.metadata.version("lagwarden"),
        f"{_PREFIX}created": created,
        f"{_PREFIX}cluster_id": json.dumps(origin.cluster_id),
        f"{_PREFIX}topic_ids": json.dumps(dict(origin.topic_ids), sort_keys=True),
    }


def _origin(path: Path, metadata: Mapping[str, str]) -> Origin:
    try:
        cluster_id = json.loads(metadata.get(f"{_PREFIX}cluster_id", "null"))
        topic_ids = dict(json.loads(metadata.get(f"{_PREFIX}topic_ids", "{}")))
    except (ValueError, TypeError) as error:
        raise UnreadableRefusal(
            f"{display_path(path)}: its header is damaged", "use another copy of the file"
        ) from error
    return Origin(cluster_id, topic_ids)


def _header(path: Path, file: IO[bytes]) -> Header:
    """Return the header of the container. Raises UnreadableRefusal if it is not that of a capture."""
    advice = "use a file written by `lagwarden capture`"
    try:
        header = read_header(file)
    except OSError as error:
        raise unreadable(path, os_error_text(error)) from error
    except ContainerError as error:
        raise UnreadableRefusal(f"{display_path(path)} {error}", advice) from error
    schema = header.schema
    if not isinstance(schema, dict) or schema.get("name") != _NAME:
        raise UnreadableRefusal(f"{display_path(path)} is an Avro file, but not a capture", advice)
    if [(field["name"], field["type"]) for field in schema["fields"]] != _FIELDS:
        raise UnreadableRefusal(
            f"{display_path(path)} is a capture in another format", "use the lagwarden version that wrote it"
        )
    return header
