"""A shard as bytes: what the state store keeps, and what tasks, state and driver hand each other.

Layout: `LWS`, a format number (1 byte) and the position (int64), then the sections: the runs, their slots, the records;
each an int32 length (all little-endian) and an Arrow IPC stream, an empty table as length 0. Arrow describes its
columns itself, so a later format can add one and still read these bytes.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stream.groups.runs import Spans
from stream.groups.shard import Records, Runs, Shard, no_records, no_runs
from stream.groups.window import Slots

FORMAT: Final = 1
"""Number of the layout this module writes. Every layout ever released stays readable."""

_HEADER: Final = struct.Struct("<3sBq")
_LENGTH: Final = struct.Struct("<i")
_SPANS: Final = tuple(Spans.__dataclass_fields__)
_SLOTS: Final = tuple(Slots.__dataclass_fields__)


class UnknownFormatError(ValueError):
    """The bytes are not a packed shard, or of a format this version does not know."""


def pack(shard: Shard, *, compressed: bool = False) -> bytes:
    """Write a shard; compressed for what is kept, plain for what is handed on at once."""
    parts = [_HEADER.pack(b"LWS", FORMAT, shard.position)]
    for batch in (_runs_batch(shard.runs), _slots_batch(shard.runs.slots), _records_batch(shard.records)):
        section = _write(batch, compressed=compressed) if batch.num_rows else b""
        parts += [_LENGTH.pack(len(section)), section]
    return b"".join(parts)


def unpack(packed: bytes) -> Shard:
    """Read a packed shard; raises UnknownFormatError on anything else."""
    magic, version, position = _HEADER.unpack_from(packed) if len(packed) >= _HEADER.size else (b"", 0, 0)
    if magic != b"LWS" or version != FORMAT:
        raise UnknownFormatError(f"not a packed shard of format {FORMAT}: {packed[:4]!r}")
    sections, at = [], _HEADER.size
    for _ in range(3):
        (length,) = _LENGTH.unpack_from(packed, at)
        at += _LENGTH.size
        sections.append(_read(memoryview(packed)[at : at + length]) if length else None)
        at += length
    runs, slots, records = sections
    return Shard(_runs(runs, slots), _records(records), position)


def _write(batch: pa.RecordBatch, *, compressed: bool) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if compressed else None, use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _read(section: memoryview) -> dict[str, Any]:
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


def _runs(columns: dict[str, Any] | None, slots: dict[str, Any] | None) -> Runs:
    if columns is None:
        return no_runs()
    return Runs(
        keys=columns["key"],
        spans=Spans(*(_numbers(columns[name]) for name in _SPANS)),
        leader_epoch=_numbers(columns["leader_epoch"]),
        expire_time=_numbers(columns["expire_time"]),
        metadata=columns["metadata"],
        topic_id=columns["topic_id"],
        slots=Slots(*(_numbers(slots[name]) for name in _SLOTS)) if slots else no_runs().slots,
    )


def _records(columns: dict[str, Any] | None) -> Records:
    if columns is None:
        return no_records()
    return Records(columns["key"], columns["value"], _numbers(columns["position"]), _numbers(columns["time"]))


def _numbers(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)
