"""The metrics of the metadata quorum, reassignments, features and quotas, rendered once per poll.

`exporters.catalogue.cluster` joins them.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability, ValueConversion

_TOPIC: Final = ("topic",)
_QUORUM_REPLICA: Final = ("replica", "role")
_NO_QUORUM: Final = "unknown (needs Describe on the cluster), or the cluster has no quorum (ZooKeeper)"
_NO_REASSIGNMENTS: Final = "unknown: needs Describe on the cluster, and Kafka 2.4"
_NO_QUOTAS: Final = "unknown: needs DescribeConfigs on the cluster, and Kafka 2.6; or hidden by http.hide_members"
_NO_FEATURES: Final = "unknown: no broker answered, or the cluster has no features (before Kafka 2.7)"

ADMIN_METRICS: Final = (
    Metric(
        "lagwarden_quorum_leader_epoch",
        MetricKind.GAUGE,
        "Epoch of the metadata quorum's leader (KRaft): increases with each election.",
        MetricSource.CLUSTER_TOTALS,
        "leader_epoch",
        absent=_NO_QUORUM,
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_quorum_high_watermark",
        MetricKind.GAUGE,
        "High watermark of the metadata log (KRaft).",
        MetricSource.CLUSTER_TOTALS,
        "metadata_high_watermark",
        absent=_NO_QUORUM,
    ),
    Metric(
        "lagwarden_quorum_voters",
        MetricKind.GAUGE,
        "Voters of the metadata quorum: the controllers that elect its leader (KRaft).",
        MetricSource.CLUSTER_TOTALS,
        "quorum_voters",
        absent=_NO_QUORUM,
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_quorum_voters_behind",
        MetricKind.GAUGE,
        "Voters that have not fetched from the quorum's leader for 10 s, or not had the whole metadata log for 60 s.",
        MetricSource.CLUSTER_TOTALS,
        "quorum_voters_behind",
        absent=f"{_NO_QUORUM}; or Kafka is older than 3.3",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_quorum_replica_lag",
        MetricKind.GAUGE,
        "Records of the metadata log that a controller or broker has not fetched from the quorum's leader.",
        MetricSource.QUORUM_REPLICAS,
        "lag",
        _QUORUM_REPLICA,
        absent=f"{_NO_QUORUM}; or the node has not fetched from this leader",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_quorum_replica_last_fetch_timestamp_seconds",
        MetricKind.GAUGE,
        "When a controller or broker last fetched from the quorum's leader, by the leader's clock.",
        MetricSource.QUORUM_REPLICAS,
        "last_fetch_time",
        _QUORUM_REPLICA,
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent=f"{_NO_QUORUM}; or the node has not fetched from this leader, or Kafka is older than 3.3",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_quorum_replica_last_caught_up_timestamp_seconds",
        MetricKind.GAUGE,
        "When a controller or broker last had the whole metadata log, by the leader's clock.",
        MetricSource.QUORUM_REPLICAS,
        "last_caught_up_time",
        _QUORUM_REPLICA,
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent=f"{_NO_QUORUM}; or the node has not fetched from this leader, or Kafka is older than 3.3",
    ),
    Metric(
        "lagwarden_reassigning_partitions",
        MetricKind.GAUGE,
        "Partitions whose replicas are being moved (kafka-reassign-partitions --list).",
        MetricSource.CLUSTER_TOTALS,
        "reassigning_partitions",
        absent=_NO_REASSIGNMENTS,
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_reassigning_adding_replicas",
        MetricKind.GAUGE,
        "Replicas that reassignments in progress add.",
        MetricSource.CLUSTER_TOTALS,
        "adding_replicas",
        absent=_NO_REASSIGNMENTS,
    ),
    Metric(
        "lagwarden_reassigning_removing_replicas",
        MetricKind.GAUGE,
        "Replicas that reassignments in progress remove.",
        MetricSource.CLUSTER_TOTALS,
        "removing_replicas",
        absent=_NO_REASSIGNMENTS,
    ),
    Metric(
        "lagwarden_topic_reassigning_partitions",
        MetricKind.GAUGE,
        "Partitions of the topic whose replicas are being moved.",
        MetricSource.REASSIGNING_TOPICS,
        "partitions",
        _TOPIC,
        absent="no partition of the topic is being moved, or unknown",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_cluster_version_sets",
        MetricKind.GAUGE,
        "Number of different sets of supported requests and features among the brokers; more than 1: mixed versions.",
        MetricSource.CLUSTER_TOTALS,
        "version_sets",
        absent="unknown: no broker answered",
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_cluster_feature_level",
        MetricKind.GAUGE,
        "Finalized level of a feature of the cluster, such as metadata.version.",
        MetricSource.FEATURES,
        "level",
        ("feature",),
        absent=_NO_FEATURES,
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_broker_feature_max_level",
        MetricKind.GAUGE,
        "Highest level of a feature that the broker supports.",
        MetricSource.BROKER_FEATURES,
        "max_level",
        ("broker", "feature"),
        absent="the broker did not answer, or does not know the feature",
    ),
    Metric(
        "lagwarden_broker_feature_min_level",
        MetricKind.GAUGE,
        "Lowest level of a feature that the broker supports.",
        MetricSource.BROKER_FEATURES,
        "min_level",
        ("broker", "feature"),
        absent="the broker did not answer, or does not know the feature",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_cluster_under_replicated_ratio",
        MetricKind.GAUGE,
        "Share of all partitions with a replica that is not in sync.",
        MetricSource.CLUSTER_TOTALS,
        "under_replicated_ratio",
        unit="ratio",
        absent="there is no topic, or Describe is not allowed",
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_cluster_quotas",
        MetricKind.GAUGE,
        "Configured quotas of users, clients and addresses.",
        MetricSource.CLUSTER_TOTALS,
        "quotas",
        absent=_NO_QUOTAS,
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_client_quota",
        MetricKind.GAUGE,
        "Configured quota by Kafka's key: bytes per second and broker, percent of threads, or changes per second.",
        MetricSource.QUOTAS,
        "value",
        ("user", "client_id", "ip", "key"),
        absent=f"{_NO_QUOTAS}; or there are more than 500 quotas",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of the metadata quorum, of reassignments, of the features of the cluster and of quotas."""
