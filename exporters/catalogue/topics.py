"""The tables per topic and per partition of the cluster, with their columns and metrics."""

from typing import Final

from exporters.catalogue.metric import POLL, Source
from exporters.catalogue.table import (
    BOOL,
    BROKER,
    EXPERIMENTAL,
    FLOAT,
    INT32,
    INT64,
    LEAN,
    NODES,
    PARTITION,
    STANDARD,
    TOPIC,
    Column,
    Exported,
    Table,
)

_NO_TOPIC: Final = "the topic does not exist, or Describe is not allowed"
_NO_MIN_ISR: Final = "no group reads it, or no DescribeConfigs"
_BEYOND: Final = "beyond cluster.partitions_shown"

CLUSTER_TOPICS: Final = Table(
    Source("cluster_topics", POLL),
    (TOPIC,),
    # CMAK's percentages (kafka.manager.model.ActorModel, rounded down to whole percents) as shares from 0 to 1.
    (
        Column("partitions", INT32, "Partitions of the topic.",
               Exported("lagwarden_topic_partitions", STANDARD), null=_NO_TOPIC),
        Column("replication_factor", INT32, "Replicas of the topic's first partition.",
               Exported("lagwarden_topic_replication_factor"), null=_NO_TOPIC),
        Column("under_replicated", INT32, "Partitions with a replica that is not in sync.",
               Exported("lagwarden_topic_under_replicated_partitions", LEAN), null=_NO_TOPIC),
        Column("under_replicated_ratio", FLOAT, "Share of partitions not in sync (CMAK's Under Replicated %).",
               Exported("lagwarden_topic_under_replicated_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("at_min_isr", INT32, "Partitions with just min.insync.replicas replicas in sync.",
               Exported("lagwarden_topic_at_min_isr_partitions"), null=_NO_MIN_ISR, stability=EXPERIMENTAL),
        Column("under_min_isr", INT32,
               "Partitions below min.insync.replicas, or without a leader: acks=all cannot write.",
               Exported("lagwarden_topic_under_min_isr_partitions"), null=_NO_MIN_ISR, stability=EXPERIMENTAL),
        Column("leaderless", INT32, "Partitions without a leader.",
               Exported("lagwarden_topic_leaderless_partitions", LEAN), null=_NO_TOPIC),
        Column("preferred_leaders_ratio", FLOAT,
               "Share of partitions led by their preferred leader (CMAK's Preferred Replicas %).",
               Exported("lagwarden_topic_preferred_leaders_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("brokers_skewed_ratio", FLOAT,
               "Share of brokers that hold more than the average (CMAK's Brokers Skewed %).",
               Exported("lagwarden_topic_brokers_skewed_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("brokers_spread_ratio", FLOAT, "Share of brokers that hold a replica (CMAK's Brokers Spread %).",
               Exported("lagwarden_topic_brokers_spread_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("leaders_skewed_ratio", FLOAT,
               "Share of brokers that lead more than the average (CMAK's Brokers Leader Skew %).",
               Exported("lagwarden_topic_leaders_skewed_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per topic that could be described."""

TOPIC_PARTITIONS: Final = Table(
    Source("partitions_shown", POLL),
    (TOPIC, PARTITION),
    (
        Column("leader", INT32, "Id of the broker that leads the partition.",
               Exported("lagwarden_topic_partition_leader"), null="there is none", stability=EXPERIMENTAL),
        Column("leader_epoch", INT32, "Number of the elections of its leader."),
        Column("replicas", INT32, "Replicas assigned to the partition.",
               Exported("lagwarden_topic_partition_replicas", absent=_BEYOND)),
        Column("in_sync_replicas", INT32, "Replicas of the partition that are in sync.",
               Exported("lagwarden_topic_partition_in_sync_replicas", absent=_BEYOND)),
        Column("under_replicated", BOOL, "True if a replica of the partition is not in sync.",
               Exported("lagwarden_topic_partition_under_replicated", absent=_BEYOND,
                        help="1 if a replica is not in sync, else 0.")),
        Column("preferred_leader", BOOL, "True if its first replica leads it; false if it has no leader.",
               Exported("lagwarden_topic_partition_preferred_leader", absent=_BEYOND,
                        help="1 if the first replica leads, else 0."), stability=EXPERIMENTAL),
        Column("replica_brokers", NODES, "Ids of the brokers of all replicas, the preferred leader first."),
        Column("in_sync_brokers", NODES, "Ids of the brokers of replicas that are in sync."),
        Column("offline_brokers", NODES, "Ids of the brokers that failed, or whose disk did."),
    ),
)  # fmt: skip
"""One row per partition. PARTITIONS_SHOWN are the rows that have their own series."""

FOLLOWERS: Final = Table(
    Source("followers", POLL),
    (TOPIC, PARTITION, BROKER),
    (Column("lag", INT64, "Offsets that a follower out of sync lacks up to the high watermark.",
            Exported("lagwarden_topic_partition_follower_lag",
            absent="its broker is away, or over 1,000 such followers"), null=None, stability=EXPERIMENTAL),),
)  # fmt: skip
"""One row per follower on a live broker that is not in sync."""

TOPIC_METRICS: Final = CLUSTER_TOPICS.metrics
REPLICA_METRICS: Final = TOPIC_PARTITIONS.metrics + FOLLOWERS.metrics
