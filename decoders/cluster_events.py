"""Events decoded from `__transaction_state`, `__share_group_state` and `__cluster_metadata`."""

from __future__ import annotations

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


@dataclasses.dataclass(frozen=True, slots=True)
class TopicCreated:
    """A topic was created with this name and id."""

    topic: str
    topic_id: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class TopicDeleted:
    """A topic was deleted, with its partitions and its configuration."""

    topic_id: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionRecorded:
    """The full state of a partition. `leader` is None while the partition has no leader."""

    topic_id: bytes
    partition: int
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionChanged:
    """Changes to a partition; None means unchanged.

    With `sets_leader` the leader epoch increases by one, even if `leader` is the previous leader; a `leader` of None
    then means that the partition has no leader. The partition epoch always increases by one (Kafka's
    PartitionRegistration.merge).
    """

    topic_id: bytes
    partition: int
    sets_leader: bool
    leader: int | None
    isr: tuple[int, ...] | None
    replicas: tuple[int, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigChanged:
    """A dynamic configuration was set, or deleted if `value` is None.

    `resource_type`: 2 topic, 4 broker (an empty name is the cluster default), 8 logger, 16 client metrics, 32 group.
    """

    resource_type: int
    resource_name: str
    name: str
    value: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureLevelChanged:
    """A feature (metadata.version, group.version, transaction.version, ...) was set to this level; 0 removes it."""

    feature: str
    level: int


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerRegistered:
    """A broker registered; `endpoints` are (listener, host, port)."""

    broker: int
    broker_epoch: int
    incarnation_id: bytes
    endpoints: tuple[tuple[str, str, int], ...]
    rack: str | None
    fenced: bool


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerUnregistered:
    """A broker was removed from the cluster."""

    broker: int
    broker_epoch: int


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerChanged:
    """Changes to a registered broker; None means unchanged."""

    broker: int
    broker_epoch: int
    fenced: bool | None
    in_controlled_shutdown: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class MetadataTransactionBegun:
    """A metadata transaction begins: the records that follow take effect only when it ends."""

    name: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class MetadataTransactionEnded:
    """A metadata transaction ended: its records take effect, or are dropped if `aborted`."""

    aborted: bool


ClusterEvent = (
    TransactionStateRecorded
    | TransactionalIdExpired
    | SharePartitionStateRecorded
    | SharePartitionStateRemoved
    | TopicCreated
    | TopicDeleted
    | PartitionRecorded
    | PartitionChanged
    | ConfigChanged
    | FeatureLevelChanged
    | BrokerRegistered
    | BrokerUnregistered
    | BrokerChanged
    | MetadataTransactionBegun
    | MetadataTransactionEnded
)
