"""The tables with one row per group, their columns and metrics.

What an evaluation finds is null before the first one, which follows the initial catch-up, and in a capture.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import SNAPSHOT, CountedSince, Source, ValueConversion
from exporters.catalogue.table import (
    BOOL,
    EXPERIMENTAL,
    FLOAT,
    GROUP,
    INT32,
    INT64,
    LEAN,
    NAME,
    STANDARD,
    TEXT,
    TIMESTAMP,
    Column,
    Exported,
    Table,
)

_NO_LAG: Final = "no partition of the group has a known lag"
_NOT_STATED: Final = "not in the log"
_NO_EPOCH: Final = "the group is not of kind consumer, share or streams, or the epoch is not in the log"
_DEAD: Final = "the group is dead"

_NAMED: Final = Column(
    "group", NAME, GROUP.meaning, Exported(
        "lagwarden_group_info", STANDARD,
        "Kind, state and protocol of a group, one sample per group for joins; state_described: from its coordinator.",
        "never for a known group; a label is empty if the log does not contain its value",
        ("kind", "state", "state_described", "protocol_type", "protocol")), importance=250,
)  # fmt: skip
_LAG: Final = (
    Column("kind", NAME, "Its type: classic, consumer, share, streams, or simple (offsets without membership)."),
    Column("state", NAME, "Its state, as Kafka's tools print it.", null=_NOT_STATED),
    Column("protocol_type", NAME, "Its protocol type, such as consumer or connect.", null=_NOT_STATED),
    Column("protocol", NAME, "Its protocol, such as the name of its assignor.", null=_NOT_STATED),
    Column("state_described", BOOL, "True if the state is from the coordinator: the log does not contain it."),
    Column("lag_sum", INT64, "Sum of the group's lag over the partitions whose lag is known.",
           Exported("lagwarden_group_lag", LEAN,
                    absent=f"{_NO_LAG}; or it is a share group (lagwarden_share_group_lag)"),
           null=_NO_LAG, fold="sum", importance=290),
    Column("lag_max", INT64, "The greatest lag of the group's partitions whose lag is known.",
           Exported("lagwarden_group_lag_max"), null=_NO_LAG, fold="max", importance=230),
    Column("partitions_lag_unknown", INT32, "Partitions of the group whose lag is unknown."),
)  # fmt: skip
_COUNTS: Final = (
    # Of a share group the partitions that have a start offset.
    Column("partitions", INT32, "Partitions for which the group has a committed offset.",
           Exported("lagwarden_group_partitions", absent="unknown; or it is a share group, which commits none"),
           null="unknown", fold="sum", importance=200),
    Column("members", INT32, "Members of the group.",
           Exported("lagwarden_group_members", STANDARD), fold="sum", importance=240),
    Column("generation", INT32, "Generation of a classic group: each completed rebalance increments it.",
           Exported("lagwarden_group_generation"),
           null="the group is not a classic group with membership", importance=90),
    Column("last_commit_time", TIMESTAMP, "When the broker stored the group's latest commit for any partition.",
           Exported("lagwarden_group_last_commit_timestamp_seconds", STANDARD),
           null="the group has never committed, or its commits have no time", fold="max", importance=220),
    Column("commit_interval", FLOAT,
           "Mean time between the commits of the partition that the group commits most often, over the commit window.",
           Exported("lagwarden_group_commit_interval_seconds"), fold="min", importance=20, stability=EXPERIMENTAL,
           null="no partition of the group has commits in two slots of the commit window"),
    Column("commits", INT64,
           "Offset commits of the group read since the process has caught up; what a start replays does not count.",
           Exported("lagwarden_group_commits_total"), null=_DEAD, importance=10, stability=EXPERIMENTAL),
    Column("unread_ratio", FLOAT,
           "Greatest unread share of a partition's retained offsets, from 0 to 1; at 1 retention deletes unread "
           "records.", Exported("lagwarden_group_unread_ratio"), fold="max", importance=30, stability=EXPERIMENTAL,
           null="no partition of the group has a known lag and a known log start offset"),
    # A folded row has none: of its groups, one may not catch up.
    Column("catch_up_seconds", FLOAT,
           "Time until the group has no unread records in the partitions that it has committed to, at present rates.",
           Exported("lagwarden_group_catch_up_seconds"), importance=35, stability=EXPERIMENTAL,
           null="the group does not catch up in one of these partitions or has stopped to commit, or a lag or rate is"
           " unknown"),
    # Those of its partitions, and its own.
    Column("odd_times", INT32,
           "Impossible times in the group's records: in the future, before 1970 or after the year 9999.",
           Exported("lagwarden_group_odd_times"),
           null="the group has no such time", importance=110, stability=EXPERIMENTAL),
)  # fmt: skip
_HEALTH: Final = (
    Column("verdict", NAME, "The verdict of the group, which is the worst of its partitions.",
           Exported("lagwarden_group_verdict", LEAN, also=("verdict", "severity"),
                    help="1 for the verdict of the group, which is the worst of its partitions, with its severity."),
           null=_DEAD, fold="first", importance=310),
    Column("severity", NAME, "Severity of the group's verdict: fine, unknown, notice, warning or critical.",
           Exported("lagwarden_group_severity", conversion=ValueConversion.RANK,
                    help="Severity of the group's verdict: 0 fine, 1 unknown, 2 notice, 3 warning, 4 critical."),
           null=_DEAD, fold="first", importance=300),
    Column("verdict_since", TIMESTAMP,
           "When the group's present verdict began; a restart of the monitor does not change it.",
           Exported("lagwarden_group_verdict_timestamp_seconds", STANDARD),
           null="the group is dead, or has neither commits nor partitions", fold="first", importance=190),
    Column("verdict_partitions", INT32, "Partitions of the group with that verdict; 0 if it has no partitions."),
    Column("sentence", TEXT, "The verdict in one sentence with its numbers.", null="the severity is fine"),
    Column("time_lag_max", FLOAT, "The greatest time lag of the group's partitions.",
           Exported("lagwarden_group_time_lag_seconds", LEAN),
           null="no partition of the group has a known time lag", fold="max", importance=280),
    Column("time_lag_max_exact", BOOL, "False if the greatest time lag is only a lower bound."),
    Column("scalable_lag", INT64,
           "Lag that more members would reduce: of partitions without an owner, or whose owner has others with lag.",
           Exported("lagwarden_group_scalable_lag", LEAN), importance=260, stability=EXPERIMENTAL, null="the assignment"
           " or a lag is unknown, as during a rebalance, or the group is of Kafka Streams or Connect"),
    Column("members_useful", INT32,
           "Maximum number of members that can have a partition; with the range assignor, that of the largest topic.",
           Exported("lagwarden_group_members_useful"),
           null="as lagwarden_group_scalable_lag, or the group has no members", importance=40, stability=EXPERIMENTAL),
    Column("lost_sum", INT64,
           "Offsets above the group's commits that retention deleted before the group read them, over all partitions.",
           Exported("lagwarden_group_lost_offsets", LEAN), fold="sum", importance=270,
           null="no partition of the group has both a committed offset and a known log start offset"),
    Column("held_back", BOOL, "True while an open transaction hides its commits from readers of committed records.",
           Exported("lagwarden_group_held_back", help="1 while an open transaction hides the group's latest commits"
                    " from readers of committed records, else 0."), null=_DEAD, importance=180, stability=EXPERIMENTAL),
    Column("records_skipped", INT64,
           "Offsets that the group skipped since the process started; resets of an empty group do not count.",
           Exported("lagwarden_group_records_skipped_total"), null=_DEAD, importance=170, stability=EXPERIMENTAL),
)  # fmt: skip
_STATE: Final = (
    Column("created_time", TIMESTAMP, "When the first record of the group in the log was written.",
           Exported("lagwarden_group_created_timestamp_seconds"), null=_NOT_STATED, importance=100),
    Column("state_since", TIMESTAMP, "When the group entered its present state, as far as the log reaches back.",
           Exported("lagwarden_group_state_since_timestamp_seconds"), null=_NOT_STATED, importance=140),
)  # fmt: skip
_MEMBERSHIP: Final = (
    Column("rebalances", INT64, "Completed rebalances of the group since its first record in the log.",
           Exported("lagwarden_group_rebalances_total", STANDARD, counted_since=CountedSince.GROUP_CREATED),
           null="the group has no history in the log", importance=210),
    Column("group_epoch", INT32,
           "Group epoch of a consumer, share or streams group: each change of members or subscriptions increments it.",
           Exported("lagwarden_group_epoch"), null=_NO_EPOCH, importance=80, stability=EXPERIMENTAL),
    Column("assignment_epoch", INT32,
           "Group epoch of the present target assignment; if below the group epoch, a new assignment is pending.",
           Exported("lagwarden_group_assignment_epoch"), null=_NO_EPOCH, importance=70, stability=EXPERIMENTAL),
    Column("members_idle", INT32, "Members of the group that have no partition assigned.",
           Exported("lagwarden_group_members_idle"), null=_NOT_STATED, importance=60),
    Column("members_away", INT32, "Static members of the group that left temporarily and keep their partitions.",
           Exported("lagwarden_group_members_away"), null=_NOT_STATED, importance=50),
    Column("partitions_unowned", INT32, "Partitions of subscribed topics that no member of the group owns.",
           Exported("lagwarden_group_partitions_unowned"),
           null="the subscriptions or the assignment are unknown", importance=130),
    Column("topics_unsubscribed", INT32, "Topics with offsets of the group to which no member subscribes.",
           Exported("lagwarden_group_topics_unsubscribed"), null="the subscriptions are unknown", importance=120),
    Column("first_offset_expiry_time", TIMESTAMP, "When the broker will expire the first of the group's offsets.",
           Exported("lagwarden_group_first_offset_expiry_timestamp_seconds", STANDARD), fold="min", importance=160,
           null="no offset expires in the present state of the group, or the expiry is unknown"),
    Column("group_expiry_time", TIMESTAMP, "When the broker will remove the group itself.",
           Exported("lagwarden_group_expiry_timestamp_seconds"), importance=150,
           null="the group does not expire in its present state, or the expiry is unknown"),
)  # fmt: skip
_DEATH: Final = (
    Column("died_time", TIMESTAMP, "When the group died.", null="the group is alive"),
    Column("death_cause", NAME, "Why it died: expired, deleted, topic deleted or unknown.", null="the group is alive"),
)
_OWNER: Final = tuple(
    Column(name, NAME, meaning, null="not configured", stability=EXPERIMENTAL)
    for name, meaning in (
        ("team", "The team that owns the group."),
        ("tier", "The tier of the group."),
        ("link", "A link of the owner."),
        ("max_severity", "The highest severity of alerts about the group: critical, warning or info."),
    )
)
_MUTED: Final = (
    Column("maintenance_until", TIMESTAMP, "When the configured maintenance window that is open ends.",
           null="none is open", stability=EXPERIMENTAL),
    Column("silence_reason", NAME, "Why a configured silence mutes its alerts.",
           null="none does", stability=EXPERIMENTAL),
    Column("silence_until", TIMESTAMP, "When that silence ends.", null="not by itself", stability=EXPERIMENTAL),
    Column("not_alerted", BOOL, "True if its faults are shown and raise no alert (health.day_one).",
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
    (GROUP, Column("reason", NAME, "Why the lag is unknown.")),
    (Column("partitions", INT32, "Partitions of the group whose lag is unknown, by reason.",
            Exported("lagwarden_group_partitions_lag_unknown", STANDARD, absent="the group has no such partition"),
            null=None),),
    importance=10,
)  # fmt: skip
"""Number of partitions with unknown lag, per group and reason. Only rows above zero."""

TRANSITIONS: Final = Table(
    Source("transitions", SNAPSHOT),
    (GROUP, Column("transition", NAME, "The type of the transition.")),
    (Column("count", INT64,
            "Transitions: created, rebalanced, emptied, reborn, converted, forgotten (some offsets removed) or dead.",
            Exported("lagwarden_group_transitions_total", counted_since=CountedSince.GROUP_CREATED,
                     absent="the group has had no such transition since the log begins")),),
)  # fmt: skip
"""Number of transitions per group."""

DEAD_GROUPS: Final = Table(
    Source("dead_groups", SNAPSHOT),
    (GROUP,),
    (_DEATH[0].with_metric(Exported(
        "lagwarden_group_died_timestamp_seconds", LEAN,
        "When the group died, and why: expired, deleted, topic deleted or unknown. The only series of a dead group.",
        "the group is alive, or its retention period (groups.dead_grace) has ended", ("death_cause",))), _DEATH[1]),
)  # fmt: skip
"""One row per dead group: the part of GROUPS that /metrics shows of it (`exporters.selection`)."""

FOLDED_GROUPS: Final = Table(
    Source("folded_groups", SNAPSHOT),
    (GROUP,),
    (Column("groups", INT64,
            "Groups with generated names that are shown as one, named by their pattern (metrics.fold, fold_generated).",
            Exported("lagwarden_group_folded_groups", LEAN),
            null="the group is a single one", stability=EXPERIMENTAL),),
    importance=30,
)  # fmt: skip
"""One row per pattern of generated names: the number of groups that /metrics shows as one (`exporters.selection`)."""

TARGETS: Final = Table(
    Source("targets", SNAPSHOT),
    (GROUP,),
    (Column("time_lag_target", FLOAT, "The highest acceptable time lag of the group, as configured (metrics.targets);"
            " alert rules compare with it.", Exported("lagwarden_group_target_seconds", LEAN),
            null="the group has no configured target"),),
    importance=20,
)  # fmt: skip
"""Groups with a configured target."""

OWNERS: Final = Table(
    Source("owners", SNAPSHOT),
    (Column("group", NAME, GROUP.meaning, Exported(
        "lagwarden_group_owner_info", LEAN, "The configured owner of the group (groups.owners), to join in rules: team,"
        " tier, a link, and the highest severity of its alerts.",
        "the group has no configured owner; a label that the owner does not have is missing",
        tuple(column.name for column in _OWNER)), stability=EXPERIMENTAL),),
    _OWNER,
    # Without it, alerts would reach other receivers.
    importance=70,
)  # fmt: skip
"""Groups with a configured owner: the part of GROUPS that /metrics shows of it, also of dead groups."""

MAINTENANCE: Final = Table(
    Source("maintenance", SNAPSHOT),
    (GROUP,),
    (Column("in_maintenance", BOOL, "1 while a configured maintenance window of the group (groups.maintenance) is open,"
            " or while it is silenced (groups.silences); the alert rules mute it.",
            Exported("lagwarden_group_maintenance", LEAN), stability=EXPERIMENTAL,
            null="no maintenance window of the group is open, and it is not silenced"),),
    # Without it, alerts would fire that are muted.
    importance=80,
)  # fmt: skip
"""Groups in a configured maintenance window or silence; true in every row (`exporters.selection`)."""

NOT_ALERTED: Final = Table(
    Source("not_alerted", SNAPSHOT),
    (GROUP,),
    (_MUTED[-1].with_metric(Exported(
        "lagwarden_group_not_alerted", LEAN, "1 if the faults of the group began before the first look of the monitor,"
        " or the group had been silent for health.day_one; the alert rules mute it.",
        "the group has no fault, or one that is paged")),),
    # Without it, alerts would fire that are muted.
    importance=90,
)  # fmt: skip
"""Groups whose faults raise no alert; true in every row (`exporters.selection`)."""

GROUP_METRICS: Final = GROUPS.metrics_of((_NAMED, *_LAG)) + UNKNOWN_LAGS.metrics + GROUPS.metrics_of(_COUNTS)
GROUP_HEALTH_METRICS: Final = GROUPS.metrics_of(_HEALTH)
LIFECYCLE_METRICS: Final = GROUPS.metrics_of(_STATE) + TRANSITIONS.metrics + GROUPS.metrics_of(_MEMBERSHIP)
