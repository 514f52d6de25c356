"""The metrics about the HTTP server, optional files, the webhook and OTLP, one row each, rendered at each scrape.

`exporters.catalogue.metrics` joins the rows.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Stability, ValueConversion

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
        "bad_request, slow_reader, tls, login, host or requests.",
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

WEBHOOK_METRICS: Final = (
    Metric(
        "lagwarden_webhook_events_sent_total",
        MetricKind.COUNTER,
        "Events about verdict changes that the webhook accepted.",
        MetricSource.STATUS,
        "webhook_sent",
        absent="there is no webhook (webhook.url)",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_webhook_events_queued",
        MetricKind.GAUGE,
        "Events that the webhook has not accepted yet; they are kept over a restart.",
        MetricSource.STATUS,
        "webhook_queued",
        absent="there is no webhook",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_webhook_oldest_event_timestamp_seconds",
        MetricKind.GAUGE,
        "When the oldest event was made that the webhook has not accepted yet.",
        MetricSource.STATUS,
        "webhook_oldest_at",
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent="there is no such event, or no webhook",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_webhook_failures_total",
        MetricKind.COUNTER,
        "Failed requests to the webhook, by reason; docs/webhook.md has the reasons. They are tried again.",
        MetricSource.WEBHOOK_FAILURES,
        "failures",
        ("reason",),
        absent="there is no webhook",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_webhook_events_dropped_total",
        MetricKind.COUNTER,
        "Events that the webhook never accepted, by reason: queue_full, or refused five times for their content.",
        MetricSource.WEBHOOK_DROPS,
        "events",
        ("reason",),
        absent="there is no webhook",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of the webhook of verdict changes."""

OTLP_METRICS: Final = (
    Metric(
        "lagwarden_otlp_points_sent_total",
        MetricKind.COUNTER,
        "Data points that the receiver of OTLP accepted.",
        MetricSource.STATUS,
        "otlp_points",
        absent="there is no export by OTLP (otlp.endpoint)",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_otlp_failures_total",
        MetricKind.COUNTER,
        "Failed requests of the export by OTLP, by reason; docs/otlp.md has the reasons.",
        MetricSource.OTLP_FAILURES,
        "failures",
        ("reason",),
        absent="there is no export by OTLP",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_otlp_export_timestamp_seconds",
        MetricKind.GAUGE,
        "When the last export by OTLP ended of which every data point was accepted.",
        MetricSource.STATUS,
        "otlp_exported_at",
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent="no export has been accepted yet, or there is no export by OTLP",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of the export by OTLP."""
