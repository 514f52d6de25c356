"""Shards as bytes: what the state store keeps, and what tasks, state and driver send to each other.

Layout: `LWS`, a format number (1 byte), the position and the newest timestamp (int64 each), then the sections: runs,
slots, records, histories, tombstones, aborted commits. Each section is an int32 length (all little-endian) and an Arrow
IPC stream; an empty table has length 0. A state has no tombstones and a delta no histories: those sections are empty.
Arrow describes its columns itself, so a later format can add one and still read these bytes.

Format 2 had no aborted commits. Format 1 had neither the timestamp nor histories and tombstones: the groups of such a
state get histories without transitions.
"""

import dataclasses
import struct
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from stream.groups.commits.run_table import Runs, no_runs
from stream.groups.commits.runs import NEVER, Spans
from stream.groups.commits.slots import Slots
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.lifecycle.record import HistoryTable
from stream.groups.lifecycle.tracker import build_histories
from stream.groups.record_columns import KeyTable
from stream.groups.shard import MembershipRecords, ShardChange, ShardDelta, ShardState

_Table = TypeVar("_Table", Runs, KeyTable)
_Keyed = TypeVar("_Keyed", bound=KeyTable)

FORMAT: Final = 3
"""Number of the layout this module writes. Every layout ever released stays readable."""

_MAGIC: Final = struct.Struct("<3sB")
_HEADER: Final = {1: struct.Struct("<q"), 2: struct.Struct("<qq"), 3: struct.Struct("<qq")}
_SECTIONS: Final = {1: 3, 2: 5, 3: 6}
_LENGTH: Final = struct.Struct("<i")
_SPAN_COLUMNS: Final = tuple(Spans.__dataclass_fields__)


class UnknownFormatError(ValueError):
    """The bytes are not a packed shard, or are of a format that this version does not know."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Packed:
    """The header and the sections of a packed shard, still as bytes."""

    version: int
    position: int
    time: int
    runs: bytes
    slots: bytes
    records: bytes
    histories: bytes = b""
    tombstones: bytes = b""
    aborts: bytes = b""


def pack(shard: ShardState | ShardDelta | ShardChange, *, compressed: bool = False) -> bytes:
    """Return a shard as bytes; compress what is kept, not what is read again at once.

    Records and histories that are unchanged since they were read are written as the bytes they were read from: most
    batches have commits only.
    """
    histories = HistoryTable.empty() if isinstance(shard, ShardDelta) else shard.histories
    tombstones = OffsetTombstones.empty() if isinstance(shard, ShardState) else shard.tombstones
    parts = [_MAGIC.pack(b"LWS", FORMAT), _HEADER[FORMAT].pack(shard.position, shard.time)]
    for section in (
        _section(shard.runs, _runs_batch, compressed=compressed),
        _section(shard.runs.slots, _table_batch, compressed=compressed),
        shard.records.packed or _section(shard.records, _table_batch, compressed=compressed),
        histories.packed or _section(histories, _table_batch, compressed=compressed),
        _section(tombstones, _table_batch, compressed=compressed),
        _section(shard.aborts, _table_batch, compressed=compressed),
    ):
        parts += [_LENGTH.pack(len(section)), section]
    return b"".join(parts)


def unpack_state(data: bytes) -> ShardState:
    """Return the state that `pack`, or an earlier version, wrote; raises UnknownFormatError for any other bytes."""
    packed = _split(data)
    state = ShardState(
        _runs(packed.runs, packed.slots),
        _records(packed.records),
        packed.position,
        _histories(packed.histories),
        time=packed.time,
        aborts=_table(AbortedCommits, packed.aborts),
    )
    return dataclasses.replace(state, histories=build_histories(state)) if packed.version == 1 else state


def unpack_delta(data: bytes) -> ShardDelta:
    """Return the delta that `pack` wrote; raises UnknownFormatError for any other bytes."""
    packed = _split(data)
    return ShardDelta(
        _runs(packed.runs, packed.slots),
        _records(packed.records),
        packed.position,
        _table(OffsetTombstones, packed.tombstones),
        time=packed.time,
        aborts=_table(AbortedCommits, packed.aborts),
    )


def unpack_change(data: bytes) -> ShardChange:
    """Return the change that `pack` wrote; raises UnknownFormatError for any other bytes."""
    packed = _split(data)
    return ShardChange(
        _runs(packed.runs, packed.slots),
        _records(packed.records),
        packed.position,
        _histories(packed.histories),
        _table(OffsetTombstones, packed.tombstones),
        time=packed.time,
        aborts=_table(AbortedCommits, packed.aborts),
    )


def _split(data: bytes) -> _Packed:
    magic, version = _MAGIC.unpack_from(data) if len(data) >= _MAGIC.size else (b"", 0)
    if magic != b"LWS" or version not in _HEADER or len(data) < _MAGIC.size + _HEADER[version].size:
        raise UnknownFormatError(f"not a packed shard of format {FORMAT} or below: {data[:4]!r}")
    position, *rest = _HEADER[version].unpack_from(data, _MAGIC.size)
    sections = _sections(data, _MAGIC.size + _HEADER[version].size, _SECTIONS[version])
    return _Packed(version, position, rest[0] if rest else NEVER, *sections)


def _sections(data: bytes, start: int, count: int) -> list[bytes]:
    sections = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size
        sections.append(data[start : start + length])
        start += length
    return sections


def _section(table: _Table, to_batch: Callable[[_Table], pa.RecordBatch], *, compressed: bool) -> bytes:
    return _write(to_batch(table), compressed=compressed) if len(table) else b""


def _write(batch: pa.RecordBatch, *, compressed: bool) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if compressed else None, use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _read(section: bytes) -> dict[str, Any]:
    with pa.ipc.open_stream(pa.py_buffer(section), options=pa.ipc.IpcReadOptions(use_threads=False)) as reader:
        batch = reader.read_next_batch()
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _runs_batch(runs: Runs) -> pa.RecordBatch:
    columns: dict[str, Any] = {name: getattr(runs.spans, name) for name in _SPAN_COLUMNS}
    return pa.record_batch(
        {
            "key": runs.keys,
            "leader_epoch": runs.leader_epoch,
            "expire_time": runs.expire_time,
            "metadata": runs.metadata,
            "topic_id": runs.topic_id,
            **{name: np.ascontiguousarray(column) for name, column in columns.items()},
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
    return kind(
        *(columns[kind.BYTES[each]] if each in kind.BYTES else _numbers(columns[each]) for each in kind.columns())
    )


def _records(section: bytes) -> MembershipRecords:
    return dataclasses.replace(_table(MembershipRecords, section), packed=section or None)


def _histories(section: bytes) -> HistoryTable:
    return dataclasses.replace(_table(HistoryTable, section), packed=section or None)


def _numbers(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)
