"""The types of the responses about the cluster and its topics."""

from typing import Annotated

from typing_extensions import TypedDict

from exporters.api_types.json_object import EXPERIMENTAL, Fields, Json, JsonObject, row
from exporters.catalogue import brokers
from exporters.catalogue.topics import CLUSTER_TOPICS, FOLLOWERS, SHARE_PARTITIONS, TOPIC_PARTITIONS

ConfigRow = Annotated[Json, row("ConfigRow", brokers.CONFIGS, "scope", "name", are_unmarked=True)]
OffsetsReplicaRow = Annotated[Json, row("OffsetsReplicaRow", brokers.OFFSETS_REPLICAS)]
UnknownFactRow = Annotated[Json, row("UnknownFactRow", brokers.UNKNOWN_FACTS, are_unmarked=True)]
QuorumReplicaRow = Annotated[Json, row("QuorumReplicaRow", brokers.QUORUM_REPLICAS)]
ReassignmentRow = Annotated[Json, row("ReassignmentRow", brokers.REASSIGNMENTS)]
FeatureRow = Annotated[Json, row("FeatureRow", brokers.FEATURES)]
BrokerFeatureRow = Annotated[Json, row("BrokerFeatureRow", brokers.BROKER_FEATURES, are_unmarked=True)]
BrokerDiskRow = Annotated[Json, row("BrokerDiskRow", brokers.BROKER_DISKS, are_unmarked=True)]
QuotaRow = Annotated[Json, row("QuotaRow", brokers.QUOTAS, are_unmarked=True)]
SharePartitionRow = Annotated[Json, row("SharePartitionRow", SHARE_PARTITIONS, are_unmarked=True)]
TopicPartitionRow = Annotated[Json, row("TopicPartitionRow", TOPIC_PARTITIONS, "topic", are_unmarked=True)]
FollowerRow = Annotated[Json, row("FollowerRow", FOLLOWERS, "topic", are_unmarked=True)]


class _BrokerParts(TypedDict):
    """What is not in the row of a broker."""

    controller: bool | None
    configs: list[ConfigRow]


BrokerObject = Annotated[
    Json,
    JsonObject("BrokerObject", "A broker with its role and its settings.", (Fields(brokers.BROKERS), _BrokerParts)),
]


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


class QuorumObject(TypedDict):
    """The metadata quorum of a KRaft cluster; its leader is the controller."""

    leader_epoch: int
    high_watermark: int | None
    voters: int | None
    voters_behind: int | None
    replicas: list[QuorumReplicaRow]


class VersionsObject(TypedDict):
    """The features of the cluster and of its brokers, and a sentence for each set of brokers that differs."""

    features: list[FeatureRow]
    by_broker: list[BrokerFeatureRow]
    mixed: tuple[str, ...]


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


class _TopicParts(TypedDict):
    """What is not in the row of a topic."""

    time: str
    bytes: Annotated[int | None, EXPERIMENTAL]
    configs: list[ConfigRow]
    by_partition: list[TopicPartitionRow]
    followers: Annotated[list[FollowerRow], EXPERIMENTAL]


TopicResponse = Annotated[
    Json,
    JsonObject("TopicResponse", "`/api/v1/topics/NAME`.", (Fields(CLUSTER_TOPICS, are_unmarked=True), _TopicParts)),
]
