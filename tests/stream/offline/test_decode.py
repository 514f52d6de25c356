"""Decoding of rows into the formats of Kafka's console formatters, and errors as JSON."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stream.offline.capture import CaptureFile
from stream.offline.decode import TOPICS, RecordFormat, decode
from stream.offline.rows import OFFSETS_TOPIC, LogRow
from tests.stream.offline.captures import RECORDED, row
from tests.support.raw import commit_key, commit_value, group_key, group_value

COMMIT = commit_key("g", "t", 1)
V1, V3 = commit_value(100, 1234, version=1, metadata="m"), commit_value(100, 1234, metadata="m", leader_epoch=10)
BARE = commit_value(7, 1234)
GROUP = group_value(3, ["a"])


OF_GROUP = group_key("g")
TIMES = "commitTimestamp=1234, expireTimestamp=None)"
JSON = (
    '{"key":{"type":1,"data":{"group":"g","topic":"t","partition":1}},'
    '"value":{"version":3,"data":{"offset":100,"leaderEpoch":10,"metadata":"m","commitTimestamp":1234}}}'
)
METADATA = (
    "g::GroupMetadata(groupId=g, generation=3, protocolType=Some(consumer), currentState=Stable, members=Map(a"
    " -> MemberMetadata(memberId=a, groupInstanceId=None, clientId=client, clientHost=/127.0.0.1,"
    " sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range))))"
)
EPOCH, NO_EPOCH = "leaderEpoch=Optional[10], metadata=m", "leaderEpoch=Optional.empty, metadata="
FORMATS: list[tuple[str, bytes, bytes | None, str | None]] = [
    ("json", COMMIT, V3, JSON),
    # 3.9 calls the type version.
    ("json-3.9", COMMIT, None, '{"key":{"version":1,"data":{"group":"g","topic":"t","partition":1}},"value":null}'),
    ("text-0.8", COMMIT, V3, "[g,t,1]::OffsetAndMetadata[100,m,1234]"),
    ("text-0.8", COMMIT, BARE, "[g,t,1]::OffsetAndMetadata[7,NO_METADATA,1234]"),
    ("text-0.8", COMMIT, None, "[g,t,1]::NULL"),
    # 0.8.2 has no groups.
    ("text-0.8", OF_GROUP, GROUP, None),
    ("text-0.9", COMMIT, V1, "[g,t,1]::[OffsetMetadata[100,m],CommitTime 1234,ExpirationTime -1]"),
    ("text-0.9", OF_GROUP, GROUP, "g::[g,Some(consumer),Stable,Map(a -> [a,client,/127.0.0.1,45000])]"),
    ("text-2.1", COMMIT, V3, f"[g,t,1]::OffsetAndMetadata(offset=100, {EPOCH}, {TIMES}"),
    ("text-2.1", COMMIT, BARE, f"[g,t,1]::OffsetAndMetadata(offset=7, {NO_EPOCH}, {TIMES}"),
    ("text-2.1", OF_GROUP, GROUP, METADATA),
    ("text-2.1", OF_GROUP, None, "g::NULL"),
]


def test_formats() -> None:
    """Each format equals the output of the formatter of its Kafka versions; records it did not print have no text."""
    lines = [decode(row(0, key, value), RecordFormat(record_format)) for record_format, key, value, _ in FORMATS]
    assert [(line.text, line.error) for line in lines] == [(text, None) for *_, text in FORMATS]


def test_error_has_position_and_reason() -> None:
    """A malformed record becomes one JSON object with the position of the row, the reason and the bytes."""
    line = decode(LogRow(OFFSETS_TOPIC, 2, 7, None, COMMIT, V3[:12]))
    assert line.text is None
    answer = json.loads(line.error or "")
    assert answer["error"] == {
        "type": 1, "version": 3, "field": "value.leader_epoch", "position": 10, "reason": "short",
    }  # fmt: skip
    assert (answer["partition"], answer["offset"], answer["key"]) == (2, 7, COMMIT.hex())


KEYS = st.none() | st.sampled_from([COMMIT, group_key("g")]) | st.binary(max_size=60)
VALUES = st.none() | st.sampled_from([V3, GROUP]) | st.binary(max_size=60)
PRINTED_TYPES = {RecordFormat.TEXT_0_8: {0, 1}, RecordFormat.TEXT_0_9: {0, 1, 2}, RecordFormat.TEXT_2_1: {0, 1, 2}}


@given(KEYS, VALUES, st.sampled_from(TOPICS))
def test_any_bytes_have_either_a_text_or_an_error(key: bytes | None, value: bytes | None, topic: str) -> None:
    """A row of any bytes and any topic has either a text or an error; an error is JSON and equal in all formats.

    Only records of types that a text format does not print have neither.
    """
    row = LogRow(topic, 0, 0, None, key, value)
    json_line = decode(row)
    for record_format in RecordFormat:
        line = decode(row, record_format)
        assert line.error == json_line.error
        if line.error is not None:
            assert json.loads(line.error)["error"]["reason"]
            assert line.text is None
        elif record_format in PRINTED_TYPES:
            record_type = json.loads(json_line.text or "")["key"]["type"] if topic == OFFSETS_TOPIC else None
            assert (line.text is not None) == (record_type in PRINTED_TYPES[record_format])
        else:
            assert line.text


def test_recorded_traffic_of_every_kind_is_decoded() -> None:
    """All records of a 4.3 broker for groups of every kind and their transactions are decoded."""
    seen: Counter[tuple[str, int]] = Counter()
    for each in CaptureFile(RECORDED).rows():
        line = decode(each)
        assert line.error is None
        seen[each.topic, json.loads(line.text or "")["key"]["type"]] += 1
    # All types that 4.3 writes, that is without 4 and the retired 9 and 18.
    assert {number for topic, number in seen if topic == OFFSETS_TOPIC} == {*range(1, 24)} - {4, 9, 18}
    assert seen["__transaction_state", 0]
    assert seen["__share_group_state", 0]
