"""The types of the JSON responses of the HTTP API.

A row has the columns of its table in `exporters.readmodel` or `exporters.cluster.model` under the same names; a test
compares them. Times are RFC 3339 strings in UTC, durations are seconds, an unknown value is None (`null`).
"""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

EvidenceValue = str | float | int | bool | None


class GroupRow(TypedDict):
    """A row of GROUPS."""

    group: str
    kind: str | None
    state: str | None
    protocol_type: str | None
    protocol: str | None
    generation: int | None
    members: int | None
    partitions: int | None
    lag_sum: int | None
    lag_max: int | None
    partitions_lag_unknown: int | None
    last_commit_time: str | None
    state_asked: bool | None
    state_since: str | None
    created_time: str | None
    group_epoch: int | None
    assignment_epoch: int | None
    members_idle: int | None
    members_away: int | None
    partitions_unowned: int | None
    topics_unsubscribed: int | None
    first_offset_expiry_time: str | None
    group_expiry_time: str | None
    died_time: str | None
    death_cause: str | None
    verdict: str | None
    severity: str | None
    verdict_since: str | None
    verdict_partitions: int | None
    sentence: str | None
    time_lag_max: float | None
    time_lag_max_exact: bool | None
    held_back: bool | None
    odd_times: int | None
    lost_sum: int | None
    rebalances: int | None
    scalable_lag: int | None
    members_useful: int | None
    records_skipped: int | None
    team: str | None
    tier: str | None
    link: str | None
    max_severity: str | None
    maintenance_until: str | None
    unpaged: bool | None


class PartitionRow(TypedDict):
    """A row of PARTITIONS without the group."""

    topic: str
    partition: int
    committed_offset: int | None
    commit_time: str | None
    progress_time: str | None
    high_watermark: int | None
    last_stable_offset: int | None
    log_start_offset: int | None
    lag: int | None
    lag_unknown_reason: str | None
    offset_expiry_time: str | None
    lost: int | None
    margin: int | None
    time_lag: float | None
    time_lag_exact: bool | None
    produce_rate: float | None
    consume_rate: float | None
    catch_up_seconds: float | None
    trend: str | None
    verdict: str | None
    verdict_since: str | None
    offset_hidden: bool | None
    odd_time: bool | None


class TopicRow(TypedDict):
    """A row of TOPICS without the group."""

    topic: str
    partitions: int | None
    lag_sum: int | None
    lag_max: int | None
    time_lag_max: float | None
    time_lag_max_exact: bool | None
    partitions_lag_unknown: int | None
    verdict: str | None


class UnknownLagRow(TypedDict):
    """A row of UNKNOWN_LAGS."""

    group: str
    reason: str
    partitions: int


class MemberObject(TypedDict):
    """One member of a group (`exporters.readmodel.MemberDetail`)."""

    member_id: str
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    rack: str | None
    epoch: int | None
    state: str | None
    away: bool
    assignor: str | None
    subscription: tuple[str, ...]
    regex: str | None
    assignment: dict[str, tuple[int, ...]]


class TransitionObject(TypedDict):
    """One transition of a group (`exporters.readmodel.TransitionDetail`)."""

    time: str
    transition: str
    text: str
    cause: str | None
    live: bool
    came: int
    went: int


class FindingObject(TypedDict):
    """A verdict with its explanation (`exporters.readmodel.FindingDetail`)."""

    verdict: str
    severity: str
    since: str | None
    sentence: str
    evidence: dict[str, EvidenceValue]
    next_step: str


class PartitionFindingObject(FindingObject):
    """The finding of one partition."""

    topic: str
    partition: int


class VerdictChangeObject(TypedDict):
    """One change of a group's verdict (`exporters.readmodel.VerdictChange`)."""

    time: str
    before: str | None
    verdict: str
    sentence: str


class GroupDetailObject(TypedDict):
    """The detail of one group (`exporters.readmodel.GroupDetail`); all None if nothing is known of the group now."""

    by_member: list[MemberObject] | None
    transitions: list[TransitionObject] | None
    unowned: dict[str, tuple[int, ...]] | None
    unsubscribed: tuple[str, ...] | None
    finding: FindingObject | None
    findings: list[PartitionFindingObject] | None
    verdicts: list[VerdictChangeObject] | None


class CommonCauseRow(TypedDict):
    """A row of COMMON_CAUSES."""

    dimension: str
    key: str
    sick: int
    affected: int
    compared: int
    since: str
    sentence: str
    next_step: str
    groups: list[str]
    muted: int


