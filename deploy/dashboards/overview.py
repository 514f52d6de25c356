"""The Overview dashboard: all groups, the findings that need attention, and the age of the data."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard

from deploy.dashboards.parts import Panel, Query, Unit, board, listing

_UNHEALTHY: Final = 'lagwarden_group_verdict{SCOPE, severity=~"warning|critical"}'
_SAME_GROUP: Final = "on (job, instance, cluster, group)"
_FRESH: Final = ("green", ((60.0, "orange"), (120.0, "red")))
_BAD_IF_ANY: Final = ("green", ((1.0, "red"),))
_BAD_IF_NONE: Final = ("red", ((1.0, "green"),))


def overview() -> Dashboard:
    """Return the dashboard."""
    rows: dict[str, dict[str, Panel]] = {
        "Freshness": {
            "Ready": Unit.COUNT.figure(
                "1 while the data below is complete and fresh. Otherwise /readyz has the reasons.",
                Query("min by (cluster) (lagwarden_ready)", "{{cluster}}"),
                colours=_BAD_IF_NONE,
            ),
            "Snapshot age": Unit.SECONDS.figure(
                "Age of the data below. Above two minutes group alerts are muted.",
                Query("max by (cluster) (time() - lagwarden_snapshot_timestamp_seconds)", "{{cluster}}"),
                colours=_FRESH,
            ),
            "Groups": Unit.COUNT.figure(
                "All groups, including those that died recently.", Query("count(lagwarden_group_info)")
            ),
            "Critical": Unit.COUNT.figure(
                "Groups with unread or lost records that do not recover by themselves.",
                Query('sum(lagwarden_groups_by_verdict{SCOPE, severity="critical"})'),
                colours=_BAD_IF_ANY,
            ),
            "Warning": Unit.COUNT.figure(
                "Groups that need attention today.",
                Query('sum(lagwarden_groups_by_verdict{SCOPE, severity="warning"})'),
                colours=("green", ((1.0, "orange"),)),
            ),
            "Unknown": Unit.COUNT.figure(
                "Groups that cannot be evaluated. Their dashboard has the reason.",
                Query('sum(lagwarden_groups_by_verdict{SCOPE, severity="unknown"})'),
            ),
        },
        "Verdicts": {
            "Needs attention": listing(
                "Groups with a warning or critical verdict, the longest first. lagwarden explain GROUP has the"
                " finding and the next step.",
                {
                    "For": (
                        Unit.SECONDS,
                        (
                            "(time() - lagwarden_group_verdict_timestamp_seconds)"
                            f" * {_SAME_GROUP} group_left (verdict, severity) {_UNHEALTHY}"
                        ),
                    ),
                    "Time lag": (Unit.SECONDS, f"lagwarden_group_time_lag_seconds and {_SAME_GROUP} {_UNHEALTHY}"),
                    "Lag": (Unit.COUNT, f"lagwarden_group_lag and {_SAME_GROUP} {_UNHEALTHY}"),
                },
                width=24,
                labels=("group", "severity", "verdict"),
            ),
            "Common causes": Unit.COUNT.graph(
                "Unhealthy groups by what they share, as a coordinator. lagwarden groups prints the finding.",
                Query(
                    "sum by (cluster, dimension, key) (lagwarden_common_cause_groups)",
                    "{{dimension}} {{key}} {{cluster}}",
                ),
            ),
            "Groups by verdict": Unit.COUNT.graph(
                "Number of groups per verdict, without fine ones.",
                Query('sum by (verdict) (lagwarden_groups_by_verdict{SCOPE, severity!="fine"}) > 0', "{{verdict}}"),
                stacked=True,
            ),
            "Verdict changes": Unit.COUNT.graph(
                "Number of groups that changed to each verdict.",
                Query("sum by (verdict) (increase(lagwarden_verdict_changes_total[RATE])) > 0", "{{verdict}}"),
                stacked=True,
            ),
            "Worst time lag": Unit.SECONDS.graph(
                "The ten groups with the oldest unread record.",
                Query("topk(10, lagwarden_group_time_lag_seconds)", "{{group}} {{cluster}}"),
            ),
            "Largest lag": Unit.COUNT.graph(
                "The ten groups with most unread offsets. A large number alone is not a fault.",
                Query("topk(10, lagwarden_group_lag)", "{{group}} {{cluster}}"),
            ),
            "Over target": listing(
                "Groups whose time lag is above their target (metrics.targets).",
                {
                    "Time lag": (Unit.SECONDS, "lagwarden_group_time_lag_seconds > lagwarden_group_target_seconds"),
                    "Target": (Unit.SECONDS, "lagwarden_group_target_seconds < lagwarden_group_time_lag_seconds"),
                },
            ),
            "Busiest groups": Unit.RATE.graph(
                "The ten groups that read most offsets per second.",
                Query(
                    "topk(10, sum by (cluster, group) (deriv(lagwarden_topic_partition_end_offset[RATE])"
                    " - on (job, instance, cluster, topic, partition) group_right ()"
                    " deriv(lagwarden_partition_lag[RATE])))",
                    "{{group}} {{cluster}}",
                ),
            ),
        },
        "Share groups and commits": {
            "Commits": Unit.RATE.graph(
                "Records of offset commits per second, of all groups; with removals of offsets.",
                Query('sum(rate(lagwarden_records_read_total{SCOPE, record_type="OFFSET_COMMIT"}[RATE]))', "commits"),
            ),
            "Lag of share groups": Unit.COUNT.graph(
                "The ten share groups with the most records that are neither acknowledged nor archived.",
                Query("topk(10, lagwarden_share_group_lag)", "{{group}} {{cluster}}"),
            ),
            "Archived by share groups": Unit.RATE.graph(
                "Records per second that share groups rejected, or delivered as often as allowed.",
                Query(
                    "topk(10, sum by (cluster, group) (rate(lagwarden_share_partition_archived_total[RATE])))",
                    "{{group}} {{cluster}}",
                ),
            ),
        },
        "Expiration and removal": {
            "Offsets about to expire": listing(
                "Time until the broker removes the first committed offset of a group, if within a week.",
                {
                    "In": (Unit.SECONDS, "lagwarden_group_first_offset_expiry_timestamp_seconds - time() < 604800"),
                    "Lag": (
                        Unit.COUNT,
                        (
                            "lagwarden_group_lag and"
                            " lagwarden_group_first_offset_expiry_timestamp_seconds - time() < 604800"
                        ),
                    ),
                },
            ),
            "Recently died": listing(
                "Groups that died, with cause and time; shown for groups.dead_grace.",
                {"Ago": (Unit.SECONDS, "time() - lagwarden_group_died_timestamp_seconds")},
                labels=("group", "death_cause"),
            ),
            "Lag not known": Unit.COUNT.graph(
                "Partitions of groups whose lag is not known, by reason.",
                Query("sum by (reason) (lagwarden_group_partitions_lag_unknown)", "{{reason}}"),
                stacked=True,
            ),
            "Groups by state": Unit.COUNT.graph(
                "Number of groups per type and state.",
                Query("count by (kind, state) (lagwarden_group_info)", "{{kind}} {{state}}"),
                stacked=True,
            ),
        },
    }
    return board(
        "Overview", "All consumer groups of the cluster: which are stuck, late or about to lose their offsets.", rows
    )
