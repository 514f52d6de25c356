"""Records as JSON in Kafka's formats; the conformance tests compare them with Kafka's converters."""

import json

from hypothesis import given
from hypothesis import strategies as st

from decoders import jsonform
from decoders.scalar import decode, decode_transaction
from decoders.schema import Record

COMMIT_KEY = "000100016700017400000001"


def record(key: str, value: str | None) -> Record:
    result = decode(bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    assert isinstance(result, Record)
    return result


def test_the_console_format_has_numbers_for_type_and_version() -> None:
    """The format is that of the official formatter."""
    commit = record(COMMIT_KEY, "000300000000000000640000000a00016d00000000000004d2")
    data = '"data":{"group":"g","topic":"t","partition":1}'
    value = '{"version":3,"data":{"offset":100,"leaderEpoch":10,"metadata":"m","commitTimestamp":1234}}'
    assert jsonform.console(commit) == f'{{"key":{{"type":1,{data}}},"value":{value}}}'
    assert jsonform.console(record(COMMIT_KEY, None)) == f'{{"key":{{"type":1,{data}}},"value":null}}'


def test_the_dump_format_has_strings_and_a_word_for_tombstones() -> None:
    """The dump tool prints type and version as strings, and `<DELETE>` for a tombstone."""
    commit = record(COMMIT_KEY, "0000000000000000006400016d00000000000004d2")
    assert jsonform.dump_key(commit) == '{"type":"1","data":{"group":"g","topic":"t","partition":1}}'
    assert jsonform.dump_payload(commit) == (
        '{"version":"0","data":{"offset":100,"metadata":"m","commitTimestamp":1234}}'
    )
    assert jsonform.dump_payload(record(COMMIT_KEY, None)) == "<DELETE>"


def test_transactions_have_the_format_of_the_dump_tool() -> None:
    """A transaction is like any other record."""
    empty = bytes.fromhex("0000000000000000006400050000ea6000ffffffff00000000000003e8ffffffffffffffff")
    transaction = decode_transaction(b"\0\0\0\1x", empty)
    assert isinstance(transaction, Record)
    assert jsonform.dump_key(transaction) == '{"type":"0","data":{"transactionalId":"x"}}'
    assert '"transactionPartitions":null' in jsonform.dump_payload(transaction)


def test_a_tagged_field_that_is_null_is_shown_and_one_at_its_default_is_not() -> None:
    """Brokers write null classic metadata for native KIP-848 members, and the tools print it."""
    value = "00000002720263032f68020274000000012c08756e69666f726d"
    shown = jsonform.console(record("000500016700016d", value + "01000100"))
    hidden = jsonform.console(record("000500016700016d", value + "00"))
    assert shown.endswith(',"serverAssignor":"uniform","classicMemberMetadata":null}}}')
    assert hidden.endswith(',"serverAssignor":"uniform"}}}')


@given(st.text())
def test_any_text_is_valid_json(text: str) -> None:
    """Python's parser returns every string unchanged."""
    assert json.loads(jsonform._quoted(text)) == text
