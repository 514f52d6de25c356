"""What can be wrong with bytes: the reasons, and the one value that says where.

Owns the words of every refusal. Reading code raises `MalformedBytes` inside this package; the public entries
(`decoders.scalar`, `decoders.blobs`) turn it into a `DecodeError` value and raise nothing.
"""

from __future__ import annotations

import dataclasses
import enum


class DecodeReason(enum.Enum):
    """Why bytes could not be decoded; the value is the word used in metrics and JSON."""

    NULL_KEY = "null_key"
    NULL_VALUE = "null_value"
    SHORT = "short"
    UNKNOWN_TYPE = "unknown_type"
    REMOVED_TYPE = "removed_type"
    UNKNOWN_VERSION = "unknown_version"
    NEGATIVE_LENGTH = "negative_length"
    LENGTH_PAST_END = "length_past_end"
    STRING_TOO_LONG = "string_too_long"
    BAD_VARINT = "bad_varint"
    NULL_NOT_ALLOWED = "null_not_allowed"
    NOT_BASE64 = "not_base64"
    TAG_OUT_OF_VERSION = "tag_out_of_version"
    TRAILING_BYTES = "trailing_bytes"
    OUT_OF_RANGE = "out_of_range"


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeError:
    """Why a record has no events.

    `type` is the record type's number (None when the key is too short to tell), `version` the value's version (None
    when it was not reached), `field` the dotted path from "key" or "value" (`value.members[2].client_id`), `position`
    the byte in that key or value where reading stopped.
    """

    type: int | None
    version: int | None
    field: str
    position: int
    reason: DecodeReason


class MalformedBytes(Exception):  # noqa: N818  # reads as what the bytes are; never leaves the package
    """Reading stopped at `position` for `reason`; `path` grows outwards while the exception passes the structs."""

    def __init__(self, reason: DecodeReason, position: int) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position
        self.path = ""

    def within(self, name: str) -> MalformedBytes:
        """Note that the fault lies inside the field or element of this name."""
        self.path = name if not self.path else f"{name}{'' if self.path[0] == '[' else '.'}{self.path}"
        return self
