"""The column decoder agrees with the record decoder on all rows that it does not decline."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.columnar import decode_commit_values, decode_keys
from decoders.errors import DecodeError
from decoders.javatext import java_text
from decoders.scalar import decode
from decoders.schema import Record
from tests.decoders.golden import COMMIT_KEY, COMMITS, GROUPS, TOPIC_ID, Case

SOME_KEY = bytes.fromhex(COMMIT_KEY)


def sliced(rows: list[bytes | None]) -> pa.BinaryArray:
    """Return the rows as a slice of a longer column, so that offsets and validity do not begin at zero."""
    return pa.array([b"before", None, *rows, b"after"], pa.binary()).slice(2, len(rows))


def check_values(rows: list[bytes | None], column: pa.BinaryArray) -> int:
    """Compare both decoders for a column of commit values; return the number of rows not declined."""
    result = decode_commit_values(column)
    details = result.details(np.arange(len(rows)))
    assert result.tombstone.tolist() == [row is None for row in rows]
    for at, row in enumerate(rows):
        if result.declined[at] or row is None:
            assert details["metadata"][at].as_py() is None
            continue
        record = decode(SOME_KEY, row)
        assert isinstance(record, Record), (row.hex(), record)
        value = record.value
        assert value is not None
        metadata = details["metadata"][at].as_py()
        assert (
            result.version[at],
            result.offset[at],
            result.commit_timestamp[at],
            details["leader_epoch"][at],
            details["expire_timestamp"][at],
            java_text(metadata),
            details["topic_id"][at].as_py() or bytes(16),
        ) == (
            record.version,
            value["offset"],
            value["commit_timestamp"],
            value["leader_epoch"],
            value["expire_timestamp"],
            value["metadata"],
            value["topic_id"],
        )
    return int((~result.declined).sum())


def check_keys(rows: list[bytes | None], column: pa.BinaryArray) -> int:
    """Compare both decoders for a column of keys; return the number of rows not declined."""
    result = decode_keys(column)
    for at, row in enumerate(rows):
        if row is None or len(row) < 2:
            assert result.record_type[at] == -1
        else:
            assert result.record_type[at] == int.from_bytes(row[:2], signed=True)
        if result.declined[at]:
            assert result.group[at].as_py() is None
            assert result.topic[at].as_py() is None
            continue
        assert row is not None
        record = decode(row, None)
        assert isinstance(record, Record), (row.hex(), record)
        assert result.record_type[at] == record.type.number
        assert result.group[at].as_py() == record.key["group"]
        assert result.topic[at].as_py() == record.key.get("topic")
        if "partition" in record.key:
            assert result.partition[at] == record.key["partition"]
        assert isinstance(decode(row[: result.end[at]], None), Record)
        assert isinstance(decode(row[: result.end[at] - 1], None), DecodeError)
    return int((~result.declined).sum())


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in COMMITS])
def test_golden_commits_are_decoded_in_a_sliced_column(case: Case) -> None:
    """Every version is decoded, complete and with trailing bytes, and declined if truncated."""
    value = case.value_bytes
    whole = [value, value if value is None else value + b"tail", value]
    assert check_values(whole, sliced(whole)) == 3
    if value is not None:
        truncated = [value[:length] for length in range(len(value))]
        assert check_values(truncated, sliced(truncated)) == 0


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in (*COMMITS, *GROUPS)])
def test_golden_keys_are_decoded_in_a_sliced_column(case: Case) -> None:
    """Keys of types 0, 1 and 2 are decoded, complete and with trailing bytes, and declined if truncated."""
    whole = [case.key_bytes, case.key_bytes + b"\xfftail"]
    assert check_keys(whole, sliced(whole)) == 2
    truncated = [case.key_bytes[:length] for length in range(len(case.key_bytes))]
    assert check_keys(truncated, sliced(truncated)) == 0


def test_selected_rows_give_the_results_of_the_whole_column() -> None:
    """Any selection of valid rows, declined rows and tombstones gives the results of the whole column."""
    valid = [case.value_bytes for case in COMMITS]
    rows = [*valid, None, b"", *(value[:9] for value in valid if value)]
    column = sliced(rows)
    whole, numbers = decode_commit_values(column), np.arange(len(rows))
    for selected in (numbers[::2], numbers[1::2], numbers[-3:], numbers[:0]):
        part = decode_commit_values(column, selected)
        assert part.tombstone.tolist() == whole.tombstone[selected].tolist()
        assert part.declined.tolist() == whole.declined[selected].tolist()
        assert part.offset.tolist() == whole.offset[selected].tolist()
        assert part.commit_timestamp.tolist() == whole.commit_timestamp[selected].tolist()
        details, expected = part.details(np.arange(len(selected))), whole.details(selected)
        assert details["metadata"].to_pylist() == expected["metadata"].to_pylist()
        assert details["topic_id"].to_pylist() == expected["topic_id"].to_pylist()
        assert details["leader_epoch"].tolist() == expected["leader_epoch"].tolist()
        assert details["expire_timestamp"].tolist() == expected["expire_timestamp"].tolist()
        assert part.expire_timestamp(np.arange(len(selected))).tolist() == expected["expire_timestamp"].tolist()


def test_a_name_that_is_not_utf8_declines_only_its_own_row() -> None:
    """Kafka replaces invalid UTF-8; the column decoder leaves such rows to the record decoder."""
    valid, invalid = "000100022d670001740000000f", "00010002c328000174000000ff"
    rows = [bytes.fromhex(valid), bytes.fromhex(invalid), bytes.fromhex("0001000200f6"), bytes.fromhex(valid)]
    result = decode_keys(sliced(rows))
    assert result.declined.tolist() == [False, True, True, False]
    assert result.topic.to_pylist() == ["t", None, None, "t"]
    umlaut = struct.pack(">hh", 2, 4) + "öß".encode()
    assert check_keys([umlaut, rows[1]], sliced([umlaut, rows[1]])) == 1


def test_a_negative_partition_declines_only_its_own_row() -> None:
    """The highest partition is decoded; keys of types 0 and 1 with a negative partition are declined."""
    keys = [
        "000100016700017400000000",
        "0001000167000174ffffff01",
        "0000000167000174ffffffff",
        "00010001670001747fffffff",
    ]
    rows: list[bytes | None] = [bytes.fromhex(key) for key in keys]
    assert check_keys(rows, sliced(rows)) == 2
    assert decode_keys(sliced(rows)).declined.tolist() == [False, True, True, False]


def test_long_metadata_of_v4_is_decoded() -> None:
    """4096 bytes of metadata, Kafka's default limit, have a varint length of two bytes and are not declined."""
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
    """Return a commit value of any version as written by Kafka, with any metadata bytes."""
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
    number, group = draw(st.integers(-1, 4)), draw(texts)
    body = struct.pack(">hh", number, len(group)) + group
    if number < 2:
        topic = draw(texts)
        body += struct.pack(">h", len(topic)) + topic + struct.pack(">i", draw(int32s))
    return body


