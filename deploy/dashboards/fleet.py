"""The Fleet dashboard: all groups at a glance, the sick ones with their verdicts, and whether any of it is fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.dashboards.parts import Query, Unit, board, figure, graph, listing

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_SICK: Final = 'lagwarden_group_verdict{MINE, severity=~"warning|critical"}'
_FRESH: Final = ("green", ((60.0, "orange"), (120.0, "red")))
_BAD_IF_ANY: Final = ("green", ((1.0, "red"),))
_BAD_IF_NONE: Final = ("red", ((1.0, "green"),))


def fleet() -> Dashboard:
    """Give the dashboard."""
    return board(
        "Fleet",
        "All consumer groups of the cluster: which are stuck, late or about to be forgotten, and how fresh that is.",
        {
            "Can this be relied on?": [
                figure(
                    "Ready",
                    "1 while the numbers below are complete and fresh. /readyz says why they are not.",
                    Unit.COUNT,
                    Query("min(lagwarden_ready{MINE})"),
                    colours=_BAD_IF_NONE,
                ),
                figure(
                    "Snapshot age",
                    "How old the numbers below are. Above two minutes group alerts are muted.",
                    Unit.SECONDS,
                    Query("max(time() - lagwarden_snapshot_timestamp_seconds{MINE})"),
                    colours=_FRESH,
                ),
                figure(
                    "Groups",
                    "Groups that are known, those that died lately included.",
                    Unit.COUNT,
                    Query("count(lagwarden_group_info{MINE})"),
                ),
                figure(
                    "Critical",
                    "Groups whose records wait or are lost, and that do not mend themselves.",
                    Unit.COUNT,
                    Query('sum(lagwarden_groups_by_verdict{MINE, severity="critical"})'),
                    colours=_BAD_IF_ANY,
                ),
                figure(
                    "Warning",
                    "Groups that will need somebody today.",
                    Unit.COUNT,
                    Query('sum(lagwarden_groups_by_verdict{MINE, severity="warning"})'),
                    colours=("green", ((1.0, "orange"),)),
                ),
                figure(
                    "Not known",
                    "Groups of which nothing can be said. Their dashboard has the reason.",
                    Unit.COUNT,
                    Query('sum(lagwarden_groups_by_verdict{MINE, severity="unknown"})'),
                ),
            ],
            "How the groups are": [
                listing(
                    "Needs attention",
                    "Groups with a warning or a critical verdict, the longest first. lagwarden explain GROUP has the"
                    " sentence and what to do.",
                    {
                        "A": (
                            "For",
                            Unit.SECONDS,
                            Query(
                                "(time() - lagwarden_group_verdict_timestamp_seconds{MINE})"
                                f" * on (job, instance, group) group_left (verdict, severity) {_SICK}"
                            ),
                        ),
                        "B": (
                            "Time lag",
                            Unit.SECONDS,
                            Query(f"lagwarden_group_time_lag_seconds{{MINE}} and on (job, instance, group) {_SICK}"),
                        ),
                        "C": (
                            "Lag",
                            Unit.COUNT,
                            Query(f"lagwarden_group_lag{{MINE}} and on (job, instance, group) {_SICK}"),
                        ),
                    },
                    width=24,
                    labels=("group", "severity", "verdict"),
                ),
                graph(
                    "Groups by verdict",
                    "How many groups have each verdict that is not fine.",
                    Unit.COUNT,
                    Query(
                        'sum by (verdict) (lagwarden_groups_by_verdict{MINE, severity!="fine"}) > 0',
                        "{{verdict}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Turns of verdicts",
                    "How many groups turned to each verdict.",
                    Unit.COUNT,
                    Query(
                        "sum by (verdict) (increase(lagwarden_verdict_changes_total{MINE}[$__rate_interval])) > 0",
                        "{{verdict}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Worst time lag",
                    "The groups whose oldest unread record is oldest.",
                    Unit.SECONDS,
                    Query("topk(10, lagwarden_group_time_lag_seconds{MINE})", "{{group}}"),
                ),
                graph(
                    "Greatest lag",
                    "The groups with most unread offsets. A great number alone is no fault.",
                    Unit.COUNT,
                    Query("topk(10, lagwarden_group_lag{MINE})", "{{group}}"),
                ),
                listing(
                    "Late against their target",
                    "Groups whose time lag is above the target that they were given (metrics.targets).",
                    {
                        "A": (
                            "Time lag",
                            Unit.SECONDS,
                            Query("lagwarden_group_time_lag_seconds{MINE} > lagwarden_group_target_seconds{MINE}"),
                        ),
                        "B": (
                            "Target",
                            Unit.SECONDS,
                            Query("lagwarden_group_target_seconds{MINE} < lagwarden_group_time_lag_seconds{MINE}"),
                        ),
                    },
                ),
                graph(
                    "Busiest groups",
                    "The groups that read most offsets per second.",
                    Unit.RATE,
                    Query("topk(10, sum by (group) (lagwarden_partition_consume_rate{MINE}))", "{{group}}"),
                ),
            ],
            "What the brokers forget": [
                listing(
                    "Offsets about to expire",
                    "When the broker will forget the first of a group's offsets, by its own rules; within a week.",
                    {
                        "A": (
                            "In",
                            Unit.SECONDS,
                            Query("lagwarden_group_first_offset_expiry_timestamp_seconds{MINE} - time() < 604800"),
                        ),
                        "B": (
                            "Lag",
                            Unit.COUNT,
                            Query(
                                "lagwarden_group_lag{MINE} and"
                                " lagwarden_group_first_offset_expiry_timestamp_seconds{MINE} - time() < 604800"
                            ),
                        ),
                    },
                ),
                listing(
                    "Died lately",
                    "Groups that died, why, and how long ago; they stay here for a grace time.",
                    {
                        "A": (
                            "Ago",
                            Unit.SECONDS,
                            Query(
                                "(time() - lagwarden_group_died_timestamp_seconds{MINE})"
                                " * on (job, instance, group) group_left (death_cause) lagwarden_group_death_info{MINE}"
                            ),
                        )
                    },
                    labels=("group", "death_cause"),
                ),
                graph(
                    "Lag not known",
                    "Partitions of groups whose lag is not known, by reason.",
                    Unit.COUNT,
                    Query("sum by (reason) (lagwarden_group_partitions_lag_unknown{MINE})", "{{reason}}"),
                    stacked=True,
                ),
                graph(
                    "Groups by state",
                    "How many groups are in each state, of which kind.",
                    Unit.COUNT,
                    Query("count by (kind, state) (lagwarden_group_info{MINE})", "{{kind}} {{state}}"),
                    stacked=True,
                ),
            ],
        },
    )
