"""Records of internal topics as rows, where they come from, the protocol of all sources, and their lines of JSON.

Sources are capture files (`capture`), log directories (`folder`) and live topics (`live`). Each yields the records of a
partition in log order; partitions may alternate. What could not be read is added to `problems`, one line each, and the
rest is read nevertheless.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime as dt
import enum
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from decoders.schema import Record
from stream.errors import ExitCode, Refusal

OFFSETS_TOPIC: Final = "__consumer_offsets"

TopicAndPartition = tuple[str, int]
"""A topic and the number of one of its partitions."""


class LogRow(NamedTuple):
    """One record: `timestamp` in Unix ms, None if its log has none; null keys and values are None.

    A named tuple, unlike the frozen dataclasses elsewhere: there are millions of rows, and it costs a third.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None

    @property
    def place(self) -> TopicAndPartition:
        """The topic and partition of the record."""
        return self.topic, self.partition


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """The cluster of the records: its id, and the id (22 characters) per topic; None where unknown."""

    cluster_id: str | None
    topic_ids: Mapping[str, str | None]

    def conflict_with(self, new: Origin) -> str | None:
        """Return why rows of `new` must not be added to those of this origin, or None."""
        if None not in (self.cluster_id, new.cluster_id) and self.cluster_id != new.cluster_id:
            return f"it belongs to cluster {self.cluster_id}, not to {new.cluster_id}"
        for topic, known in new.topic_ids.items():
            if topic not in self.topic_ids:
                return f"it was created without topic {topic}"
            if None not in (known, self.topic_ids[topic]) and known != self.topic_ids[topic]:
                return f"topic {topic} was re-created since"
        return None


class RowSource(Protocol):
    """A source of rows."""

    problems: list[str]
    """What could not be read, one line each; complete when all rows have been read."""
    notes: list[str]
    """Remarks that are no errors, one line each; complete when all rows have been read."""

    @property
    def origin(self) -> Origin:
        """The cluster and the topics of the records."""

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[LogRow]:
        """Yield the rows; of each partition in `after` only those with a greater offset. Raises Refusal."""


@dataclasses.dataclass
class RowList:
    """Rows in memory, as a source."""

    listed: Sequence[LogRow]
    origin: Origin = dataclasses.field(default_factory=lambda: Origin(None, {}))
    problems: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[LogRow]:
        """See RowSource."""
        return (row for row in self.listed if after is None or row.offset > after.get(row.place, -1))


class UnreadableRefusal(Refusal):
    """A file or directory does not exist or has the wrong kind; nothing in it can be read."""

    code = ExitCode.UNREADABLE


class UnwritableRefusal(Refusal):
    """A file cannot be written, or not any further. What was written before is kept."""

    code = ExitCode.UNWRITABLE


MAX_BATCH_BYTES: Final = 32 << 20
"""Bytes of keys and values after which a batch of rows is complete."""


def batch_rows(rows: Iterable[LogRow], max_rows: int, max_bytes: int = MAX_BATCH_BYTES) -> Iterator[list[LogRow]]:
    """Yield the rows in lists of at most `max_rows` rows; a list is complete when it reaches `max_bytes`."""
    batch: list[LogRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.key or b"") + len(row.value or b"")
        if len(batch) >= max_rows or size >= max_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_NULLS: Final = frozenset({"", "-", "null", "NULL"})


class Encoding(enum.StrEnum):
    """The encoding of bytes. `auto`: hexadecimal if the text is valid hexadecimal, else base64."""

    AUTO = "auto"
    HEX = "hex"
    BASE64 = "base64"


def parse_bytes(text: str, encoding: Encoding = Encoding.AUTO) -> bytes | None:
    """Parse bytes; an empty text, `-` and `null` are None. Raises ValueError.

    Base64 may be URL-safe and without padding.
    """
    if text in _NULLS:
        return None
    if encoding is not Encoding.BASE64:
        try:
            return bytes.fromhex(text.removeprefix("0x").replace(":", ""))
        except ValueError:
            if encoding is Encoding.HEX:
                raise ValueError(f"{_short(text)} is not hexadecimal") from None
    try:
        plain = text.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        problem = "not base64" if encoding is Encoding.BASE64 else "neither hexadecimal nor base64"
        raise ValueError(f"{_short(text)} is {problem}") from None


def parse_pairs(lines: Iterable[str], topic: str, encoding: Encoding) -> Iterator[LogRow | str]:
    """Yield a row per line with a key and a value, separated by blanks, or an error message. A missing value is null.

    The offset of a row is the number of its line, from 0. Empty lines are skipped.
    """
    for number, line in enumerate(lines):
        words = line.split()
        if not words:
            continue
        if len(words) > 2:
            yield f"line {number + 1}: {len(words)} words instead of a key and a value"
            continue
        try:
            key, value = (parse_bytes(word, encoding) for word in [*words, "-"][:2])
        except ValueError as error:
            yield f"line {number + 1}: {error}"
            continue
        yield LogRow(topic, 0, number, None, key, value)


def parse_time(text: str) -> int:
    """Parse a time as Unix milliseconds; without a time zone it is in UTC. Raises ValueError for other formats."""
    try:
        if text.lstrip("-").isdecimal():
            return int(text)
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither ISO 8601, such as 2026-01-31T09:30, nor Unix milliseconds") from None
    with_zone = time if time.tzinfo else time.replace(tzinfo=dt.UTC)
    return round(with_zone.timestamp() * 1000)


def rows_between(rows: Iterable[LogRow], start: int | None, end: int | None) -> Iterable[LogRow]:
    """Return the rows with a timestamp from `start` to before `end`, in Unix ms; None: no limit.

    A row without a timestamp is only in the range without limits.
    """
    if start is None and end is None:
        return rows
    first, last = -math.inf if start is None else start, math.inf if end is None else end
    return (row for row in rows if row.timestamp is not None and first <= row.timestamp < last)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def decode(row: LogRow) -> tuple[str, bool]:
    """Return the text of a row, and whether it could be decoded.

    An error is a JSON object with the row, its bytes in hex, and the `DecodeError`.
    """
    record = _READERS.get(row.topic, scalar.decode)(row.key, row.value)
    if not isinstance(record, DecodeError):
        return jsonform.console(record), True
    answer = {
        "error": {**dataclasses.asdict(record), "reason": record.reason.value},
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "key": None if row.key is None else row.key.hex(),
        "value": None if row.value is None else row.value.hex(),
    }
    return json.dumps(answer, separators=(",", ":")), False


_READERS: Final[Mapping[str, Callable[[bytes | None, bytes | None], Record | DecodeError]]] = {
    "__consumer_offsets": scalar.decode,
    "__transaction_state": scalar.decode_transaction,
    "__share_group_state": scalar.decode_share_state,
}
TOPICS: Final = tuple(_READERS)
"""The topics that can be decoded."""
