"""The output of the official dump tool, `kafka-dump-log` of Kafka 4.x, for segments and KRaft snapshots.

`decoders.log.dump.index_output` has the output for index and state files. The caller passes the format of keys and
values (a `Decode`), like the decoder option of the tool. Lines of standard output are yielded; those of standard
error, which come at the end, are collected in `complaints`. Where the tool fails on damaged data, this reports the
damage and continues.

Source: org.apache.kafka.tools.DumpLogSegments.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from decoders.javatext import java_text
from decoders.log.batch import LogRecord, RecordBatch
from decoders.log.checkpoint import BOOTSTRAP, snapshot_id
from decoders.log.control import ControlType, control_type, end_marker, kraft_message
from decoders.log.dump.index_output import dump_aborted, dump_offset_index, dump_producers, dump_time_index
from decoders.log.errors import Damaged
from decoders.log.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from decoders.log.frames import LogBatch
    from decoders.log.legacy import LegacyBatch

Decode = Callable[[LogRecord], tuple[str | None, str | None]]
"""Formats a record's key and value; None for a part that is not printed."""

_KRAFT_LABELS: Final = {
    ControlType.LEADER_CHANGE: "LeaderChange:",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlType.KRAFT_VERSION: "KRaftVersion",
    ControlType.KRAFT_VOTERS: "KRaftVoters",
}


def as_text(record: LogRecord) -> tuple[str | None, str | None]:
    """Format key and value as UTF-8, like the tool without a decoder option."""
    return _text(record.key), _text(record.value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else java_text(data)


@dataclasses.dataclass(frozen=True, slots=True)
class DumpOptions:
    """The options of the tool, under its names.

    `decode` means `--print-data-log` with that decoder, and implies deep iteration. `max_bytes` None means no limit.
    """

    decode: Decode | None = None
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    index_sanity_check: bool = False
    verify_index_only: bool = False
    max_bytes: int | None = None

    @property
    def is_deep(self) -> bool:
        """True if records are read, not only batches."""
        return self.deep_iteration or self.decode is not None


class Dump:
    """One run of the tool over a list of files."""

    def __init__(self, options: DumpOptions | None = None) -> None:
        self.options = options or DumpOptions()
        self.complaints: list[str] = []
        self._gaps: dict[str, dict[int, int]] = {}

    def lines(self, paths: Iterable[Path]) -> Iterator[str]:
        """Dump the files in order; after the last line `complaints` is complete. Raises OSError."""
        for path in paths:
            yield f"Dumping {path}"
            yield from self._file(path)
        for name, gaps in self._gaps.items():
            self.complaints.append(f"Non-consecutive offsets in {name}")
            self.complaints += [f"  {before} is followed by {after}" for before, after in sorted(gaps.items())]

    def _file(self, path: Path) -> Iterator[str]:
        sanity, verify = self.options.index_sanity_check, self.options.verify_index_only
        match path.suffix if _has_valid_name(path) else "":
            case ".log" | ".checkpoint":
                yield from self._log(path)
            case ".index":
                yield from dump_offset_index(path, self.complaints, only_sanity=sanity, only_verify=verify)
            case ".timeindex":
                yield from dump_time_index(path, self.complaints, only_sanity=sanity, only_verify=verify)
            case ".snapshot":
                yield from dump_producers(path, self.complaints)
            case ".txnindex":
                yield from dump_aborted(path, self.complaints)
            case _:
                self.complaints.append(f"Ignoring unknown file {path}")

    def _log(self, path: Path) -> Iterator[str]:
        yield _heading(path)
        limit = self.options.max_bytes
        last_offset, valid = -1, 0
        with Segment(path, 0) as segment:
            cursor = segment.batches(verify=False)
            for batch in cursor:
                if limit is not None and batch.position + batch.size > limit:
                    return
                valid = batch.position + batch.size
                try:
                    yield batch_line(batch)
                    if self.options.is_deep:
                        for record, line in self._record_lines(batch):
                            if record.offset != last_offset + 1:
                                self._gaps.setdefault(str(path.absolute()), {})[last_offset] = record.offset
                            last_offset = record.offset
                            yield line
                except Damaged as fault:
                    self.complaints.append(str(fault.located(str(path), batch.position, batch.base_offset)))
            if segment.size > valid and limit is None:
                yield f"Found {segment.size - valid} invalid bytes at the end of {path.name}"
            if error := cursor.error(last_segment=True):
                self.complaints.append(str(error))

    def _record_lines(self, batch: LogBatch) -> Iterator[tuple[LogRecord, str]]:
        for record, format_fields in _records(batch):
            line = "" if self.options.skip_record_metadata else _record_text(batch, record) + format_fields
            if batch.is_control and line:
                line += _control_text(record)
            if self.options.decode and not batch.is_control:
                key, value = self.options.decode(record)
                data = ("" if key is None else f" key: {key}") + ("" if value is None else f" payload: {value}")
                line = line + data if line or not data else f"|{data}"
            yield record, line


def _has_valid_name(path: Path) -> bool:
    """Return whether the name has the base offset of a log or index file, or the id of a snapshot."""
    if path.suffix == ".checkpoint":
        return path.name == BOOTSTRAP or snapshot_id(path) is not None
    return path.suffix not in {".log", ".index", ".timeindex"} or path.stem.isdecimal()


def _heading(path: Path) -> str:
    id_ = snapshot_id(path)
    if id_:
        return f"Snapshot end offset: {id_.end_offset}, epoch: {id_.epoch}"
    return "KRaft bootstrap snapshot" if path.name == BOOTSTRAP else f"Log starting offset: {int(path.stem)}"


def batch_line(batch: LogBatch) -> str:
    """Return the line of one batch. Raises Damaged for an unknown codec."""
    if isinstance(batch, RecordBatch):
        horizon = "OptionalLong.empty" if batch.delete_horizon is None else f"OptionalLong[{batch.delete_horizon}]"
        fields = (
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count}"
            f" baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence}"
            f" producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch}"
            f" partitionLeaderEpoch: {batch.leader_epoch} isTransactional: {_bool(batch.is_transactional)}"
            f" isControl: {_bool(batch.is_control)} deleteHorizonMs: {horizon}"
        )
    else:
        fields = f"offset: {batch.last_offset}"
    return (
        f"{fields} position: {batch.position} {_timestamp_type(batch)}: {batch.max_timestamp} size: {batch.size}"
        f" magic: {batch.magic} compresscodec: {batch.codec.name.lower()} crc: {batch.crc}"
        f" isvalid: {_bool(batch.has_valid_crc())}"
    )


