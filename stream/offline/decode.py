"""Formats rows as lines of JSON, like Kafka's console formatters since 4.0, or as an error if one cannot be decoded."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Final

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from decoders.interpret_groups import Record
from stream.offline.rows import LogRow


@dataclasses.dataclass(frozen=True, slots=True)
class DecodedLine:
    """The text of a row that could be decoded."""

    text: str


def decode(row: LogRow) -> DecodedLine | str:
    """Decode one row. An error is a JSON object with the row, its bytes in hex, and the `DecodeError`, as text."""
    record = _READERS.get(row.topic, scalar.decode)(row.key, row.value)
    if not isinstance(record, DecodeError):
        return DecodedLine(jsonform.console(record))
    answer = {
        "error": {**dataclasses.asdict(record), "reason": record.reason.value},
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
