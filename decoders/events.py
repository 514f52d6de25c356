"""What a record means: frozen facts in the past tense, free of bytes, versions and layouts.

Times are Unix milliseconds and None where the record does not carry one. Ids of topics are 16 raw bytes, None where
unknown (Kafka's zero uuid). Here are offsets and classic groups; `decoders.group_events` has the newer kinds,
`decoders.cluster_events` the neighbouring topics.
"""

from __future__ import annotations

import dataclasses

from decoders.cluster_events import ClusterEvent
from decoders.group_events import GroupEvent


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetCommitted:
    """A group stored "next offset to read" for a partition (types 0 and 1).

    `legacy` marks a key of type 0 (0.8.2): for compaction it is another key than type 1 of the same names.
    `leader_epoch` is that of the last record consumed, None when unknown; `expire_timestamp` is set only in commits
    that asked for a retention of their own and in those of 0.9 to 2.0.
    """

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None
    topic_id: bytes | None
    legacy: bool


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetRemoved:
    """The broker forgot a committed offset: expired, deleted, or its topic went away (tombstone of type 0 or 1)."""

    group: str
    topic: str
    partition: int
    legacy: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ClassicMember:
    """A member of a classic group in one generation.

    `rebalance_timeout` is the session timeout where the record (v0) has none; both in milliseconds. `subscription` and
    `assignment` are the protocol's own bytes (`decoders.blobs`); zero bytes are legal and mean there is none.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int
    subscription: bytes
    assignment: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class ClassicGroupRecorded:
    """A classic group stood so when the record was written (type 2): a synced generation, or an emptied group.

    No members means Empty, any member means Stable as of this record; other states are never written.
    `state_timestamp` is the last change of state before that: for an Empty group the base of its expiry.
    """

    group: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp: int | None
    members: tuple[ClassicMember, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ClassicGroupRemoved:
    """The broker forgot a classic group (tombstone of type 2). Its offsets may live on."""

    group: str


Event = OffsetCommitted | OffsetRemoved | ClassicGroupRecorded | ClassicGroupRemoved | GroupEvent | ClusterEvent
