"""Decoded records: field values by name, not yet interpreted as events."""

import dataclasses
from typing import Any

from decoders.schema import Message, RecordType

Fields = dict[str, Any]
"""Field name to value: int, bool, str, bytes (also for a uuid: 16 raw bytes), None, a tuple, or nested Fields."""


def none_if_unset(number: int) -> int | None:
    """Return the number, None for Kafka's -1 ("not set")."""
    return None if number == -1 else number


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One record of an internal topic.

    `key` and `value` have every field of their tables; fields that the version of the value does not have are set to
    their defaults. `version` and `value` are None for a tombstone. `layout` is the table that the value was read with:
    `value` or one of `older_layouts` of the type.
    """

    type: RecordType
    key: Fields
    version: int | None
    value: Fields | None
    layout: Message | None
