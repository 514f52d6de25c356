"""The metrics of sizes on disk, of the offsets topic there, and of the poll itself, rendered once per poll.

`exporters.catalogue.cluster` joins them.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability, ValueConversion

_TOPIC: Final = ("topic",)
_BROKER: Final = ("broker",)
_NO_SIZES: Final = "unknown: needs Describe on the cluster; or the cluster has more than 30,000 replicas"

DISK_METRICS: Final = (
    Metric(
        "lagwarden_broker_bytes",
        MetricKind.GAUGE,
        "Size of all replicas on the broker, without indexes (kafka-log-dirs).",
        MetricSource.BROKER_DISKS,
        "bytes",
        _BROKER,
        unit="bytes",
        absent=f"{_NO_SIZES}; or a log directory of the broker is offline",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_broker_left_replicas_total",
        MetricKind.COUNTER,
        "Replicas deleted or moved away while the broker was away: Kafka keeps their files as -stray folders.",
        MetricSource.BROKER_DISKS,
        "left_replicas",
        _BROKER,
        absent=f"{_NO_SIZES}; or the broker is away, or a log directory of it is offline",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_bytes",
        MetricKind.GAUGE,
        "Size of all replicas of the topic, without indexes (kafka-log-dirs).",
        MetricSource.TOPIC_SIZES,
        "bytes",
        _TOPIC,
        unit="bytes",
        absent=f"{_NO_SIZES}; or a broker with a replica of the topic did not answer, or has an offline log directory",
    ),
)
"""Metrics of sizes on disk."""

POLL_METRICS: Final = (
    Metric(
        "lagwarden_offsets_topic_bytes",
        MetricKind.GAUGE,
        "Size of all replicas of __consumer_offsets on the broker.",
        MetricSource.OFFSETS_REPLICAS,
        "bytes",
        _BROKER,
        unit="bytes",
        absent="unknown: needs Describe on the cluster, and all log directories of the broker must be online",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_offsets_topic_growth_bytes_per_second",
        MetricKind.GAUGE,
        "Growth of __consumer_offsets on the broker over the last hour; around 0 while the log cleaner works.",
        MetricSource.OFFSETS_REPLICAS,
        "growth",
        _BROKER,
        absent="before two polls with a known size",
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_offsets_topic_cleaner_suspect",
        MetricKind.GAUGE,
        "1 if __consumer_offsets is larger than expected with a working log cleaner, else 0; the API has the evidence.",
        MetricSource.POLLS,
        "cleaner_suspect",
        absent="unknown: no ACL for the size or the settings of __consumer_offsets, or the topic does not exist",
        preset=Preset.LEAN,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_cluster_facts_timestamp_seconds",
        MetricKind.GAUGE,
        "When the poll began whose results are served.",
        MetricSource.POLLS,
        "poll_time",
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent="before the first poll, after three failed polls in a row, with cluster.interval 0, or if another of "
        "several instances is the first",
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_cluster_facts_duration_seconds",
        MetricKind.GAUGE,
        "Duration of that poll.",
        MetricSource.POLLS,
        "poll_seconds",
        unit="seconds",
        absent="as lagwarden_cluster_facts_timestamp_seconds",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_cluster_facts_unknown",
        MetricKind.GAUGE,
        "Facts that the poll requested and did not get, by fact and reason.",
        MetricSource.UNKNOWN_FACTS,
        "amount",
        ("fact", "reason"),
        absent="no fact is unknown for this reason",
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of the offsets topic on disk, and of the poll itself."""
