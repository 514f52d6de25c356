"""Rows of the table `commits`, decoded by the job's own columnar decoder."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders import scalar
from decoders.errors import DecodeError
from decoders.javatext import java_text
from decoders.jsonform import uuid_text
from decoders.schema import RecordContent
from decoders.tables import types_with
from stream.groups.commits.folded import DecodedCommits, decode_commits
from stream.groups.commits.run_table import RecordRole
from stream.tables.keys import AskedNames, NamedKeys
from stream.tables.logged import LoggedRecords
from stream.tables.rows import Columns, batch_of, error_text, record_rows, times

_TYPES: Final = sorted(types_with(RecordContent.OFFSET))
_DETAILS: Final = frozenset(("leader_epoch", "metadata", "expire_time", "topic_id"))
"""The columns that most queries do not ask for, and that cost as much as all others."""


def commit_rows(logged: LoggedRecords, schema: pa.Schema, asked: AskedNames) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the commits that are asked for, with the columns of the schema."""
    keys = NamedKeys.build(logged.records.keys)
    rows = keys.rows((RecordRole.COMMIT,), asked)
    if len(rows):
        yield batch_of(schema, _columns(logged, keys, rows, bool(_DETAILS & set(schema.names))), len(rows))
    bad_keys = np.isin(keys.distinct.record_type, _TYPES)[keys.codes]
    bad = [row for row in keys.rows((RecordRole.UNREADABLE,), asked).tolist() if bad_keys[row]]
    if bad:
        columns = record_rows(logged, np.array(bad), logged.records.take(np.array(bad)))
        errors = [_error(logged, row) for row in bad]
        yield batch_of(schema, {**columns, "error": lambda: pa.array(errors, pa.string())}, len(bad))


def _columns(logged: LoggedRecords, keys: NamedKeys, rows: NDArray[np.int64], with_details: bool) -> Columns:  # noqa: FBT001
    taken = logged.records.take(rows)
    codes = keys.codes[rows]
    decoded = decode_commits(taken, keys.distinct, codes)
    key = pa.array(codes)
    unreadable = np.zeros(len(rows), np.bool_) if decoded.readable is None else ~decoded.readable
    none = decoded.tombstone | unreadable
    errors = {at: _error(logged, int(rows[at])) for at in np.flatnonzero(unreadable).tolist()}
    return {
        "group": lambda: keys.group.take(key),
        "topic": lambda: keys.topic.take(key),
        "partition": lambda: keys.partition.take(key),
        "offset": lambda: pa.array(decoded.offset, mask=none),
        "commit_time": lambda: times(decoded.time, none),
        "tombstone": lambda: pa.array(decoded.tombstone),
        "error": lambda: (
            pa.array([errors.get(at) for at in range(len(rows))], pa.string())
            if errors
            else pa.nulls(len(rows), pa.string())
        ),
        **record_rows(logged, rows, taken),
        **(_details(decoded, none) if with_details else {}),
    }


def _details(decoded: DecodedCommits, none: NDArray[np.bool_]) -> Columns:
    details: dict[str, Any] = decoded.details(np.arange(len(none)))
    epoch = details["leader_epoch"]
    return {
        "leader_epoch": lambda: pa.array(epoch, pa.int32(), mask=none | (epoch == -1)),
        "metadata": lambda: _texts(details["metadata"], none),
        "expire_time": lambda: times(details["expire_time"], none),
        "topic_id": lambda: _ids(details["topic_id"]),
    }


def _texts(raw: pa.BinaryArray, none: NDArray[np.bool_]) -> pa.StringArray:
    """Return bytes as texts, with invalid UTF-8 as Java reads it; each distinct text is decoded once."""
    encoded = raw.dictionary_encode()
    texts = pa.array([java_text(each) for each in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(pa.array(encoded.indices.to_numpy(zero_copy_only=False), pa.int32(), mask=none))


def _ids(raw: pa.Array) -> pa.StringArray:
    encoded = raw.dictionary_encode()
    return pa.array([uuid_text(each) for each in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def _error(logged: LoggedRecords, row: int) -> str | None:
    read = scalar.decode(*logged.records.record(row), scalar.NO_FIELDS)
    return error_text(read) if isinstance(read, DecodeError) else None
