"""The types of the responses about the cluster and its topics."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from exporters.api_types.stability import EXPERIMENTAL


class ConfigRow(TypedDict):
    """A row of CONFIGS without its scope and name."""

    key: str
    value: str | None
    source: str | None
    unknown_reason: str | None


class BrokerRow(TypedDict):
    """A row of BROKERS."""

    broker: int
    host: str | None
    port: int | None
    rack: str | None
    leads: int | None
    holds: int | None


class BrokerObject(BrokerRow):
    """A broker with its role and its settings."""

    controller: bool | None
    configs: list[ConfigRow]


class OffsetsReplicaRow(TypedDict):
    """A row of OFFSETS_REPLICAS."""

    broker: int
    bytes: int | None
    growth: Annotated[float | None, EXPERIMENTAL]
    unknown_reason: str | None


class OffsetsTopicObject(TypedDict):
    """Size, configuration and compaction of `__consumer_offsets`."""

    by_broker: list[OffsetsReplicaRow]
    cleaner_suspect: Annotated[bool | None, EXPERIMENTAL]
    cleaner_evidence: Annotated[tuple[str, ...], EXPERIMENTAL]
    configs: list[ConfigRow]


class TotalsObject(TypedDict):
    """Sums over all topics that could be described."""

    topics: int
    partitions: int
    under_replicated: int
    leaderless: int


class UnknownFactRow(TypedDict):
    """A row of UNKNOWN_FACTS."""

    fact: str
    reason: str
    amount: int


class QuorumReplicaRow(TypedDict):
    """A row of QUORUM_REPLICAS."""

    replica: int
    role: str
    directory: str | None
    log_end_offset: int | None
    lag: int | None
    last_fetch_time: str | None
    last_caught_up_time: str | None


class QuorumObject(TypedDict):
    """The metadata quorum of a KRaft cluster; its leader is the controller."""

    leader_epoch: int
    high_watermark: int | None
    voters: int | None
    voters_behind: int | None
    replicas: list[QuorumReplicaRow]


class ReassignmentRow(TypedDict):
    """A row of REASSIGNMENTS."""

    topic: str
    partition: int
    replica_brokers: list[int]
    adding_brokers: list[int]
    removing_brokers: list[int]


class FeatureRow(TypedDict):
    """A row of FEATURES."""

    feature: str
    level: int


class BrokerFeatureRow(TypedDict):
    """A row of BROKER_FEATURES."""

    broker: int
    feature: str
    min_level: int
    max_level: int


class VersionsObject(TypedDict):
    """The features of the cluster and of its brokers, and a sentence for each set of brokers that differs."""

    features: list[FeatureRow]
    by_broker: list[BrokerFeatureRow]
    mixed: tuple[str, ...]


class BrokerDiskRow(TypedDict):
    """A row of BROKER_DISKS."""

    broker: int
    bytes: int
    left_replicas: int


class QuotaRow(TypedDict):
    """A row of QUOTAS. `value` is null for a quota that is no finite number, which limits nothing."""

    user: str
    client_id: str
    ip: str
    key: str
    value: float | None


class SharePartitionRow(TypedDict):
    """A row of SHARE_PARTITIONS."""

    group: str
    topic: str
    partition: int
    end: int | None
    start_offset: int | None
    lag: int | None
    finished: int | None
    returned: int | None
    most_deliveries: int | None
    acknowledged: int
    archived: int
    returns: int


class ClusterResponse(TypedDict):
    """`/api/v1/cluster`."""

    time: str
    cluster_id: str | None
    controller: int | None
    controller_unknown_reason: str | None
    brokers: list[BrokerObject]
    totals: TotalsObject
    offsets_topic: OffsetsTopicObject
    quorum: Annotated[QuorumObject | None, EXPERIMENTAL]
    reassignments: Annotated[list[ReassignmentRow] | None, EXPERIMENTAL]
    versions: Annotated[VersionsObject | None, EXPERIMENTAL]
    quotas: Annotated[list[QuotaRow] | None, EXPERIMENTAL]
    disks: Annotated[list[BrokerDiskRow], EXPERIMENTAL]
    share_groups: Annotated[list[SharePartitionRow] | None, EXPERIMENTAL]
    unknown: list[UnknownFactRow]


class ClusterTopicRow(TypedDict):
    """A row of CLUSTER_TOPICS."""

    topic: str
    partitions: int | None
    replication_factor: int | None
    under_replicated: int | None
    leaderless: int | None
    at_min_isr: int | None
    under_min_isr: int | None
    preferred_leaders_ratio: float | None
    brokers_skewed_ratio: float | None
    brokers_spread_ratio: float | None
    leaders_skewed_ratio: float | None
    under_replicated_ratio: float | None


class TopicPartitionRow(TypedDict):
    """A row of TOPIC_PARTITIONS without the topic."""

    partition: int
    leader: int | None
    leader_epoch: int | None
    replicas: int | None
    in_sync_replicas: int | None
    under_replicated: bool | None
    preferred_leader: bool | None
    replica_brokers: list[int] | None
    in_sync_brokers: list[int] | None
    offline_brokers: list[int] | None


class FollowerRow(TypedDict):
    """A row of FOLLOWERS without the topic."""

    partition: int
    broker: int
    lag: int


class TopicResponse(ClusterTopicRow):
    """`/api/v1/topics/NAME`."""

    time: str
    bytes: Annotated[int | None, EXPERIMENTAL]
    configs: list[ConfigRow]
    by_partition: list[TopicPartitionRow]
    followers: Annotated[list[FollowerRow], EXPERIMENTAL]
