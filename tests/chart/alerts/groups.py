"""The stories of the alerts about groups (rules/groups.yaml and rules/targets.yaml)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.chart.alerts.case import CLUSTER, MONITOR, OTHER, Case, Kind, Text, instances, of

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP: Final = {**MONITOR, "group": "billing"}
# Quotes, a backslash, letters beyond ASCII: clients choose the names of groups.
HOSTILE: Final = {**MONITOR, "group": 'say "hi" \\ größe'}
LAG: Final = of("lagwarden_group_time_lag_seconds", GROUP)
REBALANCES: Final = of("lagwarden_group_rebalances_total", GROUP)


def verdict(word: str, severity: str, labels: Mapping[str, str] = GROUP) -> str:
    """Return the series of a group's verdict."""
    return of("lagwarden_group_verdict", labels, verdict=word, severity=severity)


def by_verdict(alert: str, word: str, severity: str, text: Text, *, minutes: int, keep: int, odd: Case) -> list[Case]:
    """Return the stories of an alert on one verdict, which begins in the fifth minute."""
    series = {verdict(word, severity): "_x10 1x120", LAG: "0x9 300x120", REBALANCES: "0+1x130"}
    left = 10 + 2 * minutes + 8
    return [
        Case(alert, Kind.BEFORE, "the verdict is not old enough", series, _at(5 + minutes, less=True)),
        Case(alert, Kind.AFTER, "the verdict stays", series, f"{5 + minutes}m", [GROUP], text),
        odd,
        Case(
            alert,
            Kind.VANISHED,
            "an alert for a removed group resolves after a while",
            {verdict(word, severity): f"_x10 1x{left - 11} stale", LAG: f"0x9 300x{left - 11} stale"},
            f"{left // 2 + keep + 1}m",
        ),
        Case(
            alert,
            Kind.DEAD,
            "a restart of the monitor resolves no alert",
            {verdict(word, severity): f"_x10 1x{left - 11} stale _x3 1x40"},
            f"{left // 2 + 1}m",
            [GROUP],
        ),
    ]


def begins(alert: str, word: str, severity: str, *, minutes: int) -> list[Case]:
    """Return the stories just before and just after of an alert that several verdicts share, for one of them."""
    series = {verdict(word, severity): "_x10 1x120"}
    name = word.replace("_", " ")
    return [
        Case(alert, Kind.BEFORE, f"{name} is not old enough", series, _at(5 + minutes, less=True)),
        Case(alert, Kind.AFTER, f"{name} stays", series, f"{5 + minutes}m", [GROUP]),
    ]


def _at(minutes: int, *, less: bool) -> str:
    return f"{minutes - 1}m30s" if less else f"{minutes}m"


STUCK: Final = [
    *by_verdict(
        "LagwardenGroupStuck",
        "stalled",
        "critical",
        Text(
            "Group billing is stuck: stalled",
            "The group has unread records and does not read them. This does not resolve by itself. The oldest unread"
            " record is 5m"
            " 0s old. Cause and next step: lagwarden explain billing",
        ),
        minutes=1,
        keep=5,
        odd=Case(
            "LagwardenGroupStuck",
            Kind.ODD,
            "notices and warnings are not stuck, nor is what has an alert of its own",
            {
                verdict("recovering", "notice"): "1x60",
                verdict("skewed", "warning", {**MONITOR, "group": "b"}): "1x60",
                verdict("no_members", "critical", {**MONITOR, "group": "c"}): "1x60",
                verdict("losing_data", "critical", {**MONITOR, "group": "d"}): "1x60",
                verdict("held_back", "critical", {**MONITOR, "group": "e"}): "1x60",
                verdict("rebalance_storm", "critical", {**MONITOR, "group": "f"}): "1x60",
                verdict("no_leader", "critical", {**MONITOR, "group": "g"}): "1x60",
                verdict("truncated", "critical", {**MONITOR, "group": "h"}): "1x60",
                verdict("aborting", "critical", {**MONITOR, "group": "i"}): "1x60",
                verdict("share_stopped", "critical", {**MONITOR, "group": "j"}): "1x60",
                verdict("share_rejecting", "critical", {**MONITOR, "group": "k"}): "1x60",
            },
            "20m",
        ),
    ),
    *begins("LagwardenGroupStuck", "stopped", "critical", minutes=1),
    *begins("LagwardenGroupStuck", "poison_record", "critical", minutes=1),
    *begins("LagwardenGroupStuck", "unassigned", "critical", minutes=1),
    *begins("LagwardenGroupStuck", "rebalancing_too_long", "critical", minutes=1),
    Case(
        "LagwardenGroupStuck",
        Kind.ODD,
        "a change of the verdict does not change the alert; the text has the new verdict",
        {
            verdict("stalled", "critical"): "1x20 stale",
            verdict("stopped", "critical"): "_x20 1x20",
            LAG: "5000x60",
        },
        "10m30s",
        [GROUP],
        Text(
            "Group billing is stuck: stopped",
            "The group has unread records and does not read them. This does not resolve by itself. The oldest unread"
            " record is"
            " 1h 23m 20s old. Cause and next step: lagwarden explain billing",
        ),
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.AFTER,
        "a name with quotes, and no time lag known",
        {verdict("poison_record", "critical", HOSTILE): "1x20"},
        "5m",
        [HOSTILE],
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.AFTER,
        "two monitors of two clusters have a group of the same name: only the stuck one has an alert",
        {
            verdict("stopped", "critical"): "1x20",
            verdict("ok", "fine", {**OTHER, "group": "billing"}): "1x20",
        },
        "5m",
        [GROUP],
    ),
]

