"""Every metric about the monitor's own HTTP server and files, one row each. `catalogue.metrics` joins the rows."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource

SERVICE_METRICS: Final = (
    Metric(
        "lagwarden_http_connections",
        MetricKind.GAUGE,
        "Open connections to the monitor's HTTP server, this scrape's own included.",
        MetricSource.STATUS,
        "http_connections",
    ),
    Metric(
        "lagwarden_http_refusals_total",
        MetricKind.COUNTER,
        "Connections and requests that were refused or cut off: connections, idle, request_timeout, bad_request, "
        "slow_reader or requests.",
        MetricSource.HTTP_REFUSALS,
        "refusals",
        ("reason",),
    ),
    Metric(
        "lagwarden_file_failures_total",
        MetricKind.COUNTER,
        "Failed writes of files that the monitor can do without: heartbeat or verdicts.",
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
        absent="no process of the role runs on this machine, or the system does not say",
    ),
    Metric(
        "lagwarden_descriptor_limit",
        MetricKind.GAUGE,
        "How many file descriptors the process of lagwarden_open_descriptors may have open (the soft limit).",
        MetricSource.DESCRIPTORS,
        "limit",
        ("role",),
        absent="as lagwarden_open_descriptors, or there is no limit",
    ),
)
"""What serves the numbers, and what is kept beside them."""
