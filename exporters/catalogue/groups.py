"""The tables with one row per group, their columns and metrics.

What an evaluation finds is null before the first one, which follows the initial catch-up, and in a capture.
"""

from typing import Final

from exporters.catalogue.metric import SNAPSHOT, CountedSince, Source, ValueConversion
from exporters.catalogue.table import EXPERIMENTAL, GROUP, LEAN, STANDARD, Column, Exported, Table

_NO_LAG: Final = "no lag is known"
_NOT_STATED: Final = "not in the log"
_NO_EPOCH: Final = "a classic group, or not in the log"
_DEAD: Final = "the group is dead"

_NAMED: Final = Column(
    "group", "name", GROUP.meaning, Exported(
        "lagwarden_group_info", STANDARD,
        "Kind, state and protocol, to join; state_described: from the coordinator.",
        "never",
        ("kind", "state", "state_described", "protocol_type", "protocol")), importance=250,
)  # fmt: skip
_LAG: Final = (
    Column("kind", "name", "Its type: classic, consumer, share, streams, or simple (offsets without membership)."),
    Column("state", "name", "Its state, as Kafka's tools print it.", null=_NOT_STATED),
    Column("protocol_type", "name", "Its protocol type, such as consumer or connect.", null=_NOT_STATED),
    Column("protocol", "name", "Its protocol, such as the name of its assignor.", null=_NOT_STATED),
    Column("state_described", "bool", "True if the state is from the coordinator: the log does not contain it."),
    Column("lag_sum", "int64", "Sum of the lag of the partitions whose lag is known.",
           Exported("lagwarden_group_lag", LEAN,
                    absent=f"{_NO_LAG}; or it is a share group (lagwarden_share_group_lag)"),
           null=_NO_LAG, fold="sum", importance=290),
    Column("lag_max", "int64", "The greatest known lag of a partition.",
           Exported("lagwarden_group_lag_max"), null=_NO_LAG, fold="max", importance=230),
    Column("partitions_lag_unknown", "int32", "Partitions of the group whose lag is unknown."),
)  # fmt: skip
_COUNTS: Final = (
    # Of a share group the partitions that have a start offset.
    Column("partitions", "int32", "Partitions with a committed offset.",
           Exported("lagwarden_group_partitions", absent="unknown, or a share group"),
           null="unknown", fold="sum", importance=200),
    Column("members", "int32", "Members of the group.",
           Exported("lagwarden_group_members", STANDARD), fold="sum", importance=240),
    Column("generation", "int32", "Generation of a classic group.", Exported("lagwarden_group_generation"),
           null="not a classic group with members", importance=90),
    Column("last_commit_time", "timestamp", "When the broker stored the latest commit.",
           Exported("lagwarden_group_last_commit_timestamp_seconds", STANDARD),
           null="it has never committed, or without a time", fold="max", importance=220),
    Column("commit_interval", "float", "Mean time between commits of the busiest partition.",
           Exported("lagwarden_group_commit_interval_seconds"), fold="min", importance=20, stability=EXPERIMENTAL,
           null="too few commits"),
    Column("commits", "int64", "Offset commits read since the process has caught up.",
           Exported("lagwarden_group_commits_total"), null=_DEAD, importance=10, stability=EXPERIMENTAL),
    Column("unread_ratio", "float", "Greatest unread share of a partition's retained offsets; at 1 records get lost.",
           Exported("lagwarden_group_unread_ratio"), fold="max", importance=30, stability=EXPERIMENTAL,
           null="no lag or no log start is known"),
    # A folded row has none: of its groups, one may not catch up.
    Column("catch_up_seconds", "float", "Time until nothing is unread in all partitions, at present rates.",
           Exported("lagwarden_group_catch_up_seconds", is_usual=False), importance=35, stability=EXPERIMENTAL,
           null="it does not catch up, or a rate is unknown"),
    # Those of its partitions, and its own.
    Column("odd_times", "int32", "Impossible times in the group's records, such as in the future.",
           Exported("lagwarden_group_odd_times", is_usual=False),
           null="there is none", importance=110, stability=EXPERIMENTAL),
)  # fmt: skip
_HEALTH: Final = (
    Column("verdict", "name", "The verdict of the group, which is the worst of its partitions.",
           Exported("lagwarden_group_verdict", LEAN, also=("verdict", "severity"),
                    help="1 for the verdict of the group, the worst of its partitions."),
           null=_DEAD, fold="first", importance=310),
    Column("severity", "name", "Severity of the group's verdict: fine, unknown, notice, warning or critical.",
           Exported("lagwarden_group_severity", conversion=ValueConversion.RANK,
                    help="0 fine, 1 unknown, 2 notice, 3 warning, 4 critical."),
           null=_DEAD, fold="first", importance=300),
    Column("verdict_since", "timestamp", "When the present verdict began, also over a restart.",
           Exported("lagwarden_group_verdict_timestamp_seconds", STANDARD),
           null="it has neither commits nor partitions", fold="first", importance=190),
    Column("verdict_partitions", "int32", "Partitions of the group with that verdict; 0 if it has no partitions."),
    Column("sentence", "text", "The verdict in one sentence with its numbers.", null="the severity is fine"),
    Column("time_lag_max", "float", "The greatest time lag of a partition.",
           Exported("lagwarden_group_time_lag_seconds", LEAN), null="no time lag is known", fold="max", importance=280),
    Column("time_lag_max_exact", "bool", "False if the greatest time lag is only a lower bound."),
    Column("scalable_lag", "int64", "Lag that more members would reduce (docs/autoscaling.md).",
           Exported("lagwarden_group_scalable_lag", LEAN), importance=260, stability=EXPERIMENTAL,
           null="an assignment or lag is unknown, or Streams or Connect"),
    Column("members_useful", "int32", "Maximum number of members that can have a partition.",
           Exported("lagwarden_group_members_useful"), null="as lagwarden_group_scalable_lag, or no members",
           importance=40, stability=EXPERIMENTAL),
    Column("lost_sum", "int64", "Offsets that retention deleted before the group read them.",
           Exported("lagwarden_group_lost_offsets", LEAN), fold="sum", importance=270,
           null="no committed offset, or no log start is known"),
    Column("held_back", "bool", "True while an open transaction hides its commits from readers of committed records.",
           Exported("lagwarden_group_held_back", help=
           "1 while an open transaction hides the group's latest commits, else 0."), null=_DEAD, importance=180,
           stability=EXPERIMENTAL),
    Column("records_skipped", "int64", "Offsets that the group skipped, without resets, since the process started.",
           Exported("lagwarden_group_records_skipped_total"), null=_DEAD, importance=170, stability=EXPERIMENTAL),
)  # fmt: skip
_STATE: Final = (
    Column("created_time", "timestamp", "When the group's first record in the log was written.",
           Exported("lagwarden_group_created_timestamp_seconds"), null=_NOT_STATED, importance=100),
    Column("state_since", "timestamp", "When the group entered its state.",
           Exported("lagwarden_group_state_since_timestamp_seconds"), null=_NOT_STATED, importance=140),
)  # fmt: skip
_MEMBERSHIP: Final = (
    Column("rebalances", "int64", "Completed rebalances since the group's first record in the log.",
           Exported("lagwarden_group_rebalances_total", STANDARD, counted_since=CountedSince.GROUP_CREATED),
           null="not in the log", importance=210),
    Column("group_epoch", "int32", "Group epoch of a newer group.",
           Exported("lagwarden_group_epoch", is_usual=False), null=_NO_EPOCH, importance=80, stability=EXPERIMENTAL),
    Column("assignment_epoch", "int32", "Epoch of the target assignment, lower while one is pending.",
           Exported("lagwarden_group_assignment_epoch", is_usual=False),
           null=_NO_EPOCH, importance=70, stability=EXPERIMENTAL),
    Column("members_idle", "int32", "Members without a partition.",
           Exported("lagwarden_group_members_idle"), null=_NOT_STATED, importance=60),
    Column("members_away", "int32", "Static members that left temporarily.",
           Exported("lagwarden_group_members_away"), null=_NOT_STATED, importance=50),
    Column("partitions_unowned", "int32", "Partitions of subscribed topics that no member owns.",
           Exported("lagwarden_group_partitions_unowned"),
           null="subscriptions or assignment are unknown", importance=130),
    Column("topics_unsubscribed", "int32", "Topics with offsets, to which no member subscribes.",
           Exported("lagwarden_group_topics_unsubscribed"), null="the subscriptions are unknown", importance=120),
    Column("first_offset_expiry_time", "timestamp", "When the broker will expire the group's first offset.",
           Exported("lagwarden_group_first_offset_expiry_timestamp_seconds", STANDARD, is_usual=False),
           fold="min", importance=160, null="none expires in this state, or the expiry is unknown"),
    Column("group_expiry_time", "timestamp", "When the broker will remove the group itself.",
           Exported("lagwarden_group_expiry_timestamp_seconds", is_usual=False), importance=150,
           null="it does not expire in this state, or the expiry is unknown"),
)  # fmt: skip
_DEATH: Final = (
    Column("died_time", "timestamp", "When the group died.", null="the group is alive"),
    Column(
        "death_cause", "name", "Why it died: expired, deleted, topic deleted or unknown.", null="the group is alive"
    ),
)
_OWNER: Final = tuple(
    Column(name, "name", meaning, null="not configured", stability=EXPERIMENTAL)
    for name, meaning in (
        ("team", "The team that owns the group."),
        ("tier", "The tier of the group."),
        ("link", "A link of the owner."),
        ("max_severity", "The highest severity of alerts about the group: critical, warning or info."),
    )
)
_MUTED: Final = (
    Column("maintenance_until", "timestamp", "When the configured maintenance window that is open ends.",
           null="none is open", stability=EXPERIMENTAL),
    Column("silence_reason", "name", "Why a configured silence mutes its alerts.",
           null="none does", stability=EXPERIMENTAL),
    Column("silence_until", "timestamp", "When that silence ends.", null="not by itself", stability=EXPERIMENTAL),
    Column("not_alerted", "bool", "True if its faults are shown and raise no alert (health.day_one).",
           null=_DEAD, stability=EXPERIMENTAL),
)  # fmt: skip

