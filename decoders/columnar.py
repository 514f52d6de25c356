"""Interpreter two, the hot path: offset commits and the keys beside them, a whole Arrow column at a time.

Walks the same tables as `decoders.scalar` with a vector of cursors over the column's one data buffer, every step
checked against the end of its own row. It gives an answer or *declines* the row, and never words an error: the caller
asks the scalar interpreter about declined rows. The law, tested: where columnar gives an answer, it is scalar's
answer.

Declined are rows that scalar would refuse, and rare ones that are not worth a vector: lengths of three or more varint
bytes, tagged sections with anything but the one known uuid, strings in keys that are not UTF-8, negative partitions.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoders.cursors import BinaryColumn, Cursors
from decoders.schema import versions
from decoders.tables import classic, offsets

if TYPE_CHECKING:
    import numpy.typing as npt

    from decoders.schema import Message

    Int16s = npt.NDArray[np.int16]
    Int32s = npt.NDArray[np.int32]
    Int64s = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

_KEYS: Final = {0: offsets.LEGACY_OFFSET_COMMIT_KEY, 1: offsets.OFFSET_COMMIT_KEY, 2: classic.GROUP_METADATA_KEY}
_VALUE: Final = offsets.OFFSET_COMMIT_VALUE
_LEAST_PARTITION: Final = offsets.OFFSET_COMMIT_KEY.struct.fields[-1].least or 0


@dataclasses.dataclass(frozen=True, slots=True)
class KeyColumns:
    """The keys of a column, one entry per row.

    `record_type` is -1 where the key is null or shorter than two bytes. `declined` is true for everything but a
    well-formed key of type 0, 1 or 2 in valid UTF-8; then the other columns are null (names) or undefined (numbers).
    `topic` is null and `partition` undefined for type 2. `end` is the length of the key that was read, with its two
    type bytes and without trailing ones.
    """

    record_type: Int16s
    declined: Flags
    group: pa.StringArray
    topic: pa.StringArray
    partition: Int32s
    end: Int32s


@dataclasses.dataclass(frozen=True, slots=True)
class CommitDetails:
    """The rest of some commits, in the order asked. -1 in the numbers is Kafka's "not known".

    `metadata` holds the record's own bytes (UTF-8 unless a client did otherwise); `topic_id` is null where absent or
    zero. A row that is declined or a tombstone has nulls and -1.
    """

    leader_epoch: Int32s
    expire_timestamp: Int64s
    metadata: pa.BinaryArray
    topic_id: pa.Array


@dataclasses.dataclass(frozen=True, slots=True)
class _Walk:
    """The rows of one version that fit it, ascending, and where each of their fields begins and ends."""

    rows: Int64s
    at: dict[str, Int64s]


@dataclasses.dataclass(frozen=True, slots=True)
class CommitColumns:
    """The values of offset commits, one entry per row.

    `version` is -1 where there are no two bytes to tell it. `offset` and `commit_timestamp` (Unix milliseconds) are
    undefined where `declined` or `tombstone`.
    """

    version: Int16s
    tombstone: Flags
    declined: Flags
    offset: Int64s
    commit_timestamp: Int64s
    _column: BinaryColumn
    _walks: tuple[_Walk, ...]

    def details(self, rows: np.ndarray) -> CommitDetails:
        """Read what is needed of few rows only, found by the walks that were made for all."""
        at = self._at(rows, "leader_epoch", "expire_timestamp", "metadata", "metadata_end", "topic_id")
        return CommitDetails(
            leader_epoch=self._column.numbers(at["leader_epoch"], np.dtype(">i4"), absent=-1),
            expire_timestamp=self._column.numbers(at["expire_timestamp"], np.dtype(">i8"), absent=-1),
            metadata=self._column.slices(at["metadata"], at["metadata_end"]),
            topic_id=self._column.uuids(at["topic_id"]),
        )

    def expire_timestamp(self, rows: np.ndarray) -> Int64s:
        """Read one of these details alone."""
        at = self._at(rows, "expire_timestamp")
        return self._column.numbers(at["expire_timestamp"], np.dtype(">i8"), absent=-1)

    def _at(self, rows: np.ndarray, *names: str) -> dict[str, Int64s]:
        """Give where fields of these rows begin, -1 where they are not there."""
        found = {name: np.full(len(rows), -1, dtype=np.int64) for name in names}
        for walk in self._walks:
            places = np.minimum(np.searchsorted(walk.rows, rows), len(walk.rows) - 1)
            mine = np.flatnonzero(walk.rows[places] == rows)
            for name in names:
                if name in walk.at:
                    found[name][mine] = walk.at[name][places[mine]]
        return found


def decode_keys(keys: pa.BinaryArray) -> KeyColumns:
    """Decode a column of keys; meant for the distinct keys of a batch."""
    column = BinaryColumn(keys)
    record_type = column.heads()
    names = ("group", "group_end", "topic", "topic_end", "partition", "end")
    at = {name: np.full(len(keys), -1, dtype=np.int64) for name in names}
    for number, message in _KEYS.items():
        walk = _walk(column, np.flatnonzero(record_type == number), message, 0)
        for name, positions in walk.at.items():
            at[name][walk.rows] = positions
    group, group_fits = _text(column.slices(at["group"], at["group_end"]))
    topic, topic_fits = _text(column.slices(at["topic"], at["topic_end"]))
    partition = column.numbers(at["partition"], np.dtype(">i4"), absent=-1)
    below = (at["partition"] >= 0) & (partition < _LEAST_PARTITION)
    declined = (at["end"] < 0) | ~group_fits | ~topic_fits | below
    if not (group_fits.all() and topic_fits.all()) or below.any():
        group, topic = _null_where(group, declined), _null_where(topic, declined)
    return KeyColumns(
        record_type=record_type,
        declined=declined,
        group=group,
        topic=topic,
        partition=partition,
        end=(at["end"] - column.start).astype(np.int32),
    )


def decode_commit_values(values: pa.BinaryArray, rows: Int64s | None = None) -> CommitColumns:
    """Decode a column of values that stand behind keys of type 0 or 1; `rows` chooses some of its rows."""
    column = BinaryColumn(values, rows)
    version = column.heads()
    offset, time = (np.full(len(version), -1, dtype=np.int64) for _ in range(2))
    declined = ~column.null
    walks = []
    for number in versions(_VALUE.valid):
        walk = _walk(column, np.flatnonzero(version == number), _VALUE, number)
        if len(walk.rows):
            walks.append(walk)
            declined[walk.rows] = False
            offset[walk.rows] = column.numbers(walk.at["offset"], np.dtype(">i8"), absent=-1)
            time[walk.rows] = column.numbers(walk.at["commit_timestamp"], np.dtype(">i8"), absent=-1)
    return CommitColumns(version, column.null, declined, offset, time, column, tuple(walks))


def _walk(column: BinaryColumn, rows: Int64s, message: Message, version: int) -> _Walk:
    """Walk one message over these rows, and keep those that fit."""
    if not len(rows):
        return _Walk(rows, {})
    cursors = Cursors(column, rows)
    found = cursors.walk(message, version)
    found["end"] = cursors.at
    fits = cursors.fits
    if not fits.all():
        rows = rows[fits]
        found = {name: positions[fits] for name, positions in found.items()}
    return _Walk(rows, found)


def _text(raw: pa.BinaryArray) -> tuple[pa.StringArray, Flags]:
    """Give strings and where they are valid; one check over the whole buffer, row by row only if that fails."""
    try:
        return raw.cast(pa.string()), np.ones(len(raw), dtype=np.bool_)
    except pa.ArrowInvalid:
        strict = [_strictly(item) for item in raw.to_pylist()]
        fits = np.fromiter((given is not _INVALID for given in strict), dtype=np.bool_, count=len(strict))
        return pa.array([given if ok else None for given, ok in zip(strict, fits, strict=True)], pa.string()), fits


_INVALID: Final[Any] = object()


def _strictly(raw: bytes | None) -> Any:
    """Give the string of these bytes, `_INVALID` if it is none."""
    if raw is None:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _INVALID


def _null_where(array: pa.StringArray, declined: Flags) -> pa.StringArray:
    """Put nulls where a row was declined for another column's sake."""
    return pc.if_else(pa.array(~declined), array, pa.scalar(None, pa.string()))
