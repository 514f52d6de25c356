"""The tables with one row per partition or topic of a group, and per partition that groups read."""

from typing import Final

import pyarrow as pa

from exporters.catalogue.metric import SNAPSHOT, Source
from exporters.catalogue.table import EXPERIMENTAL, GROUP, LEAN, PARTITION, STANDARD, TOPIC, Column, Exported, Table

_NO_ENDS: Final = "the cluster returned no offsets for the partition"
_NO_OFFSET: Final = "no committed offset, or the log start is unknown"
_FEW_COMMITS: Final = "too few commits"
_TOPIC_ASSIGNMENT: Final = "the assignment is unknown"
_HIGH_WATERMARK: Final = Column(
    "high_watermark", "int64", "High watermark of the partition: the offset of the next record.", null=_NO_ENDS
)
_LOG_START: Final = Column(
    "log_start_offset", "int64", "The first offset that retention and deletions have left.", null=_NO_ENDS
)

_OFFSETS: Final = (
    # high watermark - max(committed, log start)
    Column("lag", "int64", "Offsets between the committed offset and the high watermark.",
           Exported("lagwarden_partition_lag", LEAN,
           absent="the lag is unknown (lagwarden_group_partitions_lag_unknown)"),
           null="unknown, with the reason in lag_unknown_reason", importance=110),
    Column("lag_unknown_reason", "name", "Why the lag is unknown.", null="it is known"),
    Column("committed_offset", "int64", "The next offset that the group will read.",
           Exported("lagwarden_partition_committed_offset"), null="no committed offset", importance=80),
    Column("commit_time", "timestamp", "When the broker stored the last commit.",
           Exported("lagwarden_partition_commit_timestamp_seconds"), null="the commit has no time", importance=70),
    Column("progress_time", "timestamp", "When the committed offset was first committed.",
           Exported("lagwarden_partition_progress_timestamp_seconds"), null="unknown", importance=60),
    Column("offset_expiry_time", "timestamp", "When the broker will expire the offset, by its own rules.",
           Exported("lagwarden_partition_offset_expiry_timestamp_seconds", is_usual=False), importance=10,
           null="it does not expire in this state, or the expiry is unknown"),
    # Read after the commits.
    _HIGH_WATERMARK,
    Column("last_stable_offset", "int64", "The end for readers of committed records.", null=_NO_ENDS),
    _LOG_START,
    # Commit and progress time are then when the monitor first read that commit, and an expiry is the latest time shown.
    Column("odd_time", "bool", "True if a time in the commit is in the future, before 1970, after 9999 or unreadable."),
)  # fmt: skip
_HEALTH: Final = (
    Column("time_lag", "float", "Age of the oldest unread record; 0 if all are read.",
           Exported("lagwarden_partition_time_lag_seconds"),
           null="the lag or the time of the records is unknown", importance=100),
    Column("time_lag_exact", "bool", "False if the time lag is only a lower bound."),
    # At least the time lag, if the timestamps are those of the records.
    Column("stream_time_lag", "float",
           "Time since the stream time that Kafka Streams has committed; 0 if all are read.",
           Exported("lagwarden_partition_stream_time_lag_seconds", is_usual=False),
           importance=15, stability=EXPERIMENTAL,
           null="the lag is unknown, or the commit is not known to be one of Kafka Streams"),
    Column("lost", "int64", "Offsets that retention deleted before the group read them.",
           Exported("lagwarden_partition_lost_offsets"), null=_NO_OFFSET, importance=90),
    Column("margin", "int64", "Offsets from the log start to the committed offset: retention can delete them.",
           Exported("lagwarden_partition_margin_offsets"), null=_NO_OFFSET, importance=20),
    Column("produce_rate", "float", "Growth of the partition per second.", Exported("lagwarden_partition_produce_rate"),
           null=f"{_FEW_COMMITS} or end offsets", importance=40, stability=EXPERIMENTAL),
    Column("consume_rate", "float", "Offsets per second that the group reads; 0 after twice its commit interval.",
           Exported("lagwarden_partition_consume_rate"), null=_FEW_COMMITS, importance=30, stability=EXPERIMENTAL),
    Column("catch_up_seconds", "float", "Time until nothing is unread, at present rates.",
           Exported("lagwarden_partition_catch_up_seconds", is_usual=False),
           null="it does not catch up or commit, or a rate is unknown", importance=50, stability=EXPERIMENTAL),
    Column("trend", "name", "Trend of the lag left after each commit: growing, shrinking or steady.",
           null=_FEW_COMMITS),
    Column("verdict", "name", "The verdict of the group on the partition.",
           Exported("lagwarden_partition_verdict", help="1 for the verdict of the group on the partition.",
                    absent="the verdict is fine", also=("verdict",), omits_fine=True), importance=120),
    Column("verdict_since", "timestamp", "When that verdict began."),
    Column("offset_hidden", "bool", "True if an open transaction hides the commit: it is not yet stable."),
)  # fmt: skip

