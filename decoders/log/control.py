"""Control records: the markers that end transactions. Those of KRaft are not decoded.

Key: int16 version, int16 type. As in Kafka, newer versions are read as the last known one, and newer types are UNKNOWN
and not an error.

Source: org.apache.kafka.common.record.internal.ControlRecordType and EndTransactionMarker; the schema EndTxnMarker.
"""

import dataclasses
import enum
import struct
from typing import Final

from decoders.log.batch import LogRecord
from decoders.log.errors import Damaged, LogFault

_KEY: Final = struct.Struct(">hh")
_MARKER: Final = struct.Struct(">hi")


class ControlType(enum.IntEnum):
    """The types of control records, named as in Kafka's ControlRecordType."""

    ABORT = 0
    COMMIT = 1
    UNKNOWN = -1
    """Of KRaft, or newer."""


@dataclasses.dataclass(frozen=True, slots=True)
class EndMarker:
    """The end of a producer's transaction in this partition; the batch has the producer id."""

    committed: bool
    coordinator_epoch: int


def control_type(key: bytes | None) -> tuple[ControlType, int]:
    """Decode the key of a control record to the type and its number, which also identifies UNKNOWN types.

    Raises Damaged for keys of other records.
    """
    if key is None or len(key) < _KEY.size:
        raise Damaged(LogFault.BAD_CONTROL, "the key of a control record is missing or truncated")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise Damaged(LogFault.BAD_CONTROL, f"the version of a control key is {version}")
    return (ControlType(number) if 0 <= number <= ControlType.COMMIT else ControlType.UNKNOWN), number


def end_marker(record: LogRecord) -> EndMarker | None:
    """Decode a transaction marker; None for other control records. Raises Damaged."""
    kind, _ = control_type(record.key)
    if kind not in {ControlType.ABORT, ControlType.COMMIT}:
        return None
    if record.value is None or len(record.value) < _MARKER.size:
        raise Damaged(LogFault.BAD_CONTROL, "the value of a transaction marker is missing or truncated")
    version, epoch = _MARKER.unpack_from(record.value)
    if version < 0:
        raise Damaged(LogFault.BAD_CONTROL, f"the version of a transaction marker is {version}")
    return EndMarker(kind is ControlType.COMMIT, epoch)
