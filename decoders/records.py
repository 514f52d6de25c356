"""A decoded record: what the bytes say, before anyone asks what it means."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoders.schema import Message, RecordType

Fields = dict[str, Any]
"""Field name to value: int, bool, str, bytes (also for a uuid: 16 raw bytes), None, a tuple, or nested Fields."""


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One record of an internal topic.

    `key` and `value` hold every field of their tables; a field that the value's version does not carry has its
    default. `version` and `value` are None for a tombstone. `layout` is the table that fitted the value: the type's
    own or one of its `older_layouts` ones.
    """

    type: RecordType
    key: Fields
    version: int | None
    value: Fields | None
    layout: Message | None
