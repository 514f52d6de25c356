"""Events decoded from records: frozen facts in the past tense, independent of bytes, versions and layouts.

Timestamps are Unix milliseconds, None if the record has none. Topic ids are 16 raw bytes, None if unknown (Kafka's zero
uuid). This module has offsets and classic groups, `decoders.group_events` the newer group types, and
`decoders.cluster_events` the other internal topics.
"""

import dataclasses

from decoders.cluster_events import ClusterEvent
from decoders.group_events import GroupEvent


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetCommitted:
    """A group committed the next offset to read for a partition (types 0 and 1).

    `legacy` marks a key of type 0 (0.8.2); compaction treats it as a different key from type 1 with the same names.
    `leader_epoch` is the epoch of the last consumed record, None if unknown. `expire_timestamp` is set only in commits
    with an explicit retention and in commits written by 0.9 to 2.0.
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
    """The broker removed a committed offset: it expired, or it or its topic was deleted (tombstone of type 0 or 1)."""

    group: str
    topic: str
    partition: int
    legacy: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ClassicMember:
    """A member of a classic group in one generation.

    Both timeouts are in milliseconds; `rebalance_timeout` is the session timeout if the record (v0) has none.
    `subscription` and `assignment` are bytes of the embedded protocol (`decoders.blobs`), empty if there is none.
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
    """The state of a classic group when the record was written (type 2): a synced generation, or an empty group.

    No members means Empty, any member means Stable; the broker never writes other states. `state_timestamp` is the time
    of the last state change, from which the expiry of an Empty group is counted.
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
    """The broker removed a classic group (tombstone of type 2). Its offsets may remain."""

    group: str


Event = OffsetCommitted | OffsetRemoved | ClassicGroupRecorded | ClassicGroupRemoved | GroupEvent | ClusterEvent
