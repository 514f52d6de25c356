"""Every metric about the monitor's own HTTP server and files, one row each. `catalogue.metrics` joins the rows."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Kind, Metric, Source

SERVICE_METRICS: Final = (
    Metric(
        "lagwarden_http_connections",
        Kind.GAUGE,
        "Open connections to the monitor's HTTP server, this scrape's own included.",
        Source.STATUS,
        "http_connections",
    ),
    Metric(
        "lagwarden_http_refusals_total",
        Kind.COUNTER,
        "Connections and requests that were refused or cut off: connections, idle, request_timeout, bad_request, "
        "slow_reader or requests.",
        Source.HTTP_REFUSALS,
        "refusals",
        ("reason",),
    ),
    Metric(
        "lagwarden_file_failures_total",
        Kind.COUNTER,
        "Failed writes of files that the monitor can do without: heartbeat or verdicts.",
        Source.FILE_FAILURES,
        "failures",
        ("file",),
    ),
    Metric(
        "lagwarden_open_descriptors",
        Kind.GAUGE,
        "Open file descriptors of the process nearest to its limit in each role: driver (this process), jvm (Spark), "
        "python_daemon and python_worker (started by the JVM on this machine).",
        Source.DESCRIPTORS,
        "open",
        ("role",),
        absent="no process of the role runs on this machine, or the system does not say",
    ),
    Metric(
        "lagwarden_descriptor_limit",
        Kind.GAUGE,
        "How many file descriptors the process of lagwarden_open_descriptors may have open (the soft limit).",
        Source.DESCRIPTORS,
        "limit",
        ("role",),
        absent="as lagwarden_open_descriptors, or there is no limit",
    ),
)
"""What serves the numbers, and what is kept beside them."""
