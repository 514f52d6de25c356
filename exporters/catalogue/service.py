"""The metrics about the HTTP server and optional files, one row each, rendered at each scrape.

`exporters.catalogue.metrics` joins the rows.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Stability

SERVICE_METRICS: Final = (
    Metric(
        "lagwarden_http_connections",
        MetricKind.GAUGE,
        "Open connections of the HTTP server, including that of the scrape.",
        MetricSource.STATUS,
        "http_connections",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_http_refusals_total",
        MetricKind.COUNTER,
        "Connections and requests refused or closed by the HTTP server, by reason: connections, idle, request_timeout, "
        "bad_request, slow_reader, tls, login or requests.",
        MetricSource.HTTP_REFUSALS,
        "refusals",
        ("reason",),
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_file_failures_total",
        MetricKind.COUNTER,
        "Failed writes of optional files: heartbeat or verdicts.",
        MetricSource.FILE_FAILURES,
        "failures",
        ("file",),
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of the HTTP server and of optional files."""
