"""KRaft snapshots: complete ones are read, incomplete ones are refused, and the newest complete one is found."""

import struct
from pathlib import Path

from decoders.log.checkpoint import SnapshotId, read_snapshot
from decoders.log.control import ControlType
from decoders.log.errors import LogError, LogFault
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import RECORDED

CHECKPOINT = next((RECORDED / "__cluster_metadata-0").glob("*.checkpoint"))


def control(offset: int, number: int, value: bytes) -> bytes:
    record = write.Rec(0, 0, struct.pack(">hh", 0, number), value)
    return write.batch(offset, [record], attributes=0x20)


HEADER = control(0, 3, b"\0\0" + struct.pack(">q", 5) + b"\0")
DATA = write.batch(1, [write.Rec(0, 0, None, b"one"), write.Rec(1, 0, None, b"two")], write.ZSTD)
FOOTER = control(3, 4, b"\0\0\0")


def test_a_recorded_snapshot_is_read() -> None:
    """A snapshot of a real broker gives its id, its values in order, and its control records."""
    snapshot = read_snapshot(CHECKPOINT)
    assert snapshot.id == SnapshotId(int(CHECKPOINT.name[:20]), 1)
    assert len(snapshot.values) > 20
    assert {ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER} <= set(snapshot.control)
    assert snapshot.control[ControlType.SNAPSHOT_HEADER]["lastContainedLogTimestamp"] > 1_700_000_000_000


def test_a_snapshot_truncated_anywhere_is_refused(tmp_path: Path) -> None:
    """A snapshot without its footer is incomplete, even if all its batches are valid."""
    path = tmp_path / CHECKPOINT.name
    content = CHECKPOINT.read_bytes()
    for end in range(len(content)):
        path.write_bytes(content[:end])
        error = read_snapshot(path)
        assert error.fault in {LogFault.TORN, LogFault.INCOMPLETE_SNAPSHOT}


INCOMPLETE = {
    "no footer": [HEADER, DATA],
    "no header": [DATA, FOOTER],
    "a header after the footer": [HEADER, FOOTER, control(4, 3, b"\0\0" + bytes(8) + b"\0")],
    "data after the footer": [HEADER, FOOTER, write.batch(4, [write.Rec(0, 0, None, b"x")])],
    "empty": [],
}


def test_a_snapshot_begins_with_a_header_and_ends_with_a_footer(tmp_path: Path) -> None:
    """Other sequences of batches are incomplete snapshots."""
    for story, batches in INCOMPLETE.items():
        path = tmp_path / "00000000000000000009-0000000002.checkpoint"
        path.write_bytes(b"".join(batches))
        error = read_snapshot(path)
        assert isinstance(error, LogError), story
        assert error.fault is LogFault.INCOMPLETE_SNAPSHOT, story