_OWNER: Final = {"team": "payments", "tier": "1", "max_severity": "warning"}
_OTHER_OWNER: Final = {"team": "orders", "tier": "2"}
_OWNED: Final = of("lagwarden_group_owner_info", GROUP, **_OWNER, link="https://wiki.example.com")
_OWNED_BY_OTHER: Final = of("lagwarden_group_owner_info", GROUP, **_OTHER_OWNER)
_MAINTENANCE: Final = of("lagwarden_group_maintenance", GROUP)
_UNPAGED: Final = of("lagwarden_group_unpaged", GROUP)

OWNERS: Final = [
    Case(
        "LagwardenGroupStuck",
        Kind.AFTER,
        "the owner of the group is in the labels, and only of that group",
        {
            verdict("stalled", "critical"): "1x20",
            verdict("stalled", "critical", {**MONITOR, "group": "other"}): "1x20",
            _OWNED: "1x20",
        },
        "5m",
        [{**GROUP, **_OWNER}, {**MONITOR, "group": "other"}],
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.AFTER,
        "of a group of the same name on another monitor, the owner is another one",
        {
            verdict("stalled", "critical"): "1x20",
            of("lagwarden_group_owner_info", OTHER, group="billing", **_OWNER): "1x20",
        },
        "5m",
        [GROUP],
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.ODD,
        "a new owner is a new alert, which is pending while the old one still fires",
        {verdict("stalled", "critical"): "1x60", _OWNED: "1x19 stale", _OWNED_BY_OTHER: "_x20 1x40"},
        "10m30s",
        [{**GROUP, **_OWNER}],
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.AFTER,
        "the alert of the old owner resolves, that of the new one stays",
        {verdict("stalled", "critical"): "1x60", _OWNED: "1x19 stale", _OWNED_BY_OTHER: "_x20 1x40"},
        "16m",
        [{**GROUP, **_OTHER_OWNER}],
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.ODD,
        "in a maintenance window there is no alert, but on other groups there is",
        {
            verdict("stalled", "critical"): "1x20",
            verdict("stalled", "critical", {**MONITOR, "group": "other"}): "1x20",
            _MAINTENANCE: "1x20",
            _OWNED: "1x20",
        },
        "5m",
        [{**MONITOR, "group": "other"}],
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.ODD,
        "a fault that is older than the monitor has no alert, but that of another group has",
        {
            verdict("stopped", "critical"): "1x20",
            verdict("stopped", "critical", {**MONITOR, "group": "other"}): "1x20",
            _UNPAGED: "1x20",
        },
        "5m",
        [{**MONITOR, "group": "other"}],
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.AFTER,
        "a group that has recovered from an old fault and fails again has its alert",
        {verdict("stopped", "critical"): "1x10 stale _x9 1x40", _UNPAGED: "1x10 stale"},
        "14m",
        [GROUP],
    ),
    Case(
        "LagwardenGroupSkipped",
        Kind.ODD,
        "a partition's verdict of a group that is not paged",
        {
            of("lagwarden_partition_verdict", GROUP, topic="t", partition="3", verdict="skipped"): "1x40",
            _UNPAGED: "1x40",
        },
        "10m",
    ),
    Case(
        "LagwardenGroupStuck",
        Kind.AFTER,
        "a fault that outlasts the maintenance window has its alert after it",
        {verdict("stalled", "critical"): "1x60", _MAINTENANCE: "1x20 stale"},
        "11m30s",
        [GROUP],
    ),
    Case(
        "LagwardenGroupSkipped",
        Kind.AFTER,
        "the owner, if only a partition has the verdict",
        {of("lagwarden_partition_verdict", GROUP, topic="t", partition="3", verdict="skipped"): "1x40", _OWNED: "1x40"},
        "10m",
        [{**GROUP, **_OWNER}],
    ),
    Case(
        "LagwardenGroupSkipped",
        Kind.ODD,
        "a partition's verdict in a maintenance window",
        {
            of("lagwarden_partition_verdict", GROUP, topic="t", partition="3", verdict="skipped"): "1x40",
            _MAINTENANCE: "1x40",
        },
        "10m",
    ),
    Case(
        "LagwardenGroupOffsetsExpireSoon",
        Kind.AFTER,
        "the owner, although the condition on the lag does not have it",
        {verdict("expiring", "warning"): "1x40", of("lagwarden_group_lag", GROUP): "5x40", _OWNED: "1x40"},
        "10m",
        [{**GROUP, **_OWNER}],
    ),
]

NO_MEMBERS: Final = by_verdict(
    "LagwardenGroupNoMembers",
    "no_members",
    "critical",
    Text(
        "Group billing has unread records and no members",
        "The group has had no members for longer than a restart takes or is usual for it. The oldest unread"
        " record is 5m 0s old. Details: lagwarden explain billing",
    ),
    minutes=1,
    keep=5,
    odd=Case(
        "LagwardenGroupNoMembers",
        Kind.ODD,
        "a batch consumer that runs once per hour has no members and no lag in between",
        {verdict("caught_up", "fine"): "1x60", of("lagwarden_group_members", GROUP): "0x60"},
        "25m",
    ),
)

_SHARE_LAG: Final = of("lagwarden_share_group_lag", GROUP)
_ARCHIVED: Final = of("lagwarden_share_partition_archived_total", GROUP, topic="jobs", partition="0")

