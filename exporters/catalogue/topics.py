"""The tables per topic and per partition of the cluster, with their columns and metrics."""

from typing import Final

from exporters.catalogue.metric import POLL, Source
from exporters.catalogue.table import (
    BROKER,
    EXPERIMENTAL,
    GROUP,
    LEAN,
    PARTITION,
    STANDARD,
    TOPIC,
    Column,
    Exported,
    Table,
)

_UNKNOWN: Final = "unknown: needs Read on __share_group_state; or the group is no share group"
_NOT_STARTED: Final = f"{_UNKNOWN}; or no delivery in the partition has ended yet"

SHARE_PARTITIONS: Final = Table(
    Source("share_partitions", POLL),
    (GROUP, TOPIC, PARTITION),
    (
        Column("end", "int64", "The high watermark of the partition."),
        Column("start_offset", "int64", "Start offset: all records before it are finished.",
               Exported("lagwarden_share_partition_start_offset", STANDARD), null=_NOT_STARTED, stability=EXPERIMENTAL),
        Column("lag", "int64", "Records that are neither acknowledged nor archived.",
               Exported("lagwarden_share_partition_lag", STANDARD), stability=EXPERIMENTAL,
               null=f"{_NOT_STARTED}; or its end is unknown or before the start offset, or its state was written by"
               " Kafka before 4.2"),
        Column("finished", "int64", "Records after the start offset that are acknowledged or archived.",
               Exported("lagwarden_share_partition_finished_records"), stability=EXPERIMENTAL,
               null=f"{_NOT_STARTED}; or its state was written by Kafka before 4.2"),
        Column("returned", "int64", "Records that came back and wait for another delivery.",
               Exported("lagwarden_share_partition_returned_records"), stability=EXPERIMENTAL,
               null=f"{_UNKNOWN}; or the group has more batches of such records than are kept"),
        Column("most_deliveries", "int32", "Highest number of deliveries of a record that came back.",
               Exported("lagwarden_share_partition_most_deliveries"), stability=EXPERIMENTAL,
               null=f"{_UNKNOWN}; or no record waits for another delivery"),
        Column("acknowledged", "int64", "Records acknowledged since the process started.",
               Exported("lagwarden_share_partition_acknowledged_total", absent=_UNKNOWN),
               null=None, stability=EXPERIMENTAL),
        Column("archived", "int64", "Records rejected, or delivered as often as allowed, since the process started.",
               Exported("lagwarden_share_partition_archived_total", STANDARD, absent=_UNKNOWN), null=None,
               stability=EXPERIMENTAL),
        Column("returns", "int64", "Deliveries after which the record was not finished, since the process started.",
               Exported("lagwarden_share_partition_returns_total", absent=_UNKNOWN), null=None, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per partition of a share group, from `__share_group_state`."""

SHARE_GROUPS: Final = Table(
    Source("share_groups", POLL),
    (GROUP,),
    (
        Column("partitions", "int32", "Partitions of the share group.", null="not all of them are kept"),
        Column("lag", "int64", "Unfinished records in all partitions (kafka-share-groups --describe --offsets).",
               Exported("lagwarden_share_group_lag", STANDARD),
               null=f"{_UNKNOWN}; or the lag of one of its partitions is unknown", stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per share group."""

SHARE_READS: Final = Table(
    Source("share_reads", POLL),
    (),
    (Column("read_time", "timestamp", "When the numbers of share groups were read.",
            Exported("lagwarden_share_groups_timestamp_seconds"), stability=EXPERIMENTAL,
            null="no share group, no Read on __share_group_state, or no successful read"),),
)  # fmt: skip
"""One row: when the numbers in SHARE_PARTITIONS and SHARE_GROUPS were read; no row if there are none."""

SHARE_METRICS: Final = SHARE_READS.metrics + SHARE_GROUPS.metrics + SHARE_PARTITIONS.metrics


_NO_TOPIC: Final = "the topic does not exist, or Describe is not allowed"
_NO_MIN_ISR: Final = "no group reads it, or no DescribeConfigs"
_BEYOND: Final = "beyond cluster.partitions_shown"

CLUSTER_TOPICS: Final = Table(
    Source("cluster_topics", POLL),
    (TOPIC,),
    # CMAK's percentages (kafka.manager.model.ActorModel, rounded down to whole percents) as shares from 0 to 1.
    (
        Column("partitions", "int32", "Partitions of the topic.",
               Exported("lagwarden_topic_partitions", STANDARD), null=_NO_TOPIC),
        Column("replication_factor", "int32", "Replicas of the topic's first partition.",
               Exported("lagwarden_topic_replication_factor"), null=_NO_TOPIC),
        Column("under_replicated", "int32", "Partitions with a replica that is not in sync.",
               Exported("lagwarden_topic_under_replicated_partitions", LEAN), null=_NO_TOPIC),
        Column("under_replicated_ratio", "float", "Share of partitions not in sync (CMAK's Under Replicated %).",
               Exported("lagwarden_topic_under_replicated_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("at_min_isr", "int32", "Partitions with just min.insync.replicas replicas in sync.",
               Exported("lagwarden_topic_at_min_isr_partitions"), null=_NO_MIN_ISR, stability=EXPERIMENTAL),
        Column("under_min_isr", "int32",
               "Partitions below min.insync.replicas, or without a leader: acks=all cannot write.",
               Exported("lagwarden_topic_under_min_isr_partitions"), null=_NO_MIN_ISR, stability=EXPERIMENTAL),
        Column("leaderless", "int32", "Partitions without a leader.",
               Exported("lagwarden_topic_leaderless_partitions", LEAN), null=_NO_TOPIC),
        Column("preferred_leaders_ratio", "float",
               "Share of partitions led by their preferred leader (CMAK's Preferred Replicas %).",
               Exported("lagwarden_topic_preferred_leaders_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("brokers_skewed_ratio", "float",
               "Share of brokers that hold more than the average (CMAK's Brokers Skewed %).",
               Exported("lagwarden_topic_brokers_skewed_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("brokers_spread_ratio", "float", "Share of brokers that hold a replica (CMAK's Brokers Spread %).",
               Exported("lagwarden_topic_brokers_spread_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
        Column("leaders_skewed_ratio", "float",
               "Share of brokers that lead more than the average (CMAK's Brokers Leader Skew %).",
               Exported("lagwarden_topic_leaders_skewed_ratio"), null=_NO_TOPIC, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per topic that could be described."""

TOPIC_PARTITIONS: Final = Table(
    Source("partitions_shown", POLL),
    (TOPIC, PARTITION),
    (
        Column("leader", "int32", "Id of the broker that leads the partition.",
               Exported("lagwarden_topic_partition_leader"), null="there is none", stability=EXPERIMENTAL),
        Column("leader_epoch", "int32", "Number of the elections of its leader."),
        Column("replicas", "int32", "Replicas assigned to the partition.",
               Exported("lagwarden_topic_partition_replicas", absent=_BEYOND)),
        Column("in_sync_replicas", "int32", "Replicas of the partition that are in sync.",
               Exported("lagwarden_topic_partition_in_sync_replicas", absent=_BEYOND)),
        Column("under_replicated", "bool", "True if a replica of the partition is not in sync.",
               Exported("lagwarden_topic_partition_under_replicated", absent=_BEYOND,
                        help="1 if a replica is not in sync, else 0.")),
        Column("preferred_leader", "bool", "True if its first replica leads it; false if it has no leader.",
               Exported("lagwarden_topic_partition_preferred_leader", absent=_BEYOND,
                        help="1 if the first replica leads, else 0."), stability=EXPERIMENTAL),
        Column("replica_brokers", "nodes", "Ids of the brokers of all replicas, the preferred leader first."),
        Column("in_sync_brokers", "nodes", "Ids of the brokers of replicas that are in sync."),
        Column("offline_brokers", "nodes", "Ids of the brokers that failed, or whose disk did."),
    ),
)  # fmt: skip
"""One row per partition. PARTITIONS_SHOWN are the rows that have their own series."""

FOLLOWERS: Final = Table(
    Source("followers", POLL),
    (TOPIC, PARTITION, BROKER),
    (Column("lag", "int64", "Offsets that a follower out of sync lacks up to the high watermark.",
            Exported("lagwarden_topic_partition_follower_lag",
            absent="its broker is away, or over 1,000 such followers"), null=None, stability=EXPERIMENTAL),),
)  # fmt: skip
"""One row per follower on a live broker that is not in sync."""

TOPIC_METRICS: Final = CLUSTER_TOPICS.metrics
REPLICA_METRICS: Final = TOPIC_PARTITIONS.metrics + FOLLOWERS.metrics
