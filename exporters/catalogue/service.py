"""The metrics about the HTTP server, files and descriptors, one row each, rendered at each scrape.

`exporters.catalogue.metrics` joins the rows.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource

SERVICE_METRICS: Final = (
    Metric(
        "lagwarden_http_connections",
        MetricKind.GAUGE,
        "Open connections of the HTTP server, including that of the scrape.",
        MetricSource.STATUS,
        "http_connections",
    ),
    Metric(
        "lagwarden_http_refusals_total",
        MetricKind.COUNTER,
        "Connections and requests refused or closed by the HTTP server, by reason: connections, idle, request_timeout, "
        "bad_request, slow_reader or requests.",
        MetricSource.HTTP_REFUSALS,
        "refusals",
        ("reason",),
    ),
    Metric(
        "lagwarden_file_failures_total",
        MetricKind.COUNTER,
        "Failed writes of optional files: heartbeat or verdicts.",
        MetricSource.FILE_FAILURES,
        "failures",
        ("file",),
    ),
    Metric(
        "lagwarden_open_descriptors",
        MetricKind.GAUGE,
        "Open file descriptors of the process nearest to its limit in each role: driver (this process), jvm (Spark), "
        "python_daemon and python_worker (started by the JVM on this machine).",
        MetricSource.DESCRIPTORS,
        "open",
        ("role",),
        absent="no process of the role runs on this machine, or the system does not report it",
    ),
    Metric(
        "lagwarden_descriptor_limit",
        MetricKind.GAUGE,
        "Soft limit of open file descriptors of the process of lagwarden_open_descriptors.",
        MetricSource.DESCRIPTORS,
        "limit",
        ("role",),
        absent="as lagwarden_open_descriptors, or there is no limit",
    ),
)
"""Metrics of the HTTP server, of files and of file descriptors."""
