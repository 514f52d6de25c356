"""Records encoded by Kafka's own serialisers: a name, the bytes, and the expected event."""

import dataclasses
from typing import Final

from decoders import group_events as newer
from decoders.events import ClassicGroupRecorded, ClassicMember, OffsetCommitted, RecordEvent, Removed
from decoders.tables import BY_NUMBER

TOPIC_ID: Final = bytes.fromhex("30a5f1d5f224432d89f635c784af26d7")
LEGACY_KEY: Final = "000000016700017400000001"
COMMIT_KEY: Final = "000100016700017400000001"
GROUP_KEY: Final = "0002000167"


@dataclasses.dataclass(frozen=True)
class Case:
    """One record: its name, key and value in hex (None for a tombstone), and the expected event."""

    name: str
    key: str
    value: str | None
    event: RecordEvent

    @property
    def key_bytes(self) -> bytes:
        return bytes.fromhex(self.key)

    @property
    def value_bytes(self) -> bytes | None:
        """The bytes of the value, None for a tombstone."""
        return None if self.value is None else bytes.fromhex(self.value)


def _tombstone(name: str, key: str, *names: str | int) -> Case:
    """Return a tombstone whose key has these names, in the order of its table."""
    removed = BY_NUMBER[int(key[:4], 16)]
    assert removed.key is not None
    fields = (field.name for field in removed.key.struct.fields)
    return Case(name, key, None, Removed(removed, dict(zip(fields, names, strict=True))))


_PLAIN: Final = OffsetCommitted(
    group="g",
    topic="t",
    partition=1,
    offset=100,
    leader_epoch=None,
    metadata="m",
    commit_timestamp=1234,
    expire_timestamp=None,
    topic_id=None,
)
_V0: Final = "0000000000000000006400016d00000000000004d2"
COMMITS: Final = (
    Case("0.8.2 commit, v0 under key type 0", LEGACY_KEY, _V0, _PLAIN),
    Case("v0 under key type 1", COMMIT_KEY, _V0, _PLAIN),
    Case(
        "0.9 commit, v1 with an expire timestamp",
        COMMIT_KEY,
        "0001000000000000006400016d00000000000004d2000000000000162e",
        dataclasses.replace(_PLAIN, expire_timestamp=5678),
    ),
    Case("2.1 commit, v2", COMMIT_KEY, "0002000000000000006400016d00000000000004d2", _PLAIN),
    Case(
        "2.1 to 4.0 commit, v3 with a leader epoch",
        COMMIT_KEY,
        "000300000000000000640000000700016d00000000000004d2",
        dataclasses.replace(_PLAIN, leader_epoch=7),
    ),
    Case(
        "4.1 commit, flexible v4 in a transaction, no topic id",
        COMMIT_KEY,
        "0004000000000000006400000007026d00000000000004d200",
        dataclasses.replace(_PLAIN, leader_epoch=7),
    ),
    Case(
        "4.1 commit, flexible v4 with a topic id",
        COMMIT_KEY,
        "0004000000000000006400000007026d00000000000004d201001030a5f1d5f224432d89f635c784af26d7",
        dataclasses.replace(_PLAIN, leader_epoch=7, topic_id=TOPIC_ID),
    ),
    _tombstone("tombstone of an offset", COMMIT_KEY, "g", "t", 1),
    _tombstone("tombstone of an offset of 0.8.2", LEGACY_KEY, "g", "t", 1),
)

_MEMBER: Final = ClassicMember(
    member_id="m1",
    group_instance_id=None,
    client_id="c",
    client_host="/h",
    rebalance_timeout=5,
    session_timeout=6,
    subscription=b"\x01\x02",
    assignment=b"",
)
_GROUP: Final = ClassicGroupRecorded(
    group="g",
    protocol_type="consumer",
    generation=3,
    protocol="range",
    leader="m1",
    state_timestamp=None,
    members=(_MEMBER,),
)
_STATIC: Final = dataclasses.replace(_MEMBER, group_instance_id="i")
GROUPS: Final = (
    Case(
        "0.9 group, v0: the session timeout is the rebalance timeout",
        GROUP_KEY,
        "00000008636f6e73756d657200000003000572616e676500026d310000000100026d3100016300022f68"
        "0000000600000002010200000000",
        dataclasses.replace(_GROUP, members=(dataclasses.replace(_MEMBER, rebalance_timeout=6),)),
    ),
    Case(
        "0.10.1 group, v1",
        GROUP_KEY,
        "00010008636f6e73756d657200000003000572616e676500026d310000000100026d3100016300022f68"
        "000000050000000600000002010200000000",
        _GROUP,
    ),
    Case(
        "2.1 group, v2 with a state timestamp",
        GROUP_KEY,
        "00020008636f6e73756d657200000003000572616e676500026d3100000000000004d20000000100026d3100016300022f68"
        "000000050000000600000002010200000000",
        dataclasses.replace(_GROUP, state_timestamp=1234),
    ),
    Case(
        "2.3 group, v3 with a static member",
        GROUP_KEY,
        "00030008636f6e73756d657200000003000572616e676500026d3100000000000004d20000000100026d31000169"
        "00016300022f68000000050000000600000002010200000000",
        dataclasses.replace(_GROUP, state_timestamp=1234, members=(_STATIC,)),
    ),
    Case(
        "flexible v4 group, which no release writes",
        GROUP_KEY,
        "000409636f6e73756d6572000000030672616e6765036d3100000000000004d202036d3102690263032f68"
        "0000000500000006030102010000",
        dataclasses.replace(_GROUP, state_timestamp=1234, members=(_STATIC,)),
    ),
    Case(
        "an empty group: a new generation without protocol and leader",
        GROUP_KEY,
        "00030008636f6e73756d657200000004ffffffff00000000000004d200000000",
        ClassicGroupRecorded("g", "consumer", 4, None, None, 1234, ()),
    ),
    _tombstone("tombstone of a classic group", GROUP_KEY, "g"),
)

