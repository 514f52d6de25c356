"""Rows -> lines of text: each record in a shape of Kafka's console formatters, or why it cannot be decoded.

Owns which formats there are and which topic is read by which tables. The texts of brokers before 4.0 are
`stream.offline.legacy_formats`'s.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import TYPE_CHECKING, Final

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from stream.offline import legacy_formats as texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from decoders.records import Record
    from stream.offline.rows import TopicRow


class RecordFormat(enum.StrEnum):
    """How records are written; a text's number is the first Kafka version that printed it so."""

    JSON = "json"
    """Kafka 4.0 and later."""
    JSON_3_9 = "json-3.9"
    """The same, but the key's number is called version."""
    TEXT_0_8 = "text-0.8"
    TEXT_0_9 = "text-0.9"
    TEXT_2_1 = "text-2.1"


@dataclasses.dataclass(frozen=True, slots=True)
class DecodedLine:
    """What a row gives: its text, or the error that stands in its place, or neither where the format has no shape."""

    text: str | None = None
    error: str | None = None


def decode(row: TopicRow, shape: RecordFormat = RecordFormat.JSON) -> DecodedLine:
    """Decode one row. An error is a JSON object with the row's place and what `DecodeError` says; bytes in hex."""
    record = _READERS.get(row.topic, scalar.decode)(row.key, row.value)
    if isinstance(record, DecodeError):
        return DecodedLine(error=_error(row, record))
    return DecodedLine(text=_WRITERS[shape](record))


def _metadata(_: bytes | None, value: bytes | None) -> Record | DecodeError:
    return scalar.decode_metadata(value)


def _json(record: Record) -> str:
    return jsonform.dump_metadata(record) if record.type.key is None else jsonform.console(record)


def _json_3_9(record: Record) -> str:
    return jsonform.dump_metadata(record) if record.type.key is None else jsonform.console(record, type_word="version")


def _error(row: TopicRow, error: DecodeError) -> str:
    said = {
        "error": {**dataclasses.asdict(error), "reason": error.reason.value},
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "key": None if row.key is None else row.key.hex(),
        "value": None if row.value is None else row.value.hex(),
    }
    return json.dumps(said, separators=(",", ":"))


_READERS: Final[Mapping[str, Callable[[bytes | None, bytes | None], Record | DecodeError]]] = {
    "__consumer_offsets": scalar.decode,
    "__transaction_state": scalar.decode_transaction,
    "__share_group_state": scalar.decode_share_state,
    "__cluster_metadata": _metadata,
}
TOPICS: Final = tuple(_READERS)
"""The topics that can be decoded."""

_WRITERS: Final[Mapping[RecordFormat, Callable[[Record], str | None]]] = {
    RecordFormat.JSON: _json,
    RecordFormat.JSON_3_9: _json_3_9,
    RecordFormat.TEXT_0_8: texts.format_0_8,
    RecordFormat.TEXT_0_9: texts.format_0_9,
    RecordFormat.TEXT_2_1: texts.format_2_1,
}
