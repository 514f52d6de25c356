"""The decoder options of the dump tool: how it prints records of Kafka's internal topics.

Each function is a `output.Decode`. The JSON comes from `decoders.jsonform`. Messages for records that cannot be
decoded are those of the tool, except that the cause is ours where Kafka prints a Java exception.

Source: org.apache.kafka.tools.DumpLogSegments (CoordinatorRecordMessageParser).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders import jsonform, scalar
from decoders.errors import DecodeError, DecodeReason

if TYPE_CHECKING:
    from decoders.log.batch import LogRecord
    from decoders.records import Record

Texts = tuple[str | None, str | None]

_UNKNOWN = frozenset({DecodeReason.UNKNOWN_TYPE, DecodeReason.REMOVED_TYPE})


def offsets(record: LogRecord) -> Texts:
    """Format a record of `__consumer_offsets` (`--offsets-decoder`)."""
    return _coordinator(record, scalar.decode(record.key, record.value))


def transaction_log(record: LogRecord) -> Texts:
    """Format a record of `__transaction_state` (`--transaction-log-decoder`)."""
    return _coordinator(record, scalar.decode_transaction(record.key, record.value))


def share_group_state(record: LogRecord) -> Texts:
    """Format a record of `__share_group_state` (`--share-group-state-decoder`)."""
    return _coordinator(record, scalar.decode_share_state(record.key, record.value))


def _coordinator(record: LogRecord, decoded: Record | DecodeError) -> Texts:
    if not isinstance(decoded, DecodeError):
        return jsonform.dump_key(decoded), jsonform.dump_payload(decoded)
    if decoded.reason in _UNKNOWN:
        return f"Unknown record type {decoded.type} at offset {record.offset}, skipping.", None
    return f"Error at offset {record.offset}, skipping. {_cause(decoded)}", None


def _cause(error: DecodeError) -> str:
    return f"{error.reason.value} in {error.field} at byte {error.position}"
