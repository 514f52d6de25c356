"""The types of the responses about groups."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from exporters.api_types.stability import EXPERIMENTAL

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
    group_epoch: Annotated[int | None, EXPERIMENTAL]
    assignment_epoch: Annotated[int | None, EXPERIMENTAL]
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
    held_back: Annotated[bool | None, EXPERIMENTAL]
    odd_times: Annotated[int | None, EXPERIMENTAL]
    lost_sum: int | None
    rebalances: int | None
    scalable_lag: Annotated[int | None, EXPERIMENTAL]
    members_useful: Annotated[int | None, EXPERIMENTAL]
    commit_interval: Annotated[float | None, EXPERIMENTAL]
    unread_ratio: Annotated[float | None, EXPERIMENTAL]
    records_skipped: Annotated[int | None, EXPERIMENTAL]
    commits: Annotated[int | None, EXPERIMENTAL]
    team: Annotated[str | None, EXPERIMENTAL]
    tier: Annotated[str | None, EXPERIMENTAL]
    link: Annotated[str | None, EXPERIMENTAL]
    max_severity: Annotated[str | None, EXPERIMENTAL]
    maintenance_until: Annotated[str | None, EXPERIMENTAL]
    silence_reason: Annotated[str | None, EXPERIMENTAL]
    silence_until: Annotated[str | None, EXPERIMENTAL]
    unpaged: Annotated[bool | None, EXPERIMENTAL]


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
    produce_rate: Annotated[float | None, EXPERIMENTAL]
    consume_rate: Annotated[float | None, EXPERIMENTAL]
    catch_up_seconds: Annotated[float | None, EXPERIMENTAL]
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
    members: Annotated[int | None, EXPERIMENTAL]
    partitions_assigned: Annotated[int | None, EXPERIMENTAL]


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


class MemberQuotaObject(TypedDict):
    """A quota by which members of a group may be throttled (`exporters.readmodel.QuotaDetail`)."""

    user: str
    client_id: str
    key: str
    value: float
    members: int
    sentence: str


class ShareGroupPartitionObject(TypedDict):
    """One partition of a share group (`exporters.readmodel.SharePartitionDetail`)."""

    topic: str
    partition: int
    start_offset: int | None
    end: int | None
    lag: int | None
    finished: int | None
    returned: int | None
    most_deliveries: int | None
    acknowledged: int
    archived: int
    returns: int
    verdict: str | None
    verdict_since: str | None


class GroupDetailObject(TypedDict):
    """The detail of one group (`exporters.readmodel.GroupDetail`); all None if nothing is known of the group now."""

    by_member: list[MemberObject] | None
    transitions: list[TransitionObject] | None
    unowned: dict[str, tuple[int, ...]] | None
    unsubscribed: tuple[str, ...] | None
    finding: FindingObject | None
    findings: list[PartitionFindingObject] | None
    verdicts: list[VerdictChangeObject] | None
    quotas: list[MemberQuotaObject] | None
    by_share_partition: Annotated[list[ShareGroupPartitionObject] | None, EXPERIMENTAL]
    share_progress_time: Annotated[str | None, EXPERIMENTAL]


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
    muted: Annotated[int, EXPERIMENTAL]


class GroupsResponse(TypedDict):
    """`/api/v1/groups`.

    Of several instances, `instance` is the part (`i/n`) that has these groups, and `siblings` are the base URLs of all
    parts in their order, if they are configured. A single instance has neither. `cluster_name` is missing if it is not
    configured.
    """

    snapshot_time: str
    total: int
    next: int | None
    common_causes: list[CommonCauseRow]
    groups: list[GroupRow]
    instance: NotRequired[Annotated[str, EXPERIMENTAL]]
    siblings: NotRequired[Annotated[list[str], EXPERIMENTAL]]
    cluster_name: NotRequired[str]


class TopicGroupRow(TypedDict):
    """A group that reads a topic: a row of TOPICS without the topic, and what the row of the group says of it."""

    group: str
    group_state: str | None
    group_severity: str | None
    team: Annotated[str | None, EXPERIMENTAL]
    partitions: int | None
    lag_sum: int | None
    lag_max: int | None
    time_lag_max: float | None
    time_lag_max_exact: bool | None
    partitions_lag_unknown: int | None
    verdict: str | None
    members: Annotated[int | None, EXPERIMENTAL]
    partitions_assigned: Annotated[int | None, EXPERIMENTAL]


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
