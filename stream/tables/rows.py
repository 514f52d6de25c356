"""The records that a query asks for, and rows of them as Arrow batches; the columns that all tables of records have."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from decoders.columnar import decode_keys
from decoders.errors import DecodeError
from exporters.timestamps import EARLIEST_MS, LATEST_MS
from stream.groups.commits.run_table import DistinctKeys, RecordRole
from stream.groups.membership.summary import groups_of
from stream.groups.record_columns import RecordColumns

Columns = dict[str, "Callable[[], pa.Array]"]
"""The columns of some rows by name; each is made only if it is asked for."""

NO_PARTITION: Final = -1
"""The offsets partition of records from a file whose folder does not name one."""


@dataclasses.dataclass(frozen=True, slots=True)
class LoggedRecords:
    """Records of `__consumer_offsets` with their transactions, from any source. A time of -1 is none."""

    records: RecordColumns
    producer: NDArray[np.int64] | None
    """The producer id of the record's transaction, -1 outside of transactions; None: not known."""
    aborted: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class AskedNames:
    """The groups and the topics that a query asks for; None: all. A record without the name is not among them."""

    groups: frozenset[str] | None = None
    topics: frozenset[str] | None = None

    def mask(self, groups: pa.StringArray, topics: pa.StringArray) -> NDArray[np.bool_]:
        """Return which of these names are asked for."""
        mask = np.ones(len(groups), np.bool_)
        for names, asked in ((groups, self.groups), (topics, self.topics)):
            if asked is not None:
                # The null name of a record is in no set.
                among = pc.is_in(names, value_set=pa.array(sorted(asked), pa.string()), skip_nulls=True)
                mask &= among.to_numpy(zero_copy_only=False)
        return mask


@dataclasses.dataclass(frozen=True, slots=True)
class AskedRecords:
    """Those of some records that a query asks for, by their rows, with the names in their keys."""

    logged: LoggedRecords
    rows: NDArray[np.int64]
    codes: NDArray[np.int32]
    """For each of them the index of its key among the distinct keys."""
    distinct: DistinctKeys
    group: pa.StringArray
    """Group, topic and partition of each distinct key; null if the key does not have it."""
    topic: pa.StringArray
    partition: pa.Int32Array

    @classmethod
    def of(cls, logged: LoggedRecords, asked: AskedNames, types: frozenset[int] | None = None) -> AskedRecords:
        """Decode the keys, and select the records with these names and of these types; None: of all types."""
        distinct, codes = DistinctKeys.of_column(logged.records.keys)
        read = decode_keys(distinct.canonical_keys)
        row = pa.array(distinct.canonical, mask=distinct.role != RecordRole.COMMIT)
        group, topic = read.group.take(row), read.topic.take(row)
        members = np.flatnonzero(distinct.role == RecordRole.MEMBERSHIP)
        if len(members):
            names = np.full(len(group), None, object)
            names[members] = groups_of(distinct.canonical_keys.take(pa.array(distinct.canonical[members])).to_pylist())
            group = pc.coalesce(group, pa.array(names, pa.string()))
        wanted = asked.mask(group, topic)
        if types is not None:
            wanted &= np.isin(distinct.record_type, sorted(types))
        rows = np.flatnonzero(wanted[codes])
        return cls(logged, rows, codes[rows], distinct, group, topic, pa.array(read.partition).take(row))

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, at: NDArray[Any]) -> AskedRecords:
        """Return some of these records, by a mask or by indices, which may repeat."""
        return dataclasses.replace(self, rows=self.rows[at], codes=self.codes[at])

    def taken(self) -> RecordColumns:
        """Return the records, of which none is repeated."""
        return self.logged.records.take(self.rows)

    def columns(self) -> Columns:
        """Return the columns about the names and about the log."""
        records, key, count = self.logged.records, pa.array(self.codes), len(self)
        producer = None if self.logged.producer is None else self.logged.producer[self.rows]
        partition = records.offsets_partition[self.rows]
        return {
            "group": lambda: self.group.take(key),
            "topic": lambda: self.topic.take(key),
            "transactional": lambda: (
                pa.nulls(count, pa.bool_()) if producer is None else pa.array((producer >= 0) | self.logged.aborted)
            ),
            "aborted": lambda: pa.array(np.full(count, self.logged.aborted)),
            "producer_id": lambda: (
                pa.nulls(count, pa.int64()) if producer is None else pa.array(producer, mask=producer < 0)
            ),
            "offsets_partition": lambda: pa.array(partition, pa.int32(), mask=partition == NO_PARTITION),
            "position": lambda: pa.array(records.position[self.rows]),
            "record_time": lambda: times(records.time[self.rows]),
        }


def batch_of(schema: pa.Schema, columns: Mapping[str, Callable[[], pa.Array]], count: int) -> pa.RecordBatch:
    """Return `count` rows with the columns of the schema; a column that is not in `columns` is null."""
    arrays = [
        columns[field.name]() if field.name in columns else pa.nulls(count, field.type) for field in schema
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def column_of(field: pa.Field, rows: Sequence[Mapping[str, Any]]) -> pa.Array:
    """Return a column of rows by name, which have times in ms; a row without the name is null."""
    values = [row.get(field.name) for row in rows]
    if pa.types.is_timestamp(field.type):
        return times(np.array([-1 if value is None else value for value in values], np.int64))
    return pa.array(values, field.type)


def times(milliseconds: NDArray[np.int64], none: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return times in ms as Spark's timestamps; null for -1, outside of the years 1 to 9999, and where `none`."""
    absent = (milliseconds == -1) | (milliseconds < EARLIEST_MS) | (milliseconds > LATEST_MS)
    if none is not None:
        absent |= none
    microseconds = np.where(absent, 0, milliseconds) * 1000
    return pa.array(microseconds, pa.int64(), mask=absent).cast(pa.timestamp("us", tz="UTC"))


def error_text(read: object) -> str | None:
    """Return the reason and the place if this is a decode error, such as `short in value.offset`."""
    return f"{read.reason.value} in {read.field}" if isinstance(read, DecodeError) else None
