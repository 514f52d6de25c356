"""The law of the two interpreters: for any bytes, columnar's answer, where it gives one, is scalar's answer."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.columnar import decode_commit_values, decode_keys
from decoders.errors import DecodeError
from decoders.javatext import java_text
from decoders.records import Record
from decoders.scalar import decode
from tests.decoders.golden import COMMIT_KEY, COMMITS, GROUPS, LEGACY_KEY, TOPIC_ID, Case

SOME_KEY = bytes.fromhex(COMMIT_KEY)


def sliced(rows: list[bytes | None]) -> pa.BinaryArray:
    """Put rows in the middle of a longer column, so that offsets and validity do not begin at zero."""
    return pa.array([b"before", None, *rows, b"after"], pa.binary()).slice(2, len(rows))


def check_values(rows: list[bytes | None], column: pa.BinaryArray) -> int:
    """Hold the law for a column of commit values and count the answers given."""
    got = decode_commit_values(column)
    details = got.details(np.arange(len(rows)))
    assert got.tombstone.tolist() == [row is None for row in rows]
    for at, row in enumerate(rows):
        if got.declined[at] or row is None:
            assert details.metadata[at].as_py() is None
            continue
        record = decode(SOME_KEY, row)
        assert isinstance(record, Record), (row.hex(), record)
        value = record.value
        assert value is not None
        metadata = details.metadata[at].as_py()
        assert (
            got.version[at],
            got.offset[at],
            got.commit_timestamp[at],
            details.leader_epoch[at],
            details.expire_timestamp[at],
            java_text(metadata),
            details.topic_id[at].as_py() or bytes(16),
        ) == (
            record.version,
            value["offset"],
            value["commit_timestamp"],
            value["leader_epoch"],
            value["expire_timestamp"],
            value["metadata"],
            value["topic_id"],
        )
    return int((~got.declined).sum())


def check_keys(rows: list[bytes | None], column: pa.BinaryArray) -> int:
    """Hold the law for a column of keys and count the answers given."""
    got = decode_keys(column)
    for at, row in enumerate(rows):
        if row is None or len(row) < 2:
            assert got.record_type[at] == -1
        else:
            assert got.record_type[at] == int.from_bytes(row[:2], signed=True)
        if got.declined[at]:
            assert got.group[at].as_py() is None
            assert got.topic[at].as_py() is None
            continue
        assert row is not None
        record = decode(row, None)
        assert isinstance(record, Record), (row.hex(), record)
        assert got.record_type[at] == record.type.number
        assert got.group[at].as_py() == record.key["group"]
        assert got.topic[at].as_py() == record.key.get("topic")
        if "partition" in record.key:
            assert got.partition[at] == record.key["partition"]
        assert isinstance(decode(row[: got.end[at]], None), Record)
        assert isinstance(decode(row[: got.end[at] - 1], None), DecodeError)
    return int((~got.declined).sum())


@pytest.mark.parametrize("case", [pytest.param(case, id=case.story) for case in COMMITS])
def test_golden_commits_are_answered_in_a_sliced_column(case: Case) -> None:
    """Every version that Kafka writes is read by the hot path, whole, with a tail, and declined when cut."""
    value = case.value_bytes
    whole = [value, value if value is None else value + b"tail", value]
    assert check_values(whole, sliced(whole)) == 3
    if value is not None:
        cut = [value[:length] for length in range(len(value))]
        assert check_values(cut, sliced(cut)) == 0


@pytest.mark.parametrize("case", [pytest.param(case, id=case.story) for case in (*COMMITS, *GROUPS)])
def test_golden_keys_are_answered_in_a_sliced_column(case: Case) -> None:
    """Keys of types 0, 1 and 2 are read whole and with a tail, and declined when cut."""
    whole = [case.key_bytes, case.key_bytes + b"\xfftail"]
    assert check_keys(whole, sliced(whole)) == 2
    cut = [case.key_bytes[:length] for length in range(len(case.key_bytes))]
    assert check_keys(cut, sliced(cut)) == 0


def test_empty_columns_have_empty_answers() -> None:
    """No rows, no answer, no fault; also where the buffer itself is missing."""
    for column in (pa.array([], pa.binary()), sliced([]), pa.array([None, None], pa.binary())):
        values, keys = decode_commit_values(column), decode_keys(column)
        assert len(values.offset) == len(keys.partition) == len(column)
        assert len(values.details(np.arange(0)).metadata) == 0
        assert values.tombstone.all()
        assert keys.declined.all()


def test_details_follow_the_order_asked() -> None:
    """Rows may be asked in any order, and twice."""
    rows = [struct.pack(">hqihcq", 3, at, at, 1, b"%d" % at, 9) for at in range(5)]
    details = decode_commit_values(sliced(rows)).details(np.array([4, 0, 0, 2]))
    assert details.leader_epoch.tolist() == [4, 0, 0, 2]
    assert details.metadata.to_pylist() == [b"4", b"0", b"0", b"2"]


def test_chosen_rows_are_read_as_if_they_stood_alone() -> None:
    """Rows of every version, declined ones and tombstones among them: any choice gives what the whole column gives."""
    sound = [case.value_bytes for case in COMMITS]
    rows = [*sound, None, b"", *(value[:9] for value in sound if value)]
    column = sliced(rows)
    whole, every = decode_commit_values(column), np.arange(len(rows))
    for chosen in (every[::2], every[1::2], every[-3:], every[:0]):
        some = decode_commit_values(column, chosen)
        assert some.tombstone.tolist() == whole.tombstone[chosen].tolist()
        assert some.declined.tolist() == whole.declined[chosen].tolist()
        assert some.offset.tolist() == whole.offset[chosen].tolist()
        assert some.commit_timestamp.tolist() == whole.commit_timestamp[chosen].tolist()
        details, wanted = some.details(np.arange(len(chosen))), whole.details(chosen)
        assert details.metadata.to_pylist() == wanted.metadata.to_pylist()
        assert details.topic_id.to_pylist() == wanted.topic_id.to_pylist()
        assert details.leader_epoch.tolist() == wanted.leader_epoch.tolist()
        assert details.expire_timestamp.tolist() == wanted.expire_timestamp.tolist()
        assert some.expire_timestamp(np.arange(len(chosen))).tolist() == wanted.expire_timestamp.tolist()


def test_one_name_that_is_not_utf8_declines_its_own_row_only() -> None:
    """Kafka replaces invalid UTF-8; the hot path leaves such a row, and only it, to scalar."""
    good, bad = "000100022d670001740000000f", "00010002c328000174000000ff"
    rows = [bytes.fromhex(good), bytes.fromhex(bad), bytes.fromhex("0001000200f6"), bytes.fromhex(good)]
    got = decode_keys(sliced(rows))
    assert got.declined.tolist() == [False, True, True, False]
    assert got.topic.to_pylist() == ["t", None, None, "t"]
    umlaut = struct.pack(">hh", 2, 4) + "öß".encode()
    assert check_keys([umlaut, rows[1]], sliced([umlaut, rows[1]])) == 1


def test_a_negative_partition_declines_its_own_row_only() -> None:
    """The highest partition is answered; keys of types 0 and 1 with a partition below zero are left to scalar."""
    keys = [
        "000100016700017400000000",
        "0001000167000174ffffff01",
        "0000000167000174ffffffff",
        "00010001670001747fffffff",
    ]
    rows: list[bytes | None] = [bytes.fromhex(key) for key in keys]
    assert check_keys(rows, sliced(rows)) == 2
    assert decode_keys(sliced(rows)).declined.tolist() == [False, True, True, False]


def test_long_metadata_of_v4_is_answered() -> None:
    """4096 bytes of metadata, Kafka's default limit, take a varint of two bytes and stay on the hot path."""
    for size in (126, 127, 128, 4096):
        length = size + 1
        varint = bytes([length]) if length < 128 else bytes([length & 0x7F | 0x80, length >> 7])
        row = struct.pack(">hqi", 4, 1, 2) + varint + b"x" * size + struct.pack(">q", 3) + b"\1\0\x10" + TOPIC_ID
        assert check_values([row], sliced([row])) == 1