SHARE_STUCK: Final = [
    *by_verdict(
        "LagwardenShareGroupStuck",
        "share_stopped",
        "critical",
        Text(
            "Share group billing finishes no records: share stopped",
            "Which partitions, and what became of their deliveries: lagwarden explain billing",
        ),
        minutes=1,
        keep=5,
        odd=Case(
            "LagwardenShareGroupStuck",
            Kind.ODD,
            "a share group that works slowly has a lag and no fault, and one that rejects has an alert of its own",
            {
                verdict("ok", "fine"): "1x60",
                _SHARE_LAG: "4000x60",
                verdict("share_rejecting", "critical", {**MONITOR, "group": "b"}): "1x60",
                verdict("no_members", "critical", {**MONITOR, "group": "c"}): "1x60",
            },
            "25m",
        ),
    ),
    *begins("LagwardenShareGroupStuck", "share_no_members", "critical", minutes=1),
    *begins("LagwardenShareGroupStuck", "share_redelivering", "critical", minutes=1),
    Case(
        "LagwardenShareGroupStuck",
        Kind.AFTER,
        "the text has the lag; a member that leaves for good is the same alert",
        {
            verdict("share_redelivering", "critical"): "1x20 stale",
            verdict("share_no_members", "critical"): "_x20 1x20",
            _SHARE_LAG: "4000x60",
        },
        "10m30s",
        [GROUP],
        Text(
            "Share group billing finishes no records: share no members",
            "4k records wait. Which partitions, and what became of their deliveries: lagwarden explain billing",
        ),
    ),
]

SHARE_REJECTING: Final = [
    *by_verdict(
        "LagwardenShareGroupRejecting",
        "share_rejecting",
        "critical",
        Text(
            "Share group billing accepts no records and archives them",
            "Archived records are never delivered again. Which partitions: lagwarden explain billing",
        ),
        minutes=1,
        keep=5,
        odd=Case(
            "LagwardenShareGroupRejecting",
            Kind.ODD,
            "a share group that rejects some of its records archives them without a fault",
            {verdict("ok", "fine"): "1x60", _ARCHIVED: "0+5x60"},
            "25m",
        ),
    ),
    Case(
        "LagwardenShareGroupRejecting",
        Kind.AFTER,
        "the text has the number of archived records",
        {verdict("share_rejecting", "critical"): "1x60", _ARCHIVED: "0+5x60"},
        "20m",
        [GROUP],
        Text(
            "Share group billing accepts no records and archives them",
            "Archived records are never delivered again. About 100 were archived in ten minutes. Which partitions:"
            " lagwarden explain billing",
        ),
    ),
]

STORM: Final = by_verdict(
    "LagwardenGroupRebalanceStorm",
    "rebalance_storm",
    "critical",
    Text(
        "Group billing rebalances repeatedly, and its lag does not fall",
        "The group is not stable: about 12 rebalances in ten minutes. Which members join and leave: lagwarden"
        " explain billing",
    ),
    minutes=1,
    keep=10,
    odd=Case(
        "LagwardenGroupRebalanceStorm",
        Kind.ODD,
        "a rolling restart has many rebalances, and the verdict is not shown",
        {
            verdict("ok", "fine"): "1x60",
            of("lagwarden_group_rebalances_total", GROUP): "0+1x60",
        },
        "25m",
    ),
)

_LOST: Final = of("lagwarden_group_lost_offsets", GROUP)
_WHICH: Final = "Which partitions: lagwarden explain billing"
LOSING: Final = [
    *by_verdict(
        "LagwardenGroupLosingData",
        "losing_data",
        "critical",
        Text("Group billing loses unread records to retention", _WHICH),
        minutes=0,
        keep=5,
        odd=Case(
            "LagwardenGroupLosingData",
            Kind.ODD,
            "an abandoned topic loses no records that a group needs",
            {verdict("abandoned", "notice"): "1x60", _LOST: "0+10x60"},
            "25m",
        ),
    ),
    *(
        Case(
            "LagwardenGroupLosingData",
            Kind.AFTER,
            story,
            {verdict("losing_data", "critical"): "_x10 1x60", _LOST: f"{lost}x60"},
            "5m",
            [GROUP],
            Text("Group billing loses unread records to retention", f"{sentence} {_WHICH}"),
        )
        for story, lost, sentence in (
            ("records are lost", 1200, "1.2k offsets are lost."),
            ("nothing is lost yet", 0, "Nothing is lost yet, but will be within an hour at the current rates."),
        )
    ),
]

NO_LEADER: Final = by_verdict(
    "LagwardenGroupNoLeader",
    "no_leader",
    "critical",
    Text(
        "Group billing reads a partition that has no leader",
        "The partition can be neither read nor written until a broker with an in-sync replica is back. Which"
        " partitions: lagwarden explain billing",
    ),
    minutes=1,
    keep=5,
    odd=Case(
        "LagwardenGroupNoLeader",
        Kind.ODD,
        "a leader election leaves the lag unknown for a moment",
        {
            verdict("unknown", "unknown"): "1 stale _x20 1 stale",
            of("lagwarden_group_partitions_lag_unknown", GROUP, reason="no_leader"): "1 stale _x20 1 stale",
        },
        "11m",
    ),
)

TRUNCATED: Final = by_verdict(
    "LagwardenGroupTruncated",
    "truncated",
    "critical",
    Text(
        "Group billing has committed offsets above the end of a partition",
        "The log was cut back, or the topic created again; the consumer will reset its offset when it next reads."
        " Which partitions, and how far above: lagwarden explain billing",
    ),
    minutes=1,
    keep=5,
    odd=Case(
        "LagwardenGroupTruncated",
        Kind.ODD,
        "a topic that was created again for a group without members",
        {
            verdict("unknown", "unknown"): "1x60",
            of("lagwarden_group_partitions_lag_unknown", GROUP, reason="recreated"): "1x60",
        },
        "25m",
    ),
)

ABORTING: Final = by_verdict(
    "LagwardenGroupAborting",
    "aborting",
    "critical",
    Text(
        "All transactions of group billing are aborted",
        "The group reads and works, but no transaction with its offsets is committed, so it makes no progress. How"
        " many, since when and by which producer: lagwarden explain billing",
    ),
    minutes=1,
    keep=5,
    odd=Case(
        "LagwardenGroupAborting",
        Kind.ODD,
        "a group that aborts some of its transactions and commits the others",
        {verdict("ok", "fine"): "1x60", LAG: "20x60"},
        "20m",
    ),
)

