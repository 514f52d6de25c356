"""The tables of recorded and of hostile records, against the scalar decoder and the job, and from each kind of path."""

import json
from pathlib import Path
from typing import Any

import pytest

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from decoders.log.partition import PartitionLog
from sandbox.kafka import log_writer as write
from stream.errors import Refusal
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.offline.capture import CaptureFile
from stream.offline.replay import Replay
from stream.offline.rows import OFFSETS_TOPIC
from stream.tables.build import table_batches
from stream.tables.columns import COMMITS, EVENTS, GROUPS, MEMBERS, RECORDS, OffsetsTable, table_of
from stream.tables.events import CauseFacts
from stream.tables.files import plan_files, read_files
from stream.tables.rows import AskedNames
from tests.stream.offline.captures import RECORDED, capture_of, commit, row
from tests.support.raw import commit_key, commit_value, group_key

HOSTILE = [
    commit(0, 5),
    commit(1, None),
    row(2, commit_key("g", "t", 0), b"\x00\x03\x00"),
    row(3, commit_key("g", "t", 0)[:-3], commit_value(7, 1)),
    row(4, commit_key(b"\xff\xed\xa0\x80", "t", 1, record_type=0), commit_value(8, 1, metadata=b"\xed\xa0\x80x")),
    row(5, commit_key("g", "t", 2), commit_value(9, -(1 << 62)), time=1 << 60),
    row(6, commit_key("g", "t", -1), commit_value(9, 1)),
    row(7, None, b"v"),
    row(8, b"\x00\x63\x00", None),
    row(9, b"\x01", b""),
    row(10, group_key("g"), b"\x00\x03"),
    row(11, commit_key("g", "u", 3), commit_value(1, 2, version=4, leader_epoch=6, topic_id=bytes(range(16)))),
]
WEEK = CauseFacts(OffsetsRetention(604_800_000, None, "configuration"), lambda _: True)


