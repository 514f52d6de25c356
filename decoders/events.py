"""Events decoded from records: frozen facts in the past tense, independent of bytes, versions and layouts.

Timestamps are Unix milliseconds, None if the record has none. Topic ids are 16 raw bytes, None if unknown (Kafka's zero
uuid). This module has tombstones, offsets, classic groups and the other internal topics, `decoders.group_events` the
newer group types.
"""

import dataclasses

from decoders.schema import Fields, RecordType


class RecordEvent:
    """The meaning of one record."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Removed(RecordEvent):
    """The broker removed what the key of a tombstone names.

    An offset (types 0 and 1): it expired, or it or its topic was deleted. A classic group (2): its offsets may remain.
    The epoch of a group (3, 11, 17): the group was removed as this type, deleted, expired or converted. Partition
    metadata (4): each deletion of a group, since 4.1. A member (5, 10, 19): it left or was fenced. A regular expression
    (16): no member subscribes to it any more. A topology (23): the last record of a streams group. A transactional id:
    it expired. The state of a share group in a partition: of a snapshot or an update.
    """

    type: RecordType
    key: Fields

    @property
    def group(self) -> str:
        """The group; the key of a transaction has none."""
        name: str = self.key["group" if "group" in self.key else "group_id"]
        return name

    @property
    def member_id(self) -> str:
        """The member; empty if the key names none."""
        return str(self.key.get("member_id", ""))


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetCommitted(RecordEvent):
    """A group committed the next offset to read for a partition (types 0 and 1).

    Type 0 is that of 0.8.2; compaction treats its keys as different ones from those of type 1 with the same names.
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
class ClassicGroupRecorded(RecordEvent):
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
class TransactionStateRecorded(RecordEvent):
    """The state of a transactional id (`__transaction_state`).

    `transaction_state` is Kafka's name: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort,
    Dead, PrepareEpochFence, or "Unknown(n)". `partitions` are (topic, partitions); it is empty and `start_timestamp`
    is None while there is no transaction. The timeout is in milliseconds.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    transaction_state: str
    timeout: int
    partitions: tuple[tuple[str, tuple[int, ...]], ...]
    last_update_timestamp: int
    start_timestamp: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class SharePartitionStateRecorded(RecordEvent):
    """The state of a share group in one partition: a full snapshot, or the changes since the snapshot of this epoch.

    `start_offset` is the first offset not yet finished; -1 means not set in a snapshot and unchanged in an update.
    `batches` are (first offset, last offset, delivery state, delivery count) of records in flight.
    """

    group: str
    topic_id: bytes
    partition: int
    snapshot: bool
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int | None
    batches: tuple[tuple[int, int, int, int], ...]
