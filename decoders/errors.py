"""Decode errors: the reasons, and the value that reports the place of the fault.

Reading code inside this package raises `MalformedBytes`. The public functions (in `decoders.scalar`, `decoders.blobs`)
return a `DecodeError` instead and do not raise.
"""

from __future__ import annotations

import dataclasses
import enum


class DecodeReason(enum.Enum):
    """The reason why bytes could not be decoded. The values are used in metrics and JSON."""

    NULL_KEY = "null_key"
    SHORT = "short"
    UNKNOWN_TYPE = "unknown_type"
    REMOVED_TYPE = "removed_type"
    UNKNOWN_VERSION = "unknown_version"
    NEGATIVE_LENGTH = "negative_length"
    LENGTH_PAST_END = "length_past_end"
    STRING_TOO_LONG = "string_too_long"
    BAD_VARINT = "bad_varint"
    NULL_NOT_ALLOWED = "null_not_allowed"
    TAG_OUT_OF_VERSION = "tag_out_of_version"
    OUT_OF_RANGE = "out_of_range"


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeError:
    """The reason why a record could not be decoded, and where.

    `type` is the number of the record type (None if the key is too short to have one), `version` the version of the
    value (None if it was not reached), `field` the dotted path from "key" or "value" (`value.members[2].client_id`),
    `position` the byte in that key or value where reading stopped.
    """

    type: int | None
    version: int | None
    field: str
    position: int
    reason: DecodeReason


class MalformedBytes(Exception):  # noqa: N818  # internal: never leaves the package as an error
    """Reading stopped at `position` for `reason`; every enclosing struct that the exception passes extends `path`."""

    def __init__(self, reason: DecodeReason, position: int) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position
        self.path = ""

    def within(self, name: str) -> MalformedBytes:
        """Prepend the field or element `name` to the path, and return this exception."""
        self.path = name if not self.path else f"{name}{'' if self.path[0] == '[' else '.'}{self.path}"
        return self
