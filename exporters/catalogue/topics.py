"""The metrics per topic and per partition of the cluster, rendered once per poll.

`exporters.catalogue.cluster` joins them.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability

_TOPIC: Final = ("topic",)
_PARTITION: Final = ("topic", "partition")
_NO_MIN_ISR: Final = "min.insync.replicas is unknown: no group reads the topic, or DescribeConfigs is not allowed"

TOPIC_METRICS: Final = (
    Metric(
        "lagwarden_topic_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic.",
        MetricSource.CLUSTER_TOPICS,
        "partitions",
        _TOPIC,
        absent="the topic does not exist, or Describe is not allowed",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_topic_replication_factor",
        MetricKind.GAUGE,
        "Replicas of the topic's first partition.",
        MetricSource.CLUSTER_TOPICS,
        "replication_factor",
        _TOPIC,
        absent="the topic does not exist, or Describe is not allowed",
    ),
    Metric(
        "lagwarden_topic_under_replicated_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic with a replica that is not in sync.",
        MetricSource.CLUSTER_TOPICS,
        "under_replicated",
        _TOPIC,
        absent="the topic does not exist, or Describe is not allowed",
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_topic_under_replicated_ratio",
        MetricKind.GAUGE,
        "Share of the topic's partitions with a replica that is not in sync (CMAK's Under Replicated %).",
        MetricSource.CLUSTER_TOPICS,
        "under_replicated_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic does not exist, or Describe is not allowed",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_at_min_isr_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic with as many replicas in sync as min.insync.replicas: without one more of them,"
        " producers with acks=all cannot write.",
        MetricSource.CLUSTER_TOPICS,
        "at_min_isr",
        _TOPIC,
        absent=_NO_MIN_ISR,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_under_min_isr_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic with fewer replicas in sync than min.insync.replicas, or without a leader: producers"
        " with acks=all cannot write.",
        MetricSource.CLUSTER_TOPICS,
        "under_min_isr",
        _TOPIC,
        absent=_NO_MIN_ISR,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_leaderless_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic without a leader: they cannot be read or written.",
        MetricSource.CLUSTER_TOPICS,
        "leaderless",
        _TOPIC,
        absent="the topic does not exist, or Describe is not allowed",
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_topic_preferred_leaders_ratio",
        MetricKind.GAUGE,
        "Share of the topic's partitions that are led by their preferred leader (CMAK's Preferred Replicas %).",
        MetricSource.CLUSTER_TOPICS,
        "preferred_leaders_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic does not exist, or Describe is not allowed",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_brokers_skewed_ratio",
        MetricKind.GAUGE,
        "Share of the topic's brokers that hold more of it than the average (CMAK's Brokers Skewed %).",
        MetricSource.CLUSTER_TOPICS,
        "brokers_skewed_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic does not exist, or Describe is not allowed",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_brokers_spread_ratio",
        MetricKind.GAUGE,
        "Share of the cluster's brokers that hold a replica of the topic (CMAK's Brokers Spread %).",
        MetricSource.CLUSTER_TOPICS,
        "brokers_spread_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic does not exist, or Describe is not allowed",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_leaders_skewed_ratio",
        MetricKind.GAUGE,
        "Share of the topic's brokers that lead more of it than the average (CMAK's Brokers Leader Skew %).",
        MetricSource.CLUSTER_TOPICS,
        "leaders_skewed_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic does not exist, or Describe is not allowed",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics per topic."""

REPLICA_METRICS: Final = (
    Metric(
        "lagwarden_topic_partition_leader",
        MetricKind.GAUGE,
        "Id of the broker that leads the partition.",
        MetricSource.PARTITIONS_SHOWN,
        "leader",
        _PARTITION,
        absent="the partition has no leader at the moment",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_partition_replicas",
        MetricKind.GAUGE,
        "Replicas assigned to the partition.",
        MetricSource.PARTITIONS_SHOWN,
        "replicas",
        _PARTITION,
        absent="beyond cluster.partitions_shown",
    ),
    Metric(
        "lagwarden_topic_partition_in_sync_replicas",
        MetricKind.GAUGE,
        "Replicas of the partition that are in sync.",
        MetricSource.PARTITIONS_SHOWN,
        "in_sync_replicas",
        _PARTITION,
        absent="beyond cluster.partitions_shown",
    ),
    Metric(
        "lagwarden_topic_partition_under_replicated",
        MetricKind.GAUGE,
        "1 if a replica of the partition is not in sync, else 0.",
        MetricSource.PARTITIONS_SHOWN,
        "under_replicated",
        _PARTITION,
        absent="beyond cluster.partitions_shown",
    ),
    Metric(
        "lagwarden_topic_partition_preferred_leader",
        MetricKind.GAUGE,
        "1 if the first replica of the partition leads it, else 0.",
        MetricSource.PARTITIONS_SHOWN,
        "preferred_leader",
        _PARTITION,
        absent="beyond cluster.partitions_shown",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_topic_partition_follower_lag",
        MetricKind.GAUGE,
        "Offsets that a follower which is not in sync lacks up to the high watermark.",
        MetricSource.FOLLOWERS,
        "lag",
        ("topic", "partition", "broker"),
        absent="the follower is in sync, its broker is not available, or there are more than 1,000 such followers",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics per partition, also of partitions that no group reads."""
