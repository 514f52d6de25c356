"""The table of the series that the series budget leaves out of /metrics, with its metrics."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import MetricSource
from exporters.catalogue.table import INT64, NAME, Column, Exported, Table

SERIES_DROPPED: Final = Table(
    MetricSource.SERIES_DROPPED,
    (Column("metric", NAME, "The name of the metric."),),
    (
        Column("series_now", INT64,
               "Series of the present snapshot left out of /metrics because of metrics.series_budget, by metric.",
               Exported("lagwarden_series_over_budget"), null="the metric is not left out"),
        Column("series_ever", INT64,
               "Series left out of /metrics, by metric, summed over all snapshots since the process started.",
               Exported("lagwarden_series_dropped_total"), null="the metric has never been left out"),
    ),
)  # fmt: skip
"""Series left out by the series budget, per metric."""