GROUPS: Final = Table(
    Source("groups", SNAPSHOT),
    (_NAMED,),
    _LAG + _COUNTS + _HEALTH + _STATE + _MEMBERSHIP + _DEATH + _OWNER + _MUTED,
    importance=40,
)
"""One row per group. A group that died stays in state Dead, without partitions, until its retention period ends."""

UNKNOWN_LAGS: Final = Table(
    Source("unknown_lags", SNAPSHOT),
    (GROUP, Column("reason", "name", "Why the lag is unknown.")),
    (Column("partitions", "int32", "Partitions whose lag is unknown, by reason.",
            Exported("lagwarden_group_partitions_lag_unknown", STANDARD, absent="there is none"),
            null=None),),
    importance=10,
)  # fmt: skip
"""Number of partitions with unknown lag, per group and reason. Only rows above zero."""

TRANSITIONS: Final = Table(
    Source("transitions", SNAPSHOT),
    (GROUP, Column("transition", "name", "The type of the transition.")),
    (Column("count", "int64",
            "Transitions: created, rebalanced, emptied, reborn, converted, forgotten (some offsets removed) or dead.",
            Exported("lagwarden_group_transitions_total", counted_since=CountedSince.GROUP_CREATED,
                     absent="there is none")),),
)  # fmt: skip
"""Number of transitions per group."""