def _records(batch: LogBatch) -> Iterator[tuple[LogRecord, str]]:
    """Yield the records, each with the text of the fields that only its format has."""
    if isinstance(batch, RecordBatch):
        for record in batch.records():
            headers = ",".join(key for key, _ in record.headers)
            yield record, f" sequence: {record.sequence} headerKeys: [{headers}]"
        return
    for message in batch.messages():
        key, value = message.key_and_value()
        record = LogRecord(message.offset, batch.timestamp_of(message), key, value)
        yield record, _legacy_checksum(message)


def _legacy_checksum(message: LegacyBatch) -> str:
    return f" isValid: {_bool(message.has_valid_crc())} crc: {message.crc}"


def _record_text(batch: LogBatch, record: LogRecord) -> str:
    return (
        f"| offset: {record.offset} {_timestamp_type(batch)}: {record.timestamp}"
        f" keySize: {_size(record.key)} valueSize: {_size(record.value)}"
    )


def _control_text(record: LogRecord) -> str:
    if marker := end_marker(record):
        return (
            f" endTxnMarker: {'COMMIT' if marker.committed else 'ABORT'} coordinatorEpoch: {marker.coordinator_epoch}"
        )
    kind, number = control_type(record.key)
    if kind in _KRAFT_LABELS:
        return f" {_KRAFT_LABELS[kind]} {json.dumps(kraft_message(record), separators=(',', ':'))}"
    return f" controlType: {kind.name}({number})"


def _timestamp_type(batch: LogBatch) -> str:
    if batch.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _bool(value: bool) -> str:  # noqa: FBT001  # formats the value as Java does
    return "true" if value else "false"