texts = st.text(max_size=5).map(str.encode) | st.binary(max_size=5) | st.just(b"x" * 130)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
int32s = st.integers(-(1 << 31), (1 << 31) - 1)


@st.composite
def commit_values(draw: st.DrawFn) -> bytes:
    """Write a commit value of any version as Kafka would, metadata of any bytes."""
    version, metadata = draw(st.integers(0, 4)), draw(texts)
    body = struct.pack(">hq", version, draw(int64s))
    if version >= 3:
        body += struct.pack(">i", draw(int32s))
    size = len(metadata) + 1
    compact = bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])
    body += (compact if version == 4 else struct.pack(">h", len(metadata))) + metadata + struct.pack(">q", draw(int64s))
    if version == 1:
        body += struct.pack(">q", draw(int64s))
    if version == 4:
        body += draw(st.sampled_from([b"\0", b"\1\0\x10" + TOPIC_ID, b"\1\0\x10" + bytes(16), b"\1\5\2ab"]))
    return body


@st.composite
def keys(draw: st.DrawFn) -> bytes:
    """Write a key of any type number near the known ones."""
    number, group = draw(st.integers(-1, 4)), draw(texts)
    body = struct.pack(">hh", number, len(group)) + group
    if number < 2:
        topic = draw(texts)
        body += struct.pack(">h", len(topic)) + topic + struct.pack(">i", draw(int32s))
    return body


