"""Batches of magic 2: golden bytes from Kafka, the header, and round trips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log.batch import HEADER, LogRecord, RecordBatch, record_batch, sequence_at
from decoders.log.codecs import Codec
from decoders.log.errors import Damaged, LogFault
from sandbox.kafka import log_writer as write

TOMBSTONE = bytes.fromhex(
    "00000000000000050000003d000000030239dbe02600000000000000000000000004d200000000000004d2ffffffffffffffffffff"
    "0000000000000001160000000a00020001670100"
)
COMMIT = bytes.fromhex(
    "00000000000000060000004200000003029de24d5b00300000000000000000000004d200000000000004d200000000000000090002"
    "ffffffff000000012000000008000000010c00000000000400"
)


def batch_of(raw: bytes) -> RecordBatch:
    return record_batch(memoryview(raw), 0)


def test_a_tombstone_written_by_kafka_is_decoded() -> None:
    """A batch of Kafka's serialiser gives its record, its leader epoch and a valid checksum."""
    batch = batch_of(TOMBSTONE)
    assert list(batch.records()) == [LogRecord(5, 1234, b"\0\x02\0\x01g", None, sequence=0)]
    assert (batch.leader_epoch, batch.size, batch.has_valid_crc()) == (3, len(TOMBSTONE), True)
    assert not batch.is_transactional
    assert not batch.is_control


def test_a_marker_written_by_kafka_is_decoded() -> None:
    """A COMMIT marker written by Kafka is a transactional control batch of its producer."""
    batch = batch_of(COMMIT)
    assert (batch.producer_id, batch.producer_epoch, batch.is_control, batch.is_transactional) == (9, 2, True, True)
    assert [record.key for record in batch.records()] == [b"\0\0\0\x01"]


def test_offset_leader_epoch_and_magic_are_not_covered_by_the_checksum() -> None:
    """Brokers change offset and leader epoch without a new checksum. A change after the magic byte is detected."""
    for at in range(len(TOMBSTONE)):
        changed = bytearray(TOMBSTONE)
        changed[at] ^= 1
        not_covered = at < 8 or 12 <= at < 17
        if not 8 <= at < 12:
            assert batch_of(bytes(changed)).has_valid_crc() is not_covered


RECORDS = st.lists(
    st.builds(
        write.Rec,
        st.integers(0, 2**31 - 1),
        st.integers(-(2**40), 2**40),
        st.none() | st.binary(max_size=200),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=9).map(str.encode), st.none() | st.binary(max_size=9)), max_size=3).map(
            tuple
        ),
    ),
    max_size=20,
)


@given(records=RECORDS, codec=st.sampled_from(Codec), base=st.integers(0, 2**62), sequence=st.integers(-1, 2**31 - 1))
def test_records_round_trip(records: list[write.Rec], codec: Codec, base: int, sequence: int) -> None:
    """Any records are read back with any codec, with gaps, nulls, headers and negative timestamp deltas."""
    batch = batch_of(write.batch(base, records, codec, base_sequence=sequence))
    assert batch.has_valid_crc()
    assert batch.codec is codec
    assert list(batch.records()) == [
        LogRecord(
            base + record.offset_delta,
            1_000 + record.timestamp_delta,
            record.key,
            record.value,
            sequence_at(sequence, record.offset_delta),
            tuple((key.decode(), value) for key, value in record.headers),
        )
        for record in records
    ]


def test_log_append_time_applies_to_every_record() -> None:
    """Every record has the largest timestamp of the batch."""
    records = [write.Rec(0, 0, b"a", b""), write.Rec(1, 5, b"b", b"")]
    batch = batch_of(write.batch(0, records, attributes=0x08, max_timestamp=7_777))
    assert [record.timestamp for record in batch.records()] == [7_777, 7_777]


def test_the_delete_horizon_replaces_the_base_timestamp() -> None:
    """Bit 6 makes the base timestamp the delete horizon. Timestamp deltas are still relative to it."""
    batch = batch_of(write.batch(0, [write.Rec(0, -8_000, b"a", None)], attributes=0x40, base_timestamp=9_000))
    assert batch.delete_horizon == 9_000
    assert [record.timestamp for record in batch.records()] == [1_000]
    assert batch_of(write.batch(0, [])).delete_horizon is None


@pytest.mark.parametrize("codec", Codec)
def test_records_truncated_anywhere_are_one_typed_error(codec: Codec) -> None:
    """A truncated batch raises only Damaged for any codec."""
    raw = write.batch(0, [write.Rec(n, n, b"key", b"value" * 9) for n in range(3)], codec)
    for end in range(HEADER.size, len(raw)):
        with pytest.raises(Damaged) as caught:
            list(batch_of(raw[:end]).records())
        assert caught.value.fault in {LogFault.BAD_RECORD, LogFault.BAD_COMPRESSION}


INCONSISTENT = {
    "fewer records than the count": write.batch(0, [write.Rec(0, 0, b"", b"")], count=2),
    "more records than the count": write.batch(0, [write.Rec(0, 0, b"", b"")], count=0),
    "a negative count": write.batch(0, [], count=-1),
    "an unknown codec": write.batch(0, [], attributes=7),
    "a record longer than its fields": write.encoded_batch(b"\x10\0\0\0\x01\x01\0\0\0", 1),
    "a value longer than its record": write.encoded_batch(b"\x0c\0\0\0\x01\x08\0" * 2, 2),
    "a negative header count": write.encoded_batch(b"\x0c\0\0\0\x01\x01\x01", 1),
    "a header without a key": write.encoded_batch(b"\x10\0\0\0\x01\x01\x02\x01\x01", 1),
    "a varint without end": write.encoded_batch(b"\x80\x80\x80\x80\x80\x80", 1),
}


@pytest.mark.parametrize("raw", INCONSISTENT.values(), ids=INCONSISTENT)
def test_inconsistent_batches_are_typed_errors(raw: bytes) -> None:
    """An inconsistent batch is refused, as in Kafka's reader."""
    with pytest.raises(Damaged):
        list(batch_of(raw).records())


def test_sequence_numbers_wrap_to_zero() -> None:
    """Zero follows 2^31 - 1. The value -1 (no sequence number) is unchanged."""
    last = 2**31 - 1
    rows = {(-1, 5): -1, (0, 5): 5, (last, 0): last, (last, 1): 0, (last - 1, 5): 3}
    assert {row: sequence_at(*row) for row in rows} == rows
