"""The stories of the alerts about groups (rules/groups.yaml and rules/targets.yaml)."""

from collections.abc import Mapping
from typing import Final

from tests.chart.alerts.case import (
    CLUSTER,
    MONITOR,
    OTHER,
    Story,
    after,
    before,
    dead,
    edge,
    instances,
    odd,
    of,
    stories,
    vanished,
)

GROUP: Final = {**MONITOR, "group": "billing"}
ANOTHER: Final = {**MONITOR, "group": "other"}
LAG: Final = of("lagwarden_group_time_lag_seconds", GROUP)
REBALANCES: Final = of("lagwarden_group_rebalances_total", GROUP)


def verdict(word: str, severity: str, labels: Mapping[str, str] = GROUP) -> str:
    return of("lagwarden_group_verdict", labels, verdict=word, severity=severity)


def others(severity: str, *words: str) -> dict[str, str]:
    """Return the series of a group for each verdict, which it has all the time."""
    return {verdict(word, severity, {**MONITOR, "group": f"a {word} one"}): "1x60" for word in words}


def partition(word: str) -> str:
    return of("lagwarden_group_partitions_by_verdict", GROUP, verdict=word)


def by_verdict(word: str, severity: str, *, minutes: int, keep: int) -> Story:
    """Return the stories of an alert on one verdict, which begins in the fifth minute."""
    series = {verdict(word, severity): "_x10 1x120", LAG: "0x9 300x120", REBALANCES: "0+1x130"}
    left = 10 + 2 * minutes + 8
    ended = {verdict(word, severity): f"_x10 1x{left - 11} stale", LAG: f"0x9 300x{left - 11} stale"}
    restarted = {verdict(word, severity): f"_x10 1x{left - 11} stale _x3 1x40"}
    return (
        edge(f"{4 + minutes}m30s", f"{5 + minutes}m", series, [GROUP])
        + vanished(f"{left // 2 + keep + 1}m", ended)
        + dead(f"{left // 2 + 1}m", restarted, [GROUP])
    )


def begins(word: str, severity: str, *, minutes: int) -> Story:
    """Return the stories just before and just after of an alert that several verdicts share, for one of them."""
    return edge(f"{4 + minutes}m30s", f"{5 + minutes}m", {verdict(word, severity): "_x10 1x120"}, [GROUP])


STALLED: Final = verdict("stalled", "critical")
STOPPED: Final = verdict("stopped", "critical")
EXPIRING: Final = verdict("expiring", "warning")
FINE: Final = verdict("ok", "fine")
_NO_LEADER: Final = verdict("no_leader", "critical")
_LOSING: Final = verdict("losing_data", "critical")
_OWNER: Final = {"team": "payments", "tier": "1", "max_severity": "warning"}
_WITH_OWNER: Final = GROUP | _OWNER
_OWNED: Final = of("lagwarden_group_owner_info", GROUP, **_OWNER, link="https://wiki.example.com")
_MAINTENANCE: Final = of("lagwarden_group_maintenance", GROUP)
_NOT_ALERTED: Final = of("lagwarden_group_not_alerted", GROUP)
_SHARE_LAG: Final = of("lagwarden_share_group_lag", GROUP)
_ARCHIVED: Final = of("lagwarden_share_partition_archived_total", GROUP, topic="jobs", partition="0")
_LOST: Final = of("lagwarden_group_lost_offsets", GROUP)
_SKIPPED: Final = of("lagwarden_group_records_skipped_total", GROUP)
_LAG: Final = of("lagwarden_group_lag", GROUP)
_EXPIRY: Final = of("lagwarden_group_first_offset_expiry_timestamp_seconds", GROUP)
_TARGET: Final = of("lagwarden_group_target_seconds", GROUP)
_LATE: Final = {LAG: "0x120 61x200", _TARGET: "60x400"}

