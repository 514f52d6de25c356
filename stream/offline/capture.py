"""Capture files: the records of internal topics in one Avro container, to be kept, sent and replayed.

Owns the format. Rows are `topic, partition, offset, timestamp, key, value`; the header names the cluster and topics. A
file is only ever appended to, block by block. One that was torn (a crash, a broken download) is readable up to the
tear, and going on with it cuts the incomplete last block off first. Nothing else is ever cut off: a file that is
damaged in another way, or cannot be read whole just now, is refused as it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import importlib.metadata
import io
import json
import os
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn, Self

import fastavro
from fastavro.write import Writer

from stream.offline.container import (
    WRITABLE_CODECS,
    BlockReader,
    ContainerEnd,
    ContainerError,
    Header,
    RawBlock,
    read_header,
)
from stream.offline.paths import display_path, open_to_append, open_to_read, os_error_text, unwritable_refusal
from stream.offline.rows import Origin, TopicRow, UnreadableRefusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from stream.offline.rows import TopicAndPartition

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
"""What a tear may cost at most, before compression."""
MAX_ROW_BYTES: Final = 32 << 20
"""Bytes of key and value that a row may have: with what stands before it in its block, it can be read again."""
_CODEC: Final = "deflate"  # every Avro reader has it
_PARSED: Final = fastavro.parse_schema(SCHEMA)
_FIELDS: Final = [(field["name"], field["type"]) for field in SCHEMA["fields"]]
_LARGEST_PARTITION: Final = 0x7FFFFFFF
_NAME: Final = "lagwarden.capture.Row"
_PREFIX: Final = "lagwarden."


@dataclasses.dataclass(frozen=True, slots=True)
class CaptureBlock:
    """Some consecutive rows, and where in the file the next block begins."""

    rows: list[TopicRow]
    start: int
    end: int


class CaptureFile:
    """A capture as a source of rows. `version` and `created` say which lagwarden made it, and when (ISO 8601)."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raises UnreadableRefusal for what is no capture."""
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.ending: ContainerEnd | None = None
        """How the blocks ended, once they have been given; None where the file could not be read to there."""
        with open_to_read(path) as file:
            self._header = _header(path, file)
        self.end = self._header.end
        """The byte behind the last good block, once the rows have been given."""
        metadata = self._header.metadata
        self.version = str(metadata.get(f"{_PREFIX}version", ""))
        self.created = str(metadata.get(f"{_PREFIX}created", ""))
        self._origin = _origin(path, metadata)

    @property
    def origin(self) -> Origin:
        """Whose records they are."""
        return self._origin

    @property
    def codec(self) -> str:
        """How its blocks are compressed, in Avro's words."""
        return self._header.codec

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[TopicRow]:
        """Give the rows in the order of the file."""
        for block in self.blocks():
            for row in block.rows:
                if after is None or row.offset > after.get(row.place, -1):
                    yield row

    def blocks(self, start: int | None = None) -> Iterator[CaptureBlock]:
        """Give the rows block by block, from a block's start on; what ends it early is told in `problems`."""
        self.problems, self.ending = [], None
        self.end = self._header.end if start is None else start
        with open_to_read(self.path) as file:
            reader = BlockReader(file, self._header, start)
            raw_blocks = reader.blocks()
            while (raw := self._next(raw_blocks)) is not None:
                rows = _rows_of(raw)
                if isinstance(rows, str):
                    reader.reject(rows)
                    break
                self.end = raw.end
                yield CaptureBlock(rows, raw.start, raw.end)
            self._note_ending(reader, os.fstat(file.fileno()).st_size)

    def _next(self, blocks: Iterator[RawBlock]) -> RawBlock | None:
        """Read the next block; None at the end, and where the system cannot read on."""
        try:
            return next(blocks, None)
        except OSError as error:
            self.problems.append(
                f"{display_path(self.path)}: cannot be read from byte {self.end} on: {os_error_text(error)}"
            )
            return None

    def _note_ending(self, reader: BlockReader, size: int) -> None:
        self.ending = reader.ending
        lost = f"{size - self.end} bytes from there on are not read"
        if reader.ending is ContainerEnd.TORN:
            self.problems.append(f"{display_path(self.path)}: torn at byte {self.end}: {reader.why}; {lost}")
        elif reader.ending is ContainerEnd.DAMAGED:
            self.problems.append(f"{display_path(self.path)}: damaged at byte {self.end}: {reader.why}; {lost}")

    def last_offsets(self) -> dict[TopicAndPartition, int]:
        """Give the highest offset that each partition has in the file."""
        last: dict[TopicAndPartition, int] = {}
        for row in self.rows():
            last[row.place] = max(row.offset, last.get(row.place, -1))
        return last


def _rows_of(raw: RawBlock) -> list[TopicRow] | str:
    """Decode a block's rows; what is wrong with them if they cannot be."""
    data, rows = io.BytesIO(raw.data), []
    for _ in range(raw.count):
        try:
            fields: Any = fastavro.schemaless_reader(data, _PARSED, None)
        except (EOFError, ValueError, IndexError, OverflowError, TypeError, KeyError):
            return "a row cannot be decoded"
        row = TopicRow._make(fields.values())
        if not (0 <= row.partition <= _LARGEST_PARTITION and row.offset >= 0):
            return "a row with a partition or an offset that cannot be"
        rows.append(row)
    return rows if data.tell() == len(raw.data) else "bytes are left behind its last row"