def table(
    source: OffsetsTable, path: Path, names: tuple[str, ...] = (), asked: AskedNames | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a table, in log order, and check that Arrow finds them valid."""
    names = names or tuple(column.name for column in source.columns)
    rows = []
    for read in plan_files(path):
        for batch in table_batches(source, names, read_files(read), asked or AskedNames(), WEEK):
            batch.validate(full=True)
            rows += batch.to_pylist()
    return sorted(rows, key=lambda each: (each.get("offsets_partition") or 0, each.get("position") or 0))


@pytest.mark.parametrize("records", ["recorded", "hostile"])
def test_rows_are_what_the_scalar_decoder_reads(tmp_path: Path, records: str) -> None:
    """Each record is one row with its JSON, and each commit, also a malformed one, one with the fields of that JSON."""
    path = capture_of(tmp_path / "c.avro", HOSTILE) if records == "hostile" else RECORDED
    in_file = [each for each in CaptureFile(path).rows() if each.topic == OFFSETS_TOPIC]
    read = [(each, scalar.decode(each.key, each.value)) for each in sorted(in_file, key=lambda each: each[1:3])]
    every = table(RECORDS, path)
    for got, (raw, record) in zip(every, read, strict=True):
        expected = None if isinstance(record, DecodeError) else jsonform.console(record)
        assert (got["key"], got["value"], got["json"]) == (raw.key, raw.value, expected)
        assert (got["error"] is not None) == isinstance(record, DecodeError)
    found = table(COMMITS, path)
    for got, of_record in zip(found, [each for each in every if each["type"] in {0, 1}], strict=True):
        assert {name: got[name] for name in ("position", "error", "group")} == {
            name: of_record[name] for name in ("position", "error", "group")
        }
        if got["error"] is None:
            parsed = json.loads(of_record["json"])
            data = {"offset": None, "metadata": None, "leaderEpoch": -1, **((parsed["value"] or {}).get("data") or {})}
            names = [got[name] for name in ("topic", "partition", "offset", "metadata", "topic_id")]
            assert names == [
                *list(parsed["key"]["data"].values())[1:],
                *map(data.get, ("offset", "metadata", "topicId")),
            ]
            assert (-1 if got["leader_epoch"] is None else got["leader_epoch"]) == data["leaderEpoch"]
    if records == "hostile":
        assert (found[5]["commit_time"], found[5]["record_time"]) == (None, None), "outside of the years 1 to 9999"


def test_names_and_columns_are_chosen(tmp_path: Path) -> None:
    """A filter returns the rows that Spark's would; a column of another table is refused with the valid ones."""
    path = capture_of(tmp_path / "c.avro", HOSTILE)
    asked = AskedNames(frozenset({"g"}), frozenset({"u", "nothing"}))
    assert table(COMMITS, path, ("offset", "group"), asked) == [{"offset": 1, "group": "g"}]
    for source, file, group in ((RECORDS, path, "g"), (EVENTS, RECORDED, "deleted-group")):
        everything = table(source, file)
        of_group = table(source, file, asked=AskedNames(frozenset({group})))
        assert of_group == [each for each in everything if each["group"] == group] != everything
    with pytest.raises(Refusal, match="table commits has no column json: its columns are group, topic"):
        COMMITS.schema(["group", "json"])
    with pytest.raises(Refusal, match="no table 'x': the tables are commits, records, groups, members, events"):
        table_of("x")


def test_groups_members_and_events_are_those_of_the_job(tmp_path: Path) -> None:
    """The rows have the clients of the job's members, and the events are its transitions; bad records are errors."""
    replay = Replay()
    replay.read(CaptureFile(RECORDED).rows())
    clients = {(each["group"], each["member_id"], each["client_id"]) for each in table(MEMBERS, RECORDED)}
    kinds = {each["group"]: each["kind"] for each in table(GROUPS, RECORDED)}
    for group, membership in replay.driver_state.columns().memberships.items():
        assert kinds[group] == membership.kind or membership.kind == "simple"
        members = replay.driver_state.members(group)
        assert {(group, each["member_id"], each["client_id"]) for each in members} <= clients
    assert set(kinds.values()) == {"classic", "consumer", "share", "streams"}
    assert {"classic", "consumer", "streams"} <= {
        each["kind"] for each in table(MEMBERS, RECORDED) if each["assignment"]
    }
    histories = replay.driver_state.columns().histories
    expected = [(group, each.type, each.position) for group, one in histories.items() for each in one.transitions]
    events = table(EVENTS, RECORDED)
    assert sorted((each["group"], each["event"], each["position"]) for each in events) == sorted(expected) != []
    assert {each["cause"] for each in events if each["event"] == "dead"} == {"deleted"}
    hostile = capture_of(tmp_path / "c.avro", HOSTILE)
    for source in (GROUPS, MEMBERS):
        assert table(source, hostile, ("group", "error")) == [{"group": "g", "error": "short in value.protocol_type"}]


def transactions(folder: Path) -> Path:
    """Write a segment with a plain, an aborted, a committed and an open commit, and return its file."""

    def batch(at: int, producer: int = -1) -> bytes:
        records = [write.Rec(0, 0, commit_key("g", "t", 0), commit_value(at, 1_000))]
        flags = 0x10 if producer >= 0 else 0
        return write.batch(at, records, attributes=flags, producer_id=producer, producer_epoch=0)

    folder.mkdir()
    parts = [
        batch(0),
        batch(1, 7),
        write.marker(2, 7, committed=False),
        batch(3, 8),
        write.marker(4, 8, committed=True),
    ]
    file = folder / f"{0:020}.log"
    file.write_bytes(b"".join([*parts, batch(5, 9)]))
    return file


def test_logs_are_read_with_their_transactions(tmp_path: Path) -> None:
    """A log directory, a partition's directory and a segment have the same rows, also after more was appended."""
    file = transactions(tmp_path / "__consumer_offsets-3")
    names = ("offset", "transactional", "aborted", "producer_id", "offsets_partition")
    expected = [(0, False, False, None, 3), (1, True, True, 7, 3), (3, True, False, 8, 3)]
    for path in (tmp_path, file.parent, file):
        assert sorted(tuple(each.values()) for each in table(COMMITS, path, names)) == expected, path
    (read,) = plan_files(file.parent)
    file.write_bytes(file.read_bytes() + write.marker(6, 9, committed=True))
    again = [
        row for batch in table_batches(COMMITS, names, read_files(read), AskedNames()) for row in batch.to_pylist()
    ]
    assert sorted(tuple(each.values()) for each in again) == expected


def test_unreadable_parts_are_rows_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged batch, or a partition that cannot be opened, is a row with the reason; a filter has no such row."""
    file = transactions(tmp_path / "__consumer_offsets-0")
    raw = bytearray(file.read_bytes())
    raw[80] ^= 1
    file.write_bytes(bytes(raw))
    transactions(tmp_path / "__consumer_offsets-1")
    opened = PartitionLog.open
    for failing, reason, partitions in (("", "bad_crc", {1}), ("-0", "cannot be read: Input/output error", {1})):

        def fail(path: Path, failing: str = failing) -> Any:
            if failing and path.name.endswith(failing):
                raise OSError(5, "Input/output error")
            return opened(path)

        monkeypatch.setattr(PartitionLog, "open", fail)
        rows = table(COMMITS, tmp_path, ("offsets_partition", "error"))
        (error,) = [each["error"] for each in rows if each["error"]]
        assert reason in error
        assert {each["offsets_partition"] for each in rows if not each["error"]} == partitions
        assert table(COMMITS, tmp_path, ("error",), AskedNames(frozenset({"other"}))) == []


def test_paths_that_are_no_log_are_refused(tmp_path: Path) -> None:
    """The error names the path."""
    (tmp_path / "orders-0").mkdir()
    for name in ("orders-0/0.log", "x.log", "text"):
        (tmp_path / name).write_bytes(b"")
    refusals = {
        "orders-0": "is a partition of orders",
        "x.log": "x.log: not a segment",
        "text": "text",
        "no": "No such",
    }
    for name, message in refusals.items():
        with pytest.raises(Refusal, match=message):
            table(COMMITS, tmp_path / name)
