"""Rows of the table `records`: every record as JSON, decoded one by one."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from decoders.tables import BY_NUMBER
from stream.groups.commits.run_table import RecordRole
from stream.tables.keys import AskedNames, NamedKeys
from stream.tables.logged import LoggedRecords
from stream.tables.rows import batch_of, error_text, record_rows

_DECODED = frozenset(("json", "error", "version"))


def json_rows(logged: LoggedRecords, schema: pa.Schema, asked: AskedNames) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the records that are asked for, with the columns of the schema."""
    keys = NamedKeys.build(logged.records.keys)
    rows = keys.rows(tuple(RecordRole), asked)
    if not len(rows):
        return
    taken = logged.records.take(rows)
    raw_keys, raw_values = taken.keys_and_values()
    pairs = zip(raw_keys.to_pylist(), raw_values.to_pylist(), strict=True)
    only = None if "json" in schema.names else scalar.NO_FIELDS
    read = [scalar.decode(*pair, only) for pair in pairs] if _DECODED & set(schema.names) else []
    types, key = keys.distinct.record_type[keys.codes[rows]], pa.array(keys.codes[rows])
    names = [each.name if (each := BY_NUMBER.get(number)) else None for number in types.tolist()]
    columns = {
        "type": lambda: pa.array(types.astype(np.int32), mask=types == -1),
        "type_name": lambda: pa.array(names, pa.string()),
        "version": lambda: pa.array([each.version for each in read], pa.int32()),
        "group": lambda: keys.group.take(key),
        "topic": lambda: keys.topic.take(key),
        "json": lambda: pa.array(
            [None if isinstance(each, DecodeError) else jsonform.console(each) for each in read], pa.string()
        ),
        "key": lambda: raw_keys,
        "value": lambda: raw_values,
        "tombstone": raw_values.is_null,
        "error": lambda: pa.array(
            [error_text(each) if isinstance(each, DecodeError) else None for each in read], pa.string()
        ),
    }
    yield batch_of(schema, {**record_rows(logged, rows, taken), **columns}, len(rows))
