"""The types of the responses about the monitor itself, readiness and errors, and of its events."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from exporters.api_types.json_object import EXPERIMENTAL, Fields, Json, JsonObject, row
from exporters.catalogue.groups import GROUPS
from exporters.catalogue.partitions import PARTITIONS, TOPICS
from exporters.catalogue.verdicts import COMMON_CAUSES
from exporters.readmodel import group_detail
from exporters.wording import EvidenceValue

GroupRow = Annotated[Json, row("GroupRow", GROUPS)]
PartitionRow = Annotated[Json, row("PartitionRow", PARTITIONS, "group")]
TopicRow = Annotated[Json, row("TopicRow", TOPICS, "group")]
CommonCauseRow = Annotated[Json, row("CommonCauseRow", COMMON_CAUSES)]


class _OfPartition(TypedDict):
    """The partition of a finding."""

    topic: str
    partition: int


MemberObject = Annotated[Json, JsonObject("MemberObject", "One member of a group.", (group_detail.MemberDetail,))]
TransitionObject = Annotated[
    Json, JsonObject("TransitionObject", "One transition of a group.", (group_detail.TransitionDetail,))
]
FindingObject = Annotated[
    Json, JsonObject("FindingObject", "A verdict with its explanation.", (group_detail.FindingDetail,))
]
PartitionFindingObject = Annotated[
    Json,
    JsonObject("PartitionFindingObject", "The finding of one partition.", (group_detail.FindingDetail, _OfPartition)),
]
VerdictChangeObject = Annotated[
    Json, JsonObject("VerdictChangeObject", "One change of a group's verdict.", (group_detail.VerdictChange,))
]
MemberQuotaObject = Annotated[
    Json,
    JsonObject(
        "MemberQuotaObject", "A quota by which members of a group may be throttled.", (group_detail.QuotaDetail,)
    ),
]
ShareGroupPartitionObject = Annotated[
    Json,
    JsonObject("ShareGroupPartitionObject", "One partition of a share group.", (group_detail.SharePartitionDetail,)),
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
        "GroupResponse", "`/api/v1/group` and `/api/v1/groups/NAME`.", (Fields(GROUPS), GroupDetailObject, _GroupParts)
    ),
]


class ReadinessResponse(TypedDict):
    """`/readyz`."""

    ready: bool
    phase: str
    reasons: tuple[str, ...]
    catch_up_ratio: float | None
    catch_up_seconds_left: float | None
    snapshot_time: str | None


class NoSnapshotResponse(TypedDict):
    """There is no snapshot yet; `phase` and `reasons` as in `/readyz`."""

    error: str
    phase: str
    reasons: tuple[str, ...]


class ErrorResponse(TypedDict):
    """Why there is no other response; with the requested group or topic, if there is one.

    `instance` is the part (`i/n`) of another instance that monitors the group, `url` its base URL if that is known.
    """

    error: str
    group: NotRequired[str | None]
    topic: NotRequired[str | None]
    instance: NotRequired[Annotated[str, EXPERIMENTAL]]
    url: NotRequired[Annotated[str, EXPERIMENTAL]]


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
    silence_reason: str | None
    not_alerted: bool


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
