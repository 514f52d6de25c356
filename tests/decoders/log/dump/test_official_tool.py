"""Compares our dump of newly written broker logs with the official tool, line by line."""

from pathlib import Path

import pytest

from decoders.log.dump import Decode, as_text, offsets, transaction_log
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import dumped
from tests.decoders.log.recording import files_of, official_dump, record

pytestmark = pytest.mark.kafka

MODES = {"shallow": (), "deep": ("--deep-iteration",), "data": ("--print-data-log",)}
DECODERS = {
    "__consumer_offsets": ("--offsets-decoder", offsets),
    "__transaction_state": ("--transaction-log-decoder", transaction_log),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log directory of a stopped broker with records in all codecs, transactions and metadata."""
    return record(tmp_path_factory.mktemp("recording") / "broker", 300)


def compare(root: Path, files: list[Path], arguments: tuple[str, ...], decode: Decode | None = None) -> int:
    """Assert that both outputs of our dump are those of the official tool; return the number of lines."""
    official, complaints, exit_code = official_dump(root, files, *arguments)
    decode = as_text if arguments == MODES["data"] else decode
    ours, ours_complaints = dumped(files, decode, deep=arguments == MODES["deep"])
    assert exit_code == 0
    assert ours == official
    # The tool keeps its complaints in hash maps, so their order by file is not fixed.
    assert sorted(ours_complaints) == sorted(complaints)
    return len(official)


@pytest.mark.parametrize("mode", MODES)
def test_every_segment_is_dumped_like_the_tool_in_every_mode(
    data: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments in all codecs give the same lines in every mode of the tool."""
    monkeypatch.chdir(data)
    assert compare(data, files_of(data), MODES[mode]) > 100


@pytest.mark.parametrize("topic", DECODERS)
def test_every_decoder_prints_like_the_tool(data: Path, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of the internal topics give the same JSON as the decoder options of the tool."""
    option, decode = DECODERS[topic]
    monkeypatch.chdir(data)
    files = [file for file in files_of(data) if file.parts[0].startswith(topic)]
    assert compare(data, files, (option,), decode) > 20


def unusual_log() -> bytes:
    """Return a log that current brokers do not write: message sets in all codecs, and unusual batches of magic 2."""
    out, offset = b"", 0
    for magic in (0, 1):
        out += write.message(offset, b"k", None, magic)
        for codec in (write.GZIP, write.SNAPPY, write.LZ4):
            base = offset + 1 if magic == 0 else 0
            inner = [write.message(base + n, b"k%d" % n, b"v" * n, magic, timestamp=2_000 + n) for n in (0, 1, 3)]
            out += write.wrapper(offset + 4, b"".join(inner), magic, codec, timestamp=2_003)
            offset += 4
        offset += 1
    message = write.message(0, b"k", b"v", 1, timestamp=5)
    out += write.wrapper(offset, message, 1, write.SNAPPY, timestamp=77, attributes=0x08)
    one = [write.Rec(0, 0, b"a", b"b")]
    out += write.batch(offset + 1, one, write.SNAPPY, raw_snappy=True)
    out += write.batch(offset + 2, one, attributes=0x08)
    gaps = [write.Rec(0, 0, b"a", b"b"), write.Rec(2, -500, b"a", None)]
    out += write.batch(offset + 3, gaps, attributes=0x40, base_sequence=2**31 - 2, producer_id=4)
    out += write.marker(offset + 8, 4, committed=False)
    out += write.batch(offset + 9, [], last_offset_delta=3)
    out += write.batch(offset + 13, [write.Rec(0, 0, b"\0\0\0\x07", b"b")], attributes=0x20)
    bad_checksum = bytearray(write.batch(offset + 14, [write.Rec(0, 0, b"abcdefg", b"b")]))
    bad_checksum[-6] ^= 1
    return out + bytes(bad_checksum) + b"\0" * 5


@pytest.mark.parametrize("mode", ["shallow", "data"])
def test_formats_that_brokers_no_longer_write_are_dumped_like_the_tool(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Message sets, raw snappy, delete horizons, empty batches, unknown control types and a bad checksum agree too.

    This also checks the test writer, which the other tests use, with the official code.
    """
    (tmp_path / "00000000000000000000.log").write_bytes(unusual_log())
    monkeypatch.chdir(tmp_path)
    assert compare(tmp_path, files_of(tmp_path), MODES[mode]) > 15
