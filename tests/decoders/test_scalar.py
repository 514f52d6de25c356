"""The record decoder returns a record or one typed error for any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.errors import DecodeError, DecodeReason
from decoders.interpret import events
from decoders.records import Record
from decoders.scalar import decode, decode_metadata, decode_share_state, decode_transaction

COMMIT_KEY = "000100016700017400000001"
ERRORS = [
    pytest.param(None, None, DecodeError(None, None, "key", 0, DecodeReason.NULL_KEY), id="null key"),
    pytest.param("", None, DecodeError(None, None, "key.type", 0, DecodeReason.SHORT), id="empty key"),
    pytest.param(
        "0018", "0000", DecodeError(24, None, "key.type", 0, DecodeReason.UNKNOWN_TYPE), id="type of a newer release"
    ),
    pytest.param("ffff", None, DecodeError(-1, None, "key.type", 0, DecodeReason.UNKNOWN_TYPE), id="negative type"),
    pytest.param(
        "0009000167", None, DecodeError(9, None, "key.type", 0, DecodeReason.REMOVED_TYPE), id="type 9 of 4.0"
    ),
    pytest.param(
        "0012000167", None, DecodeError(18, None, "key.type", 0, DecodeReason.REMOVED_TYPE), id="removed type 18"
    ),
    pytest.param(
        "0002ffff", None, DecodeError(2, None, "key.group", 2, DecodeReason.NULL_NOT_ALLOWED), id="null group"
    ),
    pytest.param(
        "0002fffe", None, DecodeError(2, None, "key.group", 2, DecodeReason.NEGATIVE_LENGTH), id="length of -2"
    ),
    pytest.param(
        "00027fff", None, DecodeError(2, None, "key.group", 4, DecodeReason.LENGTH_PAST_END), id="length past end"
    ),
    pytest.param(
        "0001000167000174ffffff01",
        None,
        DecodeError(1, None, "key.partition", 8, DecodeReason.OUT_OF_RANGE),
        id="tombstone of a negative partition",
    ),
    pytest.param(
        "0000000167000174800000007461696c",
        "0000",
        DecodeError(0, None, "key.partition", 8, DecodeReason.OUT_OF_RANGE),
        id="negative partition in a legacy key with a tail",
    ),
    pytest.param(COMMIT_KEY, "", DecodeError(1, None, "value.version", 0, DecodeReason.SHORT), id="empty value"),
    pytest.param(
        COMMIT_KEY, "0005", DecodeError(1, 5, "value.version", 0, DecodeReason.UNKNOWN_VERSION), id="version 5"
    ),
    pytest.param(
        COMMIT_KEY, "ffff", DecodeError(1, -1, "value.version", 0, DecodeReason.UNKNOWN_VERSION), id="version -1"
    ),
    pytest.param(
        COMMIT_KEY,
        "00040000000000000064000000078080808080",
        DecodeError(1, 4, "value.metadata", 14, DecodeReason.BAD_VARINT),
        id="varint without end",
    ),
    pytest.param(
        COMMIT_KEY,
        "0004000000000000006400000007026d00000000000004d2016405",
        DecodeError(1, 4, "value.tags", 27, DecodeReason.LENGTH_PAST_END),
        id="unknown tag longer than the value",
    ),
    pytest.param(
        "0002000167",
        "00000008636f6e73756d657200000003000572616e676500026d310000000100026d31ffff",
        DecodeError(2, 0, "value.members[0].client_id", 35, DecodeReason.NULL_NOT_ALLOWED),
        id="null inside a member",
    ),
    pytest.param(
        "0002000167",
        "00000008636f6e73756d657200000003ffffffff7fffffff",
        DecodeError(2, 0, "value.members", 20, DecodeReason.LENGTH_PAST_END),
        id="two billion members",
    ),
]


def raw(text: str | None) -> bytes | None:
    """Return the bytes of a hex string, None for None."""
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize(("key", "value", "error"), ERRORS)
def test_a_decode_error_has_type_version_field_position_and_reason(
    key: str | None, value: str | None, error: DecodeError
) -> None:
    """Each kind of fault has its own reason."""
    assert decode(raw(key), raw(value)) == error


def test_unknown_tags_are_skipped_by_their_size() -> None:
    """A commit with two unknown tags is decoded, including the known tag after them."""
    value = "0004000000000000006400000007026d00000000000004d2" + "03" + "6202aabb" + "630100"
    known = "001030a5f1d5f224432d89f635c784af26d7"
    record = decode(raw(COMMIT_KEY), raw(value + known))
    assert isinstance(record, Record)
    assert record.value is not None
    assert record.value["topic_id"].hex() == known[4:]


def test_an_older_layout_is_used_if_only_it_reaches_the_last_byte() -> None:
    """A value of type 4 from 3.7 can look like an empty current value with trailing bytes; only its own layout fits."""
    record = decode(raw("0004000167"), raw("0000" + "01000000" + "01" + "00"))
    assert isinstance(record, Record)
    assert record.value == {"epoch": 1 << 24, "topics": ()}
    assert record.layout in record.type.older_layouts


METADATA_ERRORS = [
    pytest.param(None, DecodeError(None, None, "value", 0, DecodeReason.NULL_VALUE), id="null"),
    pytest.param("", DecodeError(None, None, "value.frame_version", 0, DecodeReason.SHORT), id="empty"),
    pytest.param(
        "00", DecodeError(None, None, "value.frame_version", 0, DecodeReason.UNKNOWN_VERSION), id="frame of 2.8"
    ),
    pytest.param("016300", DecodeError(99, None, "value.type", 0, DecodeReason.UNKNOWN_TYPE), id="type 99"),
    pytest.param("010201", DecodeError(2, 1, "value.version", 0, DecodeReason.UNKNOWN_VERSION), id="topic v1"),
    pytest.param("01140000ff", DecodeError(20, 0, "value.end", 4, DecodeReason.TRAILING_BYTES), id="a trailing byte"),
]


@pytest.mark.parametrize(("value", "error"), METADATA_ERRORS)
def test_the_frame_of_cluster_metadata_is_checked_strictly(value: str | None, error: DecodeError) -> None:
    """The frame version, the type, the record version and the end of the value are checked."""
    assert decode_metadata(raw(value)) == error


def test_a_tag_of_a_later_version_is_refused() -> None:
    """Version 0 of a partition change has no directories; Kafka's generated class refuses the tag too."""
    value = "010500" + "00000000" + "00" * 16 + "01" + "0801" + "01"
    error = decode_metadata(raw(value))
    assert isinstance(error, DecodeError)
    assert (error.field, error.reason) == ("value.directories", DecodeReason.TAG_OUT_OF_VERSION)


@given(st.none() | st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_any_bytes_give_a_record_or_one_error(key: bytes | None, value: bytes | None) -> None:
    """Decoding never raises. A decoded record has one event, and one of cluster metadata at most one."""
    for number in range(-1, 25):
        typed = None if key is None else number.to_bytes(2, signed=True) + key
        for decoder in (decode, decode_transaction, decode_share_state):
            result = decoder(typed, value)
            if isinstance(result, Record):
                assert len(events(result)) == 1
            else:
                assert isinstance(result, DecodeError)
    result = decode_metadata(value)
    assert isinstance(result, DecodeError) or len(events(result)) <= 1
