"""The small files beside segments: those of a real broker are read, and malformed ones are one typed error."""

from pathlib import Path

from decoders.log.errors import LogError, LogFault
from decoders.log.state_files import (
    PartitionOffset,
    read_partition_metadata,
    read_partition_offsets,
)
from tests.decoders.log.fixtures import RECORDED


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
