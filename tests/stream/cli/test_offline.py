"""The offline commands: results on stdout, errors on stderr, and the exit codes."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.kafka import log_writer as write
from stream.cli import app as cli
from stream.errors import ExitCode
from stream.offline.capture import CaptureFile
from stream.wording import utc_time
from tests.stream.offline.captures import RECORDED, capture_of, commit, row
from tests.support.raw import commit_key, commit_value

TRANSACTIONAL = 0x10
"""The attribute of a batch in a transaction."""
KEY, VALUE = commit_key("g", "t", 1), commit_value(100, 1234)
GOOD = f"{KEY.hex()} {VALUE.hex()}"


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
    (folder / "00000000000000000000.log").write_bytes(b"".join(batches))
    (folder.parent / "meta.properties").write_text("#\nversion=1\ncluster.id=the-cluster\n")
    return folder.parent


class TestDecode:
    """`lagwarden decode`."""

    def test_key_and_value_as_arguments(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A key and a value are printed as one line of JSON."""
        assert cli.main(["decode", KEY.hex(), VALUE.hex()]) == ExitCode.OK
        record = json.loads(capsys.readouterr().out)
        assert record["key"] == {"type": 1, "data": {"group": "g", "topic": "t", "partition": 1}}
        assert record["value"]["data"]["offset"] == 100

    def test_key_without_value_is_a_tombstone(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A missing value is null."""
        assert cli.main(["decode", KEY.hex(), "--format", "text-2.1"]) == ExitCode.OK
        assert capsys.readouterr().out == "[g,t,1]::NULL\n"

    def test_pairs_on_stdin(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """Valid lines are decoded, invalid ones are reported, and the exit code is UNREADABLE."""
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{GOOD}\n0063 00\n***\n{GOOD}\n"))
        assert cli.main(["decode"]) == ExitCode.UNREADABLE
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == 2
        first, second = err.splitlines()
        assert json.loads(first)["error"]["reason"] == "unknown_type"
        assert second.startswith("error: line 3: '***' is neither")

    def test_capture_as_input(self, capsys: pytest.CaptureFixture[str]) -> None:
        """All records of the topic are decoded, and none of other topics."""
        assert cli.main(["decode", "-i", str(RECORDED), "--topic", "__transaction_state"]) == ExitCode.OK
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == sum(each.topic == "__transaction_state" for each in CaptureFile(RECORDED).rows())
        assert all('"transactionalId":"transactional-group"' in line for line in lines)

    @pytest.mark.parametrize("inside", [".", "__consumer_offsets-3"])
    def test_log_directory_as_input(self, log_folder: Path, inside: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The log directory of a broker or a partition is read without commits of aborted and open transactions."""
        (log_folder / "__consumer_offsets-4.0123456789abcdef0123456789abcdef-delete").mkdir()
        assert cli.main(["decode", "-i", str(log_folder / inside)]) == ExitCode.OK
        lines = capsys.readouterr().out.splitlines()
        assert [json.loads(line)["value"]["data"]["offset"] for line in lines] == [5, 6, 8]

    def test_skipped_records_are_counted(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The legacy formats have offsets and classic groups only; the number of skipped records is one line."""
        assert cli.main(["decode", "-i", str(RECORDED), "--format", "text-0.8"]) == ExitCode.OK
        out, err = capsys.readouterr()
        assert all(line.startswith("[") for line in out.splitlines())
        assert re.fullmatch(r"\d+ records of kinds that text-0.8 cannot print were skipped; use json\n", err)

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            pytest.param(["decode", "00", "--format", "xml"], "--format xml: must be one of json", id="unknown format"),
            pytest.param(
                ["decode", "00", "--encoding", "x"], "must be one of auto, hex, base64", id="unknown encoding"
            ),
            pytest.param(["decode", "--topic", "orders"], "must be one of __consumer_offsets", id="unknown topic"),
            pytest.param(["decode", "00", "-b", "a:1"], "exclude each other", id="two sources"),
            pytest.param(
                ["capture", "x", "--from", "noon", "-b", "a:1"], "'noon' is neither ISO 8601", id="invalid time"
            ),
            pytest.param(["capture", "x"], "kafka.bootstrap_servers (not set): is required", id="no cluster"),
            pytest.param(
                ["dump-log", "x", "--offsets-decoder", "--cluster-metadata-decoder"],
                "exclude each other",
                id="two decoders",
            ),
        ],
    )
    def test_invalid_arguments(self, arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The error has the reason and no traceback, stdout is empty, and the exit code is USAGE."""
        assert cli.main(arguments) == ExitCode.USAGE
        out, err = capsys.readouterr()
        assert out == ""
        assert problem in err
        assert "Traceback" not in err


def test_replay_of_an_unknown_group(capsys: pytest.CaptureFixture[str]) -> None:
    """A group without records ends with the exit code for unknown groups, and the error names the group."""
    assert cli.main(["replay", str(RECORDED), "--group", "x"]) == ExitCode.NO_SUCH_GROUP
    out, err = capsys.readouterr()
    assert out == ""
    assert "no record belongs to group 'x'" in err


class TestCapture:
    """`lagwarden capture`."""

    def test_capture_of_a_log_directory(
        self, log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Committed rows up to the first open transaction are captured, with the cluster id in the header."""
        path = tmp_path / "c.avro"
        assert cli.main(["capture", str(path), "--log-dir", str(log_folder)]) == ExitCode.OK
        out, err = capsys.readouterr()
        assert out == f"{path}: 2 rows captured\n"
        assert (
            "the transaction of producer 8 at offset 4 is open; the records from there on are not captured yet" in err
        )
        capture = CaptureFile(path)
        assert [(each.partition, each.offset, each.timestamp) for each in capture.rows()] == [
            (3, 0, 0),
            (3, 3, 3000),
        ]
        assert capture.origin.cluster_id == "the-cluster"

    def test_next_run_continues(self, log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A second run adds only new rows; an incomplete last block is cut off, reported, and captured again."""
        path = tmp_path / "c.avro"
        command = ["capture", str(path), "--log-dir", str(log_folder)]
        for _ in range(2):
            assert cli.main(command) == ExitCode.OK
        assert "0 rows captured" in capsys.readouterr().out
        whole = path.read_bytes()
        path.write_bytes(whole[:-3])
        assert cli.main(command) == ExitCode.OK
        assert "was cut off" in capsys.readouterr().err
        assert [each.offset for each in CaptureFile(path).rows()] == [0, 3]

    @pytest.mark.parametrize("committed", [True, False])
    def test_completed_transaction_is_captured_by_the_next_run(
        self, log_folder: Path, tmp_path: Path, *, committed: bool
    ) -> None:
        """The rows from an open transaction on are captured in log order by a run after its end."""
        path = tmp_path / "c.avro"
        command = ["capture", str(path), "--log-dir", str(log_folder)]
        assert cli.main(command) == ExitCode.OK
        with (log_folder / "__consumer_offsets-3" / "00000000000000000000.log").open("ab") as segment:
            segment.write(write.marker(6, 8, committed=committed))
        assert cli.main(command) == ExitCode.OK
        assert [each.offset for each in CaptureFile(path).rows()] == ([0, 3, 4, 5] if committed else [0, 3, 5])

    def test_time_range(self, log_folder: Path, tmp_path: Path) -> None:
        """`--from` is inclusive, `--until` is exclusive."""
        path = tmp_path / "c.avro"
        time_range = ["--from", "1000", "--until", "1970-01-01T00:00:05"]
        assert cli.main(["capture", str(path), "--log-dir", str(log_folder), *time_range]) == ExitCode.OK
        assert [each.offset for each in CaptureFile(path).rows()] == [3]

    def test_capture_of_another_cluster_is_rejected(
        self, log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A capture is not continued with records of another cluster."""
        path = capture_of(tmp_path / "c.avro", [commit(0, 1)])
        assert cli.main(["capture", str(path), "--log-dir", str(log_folder)]) == ExitCode.UNREADABLE
        assert "it belongs to cluster cluster-1, not to the-cluster" in capsys.readouterr().err

    def test_damaged_batch_does_not_affect_other_segments(
        self, log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A damaged batch ends the read of its segment; the next segment is captured."""
        segment = log_folder / "__consumer_offsets-3" / "00000000000000000000.log"
        raw = bytearray(segment.read_bytes())
        raw[-4] ^= 0xFF
        segment.write_bytes(raw)
        (segment.parent / "00000000000000000006.log").write_bytes(
            write.marker(6, 8, committed=True)
            + write.batch(7, [write.Rec(0, 0, commit_key("g", "t", 0), commit_value(9, 7000))])
        )
        path = tmp_path / "c.avro"
        assert cli.main(["capture", str(path), "--log-dir", str(log_folder)]) == ExitCode.UNREADABLE
        assert "bad_crc" in capsys.readouterr().err
        assert [each.offset for each in CaptureFile(path).rows()] == [0, 3, 4, 7]


class TestReplay:
    """`lagwarden replay`."""

    def test_groups_of_a_capture(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The table has one row per group, dead groups included and last."""
        assert cli.main(["replay", str(RECORDED)]) == ExitCode.OK
        header, *groups = capsys.readouterr().out.splitlines()
        assert header.split()[:4] == ["GROUP", "KIND", "STATE", "MEMBERS"]
        assert [line.split()[0] for line in groups] == [
            "classic-group",
            "consumer-group",
            "share-group",
            "simple-group",
            "static-group",
            "streams-group",
            "transactional-group",
            "deleted-group",
        ]
        assert header.split()[-3:] == ["GENERATION", "COMMITS", "REWINDS"]
        assert next(line for line in groups if line.startswith("simple-group")).split()[-3:] == ["-", "4", "1"]

    def test_table_of_replay_extends_the_table_of_groups(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`replay` and `groups --capture` print the same rows; `replay` adds three columns."""
        assert cli.main(["groups", "--capture", str(RECORDED)]) == ExitCode.OK
        groups = capsys.readouterr()
        assert cli.main(["replay", str(RECORDED)]) == ExitCode.OK
        replayed = capsys.readouterr()
        assert [line.split()[:-3] for line in replayed.out.splitlines()] == [
            line.split() for line in groups.out.splitlines()
        ]
        assert replayed.err == groups.err

    def test_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON has each group as in the API, with commit counts, records by type and decode errors."""
        assert cli.main(["replay", str(RECORDED), "--json"]) == ExitCode.OK
        answer = json.loads(capsys.readouterr().out)
        simple = next(group for group in answer["groups"] if group["group"] == "simple-group")
        assert (simple["kind"], simple["members"], len(simple["transitions"])) == ("simple", 0, 2)
        (partition,) = simple["by_partition"]
        facts = {
            "partition": 0,
            "committed_offset": 12,
            "commits": 4,
            "rewinds": 1,
            "leader_epoch": None,
            "metadata": "",
        }
        assert {name: partition[name] for name in facts} == facts
        keys = [each.key or b"" for each in CaptureFile(RECORDED).rows() if each.topic == "__consumer_offsets"]
        assert answer["records"]["1"] == sum(key.startswith(b"\0\1") for key in keys)
        assert answer["faults"] == []

    def test_history_of_a_group(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The transitions of `history` precede the events. Times are in UTC in text and in Unix ms in JSON."""
        assert cli.main(["history", "simple-group", "--capture", str(RECORDED)]) == ExitCode.OK
        history = capsys.readouterr().out
        assert cli.main(["replay", str(RECORDED), "--group", "simple-group"]) == ExitCode.OK
        out = capsys.readouterr().out
        assert out.startswith(f"{history}\n")
        assert "payments/0 rewound from 9 to 3: 6 offsets back" in out
        assert cli.main(["replay", str(RECORDED), "--group", "simple-group", "--json"]) == ExitCode.OK
        answer = json.loads(capsys.readouterr().out)
        events = answer["records"]
        assert [each["transition"] for each in answer["transitions"]] == ["created", "forgotten"]
        assert {"time", "partition", "position", "kind", "text"} == events[0].keys()
        assert any(event["kind"] == "rewound" for event in events)
        assert all(utc_time(event["time"]) in out for event in events)

    def test_group_names_are_not_markup(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Brackets in a group name are printed unchanged."""
        path = capture_of(tmp_path / "c.avro", [commit(0, 5, group="[red]x[/]")])
        assert cli.main(["replay", str(path)]) == ExitCode.OK
        assert "[red]x[/]" in capsys.readouterr().out

    def test_malformed_records_are_reported(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The table is printed, and one line per kind of decode error with the position of an example."""
        path = capture_of(tmp_path / "c.avro", [commit(0, 5), row(1, b"\0\x63", b"x"), commit(2, 6)])
        assert cli.main(["replay", str(path)]) == ExitCode.UNREADABLE
        out, err = capsys.readouterr()
        assert out.splitlines()[1].split()[0] == "g"
        assert [line for line in err.splitlines() if line.startswith("error")] == [
            "error: 1 records (type 99) cannot be decoded: unknown_type in key.type, such as partition 0, offset 1"
        ]

    def test_torn_capture_is_replayed_up_to_the_tear(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The error is one line with the position of the tear, and an exit code; the groups up to there are printed."""
        path = capture_of(tmp_path / "c.avro", [commit(0, 5)])
        capture_of(path, [commit(1, 6)])
        path.write_bytes(path.read_bytes()[:-5])
        assert cli.main(["replay", str(path), "--json"]) == ExitCode.UNREADABLE
        out, err = capsys.readouterr()
        assert json.loads(out)["groups"][0]["by_partition"][0]["committed_offset"] == 5
        (error,) = [line for line in err.splitlines() if line.startswith("error")]
        assert "torn at byte" in error

    @pytest.mark.parametrize(
        ("path", "problem"),
        [
            pytest.param("/nowhere.avro", "cannot be read: No such file", id="missing file"),
            pytest.param(__file__, "is not an Avro container file", id="not a capture"),
            pytest.param(
                str(Path(__file__).parent), "holds no partition of __consumer_offsets", id="not a log directory"
            ),
        ],
    )
    def test_invalid_source_is_one_line(self, path: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The error for a path that is no capture and no log directory is one line."""
        assert cli.main(["replay", path]) == ExitCode.UNREADABLE
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert problem in err


class TestDumpLog:
    """`lagwarden dump-log`; tests/decoders/log compares the output with Kafka's tool."""

    def test_invalid_files_do_not_affect_valid_ones(
        self, log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Each file that cannot be dumped is one line on stderr; the valid file is dumped."""
        good = log_folder / "__consumer_offsets-3" / "00000000000000000000.log"
        named = tmp_path / "notes.log"
        shutil.copy(good, named)
        bad = [tmp_path / "missing.log", tmp_path, Path(__file__), named]
        assert cli.main(["dump-log", "--offsets-decoder", *map(str, [*bad, good])]) == ExitCode.UNREADABLE
        out, err = capsys.readouterr()
        assert out.startswith(f"Dumping {good}\nLog starting offset: 0\n")
        assert "| offset: 0 CreateTime: 0 keySize: 12 " in out
        assert 'key: {"type":"1","data":{"group":"g","topic":"t","partition":0}}' in out
        assert [line.partition(": ")[2] for line in err.splitlines()] == [
            "no such file",
            "is a directory: name the files in it",
            "its suffix is not one of .checkpoint, .index, .log, .snapshot, .timeindex, .txnindex",
            "its name does not begin with the offset of a segment",
        ]

    def test_gaps_between_offsets_are_no_damage(self, log_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Gaps, which compaction leaves, are reported as in Kafka's tool, with exit code OK."""
        segment = log_folder / "__consumer_offsets-3" / "00000000000000000000.log"
        segment.write_bytes(b"".join(write.batch(at, [write.Rec(0, 0, b"k", b"v")], base_timestamp=0) for at in (0, 5)))
        assert cli.main(["dump-log", "--deep-iteration", str(segment)]) == ExitCode.OK
        assert "Non-consecutive offsets in" in capsys.readouterr().err


def test_closed_pipe_is_not_an_error() -> None:
    """`lagwarden decode ... | head -1` prints no error."""
    script = f"{sys.executable} -m stream.cli decode -i {RECORDED} | head -1"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.count("\n") == 1
    assert ran.stderr == ""
