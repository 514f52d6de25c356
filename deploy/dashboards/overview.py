"""The Overview dashboard: all groups, the findings that need attention, and the age of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.dashboards.parts import Query, Unit, board, figure, graph, listing

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_SICK: Final = 'lagwarden_group_verdict{SCOPE, severity=~"warning|critical"}'
_SAME_GROUP: Final = "on (job, instance, cluster, group)"
_FRESH: Final = ("green", ((60.0, "orange"), (120.0, "red")))
_BAD_IF_ANY: Final = ("green", ((1.0, "red"),))
_BAD_IF_NONE: Final = ("red", ((1.0, "green"),))


def overview() -> Dashboard:
    """Return the dashboard."""
    return board(
        "Overview",
        "All consumer groups of the cluster: which are stuck, late or about to lose their offsets.",
        {
            "Freshness": [
                figure(
                    "Ready",
                    "1 while the data below is complete and fresh. Otherwise /readyz has the reasons.",
                    Unit.COUNT,
                    Query("min by (cluster) (lagwarden_ready{SCOPE})", "{{cluster}}"),
                    colours=_BAD_IF_NONE,
                ),
                figure(
                    "Snapshot age",
                    "Age of the data below. Above two minutes group alerts are muted.",
                    Unit.SECONDS,
                    Query("max by (cluster) (time() - lagwarden_snapshot_timestamp_seconds{SCOPE})", "{{cluster}}"),
                    colours=_FRESH,
                ),
                figure(
                    "Groups",
                    "All groups, including those that died recently.",
                    Unit.COUNT,
                    Query("count(lagwarden_group_info{SCOPE})"),
                ),
                figure(
                    "Critical",
                    "Groups with unread or lost records that do not recover by themselves.",
                    Unit.COUNT,
                    Query('sum(lagwarden_groups_by_verdict{SCOPE, severity="critical"})'),
                    colours=_BAD_IF_ANY,
                ),
                figure(
                    "Warning",
                    "Groups that need attention today.",
                    Unit.COUNT,
                    Query('sum(lagwarden_groups_by_verdict{SCOPE, severity="warning"})'),
                    colours=("green", ((1.0, "orange"),)),
                ),
                figure(
                    "Unknown",
                    "Groups that cannot be evaluated. Their dashboard has the reason.",
                    Unit.COUNT,
                    Query('sum(lagwarden_groups_by_verdict{SCOPE, severity="unknown"})'),
                ),
            ],
            "Verdicts": [
                listing(
                    "Needs attention",
                    "Groups with a warning or critical verdict, the longest first. lagwarden explain GROUP has the"
                    " finding and the next step.",
                    {
                        "A": (
                            "For",
                            Unit.SECONDS,
                            Query(
                                "(time() - lagwarden_group_verdict_timestamp_seconds{SCOPE})"
                                f" * {_SAME_GROUP} group_left (verdict, severity) {_SICK}"
                            ),
                        ),
                        "B": (
                            "Time lag",
                            Unit.SECONDS,
                            Query(f"lagwarden_group_time_lag_seconds{{SCOPE}} and {_SAME_GROUP} {_SICK}"),
                        ),
                        "C": (
                            "Lag",
                            Unit.COUNT,
                            Query(f"lagwarden_group_lag{{SCOPE}} and {_SAME_GROUP} {_SICK}"),
                        ),
                    },
                    width=24,
                    labels=("group", "severity", "verdict"),
                ),
                graph(
                    "Common causes",
                    "Unhealthy groups by what they share, as a coordinator. lagwarden groups prints the finding.",
                    Unit.COUNT,
                    Query(
                        "sum by (cluster, dimension, key) (lagwarden_common_cause_groups{SCOPE})",
                        "{{dimension}} {{key}} {{cluster}}",
                    ),
                ),
                graph(
                    "Groups by verdict",
                    "Number of groups per verdict, without fine ones.",
                    Unit.COUNT,
                    Query(
                        'sum by (verdict) (lagwarden_groups_by_verdict{SCOPE, severity!="fine"}) > 0',
                        "{{verdict}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Verdict changes",
                    "Number of groups that changed to each verdict.",
                    Unit.COUNT,
                    Query(
                        "sum by (verdict) (increase(lagwarden_verdict_changes_total{SCOPE}[$__rate_interval])) > 0",
                        "{{verdict}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Worst time lag",
                    "The ten groups with the oldest unread record.",
                    Unit.SECONDS,
                    Query("topk(10, lagwarden_group_time_lag_seconds{SCOPE})", "{{group}} {{cluster}}"),
                ),
                graph(
                    "Largest lag",
                    "The ten groups with most unread offsets. A large number alone is not a fault.",
                    Unit.COUNT,
                    Query("topk(10, lagwarden_group_lag{SCOPE})", "{{group}} {{cluster}}"),
                ),
                listing(
                    "Over target",
                    "Groups whose time lag is above their target (metrics.targets).",
                    {
                        "A": (
                            "Time lag",
                            Unit.SECONDS,
                            Query("lagwarden_group_time_lag_seconds{SCOPE} > lagwarden_group_target_seconds{SCOPE}"),
                        ),
                        "B": (
                            "Target",
                            Unit.SECONDS,
                            Query("lagwarden_group_target_seconds{SCOPE} < lagwarden_group_time_lag_seconds{SCOPE}"),
                        ),
                    },
                ),
                graph(
                    "Busiest groups",
                    "The ten groups that read most offsets per second.",
                    Unit.RATE,
                    Query(
                        "topk(10, sum by (cluster, group)"
                        " (deriv(lagwarden_partition_committed_offset{SCOPE}[$__rate_interval])))",
                        "{{group}} {{cluster}}",
                    ),
                ),
            ],
            "Share groups and commits": [
                graph(
                    "Commits",
                    "Records of offset commits per second, of all groups; with removals of offsets.",
                    Unit.RATE,
                    Query(
                        'sum(rate(lagwarden_records_read_total{SCOPE, record_type="OFFSET_COMMIT"}[$__rate_interval]))',
                        "commits",
                    ),
                ),
                graph(
                    "Lag of share groups",
                    "The ten share groups with the most records that are neither acknowledged nor archived.",
                    Unit.COUNT,
                    Query("topk(10, lagwarden_share_group_lag{SCOPE})", "{{group}} {{cluster}}"),
                ),
                graph(
                    "Archived by share groups",
                    "Records per second that share groups rejected, or delivered as often as allowed.",
                    Unit.RATE,
                    Query(
                        "topk(10, sum by (cluster, group)"
                        " (rate(lagwarden_share_partition_archived_total{SCOPE}[$__rate_interval])))",
                        "{{group}} {{cluster}}",
                    ),
                ),
            ],
            "Expiration and removal": [
                listing(
                    "Offsets about to expire",
                    "Time until the broker removes the first committed offset of a group, if within a week.",
                    {
                        "A": (
                            "In",
                            Unit.SECONDS,
                            Query("lagwarden_group_first_offset_expiry_timestamp_seconds{SCOPE} - time() < 604800"),
                        ),
                        "B": (
                            "Lag",
                            Unit.COUNT,
                            Query(
                                "lagwarden_group_lag{SCOPE} and"
                                " lagwarden_group_first_offset_expiry_timestamp_seconds{SCOPE} - time() < 604800"
                            ),
                        ),
                    },
                ),
                listing(
                    "Recently died",
                    "Groups that died, with cause and time; shown for groups.dead_grace.",
                    {
                        "A": (
                            "Ago",
                            Unit.SECONDS,
                            Query("time() - lagwarden_group_died_timestamp_seconds{SCOPE}"),
                        )
                    },
                    labels=("group", "death_cause"),
                ),
                graph(
                    "Lag not known",
                    "Partitions of groups whose lag is not known, by reason.",
                    Unit.COUNT,
                    Query("sum by (reason) (lagwarden_group_partitions_lag_unknown{SCOPE})", "{{reason}}"),
                    stacked=True,
                ),
                graph(
                    "Groups by state",
                    "Number of groups per type and state.",
                    Unit.COUNT,
                    Query("count by (kind, state) (lagwarden_group_info{SCOPE})", "{{kind}} {{state}}"),
                    stacked=True,
                ),
            ],
        },
    )
