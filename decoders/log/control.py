"""What control batches say: the markers that end transactions, and KRaft's own records.

Key: int16 version, int16 type. Values of ABORT and COMMIT are plain, all others flexible messages that repeat their
version as first field. Versions above the known ones are read as the known one, as Kafka does; types above the known
ones are UNKNOWN and nobody's error.

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
    """The types of control records; the names are those of Kafka's ControlRecordType."""

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
    """The end of a producer's transaction in this partition; which producer stands in the batch."""

    committed: bool
    coordinator_epoch: int


def control_type(key: bytes | None) -> tuple[ControlType, int]:
    """Read a control record's key: the type, and its number (which tells more where the type is UNKNOWN).

    Raises Damaged for keys that are no control keys.
    """
    if key is None or len(key) < _KEY.size:
        raise Damaged(LogFault.BAD_CONTROL, "a control record without a whole key")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise Damaged(LogFault.BAD_CONTROL, f"control key of version {version}")
    return (ControlType(number) if 0 <= number <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN), number


def end_marker(record: LogRecord) -> EndMarker | None:
    """Read a marker; None for control records that end no transaction. Raises Damaged."""
    kind, _ = control_type(record.key)
    if kind not in {ControlType.ABORT, ControlType.COMMIT}:
        return None
    if record.value is None or len(record.value) < _MARKER.size:
        raise Damaged(LogFault.BAD_CONTROL, "a transaction marker without a whole value")
    version, epoch = _MARKER.unpack_from(record.value)
    if version < 0:
        raise Damaged(LogFault.BAD_CONTROL, f"transaction marker of version {version}")
    return EndMarker(kind is ControlType.COMMIT, epoch)


def kraft_message(record: LogRecord) -> dict[str, Any] | None:
    """Decode the value of a KRaft control record into the fields of its schema, named and ordered as its JSON.

    None for transaction markers and unknown types. Uuids are given as Kafka prints them. Raises Damaged.
    """
    read = _MESSAGES.get(control_type(record.key)[0])
    if read is None:
        return None
    if record.value is None:
        raise Damaged(LogFault.BAD_CONTROL, "a KRaft control record without a value")
    reader = _Reader(record.value)

    def fields() -> dict[str, Any]:
        version = reader.integer(2)
        return {"version": version, **read(reader, version)}

    return reader.struct(fields)


class _Reader:
    """A cursor over one flexible message. Every read raises Damaged at the end of the bytes."""

    def __init__(self, value: bytes) -> None:
        self.value = value
        self.at = 0

    def take(self, size: int) -> bytes:
        taken = self.value[self.at : self.at + size]
        if len(taken) < size:
            raise Damaged(LogFault.BAD_CONTROL, "a KRaft control record is cut short", self.at)
        self.at += size
        return taken

    def integer(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big", signed=True)

    def uvarint(self) -> int:
        number = 0
        for place in range(5):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return number
        raise Damaged(LogFault.BAD_CONTROL, "a number takes more than 5 bytes", self.at)

    def string(self) -> str:
        return java_text(self.take(max(0, self.uvarint() - 1)))

    def uuid(self) -> str:
        return base64.urlsafe_b64encode(self.take(16)).decode().rstrip("=")

    def array(self, element: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
        count = max(0, self.uvarint() - 1)
        if count > len(self.value) - self.at:
            raise Damaged(LogFault.BAD_CONTROL, f"a list of {count} elements", self.at)
        return [self.struct(element) for _ in range(count)]

    def struct(self, fields: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Read the fields, then skip the tagged section that ends every struct."""
        read = fields()
        for _ in range(self.uvarint()):
            self.uvarint()
            self.take(self.uvarint())
        return read


def _leader_change(reader: _Reader, version: int) -> dict[str, Any]:
    def voter() -> dict[str, Any]:
        fields: dict[str, Any] = {"voterId": reader.integer(4)}
        if version > 0:  # in the schema, although no release writes it so far
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
        return {"name": reader.string(), "host": reader.string(), "port": int.from_bytes(reader.take(2), "big")}

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
