"""The schemas of the tables of the other exporters' metrics, beside those of a snapshot and of the facts of a poll.

A column has the name of the label that it is; a name that several exporters use has one meaning in a table. Columns are
shared, not copied.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import pyarrow as pa

from exporters.cluster.model import ClusterFacts
from exporters.readmodel import NAME, Snapshot

_LABELS: Final = (
    *(("consumergroup", NAME), ("group", NAME), ("group_id", NAME), ("consumer_group", NAME)),
    *(("cluster", NAME), ("cluster_name", NAME)),
)
_TOPIC: Final = (("topic", NAME), ("topic_name", NAME))
_PARTITION: Final = (("partition", pa.int32()), ("partition_id", pa.int32()))

OTHER_PARTITIONS: Final = pa.schema(
    [
        *_LABELS,
        *_TOPIC,
        *_PARTITION,
        ("member_host", NAME),
        ("consumer_id", NAME),
        ("client_id", NAME),
        ("committed_offset", pa.int64()),
        # -1 without a commit, if the group has one for another partition of the topic (kafka_exporter).
        ("committed_or_minus_one", pa.int64()),
        # high watermark - committed offset, also negative; -1 as in the previous column (kafka_exporter).
        ("end_minus_committed", pa.int64()),
        # The same, at least 0, and null without a commit (all others).
        ("end_minus_committed_or_zero", pa.int64()),
        ("high_watermark", pa.int64()),
        ("time_lag", pa.float64()),
        # Burrow's number of the status, and burrow_exporter's, which is greater by one.
        ("burrow_status", pa.int64()),
        ("burrow_exporter_status", pa.int64()),
        # Null unless every slot of Burrow's window is filled.
        ("burrow_complete_status", pa.int64()),
        ("burrow_complete_offset", pa.int64()),
    ]
)
"""One row per row of PARTITIONS, and with `every_partition` one per other partition of a topic with a commit."""

OTHER_GROUP_TOPICS: Final = pa.schema(
    [
        *_LABELS,
        *_TOPIC,
        # Sums over the partitions: of `committed_or_minus_one`, and of known differences (kafka_exporter).
        ("committed_or_minus_one_sum", pa.int64()),
        ("end_minus_committed_sum", pa.int64()),
        # Sum of the committed offsets of partitions whose end is known (KMinion).
        ("committed_sum", pa.int64()),
        ("lag_sum", pa.int64()),
        # Members that own a partition of the topic, and owned partitions; null if none is.
        ("members", pa.int64()),
        ("assigned_partitions", pa.int64()),
    ]
)
"""One row per group and topic of PARTITIONS."""

OTHER_GROUPS: Final = pa.schema(
    [
        *_LABELS,
        ("protocol", NAME),
        ("protocol_type", NAME),
        ("state", NAME),
        # Always null: which broker coordinates the group is not in the snapshot.
        ("coordinator_id", NAME),
        ("members", pa.int32()),
        # Null if no member is idle (KMinion).
        ("idle_members", pa.int32()),
        # True if the state is Stable; null if the state is unknown.
        ("is_stable", pa.bool_()),
        ("commits", pa.int64()),
        ("lag_sum", pa.int64()),
        ("lag_max", pa.int64()),
        ("time_lag_max", pa.float64()),
        # Of the worst partition; STOP, STALL and REWIND count as ERR. Null for a group without a commit.
        ("burrow_status", pa.int64()),
        ("burrow_exporter_status", pa.int64()),
    ]
)
"""One row per group that is not dead."""

OTHER_LOG_ENDS: Final = pa.schema(
    [
        *_TOPIC,
        *_PARTITION,
        ("cluster", NAME),
        ("cluster_name", NAME),
        ("high_watermark", pa.int64()),
        ("log_start_offset", pa.int64()),
    ]
)
"""One row per row of LOG_ENDS."""

OTHER_TOPICS: Final = pa.schema(
    [
        ("topic_name", NAME),
        # Null unless the offsets of all partitions of the topic are known (KMinion).
        ("high_watermark_sum", pa.int64()),
        ("log_start_offset_sum", pa.int64()),
    ]
)
"""One row per topic of LOG_ENDS."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class OtherSnapshot(Snapshot):
    """A snapshot with the tables of the other exporters' metrics. The schema of each is the constant with its name."""

    other_partitions: pa.Table = dataclasses.field(default_factory=OTHER_PARTITIONS.empty_table)
    other_group_topics: pa.Table = dataclasses.field(default_factory=OTHER_GROUP_TOPICS.empty_table)
    other_groups: pa.Table = dataclasses.field(default_factory=OTHER_GROUPS.empty_table)
    other_log_ends: pa.Table = dataclasses.field(default_factory=OTHER_LOG_ENDS.empty_table)
    other_topics: pa.Table = dataclasses.field(default_factory=OTHER_TOPICS.empty_table)


OTHER_CLUSTER: Final = pa.schema(
    [
        # Always null: the protocol has no version of the cluster; KMinion guesses it from the supported requests.
        ("cluster_version", NAME),
        ("broker_count", pa.int32()),
        ("controller_id", pa.int32()),
        ("cluster_id", NAME),
        ("brokers", pa.int32()),
    ]
)
"""One row."""

OTHER_BROKERS: Final = pa.schema(
    [
        ("broker_id", pa.int32()),
        ("address", NAME),
        ("port", pa.int32()),
        ("rack_id", NAME),
        # Null if the controller is not known.
        ("is_controller", pa.bool_()),
        # Of all replicas on the broker; null if unknown.
        ("bytes", pa.int64()),
        ("one", pa.int32()),
    ]
)
"""One row per live broker, with its host name as address (KMinion)."""

OTHER_BROKER_ADDRESSES: Final = pa.schema([("id", pa.int32()), ("address", NAME), ("one", pa.int32())])
"""One row per live broker, with `host:port` as address (kafka_exporter)."""

OTHER_CLUSTER_TOPICS: Final = pa.schema(
    [
        ("topic", NAME),
        ("topic_name", NAME),
        ("partitions", pa.int32()),
        ("partition_count", pa.int32()),
        ("replication_factor", pa.int32()),
        ("cleanup_policy", NAME),
    ]
)
"""One row per topic that could be described. The cleanup policy is null for a topic that no group reads."""

OTHER_TOPIC_SIZES: Final = pa.schema([("topic_name", NAME), ("bytes", pa.int64())])
"""One row per row of TOPIC_SIZES."""

OTHER_REPLICAS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("replicas", pa.int32()),
        ("in_sync_replicas", pa.int32()),
        ("preferred_leader", pa.bool_()),
        ("under_replicated", pa.bool_()),
    ]
)
"""One row per partition of PARTITIONS_SHOWN."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OtherClusterFacts(ClusterFacts):
    """The facts of a poll with the tables of the other exporters' metrics; the schema of each is the constant."""

    other_cluster: pa.Table
    other_brokers: pa.Table
    other_broker_addresses: pa.Table
    other_cluster_topics: pa.Table
    other_topic_sizes: pa.Table
    other_replicas: pa.Table