_DEAD: Final = {**GROUP, "death_cause": "deleted"}
_DIED: Final = of("lagwarden_group_died_timestamp_seconds", _DEAD)
_LAST: Final = of("lagwarden_group_last_commit_timestamp_seconds", GROUP)
_COMMITTED: Final = {_LAST: "0+30x20 stale"}
_DELETED: Final = _COMMITTED | {_DIED: "_x21 660x200"}

_WHICH: Final = "Which partitions: lagwarden explain 'billing'"
SINCE: Final = (
    "The first of them did 1m 30s ago. What happened, and to which groups: the top of lagwarden's page, or lagwarden"
    " groups"
)
IN_CLUSTER: Final = (
    "The cause is more likely in the cluster than in them. Which groups, and what they share: lagwarden groups"
)
_SKIPPED_TEXT: Final = (
    "Group billing went forward past records without reading them",
    "They are not lost while the topic keeps them. How many, and which: lagwarden explain 'billing'",
)
_FORGOTTEN: Final = (
    "Offsets of group billing were removed before their time",
    (
        "The group is alive. Where it has not committed again, it begins by auto.offset.reset after its next restart."
        " Which ones, and when: lagwarden explain 'billing'"
    ),
)
_SHARED: Final = (
    "Two clients that do not belong together use group billing",
    (
        "Either its members subscribe to different topics for longer than a deploy takes, or two clients commit the"
        " same partition. Which ones: lagwarden explain 'billing'"
    ),
)


def stuck(age: str) -> str:
    """Return the text about a group whose oldest unread record has this age."""
    return (
        "The group has unread records and does not read them. This does not resolve by itself. The oldest unread"
        f" record is {age} old. Cause and next step: lagwarden explain 'billing'"
    )


_CAUSE: Final = {"dimension": "client_host", "key": "1"}
COMMON: Final = {**CLUSTER, **_CAUSE}
COVERED: Final = of("lagwarden_group_common_cause", GROUP, dimension="coordinator", key="3")


def cause(groups: str, since: str = "", muted: str = "0x200", labels: Mapping[str, str] = MONITOR) -> dict[str, str]:
    """Return the series of a common cause that one instance has found, and of the instance."""
    counted = {
        of("lagwarden_common_cause_groups", labels, **_CAUSE): groups,
        of("lagwarden_common_cause_muted_groups", labels, **_CAUSE): muted,
    }
    known = {of("lagwarden_common_cause_timestamp_seconds", labels, **_CAUSE): since} if since else {}
    return counted | known | instances(labels)


def in_south(series: Mapping[str, str]) -> dict[str, str]:
    """Return the series of the second instance as one of another cluster."""
    mine = {name: values for name, values in series.items() if "cluster_info" not in name}
    return mine | instances(OTHER, of_cluster="south")


def groups_of(
    critical: int, fine: int, values: str = "_x10 1x60", labels: Mapping[str, str] = MONITOR
) -> dict[str, str]:
    sick = {verdict("stopped", "critical", {**labels, "group": f"sick-{number}"}): values for number in range(critical)}
    well = {verdict("ok", "fine", {**labels, "group": f"well-{number}"}): "1x200" for number in range(fine)}
    return sick | well | instances(labels)


_LEADERLESS: Final = of("lagwarden_topic_leaderless_partitions", MONITOR, topic="t")
_READER: Final = {**OTHER, "group": "reader"}
_SICK: Final = [{**MONITOR, "group": f"sick-{number}"} for number in range(10)]


def leaderless(*partitions: int) -> dict[str, str]:
    """Return the series of the first instance for topics with these numbers of partitions without a leader."""
    metric = "lagwarden_topic_leaderless_partitions"
    return {of(metric, MONITOR, topic=f"t{topic}"): f"0x9 {count}x60" for topic, count in enumerate(partitions)}