HELD: Final = by_verdict(
    "LagwardenGroupHeldBack",
    "held_back",
    "critical",
    Text(
        "Group billing is blocked by an open transaction",
        "The group reads committed records only and has reached a transaction that does not end. The producer and the"
        " start of the transaction: lagwarden explain billing",
    ),
    minutes=1,
    keep=5,
    odd=Case(
        "LagwardenGroupHeldBack",
        Kind.ODD,
        "short transactions, one after the other",
        {verdict("held_back", "critical"): "_ 1 stale _x5 1 stale _x5 1 stale", verdict("ok", "fine"): "1x60"},
        "20m",
    ),
)

BEHIND: Final = by_verdict(
    "LagwardenGroupFallingBehind",
    "falling_behind",
    "warning",
    Text(
        "Group billing falls behind",
        "The lag has grown from commit to commit for ten minutes. The oldest unread record is 5m 0s"
        " old. Rates per partition: lagwarden explain billing",
    ),
    minutes=10,
    keep=5,
    odd=Case(
        "LagwardenGroupFallingBehind",
        Kind.ODD,
        "a bursty topic falls behind for minutes and recovers, over and over",
        {
            verdict("falling_behind", "warning"): "1x10 stale _x9 1x10 stale _x9 1x10 stale",
            verdict("recovering", "notice"): "_x10 1x9 stale _x10 1x9 stale",
        },
        "30m",
    ),
)

REWOUND: Final = by_verdict(
    "LagwardenGroupRewound",
    "rewound",
    "warning",
    Text(
        "Group billing committed smaller offsets and reads records again",
        "A group with members committed smaller offsets than before; it was not reset while it was empty. How far"
        " and when: lagwarden explain billing",
    ),
    minutes=1,
    keep=5,
    odd=Case(
        "LagwardenGroupRewound",
        Kind.ODD,
        "a planned reset is no alert",
        {verdict("reset", "notice"): "1x60", of("lagwarden_group_lag", GROUP): "0x10 90000-900x50"},
        "25m",
    ),
)

_SKIPPED: Final = of("lagwarden_group_records_skipped_total", GROUP)
SKIPPED: Final = [
    *by_verdict(
        "LagwardenGroupSkipped",
        "skipped",
        "warning",
        Text(
            "Group billing went forward past records without reading them",
            "They are not lost while the topic keeps them. How many, and which: lagwarden explain billing",
        ),
        minutes=0,
        keep=5,
        odd=Case(
            "LagwardenGroupSkipped",
            Kind.ODD,
            "a planned reset to the end is a notice",
            {verdict("reset", "notice"): "1x60", of("lagwarden_group_lag", GROUP): "90000x10 0x50", _SKIPPED: "0x60"},
            "25m",
        ),
    ),
    Case(
        "LagwardenGroupSkipped",
        Kind.AFTER,
        "another partition is worse, so the group's verdict is another",
        {
            verdict("stopped", "critical"): "1x60",
            of("lagwarden_partition_verdict", GROUP, topic="orders", partition="3", verdict="skipped"): "_x19 1x40",
            _SKIPPED: "0x19 5000x40",
        },
        "10m",
        [GROUP],
        Text(
            "Group billing went forward past records without reading them",
            "They are not lost while the topic keeps them. How many, and which: lagwarden explain billing",
        ),
    ),
]

_FORGOTTEN: Final = Text(
    "Offsets of group billing were removed before their time",
    "The group is alive. Where it has not committed again, it begins by auto.offset.reset after its next restart. Which"
    " ones, and when: lagwarden explain billing",
)
FORGOTTEN: Final = [
    *by_verdict(
        "LagwardenGroupOffsetsForgotten",
        "forgotten",
        "warning",
        _FORGOTTEN,
        minutes=0,
        keep=5,
        odd=Case(
            "LagwardenGroupOffsetsForgotten",
            Kind.ODD,
            "offsets of a group without members expire at their time",
            {
                verdict("expiring", "warning"): "1x19 stale",
                of("lagwarden_expiry_checks_total", MONITOR, outcome="kept"): "0x19 4x40",
                of("lagwarden_group_died_timestamp_seconds", GROUP, death_cause="expired"): "_x19 600x40",
            },
            "25m",
        ),
    ),
    Case(
        "LagwardenGroupOffsetsForgotten",
        Kind.AFTER,
        "another partition is worse, so the group's verdict is another",
        {
            verdict("stopped", "critical"): "1x60",
            of("lagwarden_partition_verdict", GROUP, topic="orders", partition="3", verdict="forgotten"): "_x19 1x40",
        },
        "10m",
        [GROUP],
        _FORGOTTEN,
    ),
]

_SHARED: Final = Text(
    "Two clients that do not belong together use group billing",
    "Either its members subscribe to different topics for longer than a deploy takes, or two clients commit the same"
    " partition. Which ones: lagwarden explain billing",
)
SHARED: Final = [
    *by_verdict(
        "LagwardenGroupShared",
        "two_applications",
        "warning",
        _SHARED,
        minutes=1,
        keep=5,
        odd=Case(
            "LagwardenGroupShared",
            Kind.ODD,
            "a group that is rewound once, and rebalances in a rolling deploy",
            {verdict("rewound", "warning"): "1x60", REBALANCES: "0+1x60"},
            "25m",
        ),
    ),
    *begins("LagwardenGroupShared", "two_committers", "warning", minutes=1),
    Case(
        "LagwardenGroupShared",
        Kind.AFTER,
        "another partition is worse, so the group's verdict is another",
        {
            verdict("stopped", "critical"): "1x60",
            of("lagwarden_partition_verdict", GROUP, topic="orders", partition="3", verdict="two_committers"): (
                "_x19 1x40"
            ),
        },
        "11m",
        [GROUP],
        _SHARED,
    ),
]

