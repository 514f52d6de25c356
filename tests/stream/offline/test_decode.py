"""Decoding of rows into the format of Kafka's console formatters, and errors as JSON."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stream.offline.capture import CaptureFile
from stream.offline.rows import OFFSETS_TOPIC, TOPICS, LogRow, decode
from tests.stream.offline.captures import RECORDED, row
from tests.support.raw import commit_key, commit_value, group_key, group_value

COMMIT = commit_key("g", "t", 1)
V3 = commit_value(100, 1234, metadata="m", leader_epoch=10)
GROUP = group_value(3, ["a"])
JSON = (
    '{"key":{"type":1,"data":{"group":"g","topic":"t","partition":1}},'
    '"value":{"version":3,"data":{"offset":100,"leaderEpoch":10,"metadata":"m","commitTimestamp":1234}}}'
)


def test_error_has_position_and_reason() -> None:
    """A malformed record becomes one JSON object with the position of the row, the reason and the bytes."""
    assert decode(row(0, COMMIT, V3)) == (JSON, True)
    answer = json.loads(decode(LogRow(OFFSETS_TOPIC, 2, 7, None, COMMIT, V3[:12]))[0])
    assert answer["error"] == {
        "type": 1, "version": 3, "field": "value.leader_epoch", "position": 10, "reason": "short",
    }  # fmt: skip
    assert (answer["partition"], answer["offset"], answer["key"]) == (2, 7, COMMIT.hex())


KEYS = st.none() | st.sampled_from([COMMIT, group_key("g")]) | st.binary(max_size=60)
VALUES = st.none() | st.sampled_from([V3, GROUP]) | st.binary(max_size=60)


@given(KEYS, VALUES, st.sampled_from(TOPICS))
def test_any_bytes_have_either_a_text_or_an_error(key: bytes | None, value: bytes | None, topic: str) -> None:
    """A row of any bytes and any topic has either a text or an error, which is JSON."""
    line, is_decoded = decode(LogRow(topic, 0, 0, None, key, value))
    assert line if is_decoded else json.loads(line)["error"]["reason"]


def test_recorded_traffic_of_every_kind_is_decoded() -> None:
    """All records of a 4.3 broker for groups of every kind and their transactions are decoded."""
    seen: Counter[tuple[str, int]] = Counter()
    for each in CaptureFile(RECORDED).rows():
        seen[each.topic, json.loads(decode(each)[0])["key"]["type"]] += 1
    # All types that 4.3 writes, that is without 4 and the retired 9 and 18.
    assert {number for topic, number in seen if topic == OFFSETS_TOPIC} == {*range(1, 24)} - {4, 9, 18}
    assert seen["__transaction_state", 0]
    assert seen["__share_group_state", 0]