class CaptureWriter:
    """Writes a capture, or goes on with one: `last` then tells how far each partition had come.

    Rows of a partition come in the order of its log.
    """

    def __init__(self, path: Path, origin: Origin) -> None:
        """Begin the file, or open it for more of the same.

        Raises UnwritableRefusal, and UnreadableRefusal for a file that it must not go on with; that stays as it is.
        """
        self.path = path
        self.last: dict[TopicAndPartition, int] = {}
        self.cut = 0
        """Bytes of an incomplete last block that were cut off."""
        self.problems: list[str] = []
        """Rows that could not be written, a line each."""
        self._failed = False
        self._file, is_new = open_to_append(path)
        size = os.fstat(self._file.fileno()).st_size
        try:
            if size:
                self._take_up(origin, size)
            self._writer = Writer(self._file, SCHEMA, _CODEC, sync_interval=BLOCK_BYTES, metadata=_metadata(origin))
            self._file.flush()
        except BaseException as error:
            self._abandon()
            if not size:
                _undo_header(path, remove=is_new)
            if isinstance(error, OSError):
                raise unwritable_refusal(path, error) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, row: TopicRow) -> None:
        """Append one row. Raises UnwritableRefusal."""
        size = len(row.key or b"") + len(row.value or b"")
        if size > MAX_ROW_BYTES:
            where = f"{row.topic}-{row.partition}, offset {row.offset}"
            self.problems.append(f"{where}: a record of {size} bytes is not captured: larger than {MAX_ROW_BYTES}")
            return
        try:
            self._writer.write(row._asdict())
        except OSError as error:
            self._fail(error)
        self.last[row.place] = row.offset

    def flush(self) -> None:
        """Bring what was written so far to the disk, as a block of its own. Raises UnwritableRefusal."""
        try:
            self._writer.flush()
            self._file.flush()
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Write the rest and close the file. Raises UnwritableRefusal."""
        if self._failed or self._file.closed:
            self._abandon()
            return
        self.flush()
        self._file.close()

    def _fail(self, error: OSError) -> NoReturn:
        """Give up: the file ends inside a block, which the next run cuts off."""
        self._failed = True
        raise unwritable_refusal(self.path, error) from error

    def _abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()  # which tries once more to write what its buffer holds

    def _take_up(self, origin: Origin, size: int) -> None:
        """Learn how far the file has come, and cut off an incomplete last block. Raises UnreadableRefusal."""
        known = CaptureFile(self.path)
        if why := _conflict(known.origin, origin):
            raise UnreadableRefusal(f"{display_path(self.path)} cannot go on: {why}", "name another file")
        if known.codec not in WRITABLE_CODECS:
            raise UnreadableRefusal(
                f"{display_path(self.path)} cannot go on: codec {known.codec} can be read here, but not written",
                "name another file",
            )
        self.last = known.last_offsets()
        if known.ending not in {ContainerEnd.WHOLE, ContainerEnd.TORN}:
            raise UnreadableRefusal(
                f"{'; '.join(known.problems)}; nothing was changed",
                "name another file, or put a whole copy in its place: only an incomplete last block is cut off",
            )
        self.cut = size - known.end
        if self.cut:
            self._file.truncate(known.end)
        self._file.seek(0, 2)


def _undo_header(path: Path, *, remove: bool) -> None:
    """Leave no half of a header where there was nothing before."""
    with contextlib.suppress(OSError):
        if remove:
            path.unlink()
        else:
            os.truncate(path, 0)


def _conflict(old: Origin, new: Origin) -> str | None:
    """Say why rows of `new` do not belong into a file of `old`."""
    if None not in (old.cluster_id, new.cluster_id) and old.cluster_id != new.cluster_id:
        return f"it is of cluster {old.cluster_id}, not of {new.cluster_id}"
    for topic, known in new.topic_ids.items():
        if topic not in old.topic_ids:
            return f"it was begun without topic {topic}"
        if None not in (known, old.topic_ids[topic]) and known != old.topic_ids[topic]:
            return f"topic {topic} has been created anew since"
    return None


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
    """Read the container's header, which must be that of a capture. Raises UnreadableRefusal."""
    advice = "`lagwarden capture` makes such files"
    try:
        header = read_header(file)
    except OSError as error:
        raise UnreadableRefusal(
            f"{display_path(path)} cannot be read: {os_error_text(error)}", "name a capture file"
        ) from error
    except ContainerError as error:
        raise UnreadableRefusal(f"{display_path(path)} {error}", advice) from error
    schema = header.schema
    if not isinstance(schema, dict) or schema.get("name") != _NAME:
        raise UnreadableRefusal(f"{display_path(path)} is Avro, but no capture", advice)
    if [(field["name"], field["type"]) for field in schema["fields"]] != _FIELDS:
        raise UnreadableRefusal(
            f"{display_path(path)} is a capture of another format", "read it with the lagwarden that made it"
        )
    return header
