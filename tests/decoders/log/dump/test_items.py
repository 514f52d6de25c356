"""The parts of a dump as lines of the official tool and as JSON objects."""

import json
from pathlib import Path

import pytest

from decoders.log.dump import Dump, DumpItem, item_json, item_text, offsets
from tests.decoders.log.fixtures import RECORDED
from tests.decoders.log.recording import files_of

LINES = {
    "heading": (DumpItem("log", {"startOffset": 7}), "Log starting offset: 7"),
    "bool": (DumpItem("batch", {"count": 2, "isControl": False}), "count: 2 isControl: false"),
    "empty optional long": (DumpItem("batch", {"deleteHorizonMs": None}), "deleteHorizonMs: OptionalLong.empty"),
    "optional long": (DumpItem("batch", {"deleteHorizonMs": 5}), "deleteHorizonMs: OptionalLong[5]"),
    "list": (DumpItem("record", {"offset": 1, "headerKeys": ["a", "b"]}), "| offset: 1 headerKeys: [a,b]"),
    "record without metadata": (DumpItem("record", {}), ""),
}


def test_an_item_is_a_line_of_the_tool() -> None:
    """Values have the form that Java prints. A record begins with a bar."""
    for story, (item, line) in LINES.items():
        assert item_text(item) == line, story


def test_json_has_the_fields_of_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each field name and each number of a line of a real broker's log directory is in the object of the line."""
    monkeypatch.chdir(RECORDED)
    items = [item for file in files_of(Path()) for item in Dump(file, deep=True).items()]
    kinds = {item.kind for item in items}
    assert kinds >= {"log", "batch", "record"}
    for item in items:
        answer, line = item_json(item, "f", decoded=False), item_text(item)
        assert (answer["file"], answer["kind"]) == ("f", item.kind)
        assert all(str(value) in line for value in answer.values() if type(value) is int)
        assert all(name in line for name in item.fields if item.kind in {"batch", "record"})


def test_records_of_an_internal_topic_are_objects() -> None:
    """Keys are objects with the fields of the decoder, a value is an object with a version, and a tombstone is null."""
    log = RECORDED / "__consumer_offsets-0" / "00000000000000000000.log"
    items = Dump(log, offsets).items()
    rows = [json.loads(json.dumps(item_json(item, "f", decoded=True))) for item in items]
    records = [row for row in rows if row["kind"] == "record" and "key" in row]
    assert {"group", "topic", "partition"} in [set(row["key"]["data"]) for row in records]
    assert all(row["payload"] is None or "version" in row["payload"] for row in records)
    assert not any("error" in row for row in records)
