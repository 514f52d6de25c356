"""The tables of recorded and of hostile records, against the scalar decoder, and from each kind of path."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from decoders import jsonform, scalar
from decoders.errors import DecodeError
from decoders.interpret import events
from decoders.jsonform import uuid_text
from decoders.log.errors import LogError
from decoders.log.partition import PartitionLog
from sandbox.kafka import log_writer as write
from stream.errors import Refusal
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.offline.capture import CaptureFile
from stream.offline.replay import Replay
from stream.offline.rows import OFFSETS_TOPIC, LogRow
from stream.tables.build import table_batches
from stream.tables.columns import COMMITS, EVENTS, GROUPS, MEMBERS, RECORDS, TABLES, OffsetsTable, table_of
from stream.tables.events import CauseFacts
from stream.tables.files import plan_files, read_files
from stream.tables.keys import AskedNames
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


def table(
    source: OffsetsTable, path: Path, names: list[str] | None = None, asked: AskedNames | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a table, in log order, and check that Arrow finds them valid."""
    names = names or [column.name for column in source.columns]
    batches = [
        batch
        for read in plan_files(path)
        for batch in table_batches(source, names, read_files(read), asked or AskedNames())
    ]
    for batch in batches:
        batch.validate(full=True)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda each: (each.get("offsets_partition") or 0, each.get("position") or 0))


def expected_commit(row: LogRow) -> dict[str, Any] | None:
    """Return the columns of a commit by the scalar decoder; None for other records."""
    read = scalar.decode(row.key, row.value)
    if isinstance(read, DecodeError):
        return None if read.type not in {0, 1} else {"error": f"{read.reason.value} in {read.field}"}
    if read.type.number > 1:
        return None
    (event,) = events(read)
    names = {name: getattr(event, name) for name in ("group", "topic", "partition")}
    if read.value is None:
        return {**names, "offset": None, "tombstone": True, "metadata": None, "leader_epoch": None, "topic_id": None}
    fields = {name: getattr(event, name) for name in ("offset", "leader_epoch", "metadata")}
    topic_id = getattr(event, "topic_id")  # noqa: B009 -- of a commit
    return {**names, **fields, "tombstone": False, "topic_id": None if topic_id is None else uuid_text(topic_id)}


@pytest.mark.parametrize("records", ["recorded", "hostile"])
def test_rows_are_what_the_scalar_decoder_reads(tmp_path: Path, records: str) -> None:
    """Each commit, tombstone and malformed record is one row, as is each record of any type with its JSON."""
    path = capture_of(tmp_path / "c.avro", HOSTILE) if records == "hostile" else RECORDED
    in_file = (each for each in CaptureFile(path).rows() if each.topic == OFFSETS_TOPIC)
    rows = sorted(in_file, key=lambda each: (each.partition, each.offset))
    expected = [(each.offset, columns) for each in rows if (columns := expected_commit(each)) is not None]
    found = table(COMMITS, path)
    assert [each["position"] for each in found] == [position for position, _ in expected]
    for got, (_, columns) in zip(found, expected, strict=True):
        assert {name: got[name] for name in columns} == columns
    read = [scalar.decode(each.key, each.value) for each in rows]
    every = table(RECORDS, path)
    assert [each["json"] for each in every] == [
        None if isinstance(each, DecodeError) else jsonform.console(each) for each in read
    ]
    assert [each["error"] is not None for each in every] == [isinstance(each, DecodeError) for each in read]
    assert [(each["key"], each["value"]) for each in every] == [(each.key, each.value) for each in rows]
    if records == "hostile":
        assert found[5]["commit_time"] is None, "a time before the year 1"
        assert found[5]["record_time"] is None, "a time after the year 9999"
        assert {each["transactional"] for each in found} == {None}


def test_names_and_columns_are_chosen(tmp_path: Path) -> None:
    """A filter returns the rows that Spark's would; a column of another table is refused with the valid ones."""
    path = capture_of(tmp_path / "c.avro", HOSTILE)
    asked = AskedNames(frozenset({"g"}), frozenset({"u", "nothing"}))
    assert table(COMMITS, path, ["offset", "group"], asked) == [{"offset": 1, "group": "g"}]
    everything = table(RECORDS, path)
    of_group = table(RECORDS, path, asked=AskedNames(frozenset({"g"})))
    assert of_group == [each for each in everything if each["group"] == "g"] != everything
    with pytest.raises(Refusal, match="table commits has no column json: its columns are group, topic"):
        COMMITS.schema(["group", "json"])
    with pytest.raises(Refusal, match="no table 'x': the tables are commits, records, groups, members, events"):
        table_of("x")