STORIES: Final = {
    "LagwardenGroupStuck": {
        "the verdict": by_verdict("stalled", "critical", minutes=1, keep=5).says(
            "Group billing is stuck: stalled", stuck("5m 0s")
        ),
        "notices and warnings are not stuck, nor is what has an alert of its own": odd(
            "20m",
            others("notice", "recovering")
            | others("warning", "skewed")
            | others("critical", "no_members", "losing_data", "held_back", "rebalance_storm", "no_leader", "truncated")
            | others("critical", "aborting", "share_stopped", "share_rejecting"),
        ),
        "stopped": begins("stopped", "critical", minutes=1),
        "poison record": begins("poison_record", "critical", minutes=1),
        "unassigned": begins("unassigned", "critical", minutes=1),
        "rebalancing too long": begins("rebalancing_too_long", "critical", minutes=1),
        "a change of the verdict does not change the alert; the text has the new verdict": odd(
            "10m30s", {STALLED: "1x20 stale", STOPPED: "_x20 1x20", LAG: "5000x60"}, [GROUP]
        ).says("Group billing is stuck: stopped", stuck("1h 23m 20s")),
        "the owner of the group is in the labels, and only of that group": after(
            "5m",
            {STALLED: "1x20", verdict("stalled", "critical", ANOTHER): "1x20", _OWNED: "1x20"},
            [_WITH_OWNER, ANOTHER],
        ),
        "in a maintenance window there is no alert, but on other groups there is": odd(
            "5m",
            {STALLED: "1x20", verdict("stalled", "critical", ANOTHER): "1x20", _MAINTENANCE: "1x20", _OWNED: "1x20"},
            [ANOTHER],
        ),
        "a fault that is older than the monitor has no alert, but that of another group has": odd(
            "5m", {STOPPED: "1x20", verdict("stopped", "critical", ANOTHER): "1x20", _NOT_ALERTED: "1x20"}, [ANOTHER]
        ),
        "a group that has recovered from an old fault and fails again has its alert": after(
            "14m", {STOPPED: "1x10 stale _x9 1x40", _NOT_ALERTED: "1x10 stale"}, [GROUP]
        ),
    },
    "LagwardenGroupSkipped": {
        "a partition's verdict, the group is not paged": odd(
            "10m", {partition("skipped"): "1x40", _NOT_ALERTED: "1x40"}
        ),
        "the verdict": by_verdict("skipped", "warning", minutes=0, keep=5).says(*_SKIPPED_TEXT),
        "a planned reset": odd("25m", {verdict("reset", "notice"): "1x60", _LAG: "90000x10 0x50", _SKIPPED: "0x60"}),
        "another partition is worse, so the group's verdict is another": after(
            "10m", {STOPPED: "1x60", partition("skipped"): "_x19 1x40", _SKIPPED: "0x19 5000x40"}, [GROUP]
        ).says(*_SKIPPED_TEXT),
    },
    "LagwardenGroupOffsetsExpireSoon": {
        "the verdict is not old enough; the offsets of a group with unread records expire soon": edge(
            "9m30s", "10m", {EXPIRING: "_x10 1x60", _LAG: "5x60", _EXPIRY: "7800x60"}, [GROUP]
        ).says(
            "The broker will remove offsets of group billing, which has unread records",
            "The first one expires in 2h 0m 0s. After that the group begins at the position that auto.offset.reset"
            " sets. Which ones: lagwarden explain 'billing'",
        ),
        "another partition is worse, so the group's verdict is another": after(
            "10m", {verdict("no_members", "critical"): "1x60", partition("expiring"): "1x60", _LAG: "5x60"}, [GROUP]
        ),
        "a group that has read everything ended for good: nothing is lost with its offsets": odd(
            "25m", {EXPIRING: "1x60", partition("expiring"): "1x60", _LAG: "0x60"}
        ),
        "the offsets are lost": vanished("16m", {EXPIRING: "1x20 stale", _LAG: "5x20 stale"}),
        "a restart of the monitor ends no alert": dead("12m", {EXPIRING: "1x20 stale", _LAG: "5x20 stale"}, [GROUP]),
    },
    "LagwardenGroupNoMembers": {
        "the verdict": by_verdict("no_members", "critical", minutes=1, keep=5).says(
            "Group billing has unread records and no members",
            "The group has had no members for longer than a restart takes or is usual for it. The oldest unread record"
            " is 5m 0s old. Details: lagwarden explain 'billing'",
        ),
        "a batch consumer that runs once per hour has no members and no lag in between": odd(
            "25m", {verdict("caught_up", "fine"): "1x60", of("lagwarden_group_members", GROUP): "0x60"}
        ),
    },
    "LagwardenShareGroupStuck": {
        "the verdict": by_verdict("share_stopped", "critical", minutes=1, keep=5).says(
            "Share group billing finishes no records: share stopped",
            "Which partitions, and what became of their deliveries: lagwarden explain 'billing'",
        ),
        "a share group that works slowly has a lag and no fault, and one that rejects has an alert of its own": odd(
            "25m", {FINE: "1x60", _SHARE_LAG: "4000x60"} | others("critical", "share_rejecting", "no_members")
        ),
        "share no members": begins("share_no_members", "critical", minutes=1),
        "share redelivering": begins("share_redelivering", "critical", minutes=1),
    },
    "LagwardenShareGroupRejecting": {
        "the verdict": by_verdict("share_rejecting", "critical", minutes=1, keep=5).says(
            "Share group billing accepts no records and archives them",
            "Archived records are never delivered again. Which partitions: lagwarden explain 'billing'",
        ),
        "a share group that rejects some records has no fault": odd("25m", {FINE: "1x60", _ARCHIVED: "0+5x60"}),
    },
    "LagwardenGroupRebalanceStorm": {
        "the verdict": by_verdict("rebalance_storm", "critical", minutes=1, keep=10).says(
            "Group billing rebalances repeatedly, and its lag does not fall",
            "The group is not stable: about 12 rebalances in ten minutes. Which members join and leave: lagwarden"
            " explain 'billing'",
        ),
        "a rolling restart has many rebalances and no verdict": odd("25m", {FINE: "1x60", REBALANCES: "0+1x60"}),
    },
    "LagwardenGroupLosingData": {
        "the verdict": by_verdict("losing_data", "critical", minutes=0, keep=5).says(
            "Group billing loses unread records to retention", _WHICH
        ),
        "an abandoned topic loses no needed records": odd(
            "25m", {verdict("abandoned", "notice"): "1x60", _LOST: "0+10x60"}
        ),
        "records are lost": after("5m", {_LOSING: "_x10 1x60", _LOST: "1200x60"}, [GROUP]).says(
            "Group billing loses unread records to retention", f"1.2k offsets are lost. {_WHICH}"
        ),
    },
    "LagwardenGroupNoLeader": {
        "the verdict": by_verdict("no_leader", "critical", minutes=1, keep=5).says(
            "Group billing reads a partition that has no leader",
            "The partition can be neither read nor written until a broker with an in-sync replica is back. Which"
            " partitions: lagwarden explain 'billing'",
        ),
        "a leader election leaves the lag unknown for a moment": odd(
            "11m",
            {
                verdict("unknown", "unknown"): "1 stale _x20 1 stale",
                of("lagwarden_group_partitions_lag_unknown", GROUP, reason="no_leader"): "1 stale _x20 1 stale",
            },
        ),
    },
    "LagwardenGroupTruncated": {
        "the verdict": by_verdict("truncated", "critical", minutes=1, keep=5).says(
            "Group billing has committed offsets above the end of a partition",
            "The log was cut back, or the topic created again; the consumer will reset its offset when it next reads."
            " Which partitions, and how far above: lagwarden explain 'billing'",
        ),
        "a topic that was created again for a group without members": odd(
            "25m",
            {
                verdict("unknown", "unknown"): "1x60",
                of("lagwarden_group_partitions_lag_unknown", GROUP, reason="recreated"): "1x60",
            },
        ),
    },
    "LagwardenGroupAborting": {
        "the verdict": by_verdict("aborting", "critical", minutes=1, keep=5).says(
            "All transactions of group billing are aborted",
            "The group reads and works, but no transaction with its offsets is committed, so it makes no progress. How"
            " many, since when and by which producer: lagwarden explain 'billing'",
        ),
        "a group that aborts some of its transactions and commits the others": odd("20m", {FINE: "1x60", LAG: "20x60"}),
    },
    "LagwardenGroupHeldBack": {
        "the verdict": by_verdict("held_back", "critical", minutes=1, keep=5).says(
            "Group billing is blocked by an open transaction",
            "The group reads committed records only and has reached a transaction that does not end. The producer and"
            " the start of the transaction: lagwarden explain 'billing'",
        ),
        "short transactions, one after the other": odd(
            "20m", {verdict("held_back", "critical"): "_ 1 stale _x5 1 stale _x5 1 stale", FINE: "1x60"}
        ),
    },
    "LagwardenGroupFallingBehind": {
        "the verdict": by_verdict("falling_behind", "warning", minutes=10, keep=5).says(
            "Group billing falls behind",
            "The lag has grown from commit to commit for ten minutes. The oldest unread record is 5m 0s old. Rates per"
            " partition: lagwarden explain 'billing'",
        ),
        "a bursty topic falls behind for minutes and recovers, over and over": odd(
            "30m",
            {
                verdict("falling_behind", "warning"): "1x10 stale _x9 1x10 stale _x9 1x10 stale",
                verdict("recovering", "notice"): "_x10 1x9 stale _x10 1x9 stale",
            },
        ),
    },
    "LagwardenGroupRewound": {
        "the verdict": by_verdict("rewound", "warning", minutes=1, keep=5).says(
            "Group billing committed smaller offsets and reads records again",
            "A group with members committed smaller offsets than before; it was not reset while it was empty. How far"
            " and when: lagwarden explain 'billing'",
        ),
        "a planned reset is no alert": odd("25m", {verdict("reset", "notice"): "1x60", _LAG: "0x10 90000-900x50"}),
    },
    "LagwardenGroupOffsetsForgotten": {
        "the verdict": by_verdict("forgotten", "warning", minutes=0, keep=5).says(*_FORGOTTEN),
        "offsets of a group without members expire at their time": odd(
            "25m",
            {
                EXPIRING: "1x19 stale",
                of("lagwarden_expiry_checks_total", MONITOR, outcome="kept"): "0x19 4x40",
                of("lagwarden_group_died_timestamp_seconds", GROUP, death_cause="expired"): "_x19 600x40",
            },
        ),
        "another partition is worse, so the group's verdict is another": after(
            "10m", {STOPPED: "1x60", partition("forgotten"): "_x19 1x40"}, [GROUP]
        ).says(*_FORGOTTEN),
    },
    "LagwardenGroupShared": {
        "the verdict": by_verdict("two_applications", "warning", minutes=1, keep=5).says(*_SHARED),
        "rewound once, and a rolling deploy": odd("25m", {verdict("rewound", "warning"): "1x60", REBALANCES: "0+1x60"}),
        "two committers": begins("two_committers", "warning", minutes=1),
        "another partition is worse, so the group's verdict is another": after(
            "11m", {STOPPED: "1x60", partition("two_committers"): "_x19 1x40"}, [GROUP]
        ).says(*_SHARED),
    },
    "LagwardenGroupUneven": {
        "the verdict": by_verdict("skewed", "warning", minutes=15, keep=5).says(
            "Group billing leaves some partitions behind: skewed",
            "The group reads, but some of its partitions are left behind. Which ones: lagwarden explain 'billing'",
        ),
        "a verdict with its own alert fires only that alert": odd(
            "25m",
            {verdict("falling_behind", "warning"): "1x60"}
            | others("warning", "rewound", "skipped", "forgotten", "two_applications", "two_committers", "expiring"),
        ),
        "never committed": begins("never_committed", "warning", minutes=15),
    },
    "LagwardenGroupDied": {
        "the group exists; deleted a minute after its last commit": edge("10m", "11m", _DELETED, [_DEAD]).says(
            "Group billing died (deleted) within an hour of its last commit",
            "Its offsets are lost. If it starts again, it begins at the position that auto.offset.reset sets. Its"
            " history: lagwarden explain 'billing'",
        ),
        "a group without commits for an hour expires": odd("71m", {_LAST: "0x139 stale", _DIED: "_x140 4200x20"}),
        "the grace period is over, or the group is back": vanished("21m", _COMMITTED | {_DIED: "_x21 660x5 stale"}),
        "groups that end with the monitor did not die": dead("20m", {_LAST: "0+30x20"}),
    },
    "LagwardenGroupTargetFastBurn": {
        "late for exactly half an hour": before("90m", {LAG: "0x120 61x59 61x200", _TARGET: "60x400"}),
        "late for half an hour and half a minute": after("90m30s", _LATE, [GROUP]).says(
            "Group billing was over its target for 30m 30s of the last hour, and still is",
            "The oldest unread record is 1m 1s old, the target is 1m 0s. Cause: lagwarden explain 'billing'",
        ),
        "late for long, and just caught up": odd("67m", {LAG: "0x20 900x100 0x200", _TARGET: "60x400"}),
        "a group that appears and has much to catch up with": odd("45m", {LAG: "_x60 86400x40", _TARGET: "_x60 60x40"}),
        "a group without a target has no alert": odd(
            "180m", {LAG: "86400x400", of("lagwarden_group_target_seconds", ANOTHER): "60x400"}
        ),
        "the group ends": vanished("61m", {LAG: "900x100 stale", _TARGET: "60x100 stale"}),
        "a pause of scrapes does not count": dead(
            "121m", {LAG: "0x120 900x20 _x100 900x5", _TARGET: "60x140 _x100 60x5"}
        ),
    },
    "LagwardenGroupTargetSlowBurn": {
        "late for 72 minutes of six hours": before("372m", {LAG: "0x600 900x143 900x100", _TARGET: "60x900"}),
        "late for a little more": after("372m30s", {LAG: "0x600 900x200", _TARGET: "60x900"}, [GROUP]).says(
            "Group billing was over its target for 1h 12m 30s of the last six hours",
            "Its target is 1m 0s. It catches up and is late again. Cause: lagwarden explain 'billing'",
        ),
        "an hour late in the night, and fine since": odd("300m", {LAG: "900x120 0x600", _TARGET: "60x900"}),
        "the group ends": vanished("212m", {LAG: "900x300 stale", _TARGET: "60x300 stale"}),
        "a pause of scrapes does not count": dead("255m", {LAG: "900x100 _x400 900x10", _TARGET: "60x100 _x400 60x10"}),
    },
    "LagwardenCommonCause": {
        "nothing is shared yet; seventeen groups at once": edge(
            "4m30s", "5m", cause("_x10 17x60", "_x10 210x60"), [COMMON]
        ).says("17 groups became unhealthy together and share the client host 1", SINCE),
        "two instances of the cluster find the same cause: one alert about the groups of both, since the first": after(
            "5m", cause("_x10 17x60", "_x10 230x60") | cause("_x10 4x60", "_x10 210x60", labels=OTHER), [COMMON]
        ).says("21 groups became unhealthy together and share the client host 1", SINCE),
        "all its groups are in maintenance, or their faults are old": odd("20m", cause("17x60", muted="17x60")),
        "many groups that are stuck and share nothing have each their own alert": odd(
            "20m", {verdict("stopped", "critical", {**MONITOR, "group": f"g{number}"}): "1x60" for number in range(5)}
        ),
        "the groups of the cause are healthy again": vanished("16m", cause("17x20 stale", muted="0x20 stale")),
        "a restart resolves no alert": dead(
            "11m", cause("17x20 stale _x3 17x40", muted="0x20 stale _x3 0x40"), [COMMON]
        ),
    },
    "LagwardenClusterUnhealthy": {
        "no group is critical yet; ten of thirty groups are critical": edge(
            "4m30s", "5m", groups_of(10, 20) | {_LEADERLESS: "0x9 7x60"}, [CLUSTER]
        ).says("Cluster north is unhealthy: 33.33% of its groups are critical", f"Critical groups: 10. {IN_CLUSTER}"),
        "ten partitions of two topics without a leader, which a group of another instance reads": after(
            "5m",
            groups_of(0, 20)
            | leaderless(7, 3)
            | instances(OTHER)
            | {verdict("no_leader", "critical", _READER): "_x10 1x60"},
            [CLUSTER],
        ).says(
            "Cluster north is unhealthy: 4.762% of its groups are critical, 10 partitions have no leader",
            f"Critical groups: 1. {IN_CLUSTER}",
        ),
        "partitions without a leader that no group reads, or that were without one during an election": odd(
            "20m", groups_of(0, 20) | leaderless(70, 3)
        ),
        "nine critical groups have their own alerts": odd("20m", groups_of(9, 1)),
        "groups in maintenance, and groups with faults older than the monitor, do not count": odd(
            "20m",
            groups_of(11, 20)
            | {of("lagwarden_group_maintenance", MONITOR, group="sick-0"): "1x200"}
            | {of("lagwarden_group_not_alerted", MONITOR, group="sick-1"): "1x200"},
        ),
        "the groups are healthy again": vanished("16m", groups_of(10, 20, "1x20 stale")),
        "a restart resolves no alert": dead("11m", groups_of(10, 20, "1x20 stale _x3 1x40"), [CLUSTER]),
    },
    "LagwardenGroupInUnhealthyCluster": {
        "no group is critical yet": before("4m30s", groups_of(10, 20)),
        "the critical groups of all instances of the cluster": after(
            "5m", groups_of(10, 10) | groups_of(1, 1, labels=OTHER), [*_SICK, {**OTHER, "group": "sick-0"}]
        ).says(
            "Group $GROUP is unhealthy, as many groups of its cluster are",
            "LagwardenClusterUnhealthy has paged for them. This alert exists to mute the other alerts of the group.",
        ),
        "of a cluster with partitions without a leader, only the groups that read one": after(
            "5m", groups_of(2, 20) | leaderless(7, 3) | {_NO_LEADER: "_x10 1x60"}, [GROUP]
        ),
        "groups of another cluster": odd("20m", groups_of(10, 10) | in_south(groups_of(3, 30, labels=OTHER)), _SICK),
        "the groups are healthy again": vanished("16m", groups_of(10, 20, "1x20 stale")),
        "a restart does not unmute an alert": dead("11m", groups_of(10, 20, "1x20 stale _x3 1x40"), _SICK),
    },
    "LagwardenGroupInCommonCause": {
        "no common cause yet; a common cause explains the group": edge(
            "4m30s", "5m", {COVERED: "_x10 1x60"}, [GROUP]
        ).says(
            "Group billing is unhealthy for a reason that it shares with other groups",
            "LagwardenCommonCause has the reason. This alert exists to mute the other alerts of the group.",
        ),
        "a stuck group without it": odd(
            "20m", {STOPPED: "1x60", COVERED.replace("billing", "other"): "1x60"}, [ANOTHER]
        ),
        "the group is well again, or alone": vanished("16m", {COVERED: "1x20 stale"}),
        "a restart does not unmute an alert": dead("11m", {COVERED: "1x20 stale _x3 1x40"}, [GROUP]),
    },
}

CASES: Final = stories(STORIES)
