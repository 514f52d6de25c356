"""Formats rows as lines of text, like Kafka's console formatters, or as an error if a record cannot be decoded.

Defines the formats and the decoder per topic. `stream.offline.legacy_formats` has the formats before Kafka 4.0.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from typing import TYPE_CHECKING, Final

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from stream.offline import legacy_formats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from decoders.records import Record
    from stream.offline.rows import LogRow


class RecordFormat(enum.StrEnum):
    """The output formats. The number of a text format is the first Kafka version with it."""

    JSON = "json"
    """Kafka 4.0 and later."""
    JSON_3_9 = "json-3.9"
    """The same, but the type of the key is called version."""
    TEXT_0_8 = "text-0.8"
    TEXT_0_9 = "text-0.9"
    TEXT_2_1 = "text-2.1"


@dataclasses.dataclass(frozen=True, slots=True)
class DecodedLine:
    """The text of a row, or its error, or neither if the format cannot represent records of this type."""

    text: str | None = None
    error: str | None = None


def decode(row: LogRow, record_format: RecordFormat = RecordFormat.JSON) -> DecodedLine:
    """Decode one row. An error is a JSON object with the row, its bytes in hex, and the `DecodeError`."""
    record = _READERS.get(row.topic, scalar.decode)(row.key, row.value)
    if isinstance(record, DecodeError):
        return DecodedLine(error=_error(row, record))
    return DecodedLine(text=_WRITERS[record_format](record))


def _error(row: LogRow, error: DecodeError) -> str:
    answer = {
        "error": {**dataclasses.asdict(error), "reason": error.reason.value},
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "key": None if row.key is None else row.key.hex(),
        "value": None if row.value is None else row.value.hex(),
    }
    return json.dumps(answer, separators=(",", ":"))


_READERS: Final[Mapping[str, Callable[[bytes | None, bytes | None], Record | DecodeError]]] = {
    "__consumer_offsets": scalar.decode,
    "__transaction_state": scalar.decode_transaction,
    "__share_group_state": scalar.decode_share_state,
}
TOPICS: Final = tuple(_READERS)
"""The topics that can be decoded."""

_WRITERS: Final[Mapping[RecordFormat, Callable[[Record], str | None]]] = {
    RecordFormat.JSON: jsonform.console,
    RecordFormat.JSON_3_9: functools.partial(jsonform.console, type_word="version"),
    RecordFormat.TEXT_0_8: legacy_formats.format_0_8,
    RecordFormat.TEXT_0_9: legacy_formats.format_0_9,
    RecordFormat.TEXT_2_1: legacy_formats.format_2_1,
}