UNEVEN: Final = [
    *by_verdict(
        "LagwardenGroupUneven",
        "skewed",
        "warning",
        Text(
            "Group billing leaves some partitions behind: skewed",
            "The group reads, but some of its partitions are left behind. Which ones: lagwarden explain billing",
        ),
        minutes=15,
        keep=5,
        odd=Case(
            "LagwardenGroupUneven",
            Kind.ODD,
            "a verdict with its own alert fires only that alert",
            {
                verdict("falling_behind", "warning"): "1x60",
                verdict("rewound", "warning", {**MONITOR, "group": "b"}): "1x60",
                verdict("skipped", "warning", {**MONITOR, "group": "d"}): "1x60",
                verdict("forgotten", "warning", {**MONITOR, "group": "g"}): "1x60",
                verdict("two_applications", "warning", {**MONITOR, "group": "e"}): "1x60",
                verdict("two_committers", "warning", {**MONITOR, "group": "f"}): "1x60",
                verdict("expiring", "warning", {**MONITOR, "group": "c"}): "1x60",
            },
            "25m",
        ),
    ),
    *begins("LagwardenGroupUneven", "never_committed", "warning", minutes=15),
]

_PARTITION: Final = of("lagwarden_partition_verdict", GROUP, topic="orders", partition="3", verdict="expiring")
_UNREAD: Final = of("lagwarden_group_lag", GROUP)
_EXPIRY: Final = of("lagwarden_group_first_offset_expiry_timestamp_seconds", GROUP)
EXPIRE: Final = [
    Case(
        "LagwardenGroupOffsetsExpireSoon",
        Kind.BEFORE,
        "the verdict is not old enough",
        {verdict("expiring", "warning"): "_x10 1x60", _UNREAD: "5x60", _EXPIRY: "7800x60"},
        "9m30s",
    ),
    Case(
        "LagwardenGroupOffsetsExpireSoon",
        Kind.AFTER,
        "the offsets of a group with unread records expire soon",
        {verdict("expiring", "warning"): "_x10 1x60", _UNREAD: "5x60", _EXPIRY: "7800x60"},
        "10m",
        [GROUP],
        Text(
            "The broker will remove offsets of group billing, which has unread records",
            "The first one expires in 2h 0m 0s. After that the group begins at the position that"
            " auto.offset.reset sets. Which ones: lagwarden explain billing",
        ),
    ),
    Case(
        "LagwardenGroupOffsetsExpireSoon",
        Kind.AFTER,
        "another partition is worse, so the group's verdict is another",
        {verdict("no_members", "critical"): "1x60", _PARTITION: "1x60", _UNREAD: "5x60"},
        "10m",
        [GROUP],
    ),
    Case(
        "LagwardenGroupOffsetsExpireSoon",
        Kind.ODD,
        "a group that has read everything ended for good: nothing is lost with its offsets",
        {verdict("expiring", "warning"): "1x60", _PARTITION: "1x60", _UNREAD: "0x60"},
        "25m",
    ),
    Case(
        "LagwardenGroupOffsetsExpireSoon",
        Kind.VANISHED,
        "the offsets are lost",
        {verdict("expiring", "warning"): "1x20 stale", _UNREAD: "5x20 stale"},
        "16m",
    ),
    Case(
        "LagwardenGroupOffsetsExpireSoon",
        Kind.DEAD,
        "a restart of the monitor ends no alert",
        {verdict("expiring", "warning"): "1x20 stale", _UNREAD: "5x20 stale"},
        "12m",
        [GROUP],
    ),
]

_DIED: Final = of("lagwarden_group_died_timestamp_seconds", GROUP, death_cause="deleted")
_LAST: Final = of("lagwarden_group_last_commit_timestamp_seconds", GROUP)
_COMMITTED_UNTIL_10: Final = {_LAST: "0+30x20 stale"}
_DEAD_FROM_11: Final = {_DIED: "_x21 660x200"}
DIED: Final = [
    Case("LagwardenGroupDied", Kind.BEFORE, "the group exists", _COMMITTED_UNTIL_10, "10m30s"),
    Case(
        "LagwardenGroupDied",
        Kind.AFTER,
        "deleted a minute after its last commit",
        _COMMITTED_UNTIL_10 | _DEAD_FROM_11,
        "11m",
        [{**GROUP, "death_cause": "deleted"}],
        Text(
            "Group billing died (deleted) within an hour of its last commit",
            "Its offsets are lost. If it starts again, it begins at the position that auto.offset.reset sets. Its"
            " history: lagwarden explain billing",
        ),
    ),
    Case(
        "LagwardenGroupDied",
        Kind.AFTER,
        "the alert resolves after an hour",
        _COMMITTED_UNTIL_10 | _DEAD_FROM_11,
        "76m30s",
    ),
    Case(
        "LagwardenGroupDied",
        Kind.ODD,
        "a group without commits for an hour expires",
        {_LAST: "0x139 stale", _DIED: "_x140 4200x20"},
        "71m",
    ),
    Case(
        "LagwardenGroupDied",
        Kind.ODD,
        "a group whose topic was deleted dies",
        _COMMITTED_UNTIL_10
        | {of("lagwarden_group_died_timestamp_seconds", GROUP, death_cause="topic deleted"): "_x21 660x200"},
        "12m",
    ),
    Case(
        "LagwardenGroupDied",
        Kind.VANISHED,
        "the grace period is over, or the group exists again",
        _COMMITTED_UNTIL_10 | {_DIED: "_x21 660x5 stale"},
        "21m",
    ),
    Case(
        "LagwardenGroupDied",
        Kind.AFTER,
        "a dead group has its owner",
        _COMMITTED_UNTIL_10 | _DEAD_FROM_11 | {_OWNED: "1x200"},
        "11m",
        [{**GROUP, **_OWNER, "death_cause": "deleted"}],
    ),
    Case(
        "LagwardenGroupDied",
        Kind.ODD,
        "deleted in a maintenance window",
        _COMMITTED_UNTIL_10 | _DEAD_FROM_11 | {_MAINTENANCE: "1x200"},
        "11m",
    ),
    Case("LagwardenGroupDied", Kind.DEAD, "groups that end with the monitor did not die", {_LAST: "0+30x20"}, "20m"),
]

