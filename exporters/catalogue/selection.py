"""The metrics that the configuration makes, one row each: targets of groups, and what the series budget left out."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource

TARGET_METRICS: Final = (
    Metric(
        "lagwarden_group_target_seconds",
        MetricKind.GAUGE,
        "The time lag that is still good for the group, as configured (metrics.targets); rules compare with it.",
        MetricSource.TARGETS,
        "time_lag_target",
        ("group",),
        unit="seconds",
        absent="no target is configured for the group",
    ),
)
"""What the group's owners want of it."""

BUDGET_METRICS: Final = (
    Metric(
        "lagwarden_series_over_budget",
        MetricKind.GAUGE,
        "Series that are left out of /metrics now, by metric, because metrics.series_budget does not hold them.",
        MetricSource.SERIES_DROPPED,
        "series_now",
        ("metric",),
        absent="the metric is not left out",
    ),
    Metric(
        "lagwarden_series_dropped_total",
        MetricKind.COUNTER,
        "Series left out of /metrics by metric, added up over all snapshots since the process started.",
        MetricSource.SERIES_DROPPED,
        "series_ever",
        ("metric",),
        absent="the metric has never been left out",
    ),
)
"""What is known and not shown."""
