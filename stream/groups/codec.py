"""A shard as bytes: what the state store keeps, and what tasks, state and driver hand each other.

Layout: `LWS`, a format number (1 byte), the position and the newest timestamp (int64 each), then the sections: the
runs, their slots, the records, the lives, the tombstones; each an int32 length (all little-endian) and an Arrow IPC
stream, an empty table as length 0. Arrow describes its columns itself, so a later format can add one and still read
these bytes.

Format 1 had neither the timestamp nor lives and tombstones: the groups of such a state get lives without a past.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from stream.groups.commits.runs import Spans
from stream.groups.commits.slots import Slots, no_slots
from stream.groups.commits.tombstones import OffsetTombstones, no_forgotten
from stream.groups.lifecycle.table import HistoryTable, no_lives
from stream.groups.lifecycle.tracker import adopt
from stream.groups.shard import Records, Runs, Shard, no_records, no_runs

if TYPE_CHECKING:
    from collections.abc import Callable

_Table = TypeVar("_Table", Runs, Slots, Records, HistoryTable, OffsetTombstones)

FORMAT: Final = 2
"""Number of the layout this module writes. Every layout ever released stays readable."""

_MAGIC: Final = struct.Struct("<3sB")
_HEADER: Final = {1: struct.Struct("<q"), 2: struct.Struct("<qq")}
_SECTIONS: Final = {1: 3, 2: 5}
_LENGTH: Final = struct.Struct("<i")
_SPANS: Final = tuple(Spans.__dataclass_fields__)
_SLOTS: Final = tuple(Slots.__dataclass_fields__)
_FORGOTTEN: Final = tuple(OffsetTombstones.__dataclass_fields__)


class UnknownFormatError(ValueError):
    """The bytes are not a packed shard, or of a format this version does not know."""


def pack(shard: Shard, *, compressed: bool = False) -> bytes:
    """Write a shard; compressed for what is kept, plain for what is handed on at once.

    Records and lives that are as they were read go back as the bytes they were: most batches bring only commits.
    """
    parts = [_MAGIC.pack(b"LWS", FORMAT), _HEADER[FORMAT].pack(shard.position, shard.time)]
    for section in (
        _section(shard.runs, _runs_batch, compressed=compressed),
        _section(shard.runs.slots, _slots_batch, compressed=compressed),
        shard.records.packed or _section(shard.records, _records_batch, compressed=compressed),
        shard.lives.packed or _section(shard.lives, _lives_batch, compressed=compressed),
        _section(shard.forgotten, _forgotten_batch, compressed=compressed),
    ):
        parts += [_LENGTH.pack(len(section)), section]
    return b"".join(parts)


def unpack(packed: bytes) -> Shard:
    """Read a packed shard; raises UnknownFormatError on anything else."""
    magic, version = _MAGIC.unpack_from(packed) if len(packed) >= _MAGIC.size else (b"", 0)
    if magic != b"LWS" or version not in _HEADER or len(packed) < _MAGIC.size + _HEADER[version].size:
        raise UnknownFormatError(f"not a packed shard of format {FORMAT} or below: {packed[:4]!r}")
    position, *rest = _HEADER[version].unpack_from(packed, _MAGIC.size)
    tables = _sections(packed, _MAGIC.size + _HEADER[version].size, _SECTIONS[version])
    if version == 1:
        shard = Shard(_runs(*tables[:2]), _records(tables[2]), position)
        return dataclasses.replace(shard, lives=adopt(shard))
    runs, slots, records, lives, forgotten = tables
    return Shard(_runs(runs, slots), _records(records), position, _lives(lives), _forgotten(forgotten), *rest)


def _sections(packed: bytes, at: int, count: int) -> list[bytes]:
    sections = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(packed, at)
        at += _LENGTH.size
        sections.append(packed[at : at + length])
        at += length
    return sections


def _section(table: _Table, batch_of: Callable[[_Table], pa.RecordBatch], *, compressed: bool) -> bytes:
    return _write(batch_of(table), compressed=compressed) if len(table) else b""


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
    columns: dict[str, Any] = {name: getattr(runs.spans, name) for name in _SPANS}
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


def _slots_batch(slots: Slots) -> pa.RecordBatch:
    return pa.record_batch({name: np.ascontiguousarray(getattr(slots, name)) for name in _SLOTS})


def _records_batch(records: Records) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "key": records.keys,
            "value": records.values,
            "position": np.ascontiguousarray(records.position),
            "time": np.ascontiguousarray(records.time),
        }
    )


def _lives_batch(lives: HistoryTable) -> pa.RecordBatch:
    return pa.record_batch({"group": lives.groups, "life": lives.values, "died": np.ascontiguousarray(lives.died)})


def _forgotten_batch(forgotten: OffsetTombstones) -> pa.RecordBatch:
    keys, *numbers = (getattr(forgotten, name) for name in _FORGOTTEN)
    columns = {name: np.ascontiguousarray(column) for name, column in zip(_FORGOTTEN[1:], numbers, strict=True)}
    return pa.record_batch({"key": keys, **columns})


def _runs(section: bytes, slots: bytes) -> Runs:
    if not section:
        return no_runs()
    columns = _read(section)
    return Runs(
        keys=columns["key"],
        spans=Spans(*(_numbers(columns[name]) for name in _SPANS)),
        leader_epoch=_numbers(columns["leader_epoch"]),
        expire_time=_numbers(columns["expire_time"]),
        metadata=columns["metadata"],
        topic_id=columns["topic_id"],
        slots=_slots(slots),
    )


def _slots(section: bytes) -> Slots:
    if not section:
        return no_slots()
    columns = _read(section)
    return Slots(*(_numbers(columns[name]) for name in _SLOTS))


def _records(section: bytes) -> Records:
    if not section:
        return no_records()
    columns = _read(section)
    position, time = _numbers(columns["position"]), _numbers(columns["time"])
    return Records(columns["key"], columns["value"], position, time, packed=section)


def _lives(section: bytes) -> HistoryTable:
    if not section:
        return no_lives()
    columns = _read(section)
    return HistoryTable(columns["group"], columns["life"], _numbers(columns["died"]), packed=section)


def _forgotten(section: bytes) -> OffsetTombstones:
    if not section:
        return no_forgotten()
    columns = _read(section)
    return OffsetTombstones(columns["key"], *(_numbers(columns[name]) for name in _FORGOTTEN[1:]))


def _numbers(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)
