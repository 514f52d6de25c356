"""The record types of each use, as numbers: these tests find a wrong column in `RECORD_TYPES`."""

from stream.groups.membership import record_types
from stream.groups.membership.record_types import record_type_of


def test_types_of_each_use() -> None:
    """Each set has the numbers of Kafka's CoordinatorRecordType."""
    numbers = {
        "TOPIC_NAME_TYPES": {4, 15},
        "SUBSCRIBED_TOPICS_TYPES": {4},
        "TARGET_TYPES": {7, 13, 21},
        "TARGET_EPOCH_TYPES": {6, 12, 20},
        "MEMBERSHIP_TYPES": {3, 5, 6, 8, 10, 11, 12, 14, 16, 17, 19, 20, 22, 23},
        "STATE_TYPES": {3, 5, 6, 8, 10, 11, 12, 14, 17, 19, 20, 22, 23},
    }
    assert {name: getattr(record_types, name) for name in numbers} == numbers


def test_types_of_each_kind() -> None:
    """Every type from 3 on that Kafka has not removed belongs to one newer kind; type 4 alone makes no group."""
    share, streams = {10, 11, 12, 13, 14, 15}, {17, 19, 20, 21, 22, 23}
    types, group_types = dict(record_types.TYPES_OF_KIND), dict(record_types.GROUP_TYPES)
    assert types == {"consumer": {3, 4, 5, 6, 7, 8, 16}, "share": share, "streams": streams}
    assert group_types == {"consumer": {3, 5, 6, 7, 8, 16}, "share": share, "streams": streams}
    assert record_types.CLASSIC_GROUP_TYPE == 2


def test_the_type_of_a_key_is_its_first_int16() -> None:
    """The type is signed and in network byte order."""
    assert [record_type_of(key) for key in (b"\x00\x02g", b"\x01\x00", b"\xff\xff")] == [2, 256, -1]
