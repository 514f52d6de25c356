"""The metrics about what the monitor uses: memory, CPU, heap, descriptors and disk, one row each.

They are rendered at each scrape. `exporters.catalogue.metrics` joins the rows.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Stability, ValueConversion

_ROLES: Final = "driver (this process), jvm (Spark), python_daemon and python_worker (started by the JVM)"
_NO_PROCESS: Final = "no process of the role has run on this machine, or the system does not report it"
_NO_CHECKPOINT: Final = "the checkpoint is not open yet, or its volume does not answer"

RESOURCE_METRICS: Final = (
    Metric(
        "lagwarden_processes",
        MetricKind.GAUGE,
        f"Running processes by role: {_ROLES}.",
        MetricSource.PROCESSES,
        "processes",
        ("role",),
        absent=_NO_PROCESS,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_memory_bytes",
        MetricKind.GAUGE,
        "Memory of the processes of a role as proportional set size: a page that n processes share counts 1/n for "
        "each, so the sum over the roles is the memory of the monitor.",
        MetricSource.PROCESSES,
        "memory",
        ("role",),
        unit="bytes",
        absent=_NO_PROCESS,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_cpu_seconds_total",
        MetricKind.COUNTER,
        "CPU time used by the processes of a role; what a process used between the last scrape and its end is missing.",
        MetricSource.PROCESSES,
        "cpu_seconds",
        ("role",),
        unit="seconds",
        absent=_NO_PROCESS,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_open_descriptors",
        MetricKind.GAUGE,
        f"Open file descriptors of the process nearest to its limit in each role: {_ROLES}.",
        MetricSource.DESCRIPTORS,
        "open",
        ("role",),
        absent="no process of the role runs on this machine, or the system does not report it",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_descriptor_limit",
        MetricKind.GAUGE,
        "Soft limit of open file descriptors of the process of lagwarden_open_descriptors.",
        MetricSource.DESCRIPTORS,
        "limit",
        ("role",),
        absent="as lagwarden_open_descriptors, or there is no limit",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_memory_limit_bytes",
        MetricKind.GAUGE,
        "Limit on the memory of all processes that the container or the systemd unit has (cgroups).",
        MetricSource.STATUS,
        "memory_limit_bytes",
        unit="bytes",
        absent="there is no limit",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_jvm_heap_used_bytes",
        MetricKind.GAUGE,
        "Heap that Spark's JVM uses, including objects that the next garbage collection removes.",
        MetricSource.STATUS,
        "heap_used_bytes",
        unit="bytes",
        absent="before the query runs",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_jvm_heap_max_bytes",
        MetricKind.GAUGE,
        "Maximum size of the heap of Spark's JVM (job.driver_memory).",
        MetricSource.STATUS,
        "heap_max_bytes",
        unit="bytes",
        absent="before the query runs",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_executors",
        MetricKind.GAUGE,
        "Executors that are registered with Spark's driver.",
        MetricSource.STATUS,
        "executors",
        absent="tasks run in the driver (job.master is local[N])",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_executors_expected",
        MetricKind.GAUGE,
        "Executors that Spark's driver asked for (job.executors).",
        MetricSource.STATUS,
        "executors_expected",
        absent="tasks run in the driver",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_checkpoint_bytes",
        MetricKind.GAUGE,
        "Size of all files of the checkpoint.",
        MetricSource.STATUS,
        "checkpoint_bytes",
        unit="bytes",
        absent=_NO_CHECKPOINT,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_checkpoint_files",
        MetricKind.GAUGE,
        "Files of the checkpoint.",
        MetricSource.STATUS,
        "checkpoint_files",
        absent=_NO_CHECKPOINT,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_checkpoint_volume_free_bytes",
        MetricKind.GAUGE,
        "Free space on the volume of the checkpoint that this process may use.",
        MetricSource.STATUS,
        "checkpoint_volume_free_bytes",
        unit="bytes",
        absent=_NO_CHECKPOINT,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_checkpoint_volume_bytes",
        MetricKind.GAUGE,
        "Size of the volume of the checkpoint.",
        MetricSource.STATUS,
        "checkpoint_volume_bytes",
        unit="bytes",
        absent=_NO_CHECKPOINT,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_state_snapshot_timestamp_seconds",
        MetricKind.GAUGE,
        "When Spark last wrote a full snapshot of a part of the state; a restart applies the changelogs since then.",
        MetricSource.STATUS,
        "state_snapshot_at",
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent="there is no snapshot in the checkpoint yet",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_state_repairs_total",
        MetricKind.COUNTER,
        "Damaged snapshots of the state that Spark replaced by an older snapshot and its changelogs.",
        MetricSource.STATUS,
        "state_repairs",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of memory, CPU, heap, descriptors and checkpoint."""
