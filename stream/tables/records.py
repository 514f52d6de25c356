"""Rows of the tables `commits`, decoded by the job's own columnar decoder, and `records`, decoded one by one."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from decoders.javatext import java_text
from decoders.tables import BY_NUMBER
from stream.groups.commits.folded import DecodedCommits, decode_commits
from stream.groups.commits.run_table import RecordRole
from stream.tables.rows import AskedRecords, Columns, batch_of, error_text, times

_DETAILS: Final = frozenset(("leader_epoch", "metadata", "expire_time", "topic_id"))
"""The columns of commits that most queries do not ask for, and that cost as much as all others."""
_DECODED: Final = frozenset(("json", "error", "version"))
"""The columns for which a record must be decoded."""


def commit_rows(asked: AskedRecords, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the commits, then those of the records with an unreadable key of a commit."""
    has_key = asked.distinct.role[asked.codes] == RecordRole.COMMIT
    if len(commits := asked.select(has_key)):
        yield batch_of(schema, _commit_columns(commits, _DETAILS & set(schema.names)), len(commits))
    if len(bad := asked.select(~has_key)):
        yield batch_of(schema, {**bad.columns(), "error": lambda: _errors(bad, np.arange(len(bad)))}, len(bad))


def _commit_columns(asked: AskedRecords, details: frozenset[str]) -> Columns:
    decoded = decode_commits(asked.taken(), asked.distinct, asked.codes)
    unreadable = np.zeros(len(asked), np.bool_) if decoded.readable is None else ~decoded.readable
    none = decoded.tombstone | unreadable
    return {
        **asked.columns(),
        "partition": lambda: asked.partition.take(pa.array(asked.codes)),
        "offset": lambda: pa.array(decoded.offset, mask=none),
        "commit_time": lambda: times(decoded.time, none),
        "tombstone": lambda: pa.array(decoded.tombstone),
        "error": lambda: _errors(asked, np.flatnonzero(unreadable)),
        **(_details(decoded, none) if details else {}),
    }


def _details(decoded: DecodedCommits, none: NDArray[np.bool_]) -> Columns:
    details: dict[str, Any] = decoded.details(np.arange(len(none)))
    epoch = details["leader_epoch"]
    return {
        "leader_epoch": lambda: pa.array(epoch, pa.int32(), mask=none | (epoch == -1)),
        # Invalid UTF-8 as Java reads it.
        "metadata": lambda: _texts(details["metadata"], java_text, none),
        "expire_time": lambda: times(details["expire_time"], none),
        "topic_id": lambda: _texts(details["topic_id"], jsonform.uuid_text, none),
    }


def _texts(raw: pa.Array, text_of: Callable[[bytes], str], none: NDArray[np.bool_]) -> pa.StringArray:
    """Return bytes as texts, null where `none`; each distinct text is decoded once."""
    encoded = raw.dictionary_encode()
    texts = pa.array(map(text_of, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)
    return pc.if_else(pa.array(none), pa.scalar(None, pa.string()), texts) if none.any() else texts


def _errors(asked: AskedRecords, at: NDArray[np.int64]) -> pa.StringArray:
    """Return the errors of the records at these indices, null for all others."""
    if not len(at):
        return pa.nulls(len(asked), pa.string())
    records, errors = asked.logged.records, np.full(len(asked), None, object)
    for each in at.tolist():
        errors[each] = error_text(scalar.decode(*records.record(int(asked.rows[each])), scalar.NO_FIELDS))
    return pa.array(errors, pa.string())


def record_rows(asked: AskedRecords, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `records`."""
    keys, values = asked.taken().keys_and_values()
    pairs = zip(keys.to_pylist(), values.to_pylist(), strict=True)
    only = None if "json" in schema.names else scalar.NO_FIELDS
    read = [scalar.decode(*pair, only) for pair in pairs] if _DECODED & set(schema.names) else []
    types = asked.distinct.record_type[asked.codes]
    names = [each.name if (each := BY_NUMBER.get(number)) else None for number in types.tolist()]
    columns = {
        "type": lambda: pa.array(types.astype(np.int32), mask=types == -1),
        "type_name": lambda: pa.array(names, pa.string()),
        "version": lambda: pa.array([each.version for each in read], pa.int32()),
        "json": lambda: pa.array(
            [None if isinstance(each, DecodeError) else jsonform.console(each) for each in read], pa.string()
        ),
        "key": lambda: keys,
        "value": lambda: values,
        "tombstone": values.is_null,
        "error": lambda: pa.array([error_text(each) for each in read], pa.string()),
    }
    yield batch_of(schema, {**asked.columns(), **columns}, len(asked))
