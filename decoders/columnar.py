"""Column decoder, the hot path: decodes offset commits and their keys, a whole Arrow column at a time.

It walks the same tables as `decoders.scalar`, with a vector of cursors over the data buffer of the column. Every step
is checked against the end of its row. A row is either decoded or *declined*; errors are never reported here, so the
caller passes declined rows to `decoders.scalar`. Tests check that both decoders agree on all rows not declined.

Declined rows are those that `decoders.scalar` refuses, such as keys with a negative partition, and rare ones that are
not worth vectorising: varint lengths of three or more bytes, tagged sections with anything except the one known uuid,
strings in keys that are not UTF-8.
"""

import dataclasses
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from decoders.cursors import BinaryColumn, Cursors, Flags, Int16s, Int64s
from decoders.schema import Message, RecordContent, versions
from decoders.tables import BY_NUMBER, shapes, types_with

Int32s = npt.NDArray[np.int32]

_KEYS: Final = {
    number: key
    for number in sorted(types_with(RecordContent.OFFSET, RecordContent.CLASSIC_GROUP))
    if (key := BY_NUMBER[number].key) is not None
}
_VALUE: Final = shapes.OFFSET_COMMIT_VALUE
_MINIMUM_PARTITION: Final = shapes.OFFSET_COMMIT_KEY.struct.fields[-1].minimum or 0


@dataclasses.dataclass(frozen=True, slots=True)
class KeyColumns:
    """The keys of a column, one entry per row.

    `record_type` is -1 if the key is null or shorter than two bytes. `declined` is true unless the key is a well-formed
    key of type 0, 1 or 2 in valid UTF-8; in declined rows the names are null and the numbers undefined. For type 2
    `topic` is null and `partition` undefined. `end` is the length of the decoded key, including its two type bytes and
    excluding trailing bytes.
    """

    record_type: Int16s
    declined: Flags
    group: pa.StringArray
    topic: pa.StringArray
    partition: Int32s
    end: Int32s


@dataclasses.dataclass(frozen=True, slots=True)
class _Walk:
    """The rows that match the layout of one version, ascending, and where each of their fields begins and ends."""

    rows: Int64s
    at: dict[str, Int64s]


@dataclasses.dataclass(frozen=True, slots=True)
class CommitColumns:
    """The values of offset commits, one entry per row.

    `version` is -1 if the value is shorter than two bytes. `offset` and `commit_timestamp` (Unix milliseconds) are
    undefined in rows that are `declined` or `tombstone`.
    """

    version: Int16s
    tombstone: Flags
    declined: Flags
    offset: Int64s
    commit_timestamp: Int64s
    _column: BinaryColumn
    _walks: tuple[_Walk, ...]

    def details(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the remaining fields of these rows by name; only few rows need them, so they are read on request.

        `leader_epoch` and `expire_timestamp` are vectors with -1, Kafka's "unknown". `metadata` has the raw bytes of
        the record (UTF-8 unless the client wrote something else). `topic_id` is null if absent or zero. Declined rows
        and tombstones have nulls and -1.
        """
        at = self._at(rows, "leader_epoch", "expire_timestamp", "metadata", "metadata_end", "topic_id")
        return {
            "leader_epoch": self._column.numbers(at["leader_epoch"], np.dtype(">i4"), absent=-1),
            "expire_timestamp": self._column.numbers(at["expire_timestamp"], np.dtype(">i8"), absent=-1),
            "metadata": self._column.slices(at["metadata"], at["metadata_end"]),
            "topic_id": self._column.uuids(at["topic_id"]),
        }

    def expire_timestamp(self, rows: np.ndarray) -> Int64s:
        """Return only the `expire_timestamp` of these rows."""
        at = self._at(rows, "expire_timestamp")
        return self._column.numbers(at["expire_timestamp"], np.dtype(">i8"), absent=-1)

    def _at(self, rows: np.ndarray, *names: str) -> dict[str, Int64s]:
        """Return where the named fields of these rows begin, -1 for fields that are absent."""
        positions = {name: np.full(len(rows), -1, dtype=np.int64) for name in names}
        for walk in self._walks:
            indexes = np.minimum(np.searchsorted(walk.rows, rows), len(walk.rows) - 1)
            in_walk = np.flatnonzero(walk.rows[indexes] == rows)
            for name in names:
                if name in walk.at:
                    positions[name][in_walk] = walk.at[name][indexes[in_walk]]
        return positions


def decode_keys(keys: pa.BinaryArray) -> KeyColumns:
    """Decode a column of keys; intended for the distinct keys of a batch."""
    column = BinaryColumn(keys)
    record_type = column.leading_int16s()
    names = ("group", "group_end", "topic", "topic_end", "partition", "end")
    at = {name: np.full(len(keys), -1, dtype=np.int64) for name in names}
    for number, message in _KEYS.items():
        walk = _walk(column, np.flatnonzero(record_type == number), message, 0)
        for name, positions in walk.at.items():
            at[name][walk.rows] = positions
    group, group_fits = _text(column.slices(at["group"], at["group_end"]))
    topic, topic_fits = _text(column.slices(at["topic"], at["topic_end"]))
    partition = column.numbers(at["partition"], np.dtype(">i4"), absent=-1)
    negative = (at["partition"] >= 0) & (partition < _MINIMUM_PARTITION)
    declined = (at["end"] < 0) | ~group_fits | ~topic_fits | negative
    if declined.any():
        group, topic = (pc.if_else(pa.array(declined), pa.scalar(None, pa.string()), each) for each in (group, topic))
    return KeyColumns(
        record_type=record_type,
        declined=declined,
        group=group,
        topic=topic,
        partition=partition,
        end=(at["end"] - column.start).astype(np.int32),
    )


def decode_commit_values(values: pa.BinaryArray, rows: Int64s | None = None) -> CommitColumns:
    """Decode a column of values of records with keys of type 0 or 1; `rows` selects some of its rows."""
    column = BinaryColumn(values, rows)
    version = column.leading_int16s()
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
    """Walk one message version over these rows and keep the rows that fit."""
    if not len(rows):
        return _Walk(rows, {})
    cursors = Cursors(column, rows)
    positions = cursors.walk(message, version)
    positions["end"] = cursors.at
    fits = cursors.fits
    if not fits.all():
        rows = rows[fits]
        positions = {name: at[fits] for name, at in positions.items()}
    return _Walk(rows, positions)


def _text(raw: pa.BinaryArray) -> tuple[pa.StringArray, Flags]:
    """Return the column as strings and a mask of the rows that are UTF-8 or null; the text of others is undefined."""
    try:
        return raw.cast(pa.string()), np.ones(len(raw), dtype=np.bool_)
    except pa.ArrowInvalid:
        replaced = [None if each is None else each.decode(errors="replace") for each in raw.to_pylist()]
        texts = pa.array(replaced, pa.string())
        unchanged = pc.equal(texts.cast(pa.binary()), raw).fill_null(True)
        return texts, unchanged.to_numpy(zero_copy_only=False)
