"""The small files beside segments: those of a real broker are read, and malformed ones are one typed error."""

import struct
from pathlib import Path

import google_crc32c

from decoders.log.errors import LogError, LogFault
from decoders.log.state_files import (
    PartitionOffset,
    ProducerEntry,
    read_partition_metadata,
    read_partition_offsets,
    read_producer_snapshot,
)
from tests.decoders.log.fixtures import RECORDED


def snapshot_of(*entries: ProducerEntry, version: int = 1) -> bytes:
    body = struct.pack(">i", len(entries)) + b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", version, google_crc32c.value(body)) + body


OPEN = ProducerEntry(9, 2, 17, 120, 3, 1_700_000_000_000, 4, 100)
MARKED = ProducerEntry(10, 0, -1, -1, 0, 1_700_000_000_001, 4, -1)


def test_producers_are_read_with_their_open_transactions(tmp_path: Path) -> None:
    """A snapshot gives every producer in order, with the first offset of its open transaction."""
    path = tmp_path / "a.snapshot"
    path.write_bytes(snapshot_of(OPEN, MARKED))
    assert read_producer_snapshot(path) == (OPEN, MARKED)


def test_a_truncated_or_changed_snapshot_is_an_error(tmp_path: Path) -> None:
    """Any truncation and any changed byte is detected, by the checksum, the version or the count."""
    path = tmp_path / "a.snapshot"
    valid = snapshot_of(OPEN, MARKED)
    damaged = [valid[:end] for end in range(len(valid))]
    damaged += [valid[:at] + bytes([valid[at] ^ 4]) + valid[at + 1 :] for at in range(len(valid))]
    for content in [*damaged, valid + b"\0", snapshot_of(OPEN, version=2)]:
        path.write_bytes(content)
        assert isinstance(read_producer_snapshot(path), LogError)


def test_checkpoints_of_a_real_broker_are_read() -> None:
    """High watermarks, log start offsets and the topic id of a real broker are read."""
    folder = RECORDED / "__consumer_offsets-0"
    assert read_partition_offsets(RECORDED / "log-start-offset-checkpoint") == ()
    high_watermarks = read_partition_offsets(RECORDED / "replication-offset-checkpoint")
    assert not isinstance(high_watermarks, LogError)
    assert PartitionOffset("gzip", 0, 45) in high_watermarks
    metadata = read_partition_metadata(folder / "partition.metadata")
    assert len(metadata.topic_id) == 16


NO_CHECKPOINTS = ("", "0", "0\n1\n", "1\n0\n", "0\n1\nt 5\n", "0\n1\nt 5 x\n", "0\n2\nt 5 6\n", "0\n1\nt 5 6 7\n")
NO_METADATA = ("", "version: 0\n", "version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n")


def test_malformed_checkpoints_and_metadata_are_errors(tmp_path: Path) -> None:
    """Another version, missing or extra lines, words that are not numbers and an invalid uuid are one typed error."""
    path = tmp_path / "a"
    for text in (*NO_CHECKPOINTS, "x\n0\n", "\xff\n\0"):
        path.write_text(text, encoding="latin-1")
        assert read_partition_offsets(path).fault is LogFault.BAD_STATE_FILE
    for text in (*NO_METADATA, "version: 0\ntopic_id: AAAA\n", "version: 0\ntopic_id: !\n"):
        path.write_text(text)
        assert isinstance(read_partition_metadata(path), LogError), text
