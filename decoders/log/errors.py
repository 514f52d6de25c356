"""What can be wrong with log files: the faults, and the one value that says where.

Reading code below the level of a file raises `Damaged` (documented on each function that does); what iterates over
files (`segment`, `partition`, `checkpoint`) turns it into `LogError` values and raises nothing but `OSError`.
"""

from __future__ import annotations

import dataclasses
import enum


class LogFault(enum.Enum):
    """What is wrong; the value is the word used in metrics and texts."""

    TORN = "torn"
    """The file ends inside a batch: an append was under way or was cut short."""
    ZEROS = "zeros"
    """From here on the file holds nothing but zeros: preallocated space."""
    BAD_LENGTH = "bad_length"
    BAD_MAGIC = "bad_magic"
    BAD_CRC = "bad_crc"
    OFFSET_ORDER = "offset_order"
    """A batch does not lie above its predecessor, or not within the segment's range."""
    TOO_LARGE = "too_large"
    """A batch is larger than the reader's limit."""
    UNKNOWN_CODEC = "unknown_codec"
    BAD_COMPRESSION = "bad_compression"
    EXPANDS_PAST_LIMIT = "expands_past_limit"
    """The decompressed batch would be larger than the reader's limit."""
    BAD_RECORD = "bad_record"
    """The lengths inside a batch contradict each other."""
    BAD_CONTROL = "bad_control"
    BAD_INDEX = "bad_index"
    BAD_STATE_FILE = "bad_state_file"
    INCOMPLETE_SNAPSHOT = "incomplete_snapshot"
    WRONG_KIND = "wrong_kind"
    """The name says that this is not the kind of file or directory asked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class LogError:
    """One fault in one file.

    `path` is the file, `position` the byte in it where the faulty batch, entry or line begins, `offset` the log offset
    of the faulty batch where it is known, `detail` half a sentence for a person.
    """

    fault: LogFault
    path: str
    position: int
    offset: int | None
    detail: str

    def __str__(self) -> str:
        """Say it in one line."""
        offset = "" if self.offset is None else f" (offset {self.offset})"
        return f"{self.path}: {self.fault.value} at byte {self.position}{offset}: {self.detail}"


class Damaged(Exception):  # noqa: N818  # reads as what the bytes are, like decoders.errors.MalformedBytes
    """Bytes cannot be read: `fault` and `detail` as in LogError, `position` within the bytes that were handed in."""

    def __init__(self, fault: LogFault, detail: str, position: int = 0) -> None:
        super().__init__(fault, detail, position)
        self.fault = fault
        self.detail = detail
        self.position = position

    def located(self, path: str, position: int, offset: int | None = None) -> LogError:
        """Give the value for the world outside: this fault, in the file at that byte (ours is added to it)."""
        return LogError(self.fault, path, position + self.position, offset, self.detail)
