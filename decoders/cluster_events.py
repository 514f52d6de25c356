"""What the records of the neighbouring topics mean: transactions, share partitions, and the cluster's own metadata."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class TransactionStateRecorded:
    """A transactional id stands so (`__transaction_state`).

    `transaction_state` is Kafka's name: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort,
    Dead, PrepareEpochFence, or "Unknown(n)". `partitions` are (topic, partitions), empty while there is no
    transaction; `start_timestamp` is None there too. The timeout is in milliseconds.
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
    """A share group stands so in one partition: a whole snapshot, or what changed since the snapshot of this epoch.

    `start_offset` is the first offset not yet finished; -1 means not set in a snapshot and unchanged in an update.
    `batches` are (first offset, last offset, delivery state, delivery count) of records in flight. `state_epoch` and
    the times are None in an update, the times also in a snapshot of 4.0.
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
    """A share group's state of one partition is gone (tombstone of a snapshot or an update)."""

    group: str
    topic_id: bytes
    partition: int


@dataclasses.dataclass(frozen=True, slots=True)
class TopicCreated:
    """A topic exists under this name and id."""

    topic: str
    topic_id: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class TopicDeleted:
    """A topic is gone, and with it its partitions and its configuration."""

    topic_id: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionRecorded:
    """A partition stands so. `leader` is None while nobody leads."""

    topic_id: bytes
    partition: int
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionChanged:
    """A partition changed; None means as before.

    With `sets_leader` the leader epoch rises by one, even if `leader` is the one before; then a `leader` of None means
    that nobody leads. The partition epoch rises by one in any case (Kafka's PartitionRegistration.merge).
    """

    topic_id: bytes
    partition: int
    sets_leader: bool
    leader: int | None
    isr: tuple[int, ...] | None
    replicas: tuple[int, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigChanged:
    """A dynamic configuration was set, or deleted where `value` is None.

    `resource_type`: 2 topic, 4 broker (an empty name is the cluster's default), 8 logger, 16 client metrics, 32 group.
    """

    resource_type: int
    resource_name: str
    name: str
    value: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureLevelChanged:
    """A feature (metadata.version, group.version, transaction.version, ...) stands at this level; 0 removes it."""

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
    """A broker is gone from the cluster."""

    broker: int
    broker_epoch: int


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerChanged:
    """A registered broker changed; None means as before."""

    broker: int
    broker_epoch: int
    fenced: bool | None
    in_controlled_shutdown: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class MetadataTransactionBegun:
    """Records of the metadata log are held back from here on."""

    name: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class MetadataTransactionEnded:
    """What was held back counts, or was dropped where `aborted`."""

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
