"""The tables about brokers, the controller, settings, and sizes on disk, with their columns and metrics."""

from typing import Final

from exporters.catalogue.metric import POLL, Source
from exporters.catalogue.table import BROKER, EXPERIMENTAL, LEAN, PARTITION, STANDARD, TOPIC, Column, Exported, Table

_AWAY: Final = "the broker is not in the cluster's metadata"
_NO_SIZES: Final = "unknown: needs Describe on the cluster; or the cluster has more than 30,000 replicas"

BROKERS: Final = Table(
    Source("brokers", POLL),
    (BROKER,),
    (
        Column("host", "name", "Its advertised host.", Exported("lagwarden_broker_info", STANDARD,
               "A live broker with its advertised address.", _AWAY, ("host", "port", "rack"))),
        Column("port", "int32", "Its advertised port."),
        Column("rack", "name", "Its rack.", null="it has none"),
        # Of the topics that may be described.
        Column("leads", "int32", "Partitions that the broker leads.",
               Exported("lagwarden_broker_leaders", STANDARD, absent=_AWAY)),
        Column("holds", "int32", "Replicas of the broker.", Exported("lagwarden_broker_replicas", absent=_AWAY)),
    ),
)  # fmt: skip
"""One row per live broker."""

CONTROLLERS: Final = Table(
    Source("controllers", POLL),
    (BROKER,),
    (Column("active", "bool", "1 for the active controller.",
            Exported("lagwarden_controller", STANDARD),
            null="unknown (needs Describe on the cluster), or none is elected"),),
)  # fmt: skip
"""One row for the active controller; no row if unknown."""

CONFIGS: Final = Table(
    Source("configs_shown", POLL),
    (
        Column("scope", "name", "What has the setting: broker or topic."),
        Column("name", "name", "The id of the broker or the name of the topic."),
        Column("key", "name", "The name of the setting."),
    ),
    (
        Column("value", "name", "Its value.", Exported("lagwarden_config_info", help=
               "A setting of a broker or a topic that groups read (cluster.topic_settings).",
               absent="unknown (needs DescribeConfigs), or Kafka does not have it",
               also=("value", "source")), null="unknown, with its reason", stability=EXPERIMENTAL),
        Column("source", "name", "Its source, as Kafka names it (ConfigEntry.ConfigSource), in lower case."),
        Column("unknown_reason", "name", "Why the value is unknown.", null="it is known"),
    ),
)  # fmt: skip
"""One row per requested configuration. Those that a broker does not know (another version of Kafka) are left out."""