def test_types_of_spark_are_those_of_arrow() -> None:
    """The DDL of each table gives the Arrow schema of its batches, and every column has a meaning."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    for each in TABLES.values():
        spark = from_arrow_schema(each.schema())
        assert to_arrow_schema(spark, timezone="UTC").equals(each.schema())
        assert ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in spark) == each.ddl()
        assert all(column.meaning.endswith(".") for column in each.columns)


def test_groups_and_members_are_those_of_the_job(tmp_path: Path) -> None:
    """The newest rows of each group have the epoch and the members that the job's state has; bad records are errors."""
    replay = Replay()
    replay.read(CaptureFile(RECORDED).rows())
    newest = {each["group"]: each for each in table(GROUPS, RECORDED) if each["epoch"] is not None}
    members: dict[str, dict[str, dict[str, Any]]] = {}
    for each in table(MEMBERS, RECORDED):
        known = members.setdefault(each["group"], {})
        if each["kind"] == "classic" and each["epoch"] != newest[each["group"]]["epoch"]:
            continue
        if each["tombstone"]:
            known.pop(each["member_id"], None)
        else:
            found = {name: value for name, value in each.items() if value is not None}
            known[each["member_id"]] = known.get(each["member_id"], {}) | found
    assert {each["kind"] for each in newest.values()} == {"classic", "consumer", "share", "streams"}
    for group, membership in replay.driver_state.columns().memberships.items():
        assert membership.kind in {newest[group]["kind"], "simple"}
        for each in replay.driver_state.members(group):
            row = members[group][each["member_id"]]
            assert (row["client_id"], row["client_host"]) == (each["client_id"], each["client_host"])
            assert row["assignment"] or row["kind"] != "consumer"
    hostile = capture_of(tmp_path / "c.avro", HOSTILE)
    for source in (GROUPS, MEMBERS):
        assert table(source, hostile, ["group", "error"]) == [{"group": "g", "error": "short in value.protocol_type"}]


def test_events_are_the_histories_of_the_job() -> None:
    """Each transition that the job finds is a row, with its cause where the retention is known."""
    replay = Replay()
    replay.read(CaptureFile(RECORDED).rows())
    histories = replay.driver_state.columns().histories
    expected = {(group, each.type, each.position) for group, one in histories.items() for each in one.transitions}
    rows = table(EVENTS, RECORDED)
    assert {(each["group"], each["event"], each["position"]) for each in rows} == expected
    assert len(rows) == len(expected)
    assert {"created", "rebalanced", "emptied", "dead"} <= {each["event"] for each in rows}
    assert table(EVENTS, RECORDED, asked=AskedNames(frozenset({"deleted-group"}))) == [
        each for each in rows if each["group"] == "deleted-group"
    ]
    cluster = CauseFacts(OffsetsRetention(604_800_000, None, "configuration"), lambda _: True)
    names = ["event", "cause"]
    known = [
        row
        for read in plan_files(RECORDED)
        for batch in table_batches(EVENTS, names, read_files(read), AskedNames(), cluster)
        for row in batch.to_pylist()
    ]
    assert {each["cause"] for each in known if each["event"] == "dead"} == {"deleted"}


def transactions(folder: Path) -> Path:
    """Write a segment with a plain, an aborted, a committed and an open commit, and return its file."""

    def batch(at: int, producer: int = -1) -> bytes:
        records = [write.Rec(0, 0, commit_key("g", "t", 0), commit_value(at, 1_000))]
        attributes = 0x10 if producer >= 0 else 0
        return write.batch(at, records, attributes=attributes, producer_id=producer, producer_epoch=0)

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
    folder = tmp_path / "__consumer_offsets-3"
    file = transactions(folder)
    names = ["offset", "transactional", "aborted", "producer_id", "offsets_partition"]
    expected = [(0, False, False, None, 3), (1, True, True, 7, 3), (3, True, False, 8, 3)]
    for path in (tmp_path, folder, file):
        found = table(COMMITS, path, names)
        assert sorted(tuple(each.values()) for each in found) == expected, path
    (read,) = plan_files(folder)
    file.write_bytes(file.read_bytes() + write.marker(6, 9, committed=True))
    again = pa.Table.from_batches(table_batches(COMMITS, names, read_files(read), AskedNames()))
    assert sorted(tuple(each.values()) for each in again.to_pylist()) == expected


def test_unreadable_parts_are_rows_with_an_error(tmp_path: Path) -> None:
    """A damaged segment gives its readable records and one row with the reason; a filter has no such row."""
    file = transactions(tmp_path / "__consumer_offsets-0")
    raw = bytearray(file.read_bytes())
    raw[80] ^= 1
    file.write_bytes(bytes(raw))
    errors = [each["error"] for each in table(COMMITS, tmp_path, ["error"]) if each["error"]]
    assert len(errors) == 1
    assert "bad_crc" in errors[0]
    assert table(COMMITS, tmp_path, ["error"], AskedNames(frozenset({"other"}))) == []


def test_partitions_that_cannot_be_opened_are_rows_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other partitions are read."""
    for number in (0, 1):
        transactions(tmp_path / f"__consumer_offsets-{number}")
    opened = PartitionLog.open

    def fail(path: Path) -> PartitionLog | LogError:
        if path.name.endswith("-0"):
            raise OSError(5, "Input/output error")
        return opened(path)

    monkeypatch.setattr(PartitionLog, "open", fail)
    rows = table(COMMITS, tmp_path, ["offsets_partition", "error"])
    assert [each["offsets_partition"] for each in rows if each["error"] is None] == [1, 1, 1]
    (error,) = [each["error"] for each in rows if each["error"]]
    assert error.endswith("__consumer_offsets-0 cannot be read: Input/output error")


def test_paths_that_are_no_log_are_refused(tmp_path: Path) -> None:
    """The error names the path and what can be named instead."""
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / "0.log").write_bytes(b"")
    (tmp_path / "x.log").write_bytes(b"")
    (tmp_path / "text").write_text("no capture")
    refusals = {
        "orders-0": "is a partition of orders",
        "x.log": "x.log: not a segment",
        "text": "text is",
        "no": "No such",
    }
    for name, message in refusals.items():
        with pytest.raises(Refusal, match=message):
            table(COMMITS, tmp_path / name)
