"""Message sets of magic 0 and 1: golden bytes from Kafka, wrappers, and faults of old clients."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log.batch import LogRecord
from decoders.log.errors import Damaged, LogFault
from decoders.log.legacy import LegacyBatch, legacy_batch
from sandbox.kafka import log_writer as write

KEY = b"\0\x02\0\x01g"
GOLDEN = {
    "magic 0": "0000000000000005000000134d2a97c50000000000050002000167ffffffff",
    "magic 1": "00000000000000050000001bbc40df03010000000000000004d2000000050002000167ffffffff",
    "magic 1, gzip": "0000000000000007000000513f509a52010100000000000004d2ffffffff0000003b1f8b08000000000000ff63608003"
    "e93d0ef79919a11c964b40829581898131fd3f10404599805846a6ecfb5d2cca800c464600e8faea214f000000",
    "magic 0, lz4 with the wrong checksum": "00000000000000070000005572db3ec70003ffffffff0000004704224d1860401a3800"
    "0000120001009105000000134d2a97c50f00a1050002000167ffffffff0f00b0000007000000146e80fa100d00c0000500020001670000"
    "00010100000000",
}


def read(raw: bytes) -> LegacyBatch:
    return legacy_batch(memoryview(raw), 0)


@pytest.mark.parametrize("name", GOLDEN)
def test_messages_written_by_kafka_are_decoded(name: str) -> None:
    """Messages of Kafka's old serialiser give their records, plain and compressed."""
    batch = read(bytes.fromhex(GOLDEN[name]))
    timestamp = -1 if "magic 0" in name else 1234
    records = [LogRecord(5, timestamp, KEY, None), LogRecord(7, timestamp, KEY, b"\x01")]
    assert batch.has_valid_crc()
    assert list(batch.records()) == (records if "," in name else records[:1])


@pytest.mark.parametrize("name", GOLDEN)
def test_messages_truncated_anywhere_are_one_typed_error(name: str) -> None:
    """The same messages truncated at any byte after the frame raise only Damaged."""
    raw = bytes.fromhex(GOLDEN[name])
    for end in range(18, len(raw)):
        with pytest.raises(Damaged):
            list(read(raw[:end]).records())


@given(
    fields=st.lists(
        st.tuples(st.none() | st.binary(max_size=99), st.none() | st.binary(max_size=99)), min_size=1, max_size=9
    ),
    gaps=st.lists(st.integers(1, 5), min_size=9, max_size=9),
    magic=st.sampled_from([0, 1]),
    codec=st.sampled_from([write.GZIP, write.SNAPPY, write.LZ4]),
    base=st.integers(1, 2**40),
)
def test_records_of_wrappers_have_absolute_offsets(
    fields: list[tuple[bytes | None, bytes | None]], gaps: list[int], magic: int, codec: int, base: int
) -> None:
    """A wrapper has the offset of its last record; inner offsets are absolute in magic 0 and relative in magic 1."""
    offsets = [base + sum(gaps[:n]) for n in range(len(fields))]
    first = offsets[0] if magic == 1 else 0
    pairs = list(zip(offsets, fields, strict=True))
    inner = b"".join(write.message(offset - first, *field, magic) for offset, field in pairs)
    batch = read(write.wrapper(offsets[-1], inner, magic, codec))
    assert [(record.offset, (record.key, record.value)) for record in batch.records()] == pairs
    assert batch.last_offset == offsets[-1]


INCONSISTENT = {
    "compressed null": (write.message(0, None, None, 1, attributes=1), LogFault.BAD_RECORD),
    "no inner messages": (write.wrapper(0, b"", 1, write.GZIP), LogFault.BAD_RECORD),
    "zstd, which message sets do not support": (write.message(0, None, b"x", 1, attributes=4), LogFault.UNKNOWN_CODEC),
    "inner message of another magic": (
        write.wrapper(0, write.message(0, None, b"x", 0), 1, write.GZIP),
        LogFault.BAD_RECORD,
    ),
    "inner wrapper": (
        write.wrapper(0, write.wrapper(0, write.message(0, b"", b"", 1), 1, write.GZIP), 1, write.GZIP),
        LogFault.BAD_RECORD,
    ),
}


def test_inconsistent_messages_are_typed_errors() -> None:
    """A wrapper that Kafka refuses is refused, with the reason."""
    for story, (raw, fault) in INCONSISTENT.items():
        with pytest.raises(Damaged) as caught:
            list(read(raw).records())
        assert caught.value.fault is fault, story
