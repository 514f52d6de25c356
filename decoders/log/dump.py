"""The output of the official dump tool, `kafka-dump-log` of Kafka 4.x, for segments.

The caller passes the format of keys and values (a `Decode`), like the decoder option of the tool. Items of standard
output are yielded; the lines of standard error, which come at the end, are collected in `complaints`. Where the tool
fails on damaged data, this reports the damage and continues.

Source: org.apache.kafka.tools.DumpLogSegments.

The parts of a dump as data: batches and records with the field names of the official dump tool.

`item_text` formats a part as the tool prints it, `item_json` as a JSON object.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from decoders import jsonform, scalar
from decoders.errors import DecodeError, DecodeReason
from decoders.javatext import java_text
from decoders.log.batch import LogRecord, RecordBatch, sequence_at
from decoders.log.control import control_type, end_marker
from decoders.log.errors import Damaged
from decoders.log.files import LogBatch
from decoders.log.segment import Segment
from decoders.schema import Record

_NULLS: Final = frozenset({"<DELETE>", "null"})
"""What decoders print for a record without a value."""
_OPTIONAL: Final = frozenset({"deleteHorizonMs"})
"""Fields that the tool prints as a Java OptionalLong."""
_DATA: Final = ("key", "payload")


class DumpItem(NamedTuple):
    """A part of the dump of a file. A field is a number, a bool, a text, a list of texts, an object, or None."""

    kind: str
    """`file`, `log`, `batch`, `record` or `invalid_bytes`."""
    fields: Mapping[str, Any]


def item_text(item: DumpItem) -> str:
    """Return the line of the tool."""
    write = _SENTENCES.get(item.kind)
    if write is not None:
        return write(item.fields)
    words = " ".join([_field_text(name, value) for name, value in item.fields.items()])
    return f"| {words}" if item.kind == "record" and words else words


def item_json(item: DumpItem, file: str, *, decoded: bool) -> dict[str, Any]:
    """Return the JSON object of an item: `file`, `kind` and its fields.

    `decoded`: key and payload are the output of a decoder of `decoders.log.dump`. They become objects, a
    tombstone becomes null, and the message for a record that cannot be decoded becomes `error`.
    """
    answer = {"file": file, "kind": item.kind, **item.fields}
    for name in _DATA if decoded else ():
        if name in answer:
            text = answer.pop(name)
            is_message = not text.startswith("{") and text not in _NULLS
            answer |= {"error": text} if is_message else {name: None if text in _NULLS else json.loads(text)}
    return answer


def _field_text(name: str, value: Any) -> str:
    if name in _OPTIONAL:
        return f"{name}: {'OptionalLong.empty' if value is None else f'OptionalLong[{value}]'}"
    if isinstance(value, bool):
        return f"{name}: {'true' if value else 'false'}"
    if isinstance(value, list):
        return f"{name}: [{','.join(value)}]"
    return f"{name}: {value}"


_SENTENCES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "file": "Dumping {path}".format_map,
    "log": "Log starting offset: {startOffset}".format_map,
    "invalid_bytes": "Found {bytes} invalid bytes at the end of {name}".format_map,
}


Decode = Callable[[LogRecord], tuple[str | None, str | None]]
"""Formats a record's key and value; None for a part that is not printed."""

Fields = dict[str, Any]

GAPS: Final = "Non-consecutive offsets in "
"""The beginning of the complaint about gaps between offsets, which compaction leaves."""


