"""The output of the official dump tool, `kafka-dump-log` of Kafka 4.x, for segments.

The caller passes the format of keys and
values (a `Decode`), like the decoder option of the tool. Items or lines of standard output are yielded; the lines of
standard error, which come at the end, are collected in `complaints`. Where the tool fails on damaged data, this reports
the damage and continues.

Source: org.apache.kafka.tools.DumpLogSegments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from decoders.javatext import java_text
from decoders.log.batch import LogRecord, RecordBatch
from decoders.log.control import control_type, end_marker
from decoders.log.dump.items import DumpItem, item_text
from decoders.log.errors import Damaged
from decoders.log.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from decoders.log.frames import LogBatch

Decode = Callable[[LogRecord], tuple[str | None, str | None]]
"""Formats a record's key and value; None for a part that is not printed."""

Fields = dict[str, Any]


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
        """Dump the files in order as the tool prints them. Raises OSError."""
        return map(item_text, self.items(paths))

    def items(self, paths: Iterable[Path]) -> Iterator[DumpItem]:
        """Dump the files in order; after the last item `complaints` is complete. Raises OSError."""
        for path in paths:
            yield DumpItem("file", {"path": str(path)})
            if path.suffix == ".log" and path.stem.isdecimal():
                yield from self._log(path)
            else:
                self.complaints.append(f"Ignoring unknown file {path}")
        for name, gaps in self._gaps.items():
            self.complaints.append(f"Non-consecutive offsets in {name}")
            self.complaints += [f"  {before} is followed by {after}" for before, after in sorted(gaps.items())]

    def _log(self, path: Path) -> Iterator[DumpItem]:
        yield DumpItem("log", {"startOffset": int(path.stem)})
        limit = self.options.max_bytes
        last_offset, valid = -1, 0
        with Segment(path, 0) as segment:
            cursor = segment.batches(verify=False)
            for batch in cursor:
                if limit is not None and batch.position + batch.size > limit:
                    return
                valid = batch.position + batch.size
                try:
                    yield DumpItem("batch", _batch_fields(batch))
                    if self.options.is_deep:
                        for record, fields in self._records(batch):
                            if record.offset != last_offset + 1:
                                self._gaps.setdefault(str(path.absolute()), {})[last_offset] = record.offset
                            last_offset = record.offset
                            yield DumpItem("record", fields)
                except Damaged as fault:
                    self.complaints.append(str(fault.located(str(path), batch.position, batch.base_offset)))
            if segment.size > valid and limit is None:
                yield DumpItem("invalid_bytes", {"bytes": segment.size - valid, "name": path.name})
            if error := cursor.error(last_segment=True):
                self.complaints.append(str(error))

    def _records(self, batch: LogBatch) -> Iterator[tuple[LogRecord, Fields]]:
        for record, format_fields in _records_of(batch):
            fields: Fields = {}
            if not self.options.skip_record_metadata:
                fields = _record_fields(batch, record) | format_fields
                if batch.is_control:
                    fields |= _control_fields(record)
            if self.options.decode and not batch.is_control:
                data = zip(("key", "payload"), self.options.decode(record), strict=True)
                fields |= {name: text for name, text in data if text is not None}
            yield record, fields


def _batch_fields(batch: LogBatch) -> Fields:
    """Return the fields of a batch. Raises Damaged for an unknown codec."""
    if isinstance(batch, RecordBatch):
        fields: Fields = {
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "count": batch.record_count,
            "baseSequence": batch.base_sequence,
            "lastSequence": batch.last_sequence,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "partitionLeaderEpoch": batch.leader_epoch,
            "isTransactional": batch.is_transactional,
            "isControl": batch.is_control,
            "deleteHorizonMs": batch.delete_horizon,
        }
    else:
        fields = {"offset": batch.last_offset}
    return fields | {
        "position": batch.position,
        _timestamp_type(batch): batch.max_timestamp,
        "size": batch.size,
        "magic": batch.magic,
        "compresscodec": batch.codec.name.lower(),
        "crc": batch.crc,
        "isvalid": batch.has_valid_crc(),
    }


def _records_of(batch: LogBatch) -> Iterator[tuple[LogRecord, Fields]]:
    """Yield the records, each with the fields that only its format has."""
    if isinstance(batch, RecordBatch):
        for record in batch.records():
            yield record, {"sequence": record.sequence, "headerKeys": [key for key, _ in record.headers]}
        return
    for message in batch.messages():
        key, value = message.key_and_value()
        record = LogRecord(message.offset, batch.timestamp_of(message), key, value)
        yield record, {"isValid": message.has_valid_crc(), "crc": message.crc}


def _record_fields(batch: LogBatch, record: LogRecord) -> Fields:
    return {
        "offset": record.offset,
        _timestamp_type(batch): record.timestamp,
        "keySize": _size(record.key),
        "valueSize": _size(record.value),
    }


def _control_fields(record: LogRecord) -> Fields:
    if marker := end_marker(record):
        return {
            "endTxnMarker": "COMMIT" if marker.committed else "ABORT",
            "coordinatorEpoch": marker.coordinator_epoch,
        }
    kind, number = control_type(record.key)
    return {"controlType": f"{kind.name}({number})"}


def _timestamp_type(batch: LogBatch) -> str:
    if batch.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)
