"""The types of the responses about groups."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from exporters.api_types.json_object import EXPERIMENTAL, Fields, Json, JsonObject, row
from exporters.catalogue.groups import GROUPS
from exporters.catalogue.partitions import PARTITIONS, TOPICS
from exporters.catalogue.verdicts import COMMON_CAUSES
from exporters.readmodel.group_detail import (
    FindingDetail,
    MemberDetail,
    QuotaDetail,
    SharePartitionDetail,
    TransitionDetail,
    VerdictChange,
)

EvidenceValue = str | float | int | bool | None

GroupRow = Annotated[Json, row("GroupRow", "A row of GROUPS.", GROUPS)]
PartitionRow = Annotated[Json, row("PartitionRow", "A row of PARTITIONS without the group.", PARTITIONS, "group")]
TopicRow = Annotated[Json, row("TopicRow", "A row of TOPICS without the group.", TOPICS, "group")]
CommonCauseRow = Annotated[Json, row("CommonCauseRow", "A row of COMMON_CAUSES.", COMMON_CAUSES)]


class _OfPartition(TypedDict):
    """The partition of a finding."""

    topic: str
    partition: int


MemberObject = Annotated[Json, JsonObject("MemberObject", "One member of a group.", (MemberDetail,))]
TransitionObject = Annotated[Json, JsonObject("TransitionObject", "One transition of a group.", (TransitionDetail,))]
FindingObject = Annotated[Json, JsonObject("FindingObject", "A verdict with its explanation.", (FindingDetail,))]
PartitionFindingObject = Annotated[
    Json, JsonObject("PartitionFindingObject", "The finding of one partition.", (FindingDetail, _OfPartition))
]
VerdictChangeObject = Annotated[
    Json, JsonObject("VerdictChangeObject", "One change of a group's verdict.", (VerdictChange,))
]
MemberQuotaObject = Annotated[
    Json,
    JsonObject("MemberQuotaObject", "A quota by which members of a group may be throttled.", (QuotaDetail,)),
]
ShareGroupPartitionObject = Annotated[
    Json, JsonObject("ShareGroupPartitionObject", "One partition of a share group.", (SharePartitionDetail,))
]


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


class _GroupOfTopic(TypedDict):
    """What the row of a group says of it."""

    group: str
    group_state: str | None
    group_severity: str | None
    team: Annotated[str | None, EXPERIMENTAL]


TopicGroupRow = Annotated[
    Json,
    JsonObject(
        "TopicGroupRow",
        "A group that reads a topic: a row of TOPICS without the topic, and what the row of the group says of it.",
        (_GroupOfTopic, Fields(TOPICS, ("group", "topic"))),
    ),
]


class TopicGroupsResponse(TypedDict):
    """`/api/v1/topics/NAME/groups`."""

    snapshot_time: str
    topic: str
    total: int
    next: int | None
    groups: list[TopicGroupRow]


class _GroupParts(TypedDict):
    """The parts of a group that are no columns of GROUPS."""

    snapshot_time: str
    unknown_lags: dict[str, int]
    by_partition: list[PartitionRow]
    by_topic: list[TopicRow]


GroupResponse = Annotated[
    Json,
    JsonObject(
        "GroupResponse",
        "`/api/v1/group` and `/api/v1/groups/NAME`.",
        (Fields(GROUPS), GroupDetailObject, _GroupParts),
    ),
]