def as_text(record: LogRecord) -> tuple[str | None, str | None]:
    """Format key and value as UTF-8, like the tool without a decoder option."""
    return _text(record.key), _text(record.value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else java_text(data)


_UNKNOWN: Final = frozenset({DecodeReason.UNKNOWN_TYPE, DecodeReason.REMOVED_TYPE})


def coordinator(
    decode: Callable[[bytes | None, bytes | None], Record | DecodeError], record: LogRecord
) -> tuple[str | None, str | None]:
    """Format a record of an internal topic as JSON, or with the message of the tool for one that cannot be decoded.

    The cause is ours where Kafka prints a Java exception.
    """
    decoded = decode(record.key, record.value)
    if not isinstance(decoded, DecodeError):
        return jsonform.dump_key(decoded), jsonform.dump_payload(decoded)
    if decoded.reason in _UNKNOWN:
        return f"Unknown record type {decoded.type} at offset {record.offset}, skipping.", None
    cause = f"{decoded.reason.value} in {decoded.field} at byte {decoded.position}"
    return f"Error at offset {record.offset}, skipping. {cause}", None


offsets = functools.partial(coordinator, scalar.decode)
"""Formats a record of `__consumer_offsets` (`--offsets-decoder`)."""
transaction_log = functools.partial(coordinator, scalar.decode_transaction)
"""Formats a record of `__transaction_state` (`--transaction-log-decoder`)."""
share_group_state = functools.partial(coordinator, scalar.decode_share_state)
"""Formats a record of `__share_group_state` (`--share-group-state-decoder`)."""


class Dump:
    """The dump of one segment: batches and, if `deep`, records, with key and value if `decode` formats them.

    After the last item `complaints` is complete.
    """

    def __init__(self, path: Path, decode: Decode | None = None, *, deep: bool = False) -> None:
        """`decode` means `--print-data-log` with that decoder, and implies deep iteration."""
        self.complaints: list[str] = []
        self._path = path
        self._decode = decode
        self._deep = deep or decode is not None

    def items(self) -> Iterator[DumpItem]:
        """Yield the parts in order. Raises OSError."""
        path, gaps = self._path, list[str]()
        yield DumpItem("file", {"path": str(path)})
        yield DumpItem("log", {"startOffset": int(path.stem)})
        last_offset, valid = -1, 0
        with Segment(path, 0) as segment:
            cursor = segment.batches(verify=False)
            for batch in cursor:
                valid = batch.position + batch.size
                try:
                    yield DumpItem("batch", _batch_fields(batch))
                    for record, fields in self._records(batch) if self._deep else ():
                        if record.offset != last_offset + 1:
                            gaps.append(f"  {last_offset} is followed by {record.offset}")
                        last_offset = record.offset
                        yield DumpItem("record", fields)
                except Damaged as fault:
                    self.complaints.append(str(fault.located(str(path), batch.position, batch.base_offset)))
            if segment.size > valid:
                yield DumpItem("invalid_bytes", {"bytes": segment.size - valid, "name": path.name})
            if error := cursor.error(last_segment=True):
                self.complaints.append(str(error))
        if gaps:
            self.complaints += [f"{GAPS}{path.absolute()}", *gaps]

    def _records(self, batch: LogBatch) -> Iterator[tuple[LogRecord, Fields]]:
        for record, format_fields in _records_of(batch):
            fields: Fields = {
                "offset": record.offset,
                _timestamp_type(batch): record.timestamp,
                "keySize": _size(record.key),
                "valueSize": _size(record.value),
                **format_fields,
            }
            if batch.is_control:
                fields |= _control_fields(record)
            elif self._decode:
                data = zip(("key", "payload"), self._decode(record), strict=True)
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
            "lastSequence": sequence_at(batch.base_sequence, batch.last_offset_delta),
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
        record = LogRecord(message.last_offset, batch.timestamp_of(message), key, value)
        yield record, {"isValid": message.has_valid_crc(), "crc": message.crc}


def _control_fields(record: LogRecord) -> Fields:
    if marker := end_marker(record):
        return {"endTxnMarker": "COMMIT" if marker.committed else "ABORT", "coordinatorEpoch": marker.coordinator_epoch}
    kind, number = control_type(record.key)
    return {"controlType": f"{kind.name}({number})"}


def _timestamp_type(batch: LogBatch) -> str:
    if batch.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)
