"""Records as JSON in Kafka's own shapes; the conformance tests compare them with Kafka's converters."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import jsonform
from decoders.records import Record
from decoders.scalar import decode, decode_metadata, decode_transaction

COMMIT_KEY = "000100016700017400000001"
SUBSCRIPTION = "000300000001000174ffffffff0000000100017400000002000000000000000200000004000172"


def record(key: str, value: str | None) -> Record:
    """Decode what must decode."""
    got = decode(bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    assert isinstance(got, Record)
    return got


def test_the_console_shape_has_numbers_for_type_and_version() -> None:
    """The example of the official formatter, and its word of 3.9."""
    commit = record(COMMIT_KEY, "000300000000000000640000000a00016d00000000000004d2")
    data = '"data":{"group":"g","topic":"t","partition":1}'
    value = '{"version":3,"data":{"offset":100,"leaderEpoch":10,"metadata":"m","commitTimestamp":1234}}'
    assert jsonform.console(commit) == f'{{"key":{{"type":1,{data}}},"value":{value}}}'
    assert jsonform.console(commit, type_word="version") == f'{{"key":{{"version":1,{data}}},"value":{value}}}'
    assert jsonform.console(record(COMMIT_KEY, None)) == f'{{"key":{{"type":1,{data}}},"value":null}}'


def test_the_dump_shape_has_strings_and_a_word_for_tombstones() -> None:
    """The dump tool writes type and version as strings, and `<DELETE>`."""
    commit = record(COMMIT_KEY, "0000000000000000006400016d00000000000004d2")
    assert jsonform.dump_key(commit) == '{"type":"1","data":{"group":"g","topic":"t","partition":1}}'
    assert jsonform.dump_payload(commit) == (
        '{"version":"0","data":{"offset":100,"metadata":"m","commitTimestamp":1234}}'
    )
    assert jsonform.dump_payload(record(COMMIT_KEY, None)) == "<DELETE>"


def group(protocol_type: bytes, subscription: bytes, assignment: bytes) -> Record:
    """Make a classic group with one member."""
    value = b"\0\0" + len(protocol_type).to_bytes(2) + protocol_type + bytes(4) + b"\0\5range" + b"\xff\xff\0\0\0\1"
    for text in (b"m", b"c", b"/h"):
        value += len(text).to_bytes(2) + text
    value += (6).to_bytes(4) + len(subscription).to_bytes(4) + subscription + len(assignment).to_bytes(4) + assignment
    return record("0002000167", value.hex())


MEMBERS = [
    pytest.param(
        b"consumer",
        SUBSCRIPTION,
        "",
        {
            "topics": ["t"],
            "userData": None,
            "ownedPartitions": [{"topic": "t", "partitions": [0, 2]}],
            "generationId": 4,
            "rackId": "r",
        },
        "",
        id="a consumer's subscription is decoded, no assignment stays empty",
    ),
    pytest.param(
        b"consumer",
        "0000",
        "000000000001000174000000020000000000000002ffffffff",
        "AAA=",
        {"assignedPartitions": [{"topic": "t", "partitions": [0, 2]}], "userData": None},
        id="a broken subscription stays base64",
    ),
    pytest.param(b"consumer", "0009" + SUBSCRIPTION[4:], "", None, "", id="a version of the future stays base64"),
    pytest.param(b"connect", "0000", "", "AAA=", "", id="another protocol stays base64"),
]


@pytest.mark.parametrize(("protocol_type", "subscription", "assignment", "shown", "assigned"), MEMBERS)
def test_the_dump_tool_opens_what_consumers_wrote(
    protocol_type: bytes, subscription: str, assignment: str, shown: object, assigned: object
) -> None:
    """Members of a group of consumers are shown decoded where their bytes can be read."""
    dumped = json.loads(
        jsonform.dump_payload(group(protocol_type, bytes.fromhex(subscription), bytes.fromhex(assignment)))
    )
    (member,) = dumped["data"]["members"]
    assert member["subscription"] == shown or (shown is None and isinstance(member["subscription"], str))
    assert member["assignment"] == assigned


def test_metadata_and_transactions_have_the_dump_tools_shapes() -> None:
    """A metadata record names its type and keeps its version a number; a transaction is like any other record."""
    topic = decode_metadata(bytes.fromhex("010200027430a5f1d5f224432d89f635c784af26d700"))
    assert isinstance(topic, Record)
    assert jsonform.dump_metadata(topic) == (
        '{"type":"TOPIC_RECORD","version":0,"data":{"name":"t","topicId":"MKXx1fIkQy2J9jXHhK8m1w"}}'
    )
    empty = bytes.fromhex("0000000000000000006400050000ea6000ffffffff00000000000003e8ffffffffffffffff")
    transaction = decode_transaction(b"\0\0\0\1x", empty)
    assert isinstance(transaction, Record)
    assert jsonform.dump_key(transaction) == '{"type":"0","data":{"transactionalId":"x"}}'
    assert '"transactionPartitions":null' in jsonform.dump_payload(transaction)


def test_a_tag_that_is_null_is_shown_and_one_at_its_default_is_not() -> None:
    """Native KIP-848 members write their classic part as an explicit null, and tools print it."""
    value = "00000002720263032f68020274000000012c08756e69666f726d"
    shown = jsonform.console(record("000500016700016d", value + "01000100"))
    hidden = jsonform.console(record("000500016700016d", value + "00"))
    assert shown.endswith(',"serverAssignor":"uniform","classicMemberMetadata":null}}}')
    assert hidden.endswith(',"serverAssignor":"uniform"}}}')


DOUBLES = [(0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (1e7, "1.0E7"), (123456.789, "123456.789"), (0.001, "0.001")]
DOUBLES += [(1.5e-5, "1.5E-5"), (1e22, "1.0E22"), (float("inf"), '"Infinity"'), (float("nan"), '"NaN"')]


@pytest.mark.parametrize(("value", "text"), DOUBLES)
def test_a_double_is_written_as_java_does(value: float, text: str) -> None:
    """Plain between a thousandth and ten million, with an exponent outside."""
    assert jsonform._java_double(value) == text


@given(st.text())
def test_any_text_is_valid_json(text: str) -> None:
    """Python's parser reads back every string that is written."""
    assert json.loads(jsonform._quoted(text)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_finite_double_comes_back(value: float) -> None:
    """The text of a double is the double."""
    assert json.loads(jsonform._java_double(value)) == value
