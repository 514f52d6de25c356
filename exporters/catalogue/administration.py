"""The tables about the metadata quorum, reassignments, features and quotas, with their columns and metrics."""

from typing import Final

from exporters.catalogue.metric import POLL, Source
from exporters.catalogue.table import (
    BROKER,
    EXPERIMENTAL,
    FLOAT,
    INT32,
    INT64,
    NAME,
    NODES,
    PARTITION,
    STANDARD,
    TIMESTAMP,
    TOPIC,
    Column,
    Exported,
    Table,
)

_NO_QUORUM: Final = "unknown (needs Describe on the cluster), or the cluster has no quorum (ZooKeeper)"
_NO_FETCH: Final = f"{_NO_QUORUM}; or the node has not fetched from this leader"
_NO_MOVES: Final = "unknown: needs Describe on the cluster, and Kafka 2.4"
_NO_QUOTAS: Final = "unknown: needs DescribeConfigs on the cluster, and Kafka 2.6; or hidden by http.hide_members"
_NO_FEATURES: Final = "no broker answered, or Kafka is older than 2.7"
_NO_FEATURE: Final = "the broker does not answer or know it"
_FEATURE: Final = Column("feature", NAME, "The name of a feature (KIP-584), such as metadata.version.")

_QUORUM: Final = (
    Column("leader_epoch", INT32, "Epoch of the metadata quorum's leader.",
           Exported("lagwarden_quorum_leader_epoch", STANDARD), null=_NO_QUORUM),
    Column("metadata_high_watermark", INT64, "High watermark of the metadata log.",
           Exported("lagwarden_quorum_high_watermark"), null=_NO_QUORUM),
    Column("quorum_voters", INT32, "Controllers that elect the leader of the metadata quorum.",
           Exported("lagwarden_quorum_voters", STANDARD), null=_NO_QUORUM),
    Column("quorum_voters_behind", INT32, "Voters that did not fetch for 10 s, or lack records for 60 s.",
           Exported("lagwarden_quorum_voters_behind", STANDARD), null=f"{_NO_QUORUM}; or Kafka is older than 3.3"),
)  # fmt: skip
_MOVES: Final = (
    Column("reassigning_partitions", INT32, "Partitions whose replicas are being moved.",
           Exported("lagwarden_reassigning_partitions", STANDARD), null=_NO_MOVES),
    Column("adding_replicas", INT32, "Replicas that reassignments in progress add.",
           Exported("lagwarden_reassigning_adding_replicas"), null=_NO_MOVES),
    Column("removing_replicas", INT32, "Replicas that reassignments in progress remove.",
           Exported("lagwarden_reassigning_removing_replicas"), null=_NO_MOVES),
)  # fmt: skip
_VERSIONS: Final = Column(
    "version_sets", INT32, "Sets of supported requests and features of brokers; above 1: mixed versions.",
    Exported("lagwarden_cluster_version_sets", STANDARD),
    null="no broker answered", stability=EXPERIMENTAL,
)  # fmt: skip
_SUMS: Final = (
    Column("under_replicated_ratio", FLOAT, "Share of partitions with a replica that is not in sync.",
           Exported("lagwarden_cluster_under_replicated_ratio", STANDARD),
           null="there is no topic, or no Describe", stability=EXPERIMENTAL),
    # Also of those that QUOTAS leaves out.
    Column("quotas", INT32, "Configured quotas of users, clients and addresses.",
           Exported("lagwarden_cluster_quotas", STANDARD), null=_NO_QUOTAS),
)  # fmt: skip

CLUSTER_TOTALS: Final = Table(Source("cluster_totals", POLL), (), (*_QUORUM, *_MOVES, _VERSIONS, *_SUMS))
"""One row; a value is null if it is unknown."""

