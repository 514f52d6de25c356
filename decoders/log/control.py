"""Control records: the markers that end transactions, and the control records of KRaft.

Key: int16 version, int16 type. The values of ABORT and COMMIT have a fixed layout; all others are flexible messages
that repeat their version in the first field. As in Kafka, newer versions are read as the last known one, and newer
types are UNKNOWN and not an error.

Source: org.apache.kafka.common.record.internal.ControlRecordType, ControlRecordUtils and EndTransactionMarker; the
schemas EndTxnMarker, LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord, VotersRecord.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import struct
from typing import TYPE_CHECKING, Any, Final

from decoders.javatext import java_text
from decoders.log.errors import Damaged, LogFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.log.batch import LogRecord

_KEY: Final = struct.Struct(">hh")
_MARKER: Final = struct.Struct(">hi")


class ControlType(enum.IntEnum):
    """The types of control records, named as in Kafka's ControlRecordType."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1


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
    return (ControlType(number) if 0 <= number <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN), number


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


def kraft_message(record: LogRecord) -> dict[str, Any] | None:
    """Decode the value of a KRaft control record to the fields of its schema, named and ordered as in its JSON.

    None for transaction markers and unknown types. Uuids have the form that Kafka prints. Raises Damaged.
    """
    read_fields = _MESSAGES.get(control_type(record.key)[0])
    if read_fields is None:
        return None
    if record.value is None:
        raise Damaged(LogFault.BAD_CONTROL, "a KRaft control record has no value")
    reader = _Reader(record.value)

    def fields() -> dict[str, Any]:
        version = reader.integer(2)
        return {"version": version, **read_fields(reader, version)}

    return reader.struct(fields)


class _Reader:
    """A cursor over one flexible message. Every read past the end raises Damaged."""

    def __init__(self, value: bytes) -> None:
        self.value = value
        self.at = 0

    def read(self, size: int) -> bytes:
        data = self.value[self.at : self.at + size]
        if len(data) < size:
            raise Damaged(LogFault.BAD_CONTROL, "a KRaft control record is truncated", self.at)
        self.at += size
        return data

    def integer(self, size: int) -> int:
        return int.from_bytes(self.read(size), "big", signed=True)

    def uvarint(self) -> int:
        number = 0
        for index in range(5):
            byte = self.read(1)[0]
            number |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return number
        raise Damaged(LogFault.BAD_CONTROL, "a varint is longer than 5 bytes", self.at)

    def string(self) -> str:
        return java_text(self.read(max(0, self.uvarint() - 1)))

    def uuid(self) -> str:
        return base64.urlsafe_b64encode(self.read(16)).decode().rstrip("=")

    def array(self, element: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
        count = max(0, self.uvarint() - 1)
        if count > len(self.value) - self.at:
            raise Damaged(LogFault.BAD_CONTROL, f"an array of {count} elements exceeds the record", self.at)
        return [self.struct(element) for _ in range(count)]

    def struct(self, fields: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Read the fields, then skip the tagged section at the end of every struct."""
        values = fields()
        for _ in range(self.uvarint()):
            self.uvarint()
            self.read(self.uvarint())
        return values


def _leader_change(reader: _Reader, version: int) -> dict[str, Any]:
    def voter() -> dict[str, Any]:
        fields: dict[str, Any] = {"voterId": reader.integer(4)}
        if version > 0:  # in the schema, but no release writes it yet
            fields["voterDirectoryId"] = reader.uuid()
        return fields

    return {
        "leaderId": reader.integer(4),
        "voters": reader.array(voter),
        "grantingVoters": reader.array(voter),
    }


def _snapshot_header(reader: _Reader, _: int) -> dict[str, Any]:
    return {"lastContainedLogTimestamp": reader.integer(8)}


def _snapshot_footer(_: _Reader, __: int) -> dict[str, Any]:
    return {}


def _kraft_version(reader: _Reader, _: int) -> dict[str, Any]:
    return {"kRaftVersion": reader.integer(2)}


def _voters(reader: _Reader, _: int) -> dict[str, Any]:
    def endpoint() -> dict[str, Any]:
        return {"name": reader.string(), "host": reader.string(), "port": int.from_bytes(reader.read(2), "big")}

    def versions() -> dict[str, Any]:
        return {"minSupportedVersion": reader.integer(2), "maxSupportedVersion": reader.integer(2)}

    def voter() -> dict[str, Any]:
        return {
            "voterId": reader.integer(4),
            "voterDirectoryId": reader.uuid(),
            "endpoints": reader.array(endpoint),
            "kRaftVersionFeature": reader.struct(versions),
        }

    return {"voters": reader.array(voter)}


_MESSAGES: Final = {
    ControlType.LEADER_CHANGE: _leader_change,
    ControlType.SNAPSHOT_HEADER: _snapshot_header,
    ControlType.SNAPSHOT_FOOTER: _snapshot_footer,
    ControlType.KRAFT_VERSION: _kraft_version,
    ControlType.KRAFT_VOTERS: _voters,
}
