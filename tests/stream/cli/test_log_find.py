"""`lagwarden log find`: the first record at an offset or a time, from a log directory."""

import json
import shutil
from pathlib import Path

from stream.errors import ExitCode
from tests.decoders.log.fixtures import RECORDED, opened, partition, simple_batches
from tests.stream.cli.command_line import CommandLine

SEGMENTED = RECORDED / "uncompressed-0"


def test_a_record_is_found_by_offset_and_by_time(command: CommandLine) -> None:
    """An offset finds its record in a later segment, with file and position. A time finds the first one from then."""
    with opened(SEGMENTED) as log:
        records = [placed.record for placed in log.records()]
        record = next(record for record in records if record.offset == log.segments[-1].base_offset)
        assert all(earlier.timestamp < record.timestamp for earlier in records if earlier.offset < record.offset)
        path = log.segments[-1].path
    expected = {
        "topic": "uncompressed",
        "partition": 0,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "file": str(path),
        "position": 0,
    }
    for key in (["--offset", str(record.offset)], ["--time", str(record.timestamp)]):
        assert command.json("log", "find", str(SEGMENTED), *key) == expected


def test_the_table_names_file_and_position(command: CommandLine, tmp_path: Path) -> None:
    """Each partition of a log directory has one line, with `none` if it has no such record."""
    partition(tmp_path, {0: simple_batches(3)}, "__consumer_offsets-0")
    partition(tmp_path, {0: simple_batches(9)}, "__consumer_offsets-1")
    lines = command.run("log", "find", str(tmp_path), "--offset", "5")
    assert lines[0] == ["TOPIC", "PARTITION", "OFFSET", "TIMESTAMP", "FILE", "POSITION"]
    assert lines[1] == ["__consumer_offsets", "0", "none"]
    assert lines[2][:3] == ["__consumer_offsets", "1", "5"]
    assert lines[2][-2] == "00000000000000000000.log"


def test_a_partition_that_cannot_be_read_does_not_hide_the_others(command: CommandLine, tmp_path: Path) -> None:
    """The problem of the partition is one line on stderr, and the exit code is that of an incomplete read."""
    partition(tmp_path, {0: simple_batches(3)}, "__consumer_offsets-0")
    shutil.copytree(tmp_path / "__consumer_offsets-0", tmp_path / "__consumer_offsets-1")
    log = next((tmp_path / "__consumer_offsets-1").glob("*.log"))
    log.unlink()
    log.mkdir()
    command.run("log", "find", str(tmp_path), "--offset", "0", "--json", code=ExitCode.UNREADABLE)
    rows = [json.loads(line) for line in command.out.splitlines()]
    assert [(row["partition"], row["offset"]) for row in rows] == [(0, 0), (1, None)]
    assert command.err.count("\n") == 1


def test_an_absent_topic_is_refused(command: CommandLine) -> None:
    """The command fails, with the reason on stderr and nothing on stdout."""
    line = ["log", "find", str(RECORDED), "--offset", "1", "--topic", "absent"]
    assert "holds no partition of absent" in command.fails(*line, code=None)