DEAD_GROUPS: Final = Table(
    Source("dead_groups", SNAPSHOT),
    (GROUP,),
    (_DEATH[0].with_metric(Exported(
        "lagwarden_group_died_timestamp_seconds", LEAN,
        "When and why the group died: expired, deleted, topic deleted or unknown.",
        "the group is alive, or groups.dead_grace is over", ("death_cause",))), _DEATH[1]),
)  # fmt: skip
"""One row per dead group: the part of GROUPS that /metrics shows of it (`exporters.selection`)."""

FOLDED_GROUPS: Final = Table(
    Source("folded_groups", SNAPSHOT),
    (GROUP,),
    (Column("groups", "int64",
            "Groups that are shown as one, named by their pattern.",
            Exported("lagwarden_group_folded_groups", LEAN),
            null="there is none", stability=EXPERIMENTAL),),
    importance=30,
)  # fmt: skip
"""One row per pattern of generated names: the number of groups that /metrics shows as one (`exporters.selection`)."""

TARGETS: Final = Table(
    Source("targets", SNAPSHOT),
    (GROUP,),
    (Column("time_lag_target", "float", "The highest acceptable time lag (metrics.targets).",
            Exported("lagwarden_group_target_seconds", LEAN, is_usual=False),
            null="there is none"),),
    importance=20,
)  # fmt: skip
"""Groups with a configured target."""

OWNERS: Final = Table(
    Source("owners", SNAPSHOT),
    (Column("group", "name", GROUP.meaning, Exported(
        "lagwarden_group_owner_info", LEAN, "The configured owner of the group (groups.owners), to join in rules.",
        "there is none",
        tuple(column.name for column in _OWNER)), stability=EXPERIMENTAL),),
    _OWNER,
    # Without it, alerts would reach other receivers.
    importance=70,
)  # fmt: skip
"""Groups with a configured owner: the part of GROUPS that /metrics shows of it, also of dead groups."""

MAINTENANCE: Final = Table(
    Source("maintenance", SNAPSHOT),
    (GROUP,),
    (Column("in_maintenance", "bool", "1 in a maintenance window or a silence; the alert rules mute it.",
            Exported("lagwarden_group_maintenance", LEAN), stability=EXPERIMENTAL,
            null="there is none"),),
    # Without it, alerts would fire that are muted.
    importance=80,
)  # fmt: skip
"""Groups in a configured maintenance window or silence; true in every row (`exporters.selection`)."""

NOT_ALERTED: Final = Table(
    Source("not_alerted", SNAPSHOT),
    (GROUP,),
    (_MUTED[-1].with_metric(Exported(
        "lagwarden_group_not_alerted", LEAN,
        "1 if the group's fault is not paged (health.day_one); the alert rules mute it.",
        "there is none")),),
    # Without it, alerts would fire that are muted.
    importance=90,
)  # fmt: skip
"""Groups whose faults raise no alert; true in every row (`exporters.selection`)."""

GROUP_METRICS: Final = GROUPS.metrics_of((_NAMED, *_LAG)) + UNKNOWN_LAGS.metrics + GROUPS.metrics_of(_COUNTS)
GROUP_HEALTH_METRICS: Final = GROUPS.metrics_of(_HEALTH)
LIFECYCLE_METRICS: Final = GROUPS.metrics_of(_STATE) + TRANSITIONS.metrics + GROUPS.metrics_of(_MEMBERSHIP)