BROKER_DISKS: Final = Table(
    Source("broker_disks", POLL),
    (BROKER,),
    (
        Column("bytes", "int64", "Size of all replicas, without indexes (kafka-log-dirs).",
               Exported("lagwarden_broker_bytes", STANDARD,
                        absent=f"{_NO_SIZES}; or a log directory of the broker is offline"), null=None),
        Column("left_replicas", "int32",
               "Replicas deleted or moved while the broker was away: their files stay, as -stray folders.",
               Exported("lagwarden_broker_left_replicas_total", absent=f"{_NO_SIZES}; or"
               " the broker is away, or a log directory of it is offline"), null=None, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per broker that reported all of its log directories; none if the cluster has too many replicas to ask."""

TOPIC_SIZES: Final = Table(
    Source("topic_sizes", POLL),
    (TOPIC,),
    (Column("bytes", "int64", "Size of all replicas, without indexes (kafka-log-dirs).",
            Exported("lagwarden_topic_bytes"), null=f"{_NO_SIZES}; or a broker with a replica of the topic did not"
            " answer, or has an offline log directory"),),
)  # fmt: skip
"""One row per topic; none if a broker with a replica did not report it."""

OFFSETS_REPLICAS: Final = Table(
    Source("offsets_replicas", POLL),
    (BROKER,),
    (
        Column("bytes", "int64", "Size of all replicas of __consumer_offsets.",
               Exported("lagwarden_offsets_topic_bytes", STANDARD),
               null="needs Describe on the cluster, and all log directories online"),
        # In bytes per second; negative while the log cleaner shrinks the topic.
        Column("growth", "float", "Growth of __consumer_offsets over the last hour; usually around 0.",
               Exported("lagwarden_offsets_topic_growth_bytes_per_second", STANDARD),
               null="fewer than two polls", stability=EXPERIMENTAL),
        Column("unknown_reason", "name", "Why the size is unknown.", null="it is known"),
    ),
)  # fmt: skip
"""One row per broker that has replicas of `__consumer_offsets`, or whose log directories are unknown."""

POLLS: Final = Table(
    Source("polls", POLL),
    (),
    (
        Column("cleaner_suspect", "bool",
               "1 if __consumer_offsets is larger than a working log cleaner leaves it, else 0.",
               Exported("lagwarden_offsets_topic_cleaner_suspect", LEAN), null="no ACL for its size or settings",
               stability=EXPERIMENTAL),
        Column("poll_time", "timestamp", "When the poll began whose results are served.",
               Exported("lagwarden_cluster_facts_timestamp_seconds", LEAN),
               null="after three failed polls, with cluster.interval 0, or not the first instance"),
        Column("poll_seconds", "float", "Duration of that poll.",
               Exported("lagwarden_cluster_facts_duration_seconds", STANDARD),
               null="as lagwarden_cluster_facts_timestamp_seconds"),
    ),
)  # fmt: skip
"""One row: the poll itself."""

UNKNOWN_FACTS: Final = Table(
    Source("unknown_facts", POLL),
    (
        Column("fact", "name", "What is unknown: controller, topic, offsets topic size, …"),
        Column("reason", "name", "Why."),
    ),
    (Column("amount", "int32", "Facts that the poll did not get.",
            Exported("lagwarden_cluster_facts_unknown", STANDARD, absent="there is none"),
            null=None, stability=EXPERIMENTAL),),
)  # fmt: skip
"""Number of requested facts that are unknown, by fact and reason."""

BROKER_METRICS: Final = BROKERS.metrics + CONTROLLERS.metrics + CONFIGS.metrics
DISK_METRICS: Final = BROKER_DISKS.metrics + TOPIC_SIZES.metrics
POLL_METRICS: Final = OFFSETS_REPLICAS.metrics + POLLS.metrics + UNKNOWN_FACTS.metrics


_NO_QUORUM: Final = "unknown (needs Describe on the cluster), or the cluster has no quorum (ZooKeeper)"
_NO_FETCH: Final = f"{_NO_QUORUM}; or the node has not fetched from this leader"
_NO_MOVES: Final = "unknown: needs Describe on the cluster, and Kafka 2.4"
_NO_QUOTAS: Final = "unknown: needs DescribeConfigs on the cluster, and Kafka 2.6; or hidden by http.hide_members"
_NO_FEATURES: Final = "no broker answered, or Kafka is older than 2.7"
_NO_FEATURE: Final = "the broker does not answer or know it"
_FEATURE: Final = Column("feature", "name", "The name of a feature (KIP-584), such as metadata.version.")

_QUORUM: Final = (
    Column("leader_epoch", "int32", "Epoch of the metadata quorum's leader.",
           Exported("lagwarden_quorum_leader_epoch", STANDARD), null=_NO_QUORUM),
    Column("metadata_high_watermark", "int64", "High watermark of the metadata log.",
           Exported("lagwarden_quorum_high_watermark"), null=_NO_QUORUM),
    Column("quorum_voters", "int32", "Controllers that elect the leader of the metadata quorum.",
           Exported("lagwarden_quorum_voters", STANDARD), null=_NO_QUORUM),
    Column("quorum_voters_behind", "int32", "Voters that did not fetch for 10 s, or lack records for 60 s.",
           Exported("lagwarden_quorum_voters_behind", STANDARD), null=f"{_NO_QUORUM}; or Kafka is older than 3.3"),
)  # fmt: skip
_MOVES: Final = (
    Column("reassigning_partitions", "int32", "Partitions whose replicas are being moved.",
           Exported("lagwarden_reassigning_partitions", STANDARD), null=_NO_MOVES),
    Column("adding_replicas", "int32", "Replicas that reassignments in progress add.",
           Exported("lagwarden_reassigning_adding_replicas"), null=_NO_MOVES),
    Column("removing_replicas", "int32", "Replicas that reassignments in progress remove.",
           Exported("lagwarden_reassigning_removing_replicas"), null=_NO_MOVES),
)  # fmt: skip
_VERSIONS: Final = Column(
    "version_sets", "int32", "Sets of supported requests and features of brokers; above 1: mixed versions.",
    Exported("lagwarden_cluster_version_sets", STANDARD),
    null="no broker answered", stability=EXPERIMENTAL,
)  # fmt: skip
_SUMS: Final = (
    Column("under_replicated_ratio", "float", "Share of partitions with a replica that is not in sync.",
           Exported("lagwarden_cluster_under_replicated_ratio", STANDARD),
           null="there is no topic, or no Describe", stability=EXPERIMENTAL),
    # Also of those that QUOTAS leaves out.
    Column("quotas", "int32", "Configured quotas of users, clients and addresses.",
           Exported("lagwarden_cluster_quotas", STANDARD), null=_NO_QUOTAS),
)  # fmt: skip

CLUSTER_TOTALS: Final = Table(Source("cluster_totals", POLL), (), (*_QUORUM, *_MOVES, _VERSIONS, *_SUMS))
"""One row; a value is null if it is unknown."""

QUORUM_REPLICAS: Final = Table(
    Source("quorum_replicas", POLL),
    (
        Column("replica", "int32", "The id of a controller or broker."),
        Column("role", "name", "Its role: voter or observer."),
    ),
    (
        Column("directory", "name", "The id of its log directory."),
        Column("log_end_offset", "int64", "The end of its metadata log."),
        Column("lag", "int64", "Records of the metadata log that the node has not fetched.",
               Exported("lagwarden_quorum_replica_lag", STANDARD), null=_NO_FETCH),
        Column("last_fetch_time", "timestamp", "When the node last fetched, by the leader's clock.",
               Exported("lagwarden_quorum_replica_last_fetch_timestamp_seconds", STANDARD),
               null=f"{_NO_FETCH}, or Kafka is older than 3.3"),
        Column("last_caught_up_time", "timestamp", "When the node last had the whole metadata log.",
               Exported("lagwarden_quorum_replica_last_caught_up_timestamp_seconds"),
               null=f"{_NO_FETCH}, or Kafka is older than 3.3"),
    ),
)  # fmt: skip
"""One row per node that holds the metadata log of a KRaft cluster, sorted by role and id; none if unknown."""

REASSIGNMENTS: Final = Table(
    None,
    (TOPIC, PARTITION),
    (
        Column("replica_brokers", "nodes", "Brokers of its replicas, also of those that come and go.", null=None),
        Column("adding_brokers", "nodes", "Brokers that get a replica.", null=None),
        Column("removing_brokers", "nodes", "Brokers that lose a replica.", null=None),
    ),
)
"""One row per partition that is being moved to other brokers."""

REASSIGNING_TOPICS: Final = Table(
    Source("reassigning_topics", POLL),
    (TOPIC,),
    (Column("partitions", "int32", "Partitions whose replicas are being moved.",
            Exported("lagwarden_topic_reassigning_partitions", STANDARD),
            null="there is none"),),
)  # fmt: skip
"""One row per topic with partitions in REASSIGNMENTS."""

FEATURES: Final = Table(
    Source("features", POLL),
    (_FEATURE,),
    (Column("level", "int32", "Finalized level of a feature, such as metadata.version.",
            Exported("lagwarden_cluster_feature_level", STANDARD, absent=_NO_FEATURES), null=None),),
)  # fmt: skip
"""One row per finalized feature of the cluster."""

BROKER_FEATURES: Final = Table(
    Source("broker_features", POLL),
    (BROKER, _FEATURE),
    (
        Column("max_level", "int32", "Highest supported level of a feature.",
               Exported("lagwarden_broker_feature_max_level", absent=_NO_FEATURE), null=None),
        Column("min_level", "int32", "Lowest supported level of a feature.",
               Exported("lagwarden_broker_feature_min_level", absent=_NO_FEATURE), null=None, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per broker and feature that it supports."""

QUOTAS: Final = Table(
    Source("quotas", POLL),
    # Empty: not part of the quota; `<default>`: of all that have no quota of their own.
    (
        Column("user", "name", "The user."),
        Column("client_id", "name", "The client id."),
        Column("ip", "name", "The address."),
        Column("key", "name", "Kafka's name of the quota."),
    ),
    (Column("value", "float", "Configured quota, by Kafka's key and in its unit.",
            Exported("lagwarden_client_quota", absent=f"{_NO_QUOTAS}; or there are more than"
            " 500 quotas"), null="not a finite number, which limits nothing", stability=EXPERIMENTAL),),
)  # fmt: skip
"""One row per configured quota."""

ADMIN_METRICS: Final = (
    *CLUSTER_TOTALS.metrics_of(_QUORUM), *QUORUM_REPLICAS.metrics, *CLUSTER_TOTALS.metrics_of(_MOVES),
    *REASSIGNING_TOPICS.metrics, *CLUSTER_TOTALS.metrics_of([_VERSIONS]), *FEATURES.metrics, *BROKER_FEATURES.metrics,
    *CLUSTER_TOTALS.metrics_of(_SUMS), *QUOTAS.metrics,
)  # fmt: skip
