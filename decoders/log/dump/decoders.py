"""The decoder options of the dump tool: how it prints records of Kafka's internal topics.

Each function is a `output.Decode`. The JSON comes from `decoders.jsonform`. Messages for records that cannot be
decoded are those of the tool, except that the cause is ours where Kafka prints a Java exception.

Source: org.apache.kafka.tools.DumpLogSegments (CoordinatorRecordMessageParser).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from decoders import jsonform, scalar
from decoders.errors import DecodeError, DecodeReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.log.batch import LogRecord
    from decoders.records import Record

Texts = tuple[str | None, str | None]

_UNKNOWN = frozenset({DecodeReason.UNKNOWN_TYPE, DecodeReason.REMOVED_TYPE})


def coordinator(decode: Callable[[bytes | None, bytes | None], Record | DecodeError], record: LogRecord) -> Texts:
    """Format a record of an internal topic with the decoder of the topic."""
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