_MEMBER_KEY: Final = "00016700016d"
_CONSUMER_MEMBER: Final = newer.MemberRecorded(
    "g", "consumer", "m", "c", "/h", "r", topics=("t",), rebalance_timeout=300, server_assignor="uniform"
)
NEWER: Final = (
    Case("KIP-848 group at epoch 10", "0003000167", "00000000000a00", newer.GroupEpochRecorded("g", "consumer", 10)),
    Case(
        "4.1 group with a metadata hash",
        "0003000167",
        "00000000000a0100080000000000000005",
        newer.GroupEpochRecorded("g", "consumer", 10),
    ),
    Case(
        "KIP-848 member without the classic tag",
        "0005" + _MEMBER_KEY,
        "00000002720263032f68020274000000012c08756e69666f726d00",
        _CONSUMER_MEMBER,
    ),
    Case(
        "KIP-848 member as brokers write it: the classic tag is there, and null",
        "0005" + _MEMBER_KEY,
        "00000002720263032f68020274000000012c08756e69666f726d01000100",
        _CONSUMER_MEMBER,
    ),
    Case(
        "member that still speaks the classic protocol",
        "0005" + _MEMBER_KEY,
        "00000002720263032f68020274010000012c00010010010000002d020672616e676502090000",
        dataclasses.replace(_CONSUMER_MEMBER, server_assignor=None, classic_session_timeout=45),
    ),
    Case(
        "4.3 target assignment with its timestamp",
        "0006000167",
        "00000000000201000800000000000004d2",
        newer.TargetAssignmentRecorded("g", "consumer", 2, 1234),
    ),
    Case(
        "target assignment of a member with two partitions",
        "0007" + _MEMBER_KEY,
        "00000230a5f1d5f224432d89f635c784af26d70300000000000000010000",
        newer.MemberTargetRecorded("g", "consumer", "m", (("", TOPIC_ID, (0, 1)),)),
    ),
    Case(
        "4.3 current assignment of a member, with an assignment epoch",
        "0008" + _MEMBER_KEY,
        "00000000000200000001000230a5f1d5f224432d89f635c784af26d7020000000001000502000000020100",
        newer.MemberAssignmentRecorded("g", "consumer", "m", 2, "stable", (("", TOPIC_ID, (0,)),)),
    ),
    Case(
        "a regular expression matched one topic",
        "00100001670003742e2a",
        "000002037431000000000000000900000000000004d200",
        newer.TopicRegexResolved("g", "t.*", ("t1",)),
    ),
    Case(
        "4.2 streams group with two tags",
        "0011000167",
        "000000000001000000000000000202000400000003010602026b027600",
        newer.GroupEpochRecorded("g", "streams", 1, 3),
    ),
    Case(
        "streams member with an endpoint at the highest port",
        "0013" + _MEMBER_KEY,
        "000000000263026800000001000000020270010265ffff000100",
        newer.MemberRecorded("g", "streams", "m", "c", "h", rebalance_timeout=1, topology_epoch=2),
    ),
    Case(
        "streams member without an endpoint",
        "0013" + _MEMBER_KEY,
        "000000000263026800000001000000020270ff0100",
        newer.MemberRecorded("g", "streams", "m", "c", "h", rebalance_timeout=1, topology_epoch=2),
    ),
    Case("4.1 share group", "000b000167", "00000000000a000000000000000500", newer.GroupEpochRecorded("g", "share", 10)),
)

OLDER: Final = (
    Case(
        "3.7 target of a member: error 0, one topic, metadata",
        "0007" + _MEMBER_KEY,
        "0000000230a5f1d5f224432d89f635c784af26d702000000000000000100",
        newer.MemberTargetRecorded("g", "consumer", "m", (("", TOPIC_ID, (0,)),)),
    ),
    Case(
        "4.0 share group: only the epoch",
        "000b000167",
        "00000000000a00",
        newer.GroupEpochRecorded("g", "share", 10),
    ),
)
"""Layouts that Kafka replaced without a new version; they are recognised because they fit every byte."""

TOMBSTONES: Final = (
    _tombstone("a KIP-848 group", "0003000167", "g"),
    _tombstone("partition metadata of a group", "0004000167", "g"),
    _tombstone("a KIP-848 member", "0005" + _MEMBER_KEY, "g", "m"),
    _tombstone("a target assignment", "0006000167", "g"),
    _tombstone("a member's target", "0007" + _MEMBER_KEY, "g", "m"),
    _tombstone("a member's partitions", "0008" + _MEMBER_KEY, "g", "m"),
    _tombstone("a share member", "000a" + _MEMBER_KEY, "g", "m"),
    _tombstone("a share group", "000b000167", "g"),
    _tombstone("a share target", "000c000167", "g"),
    _tombstone("a share member's target", "000d" + _MEMBER_KEY, "g", "m"),
    _tombstone("a share member's assignment", "000e" + _MEMBER_KEY, "g", "m"),
    _tombstone("a share group's topics", "000f000167", "g"),
    _tombstone("a regular expression", "00100001670003742e2a", "g", "t.*"),
    _tombstone("a streams group", "0011000167", "g"),
    _tombstone("a streams member", "0013" + _MEMBER_KEY, "g", "m"),
    _tombstone("a streams target", "0014000167", "g"),
    _tombstone("a streams member's target", "0015" + _MEMBER_KEY, "g", "m"),
    _tombstone("a streams member's tasks", "0016" + _MEMBER_KEY, "g", "m"),
    _tombstone("a streams topology", "0017000167", "g"),
)