_TIME_LAG: Final = of("lagwarden_group_time_lag_seconds", GROUP)
_TARGET: Final = of("lagwarden_group_target_seconds", GROUP)
FAST: Final = [
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.BEFORE,
        "late for exactly half an hour",
        {_TIME_LAG: "0x120 61x59 61x200", _TARGET: "60x400"},
        "90m",
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.AFTER,
        "late for half an hour and half a minute",
        {_TIME_LAG: "0x120 61x200", _TARGET: "60x400"},
        "90m30s",
        [GROUP],
        Text(
            "Group billing was over its target for 30m 30s of the last hour, and still is",
            "The oldest unread record is 1m 1s old, the target is 1m 0s. Cause: lagwarden explain billing",
        ),
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.AFTER,
        "a new owner loses none of the seconds that the group was late",
        {_TIME_LAG: "0x120 61x200", _TARGET: "60x400", _OWNED: "1x178 stale", _OWNED_BY_OTHER: "_x179 1x100"},
        "90m30s",
        [{**GROUP, **_OTHER_OWNER}],
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.ODD,
        "late in a maintenance window",
        {_TIME_LAG: "0x120 61x200", _TARGET: "60x400", _MAINTENANCE: "1x400"},
        "95m",
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.ODD,
        "a blip of eight minutes",
        {_TIME_LAG: "0x120 900x15 0x200", _TARGET: "60x400"},
        "68m",
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.ODD,
        "late for long, and just caught up",
        {_TIME_LAG: "0x20 900x100 0x200", _TARGET: "60x400"},
        "67m",
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.ODD,
        "a group that appears and has much to catch up with",
        {_TIME_LAG: "_x60 86400x40", _TARGET: "_x60 60x40"},
        "45m",
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.ODD,
        "a group without a target has no alert",
        {_TIME_LAG: "86400x400", of("lagwarden_group_target_seconds", MONITOR, group="other"): "60x400"},
        "180m",
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.VANISHED,
        "the group ends",
        {_TIME_LAG: "900x100 stale", _TARGET: "60x100 stale"},
        "61m",
    ),
    Case(
        "LagwardenGroupTargetFastBurn",
        Kind.DEAD,
        "time without samples is not counted",
        {_TIME_LAG: "0x120 900x20 _x100 900x5", _TARGET: "60x140 _x100 60x5"},
        "121m",
    ),
]
SLOW: Final = [
    Case(
        "LagwardenGroupTargetSlowBurn",
        Kind.ODD,
        "late in a maintenance window",
        {_TIME_LAG: "900x400", _TARGET: "60x400", _MAINTENANCE: "1x400"},
        "150m",
    ),
    Case(
        "LagwardenGroupTargetSlowBurn",
        Kind.BEFORE,
        "late for 72 minutes of six hours",
        {_TIME_LAG: "0x600 900x143 900x100", _TARGET: "60x900"},
        "372m",
    ),
    Case(
        "LagwardenGroupTargetSlowBurn",
        Kind.AFTER,
        "late for a little more",
        {_TIME_LAG: "0x600 900x200", _TARGET: "60x900"},
        "372m30s",
        [GROUP],
        Text(
            "Group billing was over its target for 1h 12m 30s of the last six hours",
            "Its target is 1m 0s. It catches up and is late again. Cause: lagwarden explain billing",
        ),
    ),
    Case(
        "LagwardenGroupTargetSlowBurn",
        Kind.ODD,
        "an hour late in the night, and fine since",
        {_TIME_LAG: "900x120 0x600", _TARGET: "60x900"},
        "300m",
    ),
    Case(
        "LagwardenGroupTargetSlowBurn",
        Kind.VANISHED,
        "the group ends",
        {_TIME_LAG: "900x300 stale", _TARGET: "60x300 stale"},
        "212m",
    ),
    Case(
        "LagwardenGroupTargetSlowBurn",
        Kind.DEAD,
        "time without samples is not counted",
        {_TIME_LAG: "900x100 _x400 900x10", _TARGET: "60x100 _x400 60x10"},
        "255m",
    ),
]

_SHARED: Final = {"dimension": "client_host", "key": "1"}
COMMON: Final = {**CLUSTER, **_SHARED}


def cause(groups: str, since: str = "", muted: str = "0x200", labels: Mapping[str, str] = MONITOR) -> dict[str, str]:
    """Return the series of a common cause that one instance has found, and of the instance."""
    counted = {
        of("lagwarden_common_cause_groups", labels, **_SHARED): groups,
        of("lagwarden_common_cause_muted_groups", labels, **_SHARED): muted,
    }
    known = {of("lagwarden_common_cause_timestamp_seconds", labels, **_SHARED): since} if since else {}
    return counted | known | instances(labels)


