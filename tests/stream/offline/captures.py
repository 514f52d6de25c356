"""Rows and captures for the tests of the offline commands."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stream.offline.capture import CaptureWriter
from stream.offline.rows import OFFSETS_TOPIC, LogRow, Origin
from tests.support.raw import commit_key, commit_value, group_key, group_value

RECORDED: Final = Path(__file__).resolve().parents[2] / "captures" / "all-kinds.avro"
"""Records of a real broker for groups of every kind, recorded by `sandbox.all_kinds`."""
ORIGIN: Final = Origin("cluster-1", {OFFSETS_TOPIC: "id-1"})


def row(offset: int, key: bytes | None, value: bytes | None, *, partition: int = 0, time: int | None = None) -> LogRow:
    """Return a row of the offsets topic. The default timestamp is one second per offset."""
    return LogRow(OFFSETS_TOPIC, partition, offset, offset * 1000 if time is None else time, key, value)


def commit(at: int, offset: int | None, *, group: str = "g", number: int = 0, partition: int = 0) -> LogRow:
    """Return a commit for a partition of topic `t`, or its tombstone."""
    value = None if offset is None else commit_value(offset, at * 1000)
    return row(at, commit_key(group, "t", number), value, partition=partition)


def generation(at: int, number: int, members: list[str], *, group: str = "g", partition: int = 0) -> LogRow:
    return row(at, group_key(group), group_value(number, members, time=at * 1000), partition=partition)


def capture_of(path: Path, rows: Iterable[LogRow]) -> Path:
    with CaptureWriter(path, ORIGIN) as writer:
        for each in rows:
            writer.write(each)
    return path