QUORUM_REPLICAS: Final = Table(
    Source("quorum_replicas", POLL),
    (
        Column("replica", INT32, "The id of a controller or broker."),
        Column("role", NAME, "Its role: voter or observer."),
    ),
    (
        Column("directory", NAME, "The id of its log directory."),
        Column("log_end_offset", INT64, "The end of its metadata log."),
        Column("lag", INT64, "Records of the metadata log that the node has not fetched.",
               Exported("lagwarden_quorum_replica_lag", STANDARD), null=_NO_FETCH),
        Column("last_fetch_time", TIMESTAMP, "When the node last fetched, by the leader's clock.",
               Exported("lagwarden_quorum_replica_last_fetch_timestamp_seconds", STANDARD),
               null=f"{_NO_FETCH}, or Kafka is older than 3.3"),
        Column("last_caught_up_time", TIMESTAMP, "When the node last had the whole metadata log.",
               Exported("lagwarden_quorum_replica_last_caught_up_timestamp_seconds"),
               null=f"{_NO_FETCH}, or Kafka is older than 3.3"),
    ),
)  # fmt: skip
"""One row per node that holds the metadata log of a KRaft cluster, sorted by role and id; none if unknown."""

REASSIGNMENTS: Final = Table(
    None,
    (TOPIC, PARTITION),
    (
        Column("replica_brokers", NODES, "Brokers of its replicas, also of those that come and go.", null=None),
        Column("adding_brokers", NODES, "Brokers that get a replica.", null=None),
        Column("removing_brokers", NODES, "Brokers that lose a replica.", null=None),
    ),
)
"""One row per partition that is being moved to other brokers."""

REASSIGNING_TOPICS: Final = Table(
    Source("reassigning_topics", POLL),
    (TOPIC,),
    (Column("partitions", INT32, "Partitions whose replicas are being moved.",
            Exported("lagwarden_topic_reassigning_partitions", STANDARD),
            null="there is none"),),
)  # fmt: skip
"""One row per topic with partitions in REASSIGNMENTS."""

FEATURES: Final = Table(
    Source("features", POLL),
    (_FEATURE,),
    (Column("level", INT32, "Finalized level of a feature, such as metadata.version.",
            Exported("lagwarden_cluster_feature_level", STANDARD, absent=_NO_FEATURES), null=None),),
)  # fmt: skip
"""One row per finalized feature of the cluster."""

BROKER_FEATURES: Final = Table(
    Source("broker_features", POLL),
    (BROKER, _FEATURE),
    (
        Column("max_level", INT32, "Highest supported level of a feature.",
               Exported("lagwarden_broker_feature_max_level", absent=_NO_FEATURE), null=None),
        Column("min_level", INT32, "Lowest supported level of a feature.",
               Exported("lagwarden_broker_feature_min_level", absent=_NO_FEATURE), null=None, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per broker and feature that it supports."""

QUOTAS: Final = Table(
    Source("quotas", POLL),
    # Empty: not part of the quota; `<default>`: of all that have no quota of their own.
    (
        Column("user", NAME, "The user."),
        Column("client_id", NAME, "The client id."),
        Column("ip", NAME, "The address."),
        Column("key", NAME, "Kafka's name of the quota."),
    ),
    (Column("value", FLOAT, "Configured quota, by Kafka's key and in its unit.",
            Exported("lagwarden_client_quota", absent=f"{_NO_QUOTAS}; or there are more than"
            " 500 quotas"), null="not a finite number, which limits nothing", stability=EXPERIMENTAL),),
)  # fmt: skip
"""One row per configured quota."""

ADMIN_METRICS: Final = (
    *CLUSTER_TOTALS.metrics_of(_QUORUM),
    *QUORUM_REPLICAS.metrics,
    *CLUSTER_TOTALS.metrics_of(_MOVES),
    *REASSIGNING_TOPICS.metrics,
    *CLUSTER_TOTALS.metrics_of([_VERSIONS]),
    *FEATURES.metrics,
    *BROKER_FEATURES.metrics,
    *CLUSTER_TOTALS.metrics_of(_SUMS),
    *QUOTAS.metrics,
)
