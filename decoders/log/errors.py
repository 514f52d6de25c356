"""Faults of log files, and the value that reports where they are.

Code that reads bytes raises `Damaged` (documented on each such function). Code that reads files (`segment`,
`partition`) returns `LogError` values instead and raises only `OSError`.
"""

import dataclasses
import enum


class LogFault(enum.Enum):
    """The kind of a fault. The values are used in metrics and texts."""

    TORN = "torn"
    """The file ends inside a batch: an append is in progress or was interrupted."""
    ZEROS = "zeros"
    """The rest of the file is zeros: preallocated space."""
    BAD_LENGTH = "bad_length"
    BAD_MAGIC = "bad_magic"
    BAD_CRC = "bad_crc"
    OFFSET_ORDER = "offset_order"
    """The offsets of a batch are not above the previous batch, or not within the range of the segment."""
    TOO_LARGE = "too_large"
    """A batch is larger than the reader's limit."""
    UNKNOWN_CODEC = "unknown_codec"
    BAD_COMPRESSION = "bad_compression"
    EXPANDS_PAST_LIMIT = "expands_past_limit"
    """The decompressed batch would be larger than the reader's limit."""
    BAD_RECORD = "bad_record"
    """The lengths inside a batch contradict each other."""
    BAD_CONTROL = "bad_control"
    UNREADABLE = "unreadable"
    """The file cannot be opened or read: missing permission, a directory or FIFO in its place, or a disk error."""
    WRONG_KIND = "wrong_kind"
    """The path is not the expected kind of file or directory."""


@dataclasses.dataclass(frozen=True, slots=True)
class LogError:
    """One fault in one file.

    `path` is the file, `position` the byte in it where the faulty batch, entry or line begins, `offset` the log offset
    of the faulty batch if known, `detail` a short explanation.
    """

    fault: LogFault
    path: str
    position: int
    offset: int | None
    detail: str

    def __str__(self) -> str:
        """Return the error as one line."""
        offset = "" if self.offset is None else f" (offset {self.offset})"
        return f"{self.path}: {self.fault.value} at byte {self.position}{offset}: {self.detail}"


class Damaged(Exception):  # noqa: N818  # describes the bytes, like decoders.errors.MalformedBytes
    """The bytes cannot be read. `fault` and `detail` are those of LogError, `position` is within the bytes passed."""

    def __init__(self, fault: LogFault, detail: str, position: int = 0) -> None:
        super().__init__(fault, detail, position)
        self.fault = fault
        self.detail = detail
        self.position = position

    def located(self, path: str, position: int, offset: int | None = None) -> LogError:
        """Return the LogError for this fault in bytes at `position` of the file."""
        return LogError(self.fault, path, position + self.position, offset, self.detail)