@st.composite
def corrupted(draw: st.DrawFn, encoded: st.SearchStrategy[bytes]) -> bytes | None:
    """Return encoded bytes: overwritten, truncated, extended or unchanged; or null."""
    row = draw(encoded)
    mutation = draw(st.integers(0, 5))
    if mutation == 0:
        return None
    if mutation == 1:
        return row[: draw(st.integers(0, len(row)))]
    if mutation == 2:
        return row + draw(st.binary(max_size=4))
    if mutation in {3, 4}:
        at = draw(st.integers(0, len(row) - 1))
        return (
            row[:at]
            + draw(st.sampled_from([b"\xff", b"\x80", b"\x00", b"\x7f", b"\xff\xff\xff\xff\x0f"]))
            + row[at + 1 :]
        )
    return row


@given(st.lists(corrupted(commit_values()), max_size=12))
def test_columnar_and_scalar_agree_on_values(rows: list[bytes | None]) -> None:
    """Both decoders agree on valid and corrupted commit values, in whole and sliced columns."""
    check_values(rows, pa.array(rows, pa.binary()))
    check_values(rows, sliced(rows))


@given(st.lists(corrupted(keys()), max_size=12))
def test_columnar_and_scalar_agree_on_keys(rows: list[bytes | None]) -> None:
    """Both decoders agree on valid and corrupted keys, in whole and sliced columns."""
    check_keys(rows, pa.array(rows, pa.binary()))
    check_keys(rows, sliced(rows))


@given(st.lists(commit_values() | st.none(), min_size=1, max_size=8))
def test_values_written_by_kafka_are_not_declined(rows: list[bytes | None]) -> None:
    """Only values with unknown tags are declined."""
    declined = decode_commit_values(sliced(rows)).declined
    unknown_tag = [row is not None and row.endswith(b"\1\5\2ab") for row in rows]
    assert not (declined & ~np.array(unknown_tag)).any()
