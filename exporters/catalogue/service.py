"""The tables about resources, the series budget, the HTTP server, files, webhook and OTLP, with their metrics.

Rendered at each scrape.
"""

from typing import Final

from exporters.catalogue.metric import SCRAPE, Source
from exporters.catalogue.monitor import STATUS
from exporters.catalogue.table import EXPERIMENTAL, REASON, Column, Exported, Table

_ROLE: Final = Column("role", "name", "The role of the process.")
_NO_PROCESS: Final = "the system does not report it"
_NO_CHECKPOINT: Final = "it is not open yet, or its volume does not answer"
_ADDRESS: Final = Column("address", "name", "Scheme, host and port of the receiver.")
_NO_WEBHOOK: Final = "there is no webhook"

PROCESSES: Final = Table(
    Source("processes", SCRAPE),
    (_ROLE,),
    (
        Column("processes", "int64", "Running processes: driver (this one), jvm, python_daemon and python_worker.",
               Exported("lagwarden_processes"), null=_NO_PROCESS, stability=EXPERIMENTAL),
        Column("memory", "int64", "Proportional set size; the sum over the roles is the memory of the monitor.",
               Exported("lagwarden_memory_bytes"), null=_NO_PROCESS, stability=EXPERIMENTAL),
        Column("cpu_seconds", "float", "CPU time of the processes, up to the last scrape before their end.",
               Exported("lagwarden_cpu_seconds_total"), null=_NO_PROCESS, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""Running processes per role, their memory, and the CPU time that all processes of the role have used."""

DESCRIPTORS: Final = Table(
    Source("descriptors", SCRAPE),
    (_ROLE,),
    (
        Column("open", "int64", "Open file descriptors of the process that is nearest to its limit.",
               Exported("lagwarden_open_descriptors"), null="the system does not report it", stability=EXPERIMENTAL),
        Column("limit", "int64", "Soft limit of the process of lagwarden_open_descriptors.",
               Exported("lagwarden_descriptor_limit"), null="as lagwarden_open_descriptors, or no limit",
               stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""Open file descriptors and their limit, per role, of the role's process that is nearest to its limit."""

_MEMORY: Final = STATUS.metrics_of((
    Column("memory_limit_bytes", "int64", "Memory limit of the container or the systemd unit.",
           Exported("lagwarden_memory_limit_bytes"), null="no limit", stability=EXPERIMENTAL),
    Column("heap.used", "int64", "Heap that Spark's JVM uses, with garbage.",
           Exported("lagwarden_jvm_heap_used_bytes"), null="before the query runs", stability=EXPERIMENTAL),
    Column("heap.maximum", "int64", "Maximum heap of Spark's JVM (job.driver_memory).",
           Exported("lagwarden_jvm_heap_max_bytes"), null="before the query runs", stability=EXPERIMENTAL),
    Column("executors.running", "int64", "Executors that are registered with Spark's driver.",
           Exported("lagwarden_executors"),
           null="tasks run in the driver", stability=EXPERIMENTAL),
    Column("executors.expected", "int64", "Executors that Spark's driver asked for (job.executors).",
           Exported("lagwarden_executors_expected"), null="tasks run in the driver", stability=EXPERIMENTAL),
    Column("checkpoint.used", "int64", "Size of all files of the checkpoint.", Exported("lagwarden_checkpoint_bytes"),
           null=_NO_CHECKPOINT, stability=EXPERIMENTAL),
    Column("checkpoint.files", "int64", "Files of the checkpoint.", Exported("lagwarden_checkpoint_files"),
           null=_NO_CHECKPOINT, stability=EXPERIMENTAL),
    Column("checkpoint.volume_free", "int64", "Free space on the volume of the checkpoint.",
           Exported("lagwarden_checkpoint_volume_free_bytes"), null=_NO_CHECKPOINT, stability=EXPERIMENTAL),
    Column("checkpoint.volume_size", "int64", "Size of the volume of the checkpoint.",
           Exported("lagwarden_checkpoint_volume_bytes"), null=_NO_CHECKPOINT, stability=EXPERIMENTAL),
    Column("checkpoint.state_snapshot_at", "timestamp", "When Spark last wrote a full snapshot of a part of the state.",
           Exported("lagwarden_state_snapshot_timestamp_seconds"), null="there is none yet", stability=EXPERIMENTAL),
    Column("query.state_repairs", "int64", "Damaged snapshots of the state that Spark replaced by older ones.",
           Exported("lagwarden_state_repairs_total"), stability=EXPERIMENTAL),
))  # fmt: skip
RESOURCE_METRICS: Final = PROCESSES.metrics + DESCRIPTORS.metrics + _MEMORY
"""Metrics of memory, CPU, heap, descriptors and checkpoint."""

SERIES_DROPPED: Final = Table(
    Source("tick.series_dropped", SCRAPE),
    (Column("metric", "name", "The name of the metric."),),
    (
        Column("series_now", "int64", "Series of the snapshot left out by metrics.series_budget.",
               Exported("lagwarden_series_over_budget"), null="there is none"),
        Column("series_ever", "int64", "Series left out of /metrics, summed over all snapshots.",
               Exported("lagwarden_series_dropped_total"), null="there is none"),
    ),
)  # fmt: skip
"""Series left out by the series budget, per metric."""

HTTP_REFUSALS: Final = Table(
    Source("http.refusals", SCRAPE),
    (REASON,),
    (Column("refusals", "int64",
            "Refused connections and requests: connections, idle, request_timeout, bad_request, slow_reader, tls,"
            " login, host or requests.",
            Exported("lagwarden_http_refusals_total"), stability=EXPERIMENTAL),),
)  # fmt: skip
"""Connections and requests that the HTTP server refused or closed since the process started, by reason."""

FILE_FAILURES: Final = Table(
    Source("file_failures", SCRAPE),
    (Column("file", "name", "The kind of file."),),
    (Column("failures", "int64",
            "Failed writes (heartbeat, verdicts, history), and unusable changes of the configuration file"
            " (configuration).",
            Exported("lagwarden_file_failures_total"), stability=EXPERIMENTAL),),
)  # fmt: skip
"""Failures since the process started, by the kind of file."""

_CONNECTIONS: Final = STATUS.metrics_of((
    Column("http.connections", "int64", "Open connections of the HTTP server.",
           Exported("lagwarden_http_connections"), stability=EXPERIMENTAL),
))  # fmt: skip
SERVICE_METRICS: Final = _CONNECTIONS + HTTP_REFUSALS.metrics + FILE_FAILURES.metrics
"""Metrics of the HTTP server and of optional files."""

WEBHOOK_FAILURES: Final = Table(
    Source("webhook.failures", SCRAPE),
    (_ADDRESS, REASON),
    (Column("failures", "int64", "Failed requests to the webhook; docs/webhook.md has the reasons.",
            Exported("lagwarden_webhook_failures_total"), null=_NO_WEBHOOK, stability=EXPERIMENTAL),),
)  # fmt: skip
"""Failed requests to the webhook since the process started; every reason has a row. Empty without a webhook."""

WEBHOOK_DROPS: Final = Table(
    Source("webhook.drops", SCRAPE),
    (REASON,),
    (Column("events", "int64", "Events that the webhook never accepted: queue_full, or refused.",
            Exported("lagwarden_webhook_events_dropped_total"), null=_NO_WEBHOOK, stability=EXPERIMENTAL),),
)  # fmt: skip
"""Events dropped before the webhook accepted them; every reason has a row. Empty without a webhook."""

_WEBHOOK: Final = STATUS.metrics_of((
    Column("webhook.sent", "int64", "Events that the webhook accepted.",
           Exported("lagwarden_webhook_events_sent_total"),
           null="there is no webhook", stability=EXPERIMENTAL),
    Column("webhook.queued", "int64", "Events that the webhook has not accepted yet.",
           Exported("lagwarden_webhook_events_queued"), null=_NO_WEBHOOK, stability=EXPERIMENTAL),
    Column("webhook.oldest_at", "timestamp", "When the oldest event was made that waits for the webhook.",
           Exported("lagwarden_webhook_oldest_event_timestamp_seconds"), null="there is none", stability=EXPERIMENTAL),
))  # fmt: skip
WEBHOOK_METRICS: Final = _WEBHOOK + WEBHOOK_FAILURES.metrics + WEBHOOK_DROPS.metrics
"""Metrics of the webhook of verdict changes."""

OTLP_FAILURES: Final = Table(
    Source("otlp.failures", SCRAPE),
    (REASON,),
    (Column("failures", "int64", "Failed requests by OTLP; docs/otlp.md has the reasons.",
            Exported("lagwarden_otlp_failures_total"), null="there is no export", stability=EXPERIMENTAL),),
)  # fmt: skip
"""Failed requests of the export by OTLP, by reason."""

_POINTS: Final = STATUS.metrics_of((
    Column("otlp.points", "int64", "Data points that the receiver of OTLP accepted.",
           Exported("lagwarden_otlp_points_sent_total"), null="there is no export", stability=EXPERIMENTAL),
))  # fmt: skip
_LAST_EXPORT: Final = STATUS.metrics_of((
    Column("otlp.exported_at", "timestamp", "When the last complete export by OTLP ended.",
           Exported("lagwarden_otlp_export_timestamp_seconds"), null="there is none yet", stability=EXPERIMENTAL),
))  # fmt: skip
OTLP_METRICS: Final = _POINTS + OTLP_FAILURES.metrics + _LAST_EXPORT
"""Metrics of the export by OTLP."""
