"""`lagwarden log find`: the first record at an offset or a time, from a log directory."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from stream.cli import app as cli
from stream.errors import ExitCode
from tests.decoders.log.fixtures import RECORDED, opened, partition, simple_batches

if TYPE_CHECKING:
    from pathlib import Path

SEGMENTED = RECORDED / "uncompressed-0"


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """Run `log find --json`, which must succeed, and return its objects."""
    assert cli.main(["log", "find", *words, "--json"]) == ExitCode.OK
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_record_is_found_by_offset_and_by_time(capsys: pytest.CaptureFixture[str]) -> None:
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
    assert found(capsys, str(SEGMENTED), "--offset", str(record.offset)) == [expected]
    assert found(capsys, str(SEGMENTED), "--time", str(record.timestamp)) == [expected]


def test_the_table_names_file_and_position(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each partition of a log directory has one line, with `none` if it has no such record."""
    partition(tmp_path, {0: simple_batches(3)}, "__consumer_offsets-0")
    partition(tmp_path, {0: simple_batches(9)}, "__consumer_offsets-1")
    assert cli.main(["log", "find", str(tmp_path), "--offset", "5"]) == ExitCode.OK
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["TOPIC", "PARTITION", "OFFSET", "TIMESTAMP", "FILE", "POSITION"]
    assert lines[1] == ["__consumer_offsets", "0", "none"]
    assert lines[2][:3] == ["__consumer_offsets", "1", "5"]
    assert lines[2][-2] == "00000000000000000000.log"


def test_a_partition_that_cannot_be_read_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The problem of the partition is one line on stderr, and the exit code is that of an incomplete read."""
    partition(tmp_path, {0: simple_batches(3)}, "__consumer_offsets-0")
    shutil.copytree(tmp_path / "__consumer_offsets-0", tmp_path / "__consumer_offsets-1")
    log = next((tmp_path / "__consumer_offsets-1").glob("*.log"))
    log.unlink()
    log.mkdir()
    assert cli.main(["log", "find", str(tmp_path), "--offset", "0", "--json"]) == ExitCode.UNREADABLE
    out, err = capsys.readouterr()
    assert [(row["partition"], row["offset"]) for row in map(json.loads, out.splitlines())] == [(0, 0), (1, None)]
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param([], "one of --offset and --time", id="neither offset nor time"),
        pytest.param(["--offset", "1", "--time", "1"], "one of --offset and --time", id="offset and time"),
        pytest.param(["--time", "noon"], "ISO 8601", id="text instead of a time"),
        pytest.param(["--offset", "1", "--topic", "absent"], "holds no partition of absent", id="no such topic"),
    ],
)
def test_a_wrong_request_is_refused(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command fails, with the reason on stderr and nothing on stdout."""
    assert cli.main(["log", "find", str(RECORDED), *words]) != ExitCode.OK
    out, err = capsys.readouterr()
    assert out == ""
    assert problem in err