class GroupsResponse(TypedDict):
    """`/api/v1/groups`.

    Of several instances, `instance` is the part (`i/n`) that has these groups, and `siblings` are the base URLs of all
    parts in their order, if they are configured. A single instance has neither.
    """

    snapshot_time: str
    total: int
    next: int | None
    common_causes: list[CommonCauseRow]
    groups: list[GroupRow]
    instance: NotRequired[str]
    siblings: NotRequired[list[str]]


class TopicGroupRow(TypedDict):
    """A group that reads a topic: a row of TOPICS without the topic, and what the row of the group says of it."""

    group: str
    group_state: str | None
    group_severity: str | None
    team: str | None
    partitions: int | None
    lag_sum: int | None
    lag_max: int | None
    time_lag_max: float | None
    time_lag_max_exact: bool | None
    partitions_lag_unknown: int | None
    verdict: str | None


class TopicGroupsResponse(TypedDict):
    """`/api/v1/topics/NAME/groups`."""

    snapshot_time: str
    topic: str
    total: int
    next: int | None
    groups: list[TopicGroupRow]


class GroupResponse(GroupRow, GroupDetailObject):
    """`/api/v1/group` and `/api/v1/groups/NAME`."""

    snapshot_time: str
    unknown_lags: dict[str, int]
    by_partition: list[PartitionRow]
    by_topic: list[TopicRow]


class ReadinessResponse(TypedDict):
    """`/readyz`."""

    ready: bool
    phase: str
    reasons: tuple[str, ...]
    catch_up_ratio: float | None
    catch_up_seconds_left: float | None
    snapshot_time: str | None


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
    growth: float | None
    unknown_reason: str | None


class OffsetsTopicObject(TypedDict):
    """Size, configuration and compaction of `__consumer_offsets`."""

    by_broker: list[OffsetsReplicaRow]
    cleaner_suspect: bool | None
    cleaner_evidence: tuple[str, ...]
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
    deleted_replicas: int


class QuotaRow(TypedDict):
    """A row of QUOTAS."""

    user: str
    client_id: str
    ip: str
    key: str
    value: float


class ClusterResponse(TypedDict):
    """`/api/v1/cluster`."""

    time: str
    cluster_id: str | None
    controller: int | None
    controller_unknown_reason: str | None
    brokers: list[BrokerObject]
    totals: TotalsObject
    offsets_topic: OffsetsTopicObject
    quorum: QuorumObject | None
    reassignments: list[ReassignmentRow] | None
    versions: VersionsObject | None
    quotas: list[QuotaRow] | None
    disks: list[BrokerDiskRow]
    unknown: list[UnknownFactRow]


class ClusterTopicRow(TypedDict):
    """A row of CLUSTER_TOPICS."""

    topic: str
    partitions: int | None
    replication_factor: int | None
    under_replicated: int | None
    leaderless: int | None
    preferred_leaders_ratio: float | None
    brokers_skewed_ratio: float | None
    brokers_spread_ratio: float | None
    leaders_skewed_ratio: float | None


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
    bytes: int | None
    configs: list[ConfigRow]
    by_partition: list[TopicPartitionRow]
    followers: list[FollowerRow]


class EventOwner(TypedDict):
    """The owner of a group (`groups.owners`)."""

    team: str | None
    tier: str | None
    link: str | None


class VerdictEventData(TypedDict):
    """The content of a verdict event. `before` is null in the first event about the group."""

    group: str
    before: str | None
    verdict: str | None
    severity: str | None
    since: str | None
    sentence: str | None
    evidence: dict[str, EvidenceValue]
    next_step: str | None
    owner: EventOwner | None
    maintenance_until: str | None
    unpaged: bool


class VerdictCloudEvent(TypedDict):
    """A verdict event as CloudEvent 1.0. An empty `subject` is left out."""

    specversion: str
    id: str
    source: str
    type: str
    subject: NotRequired[str]
    time: str
    datacontenttype: str
    data: VerdictEventData


class ErrorResponse(TypedDict):
    """Why there is no other response; with the requested group or topic, if there is one.

    `instance` is the part (`i/n`) of another instance that monitors the group, `url` its base URL if that is known.
    """

    error: str
    group: NotRequired[str | None]
    topic: NotRequired[str | None]
    instance: NotRequired[str]
    url: NotRequired[str]


class NoSnapshotResponse(TypedDict):
    """There is no snapshot yet; `phase` and `reasons` as in `/readyz`."""

    error: str
    phase: str
    reasons: tuple[str, ...]
