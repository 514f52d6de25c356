"""Events decoded from `__transaction_state` and `__share_group_state`."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class TransactionStateRecorded:
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
    previous_producer_id: int | None
    next_producer_id: int | None
    client_transaction_version: int


@dataclasses.dataclass(frozen=True, slots=True)
class TransactionalIdExpired:
    """A transactional id expired (tombstone)."""

    transactional_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class SharePartitionStateRecorded:
    """The state of a share group in one partition: a full snapshot, or the changes since the snapshot of this epoch.

    `start_offset` is the first offset not yet finished; -1 means not set in a snapshot and unchanged in an update.
    `batches` are (first offset, last offset, delivery state, delivery count) of records in flight. `state_epoch` is
    None in an update. The timestamps are None in an update and in a snapshot written by 4.0.
    """

    group: str
    topic_id: bytes
    partition: int
    snapshot: bool
    snapshot_epoch: int
    state_epoch: int | None
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int | None
    create_timestamp: int | None
    write_timestamp: int | None
    batches: tuple[tuple[int, int, int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SharePartitionStateRemoved:
    """The state of a share group in one partition was removed (tombstone of a snapshot or an update)."""

    group: str
    topic_id: bytes
    partition: int


ClusterEvent = (
    TransactionStateRecorded | TransactionalIdExpired | SharePartitionStateRecorded | SharePartitionStateRemoved
)
