"""Every metric about the cluster beside the groups, one row each: what is rendered once per poll of the cluster.

`exporters.catalogue.metrics` joins the rows; nothing is rendered here.
"""

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
        "A broker that is there, with the address that it gives to clients.",
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
        "Replicas that the broker is to hold, in sync or not.",
        MetricSource.BROKERS,
        "holds",
        _BROKER,
        absent="the broker is not in the cluster's metadata",
    ),
    Metric(
        "lagwarden_controller",
        MetricKind.GAUGE,
        "1 for the active controller; with KRaft that need not be a broker.",
        MetricSource.CONTROLLERS,
        "active",
        _BROKER,
        absent="not known (Describe on the cluster is needed), or not elected at the moment",
    ),
    Metric(
        "lagwarden_config_info",
        MetricKind.INFO,
        "A setting in force of a broker, of __consumer_offsets or of a topic that groups read, and where it was set.",
        MetricSource.CONFIGS,
        "value",
        ("scope", "name", "key", "value", "source"),
        conversion=ValueConversion.ONE,
        absent="not known (DescribeConfigs is needed), or this version of Kafka has no such setting",
    ),
)
"""Brokers and settings."""

TOPIC_METRICS: Final = (
    Metric(
        "lagwarden_topic_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic.",
        MetricSource.CLUSTER_TOPICS,
        "partitions",
        _TOPIC,
        absent="the topic is not there, or may not be described",
    ),
    Metric(
        "lagwarden_topic_replication_factor",
        MetricKind.GAUGE,
        "Replicas of the topic's first partition.",
        MetricSource.CLUSTER_TOPICS,
        "replication_factor",
        _TOPIC,
        absent="the topic is not there, or may not be described",
    ),
    Metric(
        "lagwarden_topic_under_replicated_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic with a replica that is not in sync.",
        MetricSource.CLUSTER_TOPICS,
        "under_replicated",
        _TOPIC,
        absent="the topic is not there, or may not be described",
    ),
    Metric(
        "lagwarden_topic_leaderless_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic that no broker leads: nobody can read or write them.",
        MetricSource.CLUSTER_TOPICS,
        "leaderless",
        _TOPIC,
        absent="the topic is not there, or may not be described",
    ),
    Metric(
        "lagwarden_topic_preferred_leaders_ratio",
        MetricKind.GAUGE,
        "Share of the topic's partitions that are led by their preferred leader (CMAK's Preferred Replicas %).",
        MetricSource.CLUSTER_TOPICS,
        "preferred_leaders_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic is not there, or may not be described",
    ),
    Metric(
        "lagwarden_topic_brokers_skewed_ratio",
        MetricKind.GAUGE,
        "Share of the topic's brokers that hold more of it than the average (CMAK's Brokers Skewed %).",
        MetricSource.CLUSTER_TOPICS,
        "brokers_skewed_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic is not there, or may not be described",
    ),
    Metric(
        "lagwarden_topic_brokers_spread_ratio",
        MetricKind.GAUGE,
        "Share of the cluster's brokers that hold a replica of the topic (CMAK's Brokers Spread %).",
        MetricSource.CLUSTER_TOPICS,
        "brokers_spread_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic is not there, or may not be described",
    ),
    Metric(
        "lagwarden_topic_leaders_skewed_ratio",
        MetricKind.GAUGE,
        "Share of the topic's brokers that lead more of it than the average (CMAK's Brokers Leader Skew %).",
        MetricSource.CLUSTER_TOPICS,
        "leaders_skewed_ratio",
        _TOPIC,
        unit="ratio",
        absent="the topic is not there, or may not be described",
    ),
)
"""One value per topic."""

REPLICA_METRICS: Final = (
    Metric(
        "lagwarden_topic_partition_leader",
        MetricKind.GAUGE,
        "The number of the broker that leads the partition.",
        MetricSource.PARTITIONS_SHOWN,
        "leader",
        _PARTITION,
        absent="no broker leads it at the moment",
    ),
    Metric(
        "lagwarden_topic_partition_replicas",
        MetricKind.GAUGE,
        "Replicas that the partition is to have.",
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
        "1 where a replica of the partition is not in sync, else 0.",
        MetricSource.PARTITIONS_SHOWN,
        "under_replicated",
        _PARTITION,
        absent="beyond cluster.partitions_shown",
    ),
    Metric(
        "lagwarden_topic_partition_preferred_leader",
        MetricKind.GAUGE,
        "1 where the first of the partition's replicas leads it, else 0.",
        MetricSource.PARTITIONS_SHOWN,
        "preferred_leader",
        _PARTITION,
        absent="beyond cluster.partitions_shown",
    ),
)
"""One value per partition, whether a group reads it or not."""

POLL_METRICS: Final = (
    Metric(
        "lagwarden_offsets_topic_bytes",
        MetricKind.GAUGE,
        "Size of all replicas of __consumer_offsets on the broker.",
        MetricSource.OFFSETS_REPLICAS,
        "bytes",
        _BROKER,
        unit="bytes",
        absent="not known: Describe on the cluster is needed, and every disk of the broker must answer",
    ),
    Metric(
        "lagwarden_offsets_topic_growth_bytes_per_second",
        MetricKind.GAUGE,
        "How fast __consumer_offsets grows on the broker, over the last hour; around 0 while the log cleaner works.",
        MetricSource.OFFSETS_REPLICAS,
        "growth",
        _BROKER,
        absent="before two polls have seen its size",
    ),
    Metric(
        "lagwarden_offsets_topic_cleaner_suspect",
        MetricKind.GAUGE,
        "1 where __consumer_offsets is larger than a working log cleaner would leave it, else 0; the API tells why.",
        MetricSource.POLLS,
        "cleaner_suspect",
        absent="not known: the size or the settings of __consumer_offsets may not be asked, or there is no such topic",
    ),
    Metric(
        "lagwarden_cluster_facts_timestamp_seconds",
        MetricKind.GAUGE,
        "When the poll began whose facts about the cluster are served.",
        MetricSource.POLLS,
        "poll_time",
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent="before the first poll, after three failed ones in a row, or with cluster.interval 0",
    ),
    Metric(
        "lagwarden_cluster_facts_duration_seconds",
        MetricKind.GAUGE,
        "How long that poll took.",
        MetricSource.POLLS,
        "poll_seconds",
        unit="seconds",
        absent="as the time of the poll",
    ),
    Metric(
        "lagwarden_cluster_facts_unknown",
        MetricKind.GAUGE,
        "How many answers that poll asked for and did not get, by what was asked and why it is not known.",
        MetricSource.UNKNOWN_FACTS,
        "amount",
        ("fact", "reason"),
        absent="nothing is unknown for this reason",
    ),
)
"""The offsets topic on the brokers' disks, and the poll itself."""

CLUSTER_METRICS: Final = BROKER_METRICS + TOPIC_METRICS + REPLICA_METRICS + POLL_METRICS
