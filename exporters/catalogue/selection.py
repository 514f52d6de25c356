"""The metrics that depend on the configuration: targets, owners, maintenance, folded groups, and the series budget."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability, ValueConversion

TARGET_METRICS: Final = (
    Metric(
        "lagwarden_group_target_seconds",
        MetricKind.GAUGE,
        "The highest acceptable time lag of the group, as configured (metrics.targets); alert rules compare with it.",
        MetricSource.TARGETS,
        "time_lag_target",
        ("group",),
        unit="seconds",
        absent="the group has no configured target",
        preset=Preset.LEAN,
    ),
)
"""Metrics of configured targets."""

OWNER_METRICS: Final = (
    Metric(
        "lagwarden_group_owner_info",
        MetricKind.INFO,
        "The configured owner of the group (groups.owners), to join in rules: team, tier, a link, and the highest "
        "severity of its alerts.",
        MetricSource.OWNERS,
        "group",
        ("group", "team", "tier", "link", "max_severity"),
        conversion=ValueConversion.ONE,
        absent="the group has no configured owner; a label that the owner does not have is missing",
        preset=Preset.LEAN,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_group_maintenance",
        MetricKind.GAUGE,
        "1 while a configured maintenance window of the group (groups.maintenance) is open, or while it is silenced"
        " (groups.silences); the alert rules mute it.",
        MetricSource.MAINTENANCE,
        "in_maintenance",
        ("group",),
        absent="no maintenance window of the group is open, and it is not silenced",
        preset=Preset.LEAN,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_group_unpaged",
        MetricKind.GAUGE,
        "1 if the faults of the group began before the first look of the monitor, or the group had been silent for"
        " health.day_one; the alert rules mute it.",
        MetricSource.UNPAGED,
        "unpaged",
        ("group",),
        absent="the group has no fault, or one that is paged",
        preset=Preset.LEAN,
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of owners, maintenance windows and silences, also of dead groups, and of groups that are not paged."""

FOLDED_GROUP_METRICS: Final = (
    Metric(
        "lagwarden_group_folded_groups",
        MetricKind.GAUGE,
        "Groups with generated names that are shown as one, named by their pattern (metrics.fold, fold_generated).",
        MetricSource.FOLDED_GROUPS,
        "groups",
        ("group",),
        absent="the group is a single one",
        preset=Preset.LEAN,
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of folded groups."""

BUDGET_METRICS: Final = (
    Metric(
        "lagwarden_series_over_budget",
        MetricKind.GAUGE,
        "Series of the present snapshot left out of /metrics because of metrics.series_budget, by metric.",
        MetricSource.SERIES_DROPPED,
        "series_now",
        ("metric",),
        absent="the metric is not left out",
    ),
    Metric(
        "lagwarden_series_dropped_total",
        MetricKind.COUNTER,
        "Series left out of /metrics, by metric, summed over all snapshots since the process started.",
        MetricSource.SERIES_DROPPED,
        "series_ever",
        ("metric",),
        absent="the metric has never been left out",
    ),
)
"""Metrics of the series budget."""