@st.composite
def mutated(draw: st.DrawFn, written: st.SearchStrategy[bytes]) -> bytes | None:
    """Take what Kafka would write and spoil it: overwrite, cut, lengthen; or none of it, or a null."""
    row = draw(written)
    how = draw(st.integers(0, 5))
    if how == 0:
        return None
    if how == 1:
        return row[: draw(st.integers(0, len(row)))]
    if how == 2:
        return row + draw(st.binary(max_size=4))
    if how in {3, 4}:
        at = draw(st.integers(0, len(row) - 1))
        return (
            row[:at]
            + draw(st.sampled_from([b"\xff", b"\x80", b"\x00", b"\x7f", b"\xff\xff\xff\xff\x0f"]))
            + row[at + 1 :]
        )
    return row


@given(st.lists(mutated(commit_values()), max_size=12))
def test_whatever_columnar_says_of_values_scalar_says_too(rows: list[bytes | None]) -> None:
    """The law over written and spoiled commit values, in whole and sliced columns."""
    check_values(rows, pa.array(rows, pa.binary()))
    check_values(rows, sliced(rows))


@given(st.lists(mutated(keys()), max_size=12))
def test_whatever_columnar_says_of_keys_scalar_says_too(rows: list[bytes | None]) -> None:
    """The law over written and spoiled keys, in whole and sliced columns."""
    check_keys(rows, pa.array(rows, pa.binary()))
    check_keys(rows, sliced(rows))


@given(st.lists(commit_values() | st.none(), min_size=1, max_size=8))
def test_what_kafka_writes_is_answered(rows: list[bytes | None]) -> None:
    """Nothing that a broker writes is declined, but a tagged section of the future."""
    declined = decode_commit_values(sliced(rows)).declined
    future = [row is not None and row.endswith(b"\1\5\2ab") for row in rows]
    assert not (declined & ~np.array(future)).any()


def test_both_interpreters_accept_the_same_versions_under_a_legacy_key() -> None:
    """A value under key type 0 may have any version, as brokers up to 4.0 read it."""
    for case in COMMITS:
        if case.value is not None:
            assert isinstance(decode(bytes.fromhex(LEGACY_KEY), case.value_bytes), Record)
