"""Compares our dump with the recorded output of the official tool for the recorded log (without a JVM)."""

from pathlib import Path

import pytest

from decoders.log.batch import LogRecord
from decoders.log.dump import as_text, offsets
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import RECORDED, dumped
from tests.decoders.log.recording import files_of, lines_of


def test_our_dump_is_the_official_dump(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line for every segment of a real broker's log directory is that of the official tool, in its order."""
    monkeypatch.chdir(RECORDED)
    ours = dumped(files_of(Path()), as_text)[0]
    assert ours == lines_of((RECORDED / "official-data.txt").read_bytes())


def test_damage_is_reported_and_the_rest_is_dumped(tmp_path: Path) -> None:
    """A batch that cannot be decoded is one complaint. The batches after it and the tail are printed."""
    path = tmp_path / "00000000000000000000.log"
    wrong_count = write.batch(0, [write.Rec(0, 0, b"k", b"v")], count=2)
    path.write_bytes(wrong_count + write.batch(1, [write.Rec(0, 0, b"k", b"v")]) + b"torn")
    lines, complaints = dumped([path], as_text)
    assert [line.partition(" ")[0] for line in lines] == [
        "Dumping",
        "Log",
        "baseOffset:",
        "|",
        "baseOffset:",
        "|",
        "Found",
    ]
    assert lines[-1] == "Found 4 invalid bytes at the end of 00000000000000000000.log"
    assert len(complaints) == 1
    assert "bad_record" in complaints[0]


def test_gaps_are_reported(tmp_path: Path) -> None:
    """Non-consecutive offsets, which the tool prints to standard error, are complaints."""
    path = tmp_path / "00000000000000000005.log"
    path.write_bytes(write.batch(5, [write.Rec(0, 0, b"k", b"v"), write.Rec(3, 0, b"k", b"v")]))
    _, complaints = dumped([path], deep=True)
    assert complaints == [
        f"Non-consecutive offsets in {path}",
        "  -1 is followed by 5",
        "  5 is followed by 8",
    ]


TEXTS = {
    "a group's tombstone": (b"\0\x02\0\x01g", None, ('{"type":"2","data":{"group":"g"}}', "<DELETE>")),
    "unknown type": (b"\0\x63", b"", ("Unknown record type 99 at offset 5, skipping.", None)),
    "a truncated key": (b"\0\x02\0\x09g", b"", ("Error at offset 5, skipping. ", None)),
}


def test_the_offsets_decoder_prints_like_the_tool() -> None:
    """Types are strings, tombstones <DELETE>, and unknown types and errors have the messages of the tool."""
    for story, (key, value, texts) in TEXTS.items():
        key_text, payload = offsets(LogRecord(5, 0, key, value))
        assert key_text is not None, story
        assert key_text.startswith(texts[0]), story
        assert payload == texts[1], story
