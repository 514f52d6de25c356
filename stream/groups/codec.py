"""Shards as bytes: what the state store keeps, and what tasks, state and driver send to each other.

Layout: `LWS`, a format number (1 byte), the position and the newest timestamp (int64 each), then the sections: runs,
slots, records, histories, tombstones, aborted commits. Each section is an int32 length (all little-endian) and an Arrow
IPC stream; an empty table has length 0. A state has no tombstones and a delta no histories: those sections are empty.
Arrow describes its columns itself, so a later format can add one and still read these bytes.

Format 2 had no aborted commits.
"""

import struct
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from stream.groups.commits.run_table import Runs, no_runs
from stream.groups.commits.runs import Spans
from stream.groups.commits.slots import Slots
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.lifecycle.record import HistoryTable
from stream.groups.record_columns import KeyTable
from stream.groups.shard import MembershipRecords, ShardChange, ShardDelta, ShardState

_Keyed = TypeVar("_Keyed", bound=KeyTable)
_Shard = TypeVar("_Shard", ShardState, ShardDelta, ShardChange)

FORMAT: Final = 3
"""Number of the layout this module writes. Every layout ever released stays readable."""

_MAGIC: Final = struct.Struct("<3sB")
_HEADER: Final = struct.Struct("<qq")
_SECTIONS: Final = {2: 5, 3: 6}
_TABLES: Final[dict[str, type[KeyTable]]] = {
    "records": MembershipRecords,
    "histories": HistoryTable,
    "tombstones": OffsetTombstones,
    "aborts": AbortedCommits,
}
"""The sections after runs and slots, in order, by their fields of a shard."""
_LENGTH: Final = struct.Struct("<i")
_SPAN_COLUMNS: Final = tuple(Spans.__dataclass_fields__)


class UnknownFormatError(ValueError):
    """The bytes are not a packed shard, or are of a format that this version does not know."""


def pack(shard: ShardState | ShardDelta | ShardChange) -> bytes:
    """Return a shard as bytes.

    What is read again at once is compressed, too: it passes the JVM as a dozen copies, and for each few megabytes of
    them the JVM collects its heap. Records and histories that are unchanged since they were read are written as the
    bytes they were read from: most batches have commits only. Slots of a change are as narrow as the driver keeps them.
    """
    runs = _write(_runs_batch(shard.runs)) if len(shard.runs) else b""
    slots = shard.runs.slots.narrow() if isinstance(shard, ShardChange) else shard.runs.slots
    tables = (slots, *(getattr(shard, name, None) for name in _TABLES))
    parts = [_MAGIC.pack(b"LWS", FORMAT), _HEADER.pack(shard.position, shard.time)]
    for section in (runs, *(_section(each) for each in tables)):
        parts += [_LENGTH.pack(len(section)), section]
    return b"".join(parts)


def unpack_state(data: bytes) -> ShardState:
    """Return the state that `pack`, or an earlier version, wrote; raises UnknownFormatError for any other bytes."""
    return _unpack(ShardState, data)


def unpack_delta(data: bytes) -> ShardDelta:
    """Return the delta that `pack` wrote; raises UnknownFormatError for any other bytes."""
    return _unpack(ShardDelta, data)


def unpack_change(data: bytes) -> ShardChange:
    """Return the change that `pack` wrote; raises UnknownFormatError for any other bytes."""
    return _unpack(ShardChange, data)


def _unpack(kind: type[_Shard], data: bytes) -> _Shard:
    magic, version = _MAGIC.unpack_from(data) if len(data) >= _MAGIC.size else (b"", 0)
    if magic != b"LWS" or version not in _SECTIONS or len(data) < _MAGIC.size + _HEADER.size:
        raise UnknownFormatError(f"not a packed shard of format {FORMAT} or below: {data[:4]!r}")
    position, time = _HEADER.unpack_from(data, _MAGIC.size)
    at, sections = _MAGIC.size + _HEADER.size, dict.fromkeys(("runs", "slots", *_TABLES), b"")
    for name in list(sections)[: _SECTIONS[version]]:
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + length
        sections[name] = data[at - length : at]
    tables: dict[str, Any] = {
        name: _table(table, sections[name]) for name, table in _TABLES.items() if name in kind.__dataclass_fields__
    }
    runs = _runs(sections["runs"], sections["slots"])
    return kind(runs=runs, position=position, time=time, **tables)


def _section(table: KeyTable | None) -> bytes:
    if table is None or not len(table):
        return b""
    return getattr(table, "packed", None) or _write(_table_batch(table))


def _write(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _read(section: bytes) -> dict[str, Any]:
    with pa.ipc.open_stream(pa.py_buffer(section), options=pa.ipc.IpcReadOptions(use_threads=False)) as reader:
        batch = reader.read_next_batch()
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _runs_batch(runs: Runs) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "key": runs.keys,
            "leader_epoch": runs.leader_epoch,
            "expire_time": runs.expire_time,
            "metadata": runs.metadata,
            "topic_id": runs.topic_id,
            **{name: np.ascontiguousarray(getattr(runs.spans, name)) for name in _SPAN_COLUMNS},
        }
    )


def _table_batch(table: KeyTable) -> pa.RecordBatch:
    columns = {name: getattr(table, name) for name in table.columns()}
    return pa.record_batch(
        {
            table.BYTES.get(name, name): each if name in table.BYTES else np.ascontiguousarray(each)
            for name, each in columns.items()
        }
    )


def _runs(section: bytes, slots: bytes) -> Runs:
    if not section:
        return no_runs()
    columns = _read(section)
    return Runs(
        keys=columns["key"],
        spans=Spans(*(_numbers(columns[name]) for name in _SPAN_COLUMNS)),
        leader_epoch=_numbers(columns["leader_epoch"]),
        expire_time=_numbers(columns["expire_time"]),
        metadata=columns["metadata"],
        topic_id=columns["topic_id"],
        slots=_table(Slots, slots),
    )


def _table(kind: type[_Keyed], section: bytes) -> _Keyed:
    if not section:
        return kind.empty()
    columns = _read(section)
    packed = {"packed": section} if "packed" in kind.__dataclass_fields__ else {}
    return kind(
        *(columns[kind.BYTES[each]] if each in kind.BYTES else _numbers(columns[each]) for each in kind.columns()),
        **packed,
    )


def _numbers(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)
