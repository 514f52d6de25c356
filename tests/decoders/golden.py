"""Records as Kafka's own serialisers write them: a story, the bytes, and the facts they state."""

from __future__ import annotations

import dataclasses
from typing import Final

from decoders.events import (
    ClassicGroupForgotten,
    ClassicGroupRecorded,
    ClassicMember,
    Event,
    OffsetCommitted,
    OffsetForgotten,
)

TOPIC_ID: Final = bytes.fromhex("30a5f1d5f224432d89f635c784af26d7")
LEGACY_KEY: Final = "000000016700017400000001"
COMMIT_KEY: Final = "000100016700017400000001"
GROUP_KEY: Final = "0002000167"


@dataclasses.dataclass(frozen=True)
class Case:
    """One record: its story, key and value in hex (None for a tombstone), and the event it becomes."""

    story: str
    key: str
    value: str | None
    event: Event

    @property
    def key_bytes(self) -> bytes:
        """The key."""
        return bytes.fromhex(self.key)

    @property
    def value_bytes(self) -> bytes | None:
        """The value, None for a tombstone."""
        return None if self.value is None else bytes.fromhex(self.value)


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
    legacy=False,
)
_V0: Final = "0000000000000000006400016d00000000000004d2"
COMMITS: Final = (
    Case("0.8.2 commit, v0 under key type 0", LEGACY_KEY, _V0, dataclasses.replace(_PLAIN, legacy=True)),
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
    Case("a forgotten offset", COMMIT_KEY, None, OffsetForgotten("g", "t", 1, legacy=False)),
    Case("a forgotten offset of 0.8.2", LEGACY_KEY, None, OffsetForgotten("g", "t", 1, legacy=True)),
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
        "0.9 group, v0: the session timeout serves for the rebalance timeout",
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
        "2.1 group, v2 with the time of its state",
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
        "an emptied group: the generation moves on, protocol and leader go",
        GROUP_KEY,
        "00030008636f6e73756d657200000004ffffffff00000000000004d200000000",
        ClassicGroupRecorded("g", "consumer", 4, None, None, 1234, ()),
    ),
    Case("a forgotten group", GROUP_KEY, None, ClassicGroupForgotten("g")),
)
