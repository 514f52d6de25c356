"""The official dump tool's text, line for line: `kafka-dump-log` of Kafka 4.x over segments and KRaft snapshots.

`decoders.log.dumpindex` owns the texts of the index and state files. What keys and values look like is for the caller
to say (a `Decode`), as the tool's decoders do. Lines of its standard output are yielded; those of its standard error,
which come at the end, are collected in `complaints`. Where the tool would die of damage, this complains and goes on.

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
from decoders.log.dumpindex import dump_aborted, dump_offset_index, dump_producers, dump_time_index
from decoders.log.errors import Damaged
from decoders.log.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from decoders.log.frames import LogBatch
    from decoders.log.legacy import LegacyBatch

Decode = Callable[[LogRecord], tuple[str | None, str | None]]
"""How a record's key and value are printed; None for what is not printed at all."""

_KRAFT_LABELS: Final = {
    ControlType.LEADER_CHANGE: "LeaderChange:",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlType.KRAFT_VERSION: "KRaftVersion",
    ControlType.KRAFT_VOTERS: "KRaftVoters",
}


def as_text(record: LogRecord) -> tuple[str | None, str | None]:
    """Decode key and value as UTF-8: what the tool does without a decoder option."""
    return _text(record.key), _text(record.value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else java_text(data)


@dataclasses.dataclass(frozen=True, slots=True)
class DumpOptions:
    """The tool's options, under its own words.

    `decode` set means `--print-data-log` with that decoder, and implies deep iteration. `max_bytes` None means all.
    """

    decode: Decode | None = None
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    index_sanity_check: bool = False
    verify_index_only: bool = False
    max_bytes: int | None = None

    @property
    def is_deep(self) -> bool:
        """Whether records are looked at, not only batches."""
        return self.deep_iteration or self.decode is not None


class Dump:
    """One run of the tool over some files."""

    def __init__(self, options: DumpOptions | None = None) -> None:
        self.options = options or DumpOptions()
        self.complaints: list[str] = []
        self._gaps: dict[str, dict[int, int]] = {}

    def lines(self, paths: Iterable[Path]) -> Iterator[str]:
        """Dump files one after the other. Raises OSError; afterwards `complaints` is complete."""
        for path in paths:
            yield f"Dumping {path}"
            yield from self._file(path)
        for name, gaps in self._gaps.items():
            self.complaints.append(f"Non-consecutive offsets in {name}")
            self.complaints += [f"  {before} is followed by {after}" for before, after in sorted(gaps.items())]

    def _file(self, path: Path) -> Iterator[str]:
        sanity, verify = self.options.index_sanity_check, self.options.verify_index_only
        match path.suffix if _is_named_right(path) else "":
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
        for record, legacy_part in _records(batch):
            line = "" if self.options.skip_record_metadata else _record_text(batch, record) + legacy_part
            if batch.is_control and line:
                line += _control_text(record)
            if self.options.decode and not batch.is_control:
                key, value = self.options.decode(record)
                shown = ("" if key is None else f" key: {key}") + ("" if value is None else f" payload: {value}")
                line = line + shown if line or not shown else f"|{shown}"
            yield record, line


def _is_named_right(path: Path) -> bool:
    """Whether the name tells what a file of its kind must: the base offset, or what a snapshot stands for."""
    if path.suffix == ".checkpoint":
        return path.name == BOOTSTRAP or snapshot_id(path) is not None
    return path.suffix not in {".log", ".index", ".timeindex"} or path.stem.isdecimal()


def _heading(path: Path) -> str:
    known = snapshot_id(path)
    if known:
        return f"Snapshot end offset: {known.end_offset}, epoch: {known.epoch}"
    return "KRaft bootstrap snapshot" if path.name == BOOTSTRAP else f"Log starting offset: {int(path.stem)}"


def batch_line(batch: LogBatch) -> str:
    """Give the line of one batch. Raises Damaged for a codec that Kafka does not know."""
    if isinstance(batch, RecordBatch):
        horizon = "OptionalLong.empty" if batch.delete_horizon is None else f"OptionalLong[{batch.delete_horizon}]"
        origin = (
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count}"
            f" baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence}"
            f" producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch}"
            f" partitionLeaderEpoch: {batch.leader_epoch} isTransactional: {_bool(batch.is_transactional)}"
            f" isControl: {_bool(batch.is_control)} deleteHorizonMs: {horizon}"
        )
    else:
        origin = f"offset: {batch.last_offset}"
    return (
        f"{origin} position: {batch.position} {_clock(batch)}: {batch.max_timestamp} size: {batch.size}"
        f" magic: {batch.magic} compresscodec: {batch.codec.name.lower()} crc: {batch.crc}"
        f" isvalid: {_bool(batch.has_valid_crc())}"
    )


def _records(batch: LogBatch) -> Iterator[tuple[LogRecord, str]]:
    """Give the records, those of message sets with what only they print."""
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
        f"| offset: {record.offset} {_clock(batch)}: {record.timestamp}"
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


def _clock(batch: LogBatch) -> str:
    if batch.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _bool(value: bool) -> str:  # noqa: FBT001  # Java's spelling of one value
    return "true" if value else "false"
