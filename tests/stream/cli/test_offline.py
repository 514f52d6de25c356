"""The offline commands: results on stdout, errors on stderr, and the exit codes."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.kafka import log_writer as write
from stream.errors import ExitCode
from stream.offline.capture import CaptureFile
from stream.wording import utc_time
from tests.stream.cli.command_line import CommandLine
from tests.stream.offline.captures import RECORDED
from tests.support.raw import commit_key, commit_value

TRANSACTIONAL = 0x10
"""The attribute of a batch in a transaction."""
KEY, VALUE = commit_key("g", "t", 1), commit_value(100, 1234)
GOOD = f"{KEY.hex()} {VALUE.hex()}"
LOG = "00000000000000000000.log"


@pytest.fixture
def log_folder(tmp_path: Path) -> Path:
    """Return a broker's log directory with one partition: commits outside, in an aborted and in an open transaction."""
    folder = tmp_path / "data" / "__consumer_offsets-3"
    folder.mkdir(parents=True)

    def stored(at: int, offset: int, **options: int) -> bytes:
        record = write.Rec(0, 0, commit_key("g", "t", 0), commit_value(offset, at * 1000))
        return write.batch(at, [record], base_timestamp=at * 1000, **options)

    batches = [
        stored(0, 5),
        stored(1, 66, attributes=TRANSACTIONAL, producer_id=7, producer_epoch=0),
        write.marker(2, 7, committed=False),
        stored(3, 6),
        stored(4, 77, attributes=TRANSACTIONAL, producer_id=8, producer_epoch=0),
        stored(5, 8),
    ]
    (folder / LOG).write_bytes(b"".join(batches))
    (folder.parent / "meta.properties").write_text("#\nversion=1\ncluster.id=the-cluster\n")
    return folder.parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a capture that does not exist yet."""
    return tmp_path / "c.avro"


def test_decode_of_arguments(command: CommandLine) -> None:
    """A key and a value are printed as one line of JSON; a key without a value is a tombstone."""
    command.run("decode", KEY.hex(), VALUE.hex())
    record = json.loads(command.out)
    assert record["key"] == {"type": 1, "data": {"group": "g", "topic": "t", "partition": 1}}
    assert record["value"]["data"]["offset"] == 100
    command.run("decode", KEY.hex())
    assert json.loads(command.out)["value"] is None


def test_decode_of_pairs_on_stdin(command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Valid lines are decoded, invalid ones are reported, and the exit code is UNREADABLE."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{GOOD}\n0063 00\n***\n{GOOD}\n"))
    assert len(command.run("decode", code=ExitCode.UNREADABLE)) == 2
    first, second = command.err.splitlines()
    assert json.loads(first)["error"]["reason"] == "unknown_type"
    assert second.startswith("error: line 3: '***' is neither")


def test_decode_of_a_capture(command: CommandLine) -> None:
    """All records of the topic are decoded, and none of other topics."""
    command.run("decode", "-i", str(RECORDED), "--topic", "__transaction_state")
    lines = command.out.splitlines()
    assert len(lines) == sum(each.topic == "__transaction_state" for each in CaptureFile(RECORDED).rows())
    assert all('"transactionalId":"transactional-group"' in line for line in lines)


def test_decode_of_a_log_directory(log_folder: Path, command: CommandLine) -> None:
    """The log directory of a broker or a partition is read without commits of aborted and open transactions."""
    (log_folder / "__consumer_offsets-4.0123456789abcdef0123456789abcdef-delete").mkdir()
    for inside in (".", "__consumer_offsets-3"):
        command.run("decode", "-i", str(log_folder / inside))
        assert [json.loads(line)["value"]["data"]["offset"] for line in command.out.splitlines()] == [5, 6, 8]


def test_capture_of_a_log_directory(log_folder: Path, path: Path, command: CommandLine) -> None:
    """Committed rows up to the first open transaction are captured, with the cluster id in the header."""
    command.run("capture", str(path), "--log-dir", str(log_folder))
    assert command.out == f"{path}: 2 rows captured\n"
    note = "the transaction of producer 8 at offset 4 is open; the records from there on are not captured yet"
    assert note in command.err
    capture = CaptureFile(path)
    assert [(each.partition, each.offset, each.timestamp) for each in capture.rows()] == [(3, 0, 0), (3, 3, 3000)]
    assert capture.origin.cluster_id == "the-cluster"


def test_history_of_a_group(command: CommandLine) -> None:
    """The transitions of `history` precede the events. Times are in UTC in text and in Unix ms in JSON."""
    command.run("history", "simple-group", "--capture", str(RECORDED))
    history = command.out
    command.run("replay", str(RECORDED), "--group", "simple-group")
    out = command.out
    assert out.startswith(f"{history}\n")
    assert "payments/0 rewound from 9 to 3: 6 offsets back" in out
    answer = command.json("replay", str(RECORDED), "--group", "simple-group")
    events = answer["records"]
    assert [each["transition"] for each in answer["transitions"]] == ["created", "forgotten"]
    assert {"time", "partition", "position", "kind", "text"} == events[0].keys()
    assert any(event["kind"] == "rewound" for event in events)
    assert all(utc_time(event["time"]) in out for event in events)
    error = command.fails("replay", str(RECORDED), "--group", "x", code=ExitCode.NO_SUCH_GROUP)
    assert "no record belongs to group 'x'" in error


def test_invalid_files_do_not_affect_valid_ones(log_folder: Path, tmp_path: Path, command: CommandLine) -> None:
    """Each file that `dump-log` cannot dump is one line on stderr; tests/decoders/log compares its output."""
    good = log_folder / "__consumer_offsets-3" / LOG
    named = tmp_path / "notes.log"
    shutil.copy(good, named)
    bad = [tmp_path / "missing.log", tmp_path, Path(__file__), named]
    command.run("dump-log", "--offsets-decoder", *map(str, [*bad, good]), code=ExitCode.UNREADABLE)
    assert command.out.startswith(f"Dumping {good}\nLog starting offset: 0\n")
    assert "| offset: 0 CreateTime: 0 keySize: 12 " in command.out
    assert 'key: {"type":"1","data":{"group":"g","topic":"t","partition":0}}' in command.out
    assert [line.partition(": ")[2] for line in command.err.splitlines()] == [
        "no such file",
        "is a directory: name the files in it",
        *["is no segment, such as 00000000000000000000.log; kafka-dump-log prints indexes and snapshots"] * 2,
    ]


def test_closed_pipe_is_not_an_error() -> None:
    """`lagwarden decode ... | head -1` prints no error."""
    script = f"{sys.executable} -m stream.cli decode -i {RECORDED} | head -1"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.count("\n") == 1
    assert ran.stderr == ""
