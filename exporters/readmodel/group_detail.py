"""Members, history and findings of one group."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated

UnixTime = Annotated[float, "Unix seconds"]
ForPages = Annotated[str, "not in the API"]
ByTopic = tuple[tuple[str, tuple[int, ...]], ...]
"""Topics, each with numbers of partitions."""


@dataclasses.dataclass(frozen=True, slots=True)
class MemberDetail:
    """One member of a group. None: not in the log, or hidden (`hidden_members`).

    `assignment` has the partitions by topic (name, else id).
    """

    member_id: str
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    rack: str | None
    epoch: int | None
    state: str | None
    # A static member that left temporarily and keeps its partitions.
    away: bool
    assignor: str | None
    subscription: tuple[str, ...]
    regex: str | None
    assignment: ByTopic


@dataclasses.dataclass(frozen=True, slots=True)
class TransitionDetail:
    """A transition of a group: created, rebalanced, emptied, reborn, converted, forgotten, dead.

    `time` (Unix seconds) is the time of the record that caused it. `live` is false if the initial catch-up replayed it.
    """

    time: UnixTime
    transition: str
    # A description, and the cause of an end.
    text: str
    cause: str | None
    live: bool
    # Number of members that joined and left.
    joined: int
    left: int


@dataclasses.dataclass(frozen=True, slots=True)
class FindingDetail:
    """A verdict with its explanation. `since` is Unix seconds.

    `evidence` has the numbers behind the sentence: names ending in `_time` and `_since` are RFC 3339 times, `time_lag`
    and names ending in `_seconds` are seconds, names ending in `_rate` are offsets per second. None: unknown.
    """

    verdict: str
    severity: str
    since: UnixTime | None
    sentence: str
    evidence: Mapping[str, str | float | int | bool | None]
    next_step: str
    # The end of the sentence that names the owner and the last rebalance.
    about_owner: ForPages = ""


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictChange:
    """A change of a group's verdict at `time` (Unix seconds), with its sentence. `before` is None for the first one."""

    time: UnixTime
    before: str | None
    verdict: str
    sentence: str


@dataclasses.dataclass(frozen=True, slots=True)
class QuotaDetail:
    """A configured quota by which members of a group may be throttled. Brokers do not tell others whether they are."""

    # Empty: not part of the quota; `<default>`: of all that have no quota of their own.
    user: str
    client_id: str
    # Kafka's name, such as `consumer_byte_rate` (bytes per second and broker).
    key: str
    value: float
    # The number of members with such a client id; their users are not known.
    members: int
    sentence: str


@dataclasses.dataclass(frozen=True, slots=True)
class SharePartitionDetail:
    """The progress of a share group in one partition; the numbers are those of SHARE_PARTITIONS (`exporters.cluster`).

    `verdict_since` is Unix seconds. None: unknown.
    """

    topic: str
    partition: int
    start_offset: int | None
    end: int | None
    lag: int | None
    finished: int | None
    returned: int | None
    most_deliveries: int | None
    # Since the monitor began.
    acknowledged: int
    archived: int
    returns: int
    verdict: str | None = None
    verdict_since: UnixTime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupDetail:
    """Members, history and findings of one group. Too large to publish for all groups."""

    group: str
    members: tuple[MemberDetail, ...]
    # Oldest first; only the newest are kept.
    transitions: tuple[TransitionDetail, ...]
    # Partitions of subscribed topics without an owner, by topic; None if the subscriptions are unknown.
    unowned: ByTopic | None
    # Topics with offsets of the group but without a subscriber; None if the subscriptions are unknown.
    unsubscribed: tuple[str, ...] | None
    # The group's verdict; None before the first evaluation, and for dead groups.
    finding: FindingDetail | None = None
    # Topic, partition and finding of the partitions whose verdict is not fine, the worst first; limited in number.
    partition_findings: tuple[tuple[str, int, FindingDetail], ...] = ()
    # Oldest first; only the newest are kept, also across restarts.
    verdicts: tuple[VerdictChange, ...] = ()
    # By key and value; None if the quotas or the client ids of the members are unknown.
    quotas: tuple[QuotaDetail, ...] | None = None
    # By topic and partition; None if it is no share group, or if not all of its partitions are known.
    share_partitions: tuple[SharePartitionDetail, ...] | None = None
    # When these numbers were read (Unix seconds); None where there are none.
    share_progress_time: UnixTime | None = None
