"""The record decoder returns a record or one typed error for any bytes."""

from hypothesis import given
from hypothesis import strategies as st

from decoders.errors import DecodeError, DecodeReason
from decoders.interpret import event_of
from decoders.scalar import decode, decode_share_state, decode_transaction

COMMIT_KEY = "000100016700017400000001"


def raw(text: str | None) -> bytes | None:
    """Return the bytes of a hex string, None for None."""
    return None if text is None else bytes.fromhex(text)


R = DecodeReason
ERRORS = {
    "null key": (None, None, (None, None, "key", 0, R.NULL_KEY)),
    "empty key": ("", None, (None, None, "key.type", 0, R.SHORT)),
    "type of a newer release": ("0018", "0000", (24, None, "key.type", 0, R.UNKNOWN_TYPE)),
    "negative type": ("ffff", None, (-1, None, "key.type", 0, R.UNKNOWN_TYPE)),
    "type 9 of 4.0": ("0009000167", None, (9, None, "key.type", 0, R.REMOVED_TYPE)),
    "removed type 18": ("0012000167", None, (18, None, "key.type", 0, R.REMOVED_TYPE)),
    "null group": ("0002ffff", None, (2, None, "key.group", 2, R.NULL_NOT_ALLOWED)),
    "length of -2": ("0002fffe", None, (2, None, "key.group", 2, R.NEGATIVE_LENGTH)),
    "length past end": ("00027fff", None, (2, None, "key.group", 4, R.LENGTH_PAST_END)),
    "tombstone of a negative partition": (
        "0001000167000174ffffff01",
        None,
        (1, None, "key.partition", 8, R.OUT_OF_RANGE),
    ),
    "negative partition in a legacy key": (
        "0000000167000174800000007461696c",
        "0000",
        (0, None, "key.partition", 8, R.OUT_OF_RANGE),
    ),
    "empty value": (COMMIT_KEY, "", (1, None, "value.version", 0, R.SHORT)),
    "version 5": (COMMIT_KEY, "0005", (1, 5, "value.version", 0, R.UNKNOWN_VERSION)),
    "version -1": (COMMIT_KEY, "ffff", (1, -1, "value.version", 0, R.UNKNOWN_VERSION)),
    "varint without end": (
        COMMIT_KEY,
        "00040000000000000064000000078080808080",
        (1, 4, "value.metadata", 14, R.BAD_VARINT),
    ),
    "too long an unknown tag": (
        COMMIT_KEY,
        "0004000000000000006400000007026d00000000000004d2016405",
        (1, 4, "value.tags", 27, R.LENGTH_PAST_END),
    ),
    "null inside a member": (
        "0002000167",
        "00000008636f6e73756d657200000003000572616e676500026d310000000100026d31ffff",
        (2, 0, "value.members[0].client_id", 35, R.NULL_NOT_ALLOWED),
    ),
    "two billion members": (
        "0002000167",
        "00000008636f6e73756d657200000003ffffffff7fffffff",
        (2, 0, "value.members", 20, R.LENGTH_PAST_END),
    ),
}


def test_a_decode_error_has_type_version_field_position_and_reason() -> None:
    """Each kind of fault has its own reason."""
    for story, (key, value, error) in ERRORS.items():
        assert decode(raw(key), raw(value)) == DecodeError(*error), story


def test_unknown_tags_are_skipped_by_their_size() -> None:
    """A commit with two unknown tags is decoded, including the known tag after them."""
    value = "0004000000000000006400000007026d00000000000004d2" + "03" + "6202aabb" + "630100"
    known = "001030a5f1d5f224432d89f635c784af26d7"
    record = decode(raw(COMMIT_KEY), raw(value + known))
    assert record.value["topic_id"].hex() == known[4:]


def test_an_older_layout_is_used_if_only_it_reaches_the_last_byte() -> None:
    """A value of type 4 from 3.7 can look like an empty current value with trailing bytes; only its own layout fits."""
    record = decode(raw("0004000167"), raw("0000" + "01000000" + "01" + "00"))
    assert record.value == {"epoch": 1 << 24, "topics": ()}
    assert record.layout in record.type.older_layouts


@given(st.none() | st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_any_bytes_give_a_record_or_one_error(key: bytes | None, value: bytes | None) -> None:
    """Decoding never raises. A decoded record has one event."""
    for number in range(-1, 25):
        typed = None if key is None else number.to_bytes(2, signed=True) + key
        for decoder in (decode, decode_transaction, decode_share_state):
            result = decoder(typed, value)
            assert isinstance(result, DecodeError) or event_of(result)