COMMON_CAUSE: Final = [
    Case("LagwardenCommonCause", Kind.BEFORE, "nothing is shared yet", cause("_x10 17x60"), "4m30s"),
    Case(
        "LagwardenCommonCause",
        Kind.AFTER,
        "seventeen groups at once",
        cause("_x10 17x60", "_x10 210x60"),
        "5m",
        [COMMON],
        Text(
            "17 groups became unhealthy together and share the client host 1",
            "The first of them did 1m 30s ago. What happened, and to which groups: the top of lagwarden's page, or"
            " lagwarden groups",
        ),
    ),
    Case(
        "LagwardenCommonCause",
        Kind.AFTER,
        "two instances of the cluster find the same cause: one alert about the groups of both, since the first",
        cause("_x10 17x60", "_x10 230x60") | cause("_x10 4x60", "_x10 210x60", labels=OTHER),
        "5m",
        [COMMON],
        Text(
            "21 groups became unhealthy together and share the client host 1",
            "The first of them did 1m 30s ago. What happened, and to which groups: the top of lagwarden's page, or"
            " lagwarden groups",
        ),
    ),
    Case(
        "LagwardenCommonCause",
        Kind.AFTER,
        "two clusters, whose monitors have the same job, are two alerts",
        {
            **cause("3x60"),
            **{name: values for name, values in cause("4x60", labels=OTHER).items() if "cluster_info" not in name},
            **instances(OTHER, of_cluster="south"),
        },
        "5m",
        [COMMON, {**COMMON, "cluster_id": "south"}],
    ),
    Case("LagwardenCommonCause", Kind.AFTER, "more groups follow: the same alert", cause("3x4 17x60"), "10m", [COMMON]),
    Case(
        "LagwardenCommonCause",
        Kind.AFTER,
        "a group whose fault is new joins those with old faults",
        cause("17x60", muted="17x9 16x60"),
        "6m",
        [COMMON],
    ),
    Case(
        "LagwardenCommonCause",
        Kind.ODD,
        "the faults of all its groups are older than the monitor, or the groups are in maintenance",
        cause("17x60", muted="17x60"),
        "20m",
    ),
    Case(
        "LagwardenCommonCause",
        Kind.ODD,
        "many groups that are stuck and share nothing have each their own alert",
        {verdict("stopped", "critical", {**MONITOR, "group": f"g{number}"}): "1x60" for number in range(5)},
        "20m",
    ),
    Case(
        "LagwardenCommonCause",
        Kind.VANISHED,
        "the groups of the cause are healthy again",
        cause("17x20 stale", muted="0x20 stale"),
        "16m",
    ),
    Case(
        "LagwardenCommonCause",
        Kind.DEAD,
        "a restart of the monitor resolves no alert",
        cause("17x20 stale _x3 17x40", muted="0x20 stale _x3 0x40"),
        "11m",
        [COMMON],
    ),
]


def groups_of(
    critical: int, fine: int, values: str = "_x10 1x60", labels: Mapping[str, str] = MONITOR
) -> dict[str, str]:
    """Return the series of an instance with these numbers of critical groups and of other groups."""
    sick = {verdict("stopped", "critical", {**labels, "group": f"sick-{number}"}): values for number in range(critical)}
    well = {verdict("ok", "fine", {**labels, "group": f"well-{number}"}): "1x200" for number in range(fine)}
    return sick | well | instances(labels)


_LEADERLESS: Final = of("lagwarden_topic_leaderless_partitions", MONITOR, topic="t")
_READER: Final = {**OTHER, "group": "reader"}


def leaderless(*partitions: int) -> dict[str, str]:
    """Return the series of the first instance for topics with these numbers of partitions without a leader."""
    metric = "lagwarden_topic_leaderless_partitions"
    return {of(metric, MONITOR, topic=f"t{topic}"): f"0x9 {count}x60" for topic, count in enumerate(partitions)}


UNHEALTHY_CLUSTER: Final = [
    Case("LagwardenClusterUnhealthy", Kind.BEFORE, "no group is critical yet", groups_of(10, 20), "4m30s"),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.AFTER,
        "ten of thirty groups are critical",
        groups_of(10, 20) | {_LEADERLESS: "0x9 7x60"},
        "5m",
        [CLUSTER],
        Text(
            "Cluster north is unhealthy: 33.33% of its groups are critical",
            "Critical groups: 10. The cause is more likely in the cluster than in them. Which groups, and what they"
            " share: lagwarden groups",
        ),
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.AFTER,
        "over the groups of all instances, none of which has ten",
        groups_of(6, 10) | groups_of(4, 10, labels=OTHER),
        "5m",
        [CLUSTER],
        Text(
            "Cluster north is unhealthy: 33.33% of its groups are critical",
            "Critical groups: 10. The cause is more likely in the cluster than in them. Which groups, and what they"
            " share: lagwarden groups",
        ),
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.AFTER,
        "ten partitions of two topics without a leader, which a group of another instance reads",
        groups_of(0, 20)
        | leaderless(7, 3)
        | instances(OTHER)
        | {verdict("no_leader", "critical", _READER): "_x10 1x60"},
        "5m",
        [CLUSTER],
        Text(
            "Cluster north is unhealthy: 4.762% of its groups are critical, 10 partitions have no leader",
            "Critical groups: 1. The cause is more likely in the cluster than in them. Which groups, and what they"
            " share: lagwarden groups",
        ),
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.AFTER,
        "both at once are one alert",
        groups_of(10, 20) | leaderless(7, 3) | {verdict("no_leader", "critical"): "_x10 1x60"},
        "5m",
        [CLUSTER],
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.ODD,
        "nine partitions without a leader: their groups have their own alerts",
        groups_of(0, 20) | leaderless(6, 3) | {verdict("no_leader", "critical"): "_x10 1x60"},
        "20m",
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.ODD,
        "partitions without a leader that no group reads, or that were without one during an election",
        groups_of(0, 20) | leaderless(70, 3),
        "20m",
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.ODD,
        "partitions of another cluster",
        groups_of(0, 20)
        | leaderless(7, 3)
        | instances(OTHER, of_cluster="south")
        | {verdict("no_leader", "critical", _READER): "_x10 1x60"},
        "20m",
    ),
    Case("LagwardenClusterUnhealthy", Kind.ODD, "nine critical groups have their own alerts", groups_of(9, 1), "20m"),
    Case("LagwardenClusterUnhealthy", Kind.ODD, "ten groups of forty", groups_of(10, 30), "20m"),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.ODD,
        "one instance has many critical groups, all instances have few",
        groups_of(10, 10) | groups_of(0, 30, labels=OTHER),
        "20m",
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.ODD,
        "groups in maintenance, and groups with faults older than the monitor, do not count",
        groups_of(11, 20)
        | {of("lagwarden_group_maintenance", MONITOR, group="sick-0"): "1x200"}
        | {of("lagwarden_group_unpaged", MONITOR, group="sick-1"): "1x200"},
        "20m",
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.VANISHED,
        "the groups are healthy again",
        groups_of(10, 20, "1x20 stale"),
        "16m",
    ),
    Case(
        "LagwardenClusterUnhealthy",
        Kind.DEAD,
        "a restart of the monitor resolves no alert",
        groups_of(10, 20, "1x20 stale _x3 1x40"),
        "11m",
        [CLUSTER],
    ),
]