PARTITIONS: Final = Table(Source("partitions", SNAPSHOT), (GROUP, TOPIC, PARTITION), _OFFSETS + _HEALTH)
"""One row per (group, topic, partition) that has a committed offset, or that belongs to the group without one.

A partition belongs to a group if a member owns it or subscribes to its topic. Without a commit, its committed offset,
commit time and lag are null, and the reason for the unknown lag is `never_committed`.
"""

TOPICS: Final = Table(
    Source("topics", SNAPSHOT),
    (GROUP, TOPIC),
    (
        Column("partitions", "int32", "Partitions of the topic for which the group has a committed offset."),
        Column("lag_sum", "int64", "Sum of the known lag in one topic.",
               Exported("lagwarden_group_topic_lag", LEAN, sums_over="partition"),
               null="no lag is known", importance=40),
        Column("lag_max", "int64", "The greatest known lag of the group in the partitions of the topic."),
        Column("time_lag_max", "float", "The greatest time lag in one topic.",
               Exported("lagwarden_group_topic_time_lag_seconds", STANDARD),
               null="no time lag is known", importance=30),
        Column("time_lag_max_exact", "bool", "False if the greatest time lag is only a lower bound."),
        Column("partitions_lag_unknown", "int32", "Partitions of the topic whose lag is unknown."),
        Column("verdict", "name", "The worst verdict of its partitions."),
        Column("members", "int32", "Members that have partitions of the topic.",
               Exported("lagwarden_group_topic_members"),
               null=_TOPIC_ASSIGNMENT, importance=20, stability=EXPERIMENTAL),
        Column("partitions_assigned", "int32", "Partitions of the topic that members have.",
               Exported("lagwarden_group_topic_partitions_assigned", absent="the assignment is unknown"),
               null=_TOPIC_ASSIGNMENT, importance=10, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per group and topic in PARTITIONS, and per topic that a share group reads.

A share group reads a topic if brokers record its progress in it, or if a member subscribes to it. It has no rows in
PARTITIONS, no time lag, and no partitions of a member.
"""

LOG_ENDS: Final = Table(
    Source("log_ends", SNAPSHOT),
    (TOPIC, PARTITION),
    (
        Column("high_watermark", "int64", "High watermark: the offset of the next record.",
               Exported("lagwarden_topic_partition_end_offset", STANDARD), null=_NO_ENDS, importance=30),
        Column("log_start_offset", "int64", "Log start offset: the first one that is left.",
               Exported("lagwarden_topic_partition_start_offset", STANDARD), null=_NO_ENDS, importance=20),
        Column("stable_gap", "int64", "Offsets that an open transaction hides from read_committed.",
               Exported("lagwarden_topic_partition_stable_gap"), null=_NO_ENDS, importance=10),
        Column("hot_ratio", "float", "Growth of a hot partition relative to the topic's other partitions, at least 3.",
               Exported("lagwarden_topic_partition_hot_ratio", STANDARD, is_usual=False),
               null="not hot, or a growth is unknown", importance=40, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per partition in PARTITIONS, whatever the number of its groups."""

BURROW_COMMIT: Final = pa.struct([("offset", pa.int64()), ("timestamp", pa.int64()), ("lag", pa.int64())])

COMPATIBILITY: Final = Table(
    None,
    (GROUP, TOPIC, PARTITION),
    (
        Column("owner", "int32", "The member that owns the partition, numbered within the snapshot.", null="none"),
        # Null also if members are hidden (`hidden_members`).
        Column("member_id", "name", "The id of that member."),
        Column("client_id", "name", "Its client id."),
        Column("client_host", "name", "Its host."),
        Column("burrow_status", "name", "The status by Burrow's rules, as Burrow names it.", null="not evaluated"),
        Column("burrow_complete", "bool", "True if every slot of Burrow's window is filled."),
        # The newest last: offset, commit time (Unix ms), and the lag at that moment or null.
        Column("burrow_window", pa.list_(BURROW_COMMIT), "The commits in Burrow's window.", null="not evaluated"),
        Column("topic_partitions", "int32", "Partitions of the topic."),
    ),
)
"""What only the metrics under the names of other exporters need (`exporters.compatibility`).

One row per row of PARTITIONS, in the same order; no rows unless `metrics.compatibility` names an exporter, and no
window unless it names `burrow`.
"""

PARTITION_METRICS: Final = PARTITIONS.metrics_of(_OFFSETS)
PARTITION_HEALTH_METRICS: Final = PARTITIONS.metrics_of(_HEALTH)
