"""Capture files: the records of internal topics in one Avro container, to be kept, sent and replayed.

Owns the format. Rows are `topic, partition, offset, timestamp, key, value`; the header names the cluster and topics.
and topics. A file is only ever appended to, block by block, so one that was torn (a crash, a broken download) is
readable up to the tear, and going on with it cuts the tear off first.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import importlib.metadata
import json
from typing import IO, TYPE_CHECKING, Any, Final, Self

import fastavro
from fastavro.write import Writer

from stream.offline.rows import Origin, Row, UnreadableRefusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from stream.offline.rows import Place

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
_CODEC: Final = "deflate"  # every Avro reader has it
_FIELDS: Final = [(field["name"], field["type"]) for field in SCHEMA["fields"]]
_LARGEST_PARTITION: Final = 0x7FFFFFFF
_NAME: Final = "lagwarden.capture.Row"
_PREFIX: Final = "lagwarden."


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Some consecutive rows, and where in the file the next block begins."""

    rows: list[Row]
    start: int
    end: int


class CaptureFile:
    """A capture as a source of rows. `version` and `created` say which lagwarden made it, and when (ISO 8601)."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raises UnreadableRefusal for what is no capture."""
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.end = 0
        """The byte behind the last good block, once the rows have been given."""
        with _open(path) as file:
            metadata = _blocks(path, file).metadata
            self.end = file.tell()
        self.version = str(metadata.get(f"{_PREFIX}version", ""))
        self.created = str(metadata.get(f"{_PREFIX}created", ""))
        self._origin = _origin(path, metadata)

    @property
    def origin(self) -> Origin:
        """Whose records they are."""
        return self._origin

    def rows(self, after: Mapping[Place, int] | None = None) -> Iterator[Row]:
        """Give the rows in the order of the file."""
        for block in self.blocks():
            for row in block.rows:
                if after is None or row.offset > after.get(row.place, -1):
                    yield row

    def blocks(self, start: int | None = None) -> Iterator[Block]:
        """Give the rows block by block, from a block's start on; a tear ends it and is told in `problems`."""
        self.problems = []
        size = self.path.stat().st_size
        with _open(self.path) as file:
            container = _blocks(self.path, file)
            self.end = file.tell()
            if start is not None:
                file.seek(start)
                self.end = start
            while (block := self._next(container, file)) is not None:
                yield block
        if self.end < size:
            self.problems.append(
                f"{self.path}: torn or damaged at byte {self.end}: {size - self.end} bytes behind it are lost"
            )

    def _next(self, container: Any, file: IO[bytes]) -> Block | None:
        """Read one block whole; None at the end, and where no whole block follows."""
        start = self.end
        try:
            rows = [Row._make(fields.values()) for fields in next(container)]
            if not all(0 <= row.partition <= _LARGEST_PARTITION and row.offset >= 0 for row in rows):
                return None
        except StopIteration:
            return None
        except Exception:  # noqa: BLE001 -- damaged bytes can fail in any layer of the container's reader
            return None
        self.end = file.tell()
        return Block(rows, start, self.end)

    def last_offsets(self) -> dict[Place, int]:
        """Give the highest offset that each partition has in the file."""
        last: dict[Place, int] = {}
        for row in self.rows():
            last[row.place] = max(row.offset, last.get(row.place, -1))
        return last


class CaptureWriter:
    """Writes a capture, or goes on with one: `last` then tells how far each partition had come.

    Rows of a partition come in the order of its log.
    """

    def __init__(self, path: Path, origin: Origin) -> None:
        """Begin the file, or open it for more of the same. Raises UnreadableRefusal if it is of something else."""
        self.path = path
        self.last: dict[Place, int] = {}
        self.cut = 0
        """Bytes behind a tear that were cut off."""
        going_on = path.exists() and path.stat().st_size > 0
        if going_on:
            self._take_up(origin)
        try:
            self._file = path.open("r+b" if going_on else "wb")
        except OSError as error:
            raise UnreadableRefusal(f"{path} cannot be written: {error.strerror}", "name another file") from error
        if going_on:
            self._file.seek(0, 2)
        self._writer = Writer(self._file, SCHEMA, _CODEC, sync_interval=BLOCK_BYTES, metadata=_metadata(origin))
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, row: Row) -> None:
        """Append one row."""
        self._writer.write(row._asdict())
        self.last[row.place] = row.offset

    def flush(self) -> None:
        """Bring what was written so far to the disk, as a block of its own."""
        self._writer.flush()
        self._file.flush()

    def close(self) -> None:
        """Write the rest and close the file."""
        if not self._file.closed:
            self.flush()
            self._file.close()

    def _take_up(self, origin: Origin) -> None:
        known = CaptureFile(self.path)
        if why := _conflict(known.origin, origin):
            raise UnreadableRefusal(f"{self.path} cannot go on: {why}", "name another file")
        self.last = known.last_offsets()
        self.cut = self.path.stat().st_size - known.end
        if self.cut:
            with self.path.open("r+b") as file:
                file.truncate(known.end)


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
        raise UnreadableRefusal(f"{path}: its header is damaged", "use another copy of the file") from error
    return Origin(cluster_id, topic_ids)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise UnreadableRefusal(f"{path} cannot be read: {error.strerror}", "name a capture file") from error


def _blocks(path: Path, file: IO[bytes]) -> Any:
    """Read the container's header and stand before its first block."""
    try:
        container = fastavro.block_reader(file)
    except Exception as error:  # any bytes at all may stand there
        raise UnreadableRefusal(f"{path} is no Avro container file", "`lagwarden capture` makes such files") from error
    schema = container.writer_schema
    if not isinstance(schema, dict) or schema.get("name") != _NAME:
        raise UnreadableRefusal(f"{path} is Avro, but no capture", "`lagwarden capture` makes such files")
    if [(field["name"], field["type"]) for field in schema["fields"]] != _FIELDS:
        raise UnreadableRefusal(f"{path} is a capture of another format", "read it with the lagwarden that made it")
    return container