_SICK: Final = [{**MONITOR, "group": f"sick-{number}"} for number in range(10)]
IN_UNHEALTHY_CLUSTER: Final = [
    Case("LagwardenGroupInUnhealthyCluster", Kind.BEFORE, "no group is critical yet", groups_of(10, 20), "4m30s"),
    Case(
        "LagwardenGroupInUnhealthyCluster",
        Kind.AFTER,
        "the critical groups of all instances of the cluster",
        groups_of(10, 10) | groups_of(1, 1, labels=OTHER),
        "5m",
        [*_SICK, {**OTHER, "group": "sick-0"}],
        Text(
            "Group $GROUP is unhealthy, as many groups of its cluster are",
            "LagwardenClusterUnhealthy has paged for them. This alert exists to mute the other alerts of the group.",
        ),
    ),
    Case(
        "LagwardenGroupInUnhealthyCluster",
        Kind.AFTER,
        "and those with a warning, also of an instance without critical groups",
        groups_of(0, 3)
        | groups_of(10, 3, "1x200", labels=OTHER)
        | {verdict("skewed", "warning"): "_x10 1x60"}
        | {verdict("ok", "fine", {**MONITOR, "group": "g"}): "1x60"},
        "5m",
        [GROUP, *({**OTHER, "group": f"sick-{number}"} for number in range(10))],
    ),
    Case(
        "LagwardenGroupInUnhealthyCluster",
        Kind.AFTER,
        "of a cluster with partitions without a leader, only the groups that read one",
        groups_of(2, 20) | leaderless(7, 3) | {verdict("no_leader", "critical"): "_x10 1x60"},
        "5m",
        [GROUP],
    ),
    Case(
        "LagwardenGroupInUnhealthyCluster",
        Kind.ODD,
        "the groups of another cluster",
        groups_of(10, 10)
        | {name: values for name, values in groups_of(3, 30, labels=OTHER).items() if "cluster_info" not in name}
        | instances(OTHER, of_cluster="south"),
        "20m",
        _SICK,
    ),
    Case(
        "LagwardenGroupInUnhealthyCluster",
        Kind.VANISHED,
        "the groups are healthy again",
        groups_of(10, 20, "1x20 stale"),
        "16m",
    ),
    Case(
        "LagwardenGroupInUnhealthyCluster",
        Kind.DEAD,
        "a restart of the monitor does not unmute an alert",
        groups_of(10, 20, "1x20 stale _x3 1x40"),
        "11m",
        _SICK,
    ),
]

COVERED: Final = of("lagwarden_group_common_cause", GROUP, dimension="coordinator", key="3")
IN_COMMON_CAUSE: Final = [
    Case("LagwardenGroupInCommonCause", Kind.BEFORE, "no common cause yet", {COVERED: "_x10 1x60"}, "4m30s"),
    Case(
        "LagwardenGroupInCommonCause",
        Kind.AFTER,
        "a common cause explains the group",
        {COVERED: "_x10 1x60"},
        "5m",
        [GROUP],
        Text(
            "Group billing is unhealthy for a reason that it shares with other groups",
            "LagwardenCommonCause has the reason. This alert exists to mute the other alerts of the group.",
        ),
    ),
    Case(
        "LagwardenGroupInCommonCause",
        Kind.ODD,
        "a stuck group that no common cause explains",
        {verdict("stopped", "critical"): "1x60", COVERED.replace("billing", "other"): "1x60"},
        "20m",
        [{**MONITOR, "group": "other"}],
    ),
    Case(
        "LagwardenGroupInCommonCause",
        Kind.VANISHED,
        "the group is well again, or alone",
        {COVERED: "1x20 stale"},
        "16m",
    ),
    Case(
        "LagwardenGroupInCommonCause",
        Kind.DEAD,
        "a restart of the monitor does not unmute an alert",
        {COVERED: "1x20 stale _x3 1x40"},
        "11m",
        [GROUP],
    ),
]

CASES: Final = [
    *COMMON_CAUSE,
    *IN_COMMON_CAUSE,
    *UNHEALTHY_CLUSTER,
    *IN_UNHEALTHY_CLUSTER,
    *STUCK,
    *OWNERS,
    *NO_MEMBERS,
    *SHARE_STUCK,
    *SHARE_REJECTING,
    *STORM,
    *LOSING,
    *NO_LEADER,
    *TRUNCATED,
    *HELD,
    *ABORTING,
    *BEHIND,
    *REWOUND,
    *SKIPPED,
    *FORGOTTEN,
    *SHARED,
    *UNEVEN,
    *EXPIRE,
    *DIED,
    *FAST,
    *SLOW,
]
