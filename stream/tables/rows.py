"""Rows of the tables as Arrow batches: the columns that all tables of records have, and the choice of columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders.errors import DecodeError
from stream.groups.record_columns import RecordColumns
from stream.tables.logged import NO_PARTITION, LoggedRecords

Columns = dict[str, "Callable[[], pa.Array]"]
"""The columns of some rows by name; each is made only if it is asked for."""

_FIRST_TIME: Final = -62_135_596_800_000
_LAST_TIME: Final = 253_402_300_799_999
"""The times (ms) of the years 1 to 9999: others are client-made nonsense that Spark could not show."""


def batch_of(schema: pa.Schema, columns: Mapping[str, Callable[[], pa.Array]], count: int) -> pa.RecordBatch:
    """Return `count` rows with the columns of the schema; a column that is not in `columns` is null."""
    arrays = [
        columns[field.name]() if field.name in columns else pa.nulls(count, field.type) for field in schema
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def problem_row(schema: pa.Schema, problem: str) -> pa.RecordBatch:
    """Return a row that has only an error: something that is no record could not be read."""
    return batch_of(schema, {"error": lambda: pa.array([problem])}, 1)


def record_rows(logged: LoggedRecords, rows: NDArray[np.int64], taken: RecordColumns) -> Columns:
    """Return the columns about the log of these rows; `taken` has their records."""
    count = len(rows)
    producer = None if logged.producer is None else logged.producer[rows]
    unknown = pa.nulls(count, pa.int64())
    partition = taken.offsets_partition
    return {
        "transactional": lambda: (
            pa.nulls(count, pa.bool_()) if producer is None else pa.array((producer >= 0) | logged.aborted)
        ),
        "aborted": lambda: pa.array(np.full(count, logged.aborted)),
        "producer_id": lambda: unknown if producer is None else pa.array(producer, mask=producer < 0),
        "offsets_partition": lambda: pa.array(partition, pa.int32(), mask=partition == NO_PARTITION),
        "position": lambda: pa.array(taken.position),
        "record_time": lambda: times(taken.time),
    }


def column_of(field: pa.Field, rows: Sequence[Mapping[str, Any]]) -> pa.Array:
    """Return a column of rows by name, which have times in ms; a row without the name is null."""
    values = [row.get(field.name) for row in rows]
    if pa.types.is_timestamp(field.type):
        return times(np.array([-1 if value is None else value for value in values], np.int64))
    return pa.array(values, field.type)


def times(milliseconds: NDArray[np.int64], none: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return times in ms as Spark's timestamps; null for -1, outside of the years 1 to 9999, and where `none`."""
    absent = (milliseconds == -1) | (milliseconds < _FIRST_TIME) | (milliseconds > _LAST_TIME)
    if none is not None:
        absent |= none
    microseconds = np.where(absent, 0, milliseconds) * 1000
    return pa.array(microseconds, pa.int64(), mask=absent).cast(pa.timestamp("us", tz="UTC"))


def error_text(error: DecodeError) -> str:
    """Return the reason and the place of a decode error, such as `short in value.offset`."""
    return f"{error.reason.value} in {error.field}"
