"""The metrics about the cluster, one row each, rendered once per poll. `exporters.catalogue.metrics` joins the rows."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, ValueConversion

_TOPIC: Final = ("topic",)
_PARTITION: Final = ("topic", "partition")
_BROKER: Final = ("broker",)

BROKER_METRICS: Final = (
    Metric(
        "lagwarden_broker_info",
        MetricKind.INFO,
        "A live broker with its advertised address.",
        MetricSource.BROKERS,
        "host",
        ("broker", "host", "port", "rack"),
        conversion=ValueConversion.ONE,
        absent="the broker is not in the cluster's metadata",
    ),
    Metric(
        "lagwarden_broker_leaders",
        MetricKind.GAUGE,
        "Partitions that the broker leads.",
        MetricSource.BROKERS,
        "leads",
        _BROKER,
        absent="the broker is not in the cluster's metadata",
    ),
    Metric(
        "lagwarden_broker_replicas",
        MetricKind.GAUGE,
        "Replicas assigned to the broker, in sync or not.",
        MetricSource.BROKERS,
        "holds",
        _BROKER,
        absent="the broker is not in the cluster's metadata",
    ),
    Metric(
        "lagwarden_controller",
        MetricKind.GAUGE,
        "1 for the active controller, which with KRaft need not be a broker.",
        MetricSource.CONTROLLERS,
        "active",
        _BROKER,
        absent="unknown (needs Describe on the cluster), or no controller is elected at the moment",
    ),
    Metric(
        "lagwarden_config_info",
        MetricKind.INFO,
        "An effective setting of a broker, of __consumer_offsets or of a topic that groups read, and its source.",
        MetricSource.CONFIGS,
        "value",
        ("scope", "name", "key", "value", "source"),
        conversion=ValueConversion.ONE,
        absent="unknown (needs DescribeConfigs), or this version of Kafka has no such setting",
    ),
)
"""Metrics of brokers, controller and settings."""

TOPIC_METRICS: Final = (
    Metric(
        "lagwarden_topic_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic.",
        MetricSource.CLUSTER_TOPICS,
        "partitions",
        _TOPIC,
        absent="the topic does not exist, or Describe is not allowed",
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
    ),
    Metric(
        "lagwarden_topic_leaderless_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic without a leader: they cannot be read or written.",
        MetricSource.CLUSTER_TOPICS,
        "leaderless",
        _TOPIC,
        absent="the topic does not exist, or Describe is not allowed",
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
    ),
)
"""Metrics per partition, also of partitions that no group reads."""

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
    ),
    Metric(
        "lagwarden_offsets_topic_growth_bytes_per_second",
        MetricKind.GAUGE,
        "Growth of __consumer_offsets on the broker over the last hour; around 0 while the log cleaner works.",
        MetricSource.OFFSETS_REPLICAS,
        "growth",
        _BROKER,
        absent="before two polls with a known size",
    ),
    Metric(
        "lagwarden_offsets_topic_cleaner_suspect",
        MetricKind.GAUGE,
        "1 if __consumer_offsets is larger than expected with a working log cleaner, else 0; the API has the evidence.",
        MetricSource.POLLS,
        "cleaner_suspect",
        absent="unknown: no ACL for the size or the settings of __consumer_offsets, or the topic does not exist",
    ),
    Metric(
        "lagwarden_cluster_facts_timestamp_seconds",
        MetricKind.GAUGE,
        "When the poll began whose results are served.",
        MetricSource.POLLS,
        "poll_time",
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent="before the first poll, after three failed polls in a row, or with cluster.interval 0",
    ),
    Metric(
        "lagwarden_cluster_facts_duration_seconds",
        MetricKind.GAUGE,
        "Duration of that poll.",
        MetricSource.POLLS,
        "poll_seconds",
        unit="seconds",
        absent="as lagwarden_cluster_facts_timestamp_seconds",
    ),
    Metric(
        "lagwarden_cluster_facts_unknown",
        MetricKind.GAUGE,
        "Facts that the poll requested and did not get, by fact and reason.",
        MetricSource.UNKNOWN_FACTS,
        "amount",
        ("fact", "reason"),
        absent="no fact is unknown for this reason",
    ),
)
"""Metrics of the offsets topic on disk, and of the poll itself."""

CLUSTER_METRICS: Final = BROKER_METRICS + TOPIC_METRICS + REPLICA_METRICS + POLL_METRICS
