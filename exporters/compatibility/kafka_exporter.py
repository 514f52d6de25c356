"""The metrics of kafka_exporter (danielqsj/kafka_exporter, kafka_exporter.go), all of type gauge."""

from typing import Final

from exporters.catalogue.metric import ValueConversion
from exporters.compatibility.other_exporter import MissingMetric, OtherExporter, OtherSource, gauge

_TOPIC: Final = ("topic",)
_PARTITION: Final = ("topic", "partition")
_GROUP_TOPIC: Final = ("consumergroup", "topic")
_GROUP_PARTITION: Final = ("consumergroup", "topic", "partition")
_READ_ONLY: Final = "Only partitions that a group reads."
_SHOWN_ONLY: Final = "At most `cluster.partitions_shown` partitions, those with problems first."

_CLUSTER: Final = (
    gauge("kafka_brokers", "Live brokers of the cluster.", OtherSource.CLUSTER, "brokers",
        instead="count by (cluster) (lagwarden_broker_info)"),
    gauge("kafka_broker_info", "A live broker with its advertised address, always 1.", OtherSource.BROKER_ADDRESSES,
        "one", ("id", "address"), conversion=ValueConversion.ONE, instead="lagwarden_broker_info"),
    gauge("kafka_topic_partitions", "Partitions of the topic.", OtherSource.CLUSTER_TOPICS, "partitions", _TOPIC,
        absent="Describe is not allowed on the topic", instead="lagwarden_topic_partitions"),
    gauge("kafka_topic_partition_leader", "Id of the broker that leads the partition.", OtherSource.REPLICAS, "leader",
        _PARTITION, absent="the partition has no leader", instead="lagwarden_topic_partition_leader",
        difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_leader_is_preferred", "1 if the first replica of the partition leads it, else 0.",
        OtherSource.REPLICAS, "preferred_leader", _PARTITION, instead="lagwarden_topic_partition_preferred_leader",
        difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_replicas", "Replicas of the partition.", OtherSource.REPLICAS, "replicas", _PARTITION,
        instead="lagwarden_topic_partition_replicas", difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_in_sync_replica", "In-sync replicas of the partition.", OtherSource.REPLICAS,
        "in_sync_replicas", _PARTITION, instead="lagwarden_topic_partition_in_sync_replicas", difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_under_replicated_partition",
        "1 if the partition has a replica that is not in sync, else 0.", OtherSource.REPLICAS, "under_replicated",
        _PARTITION, instead="lagwarden_topic_partition_under_replicated", difference=_SHOWN_ONLY),
)  # fmt: skip

_SNAPSHOT: Final = (
    gauge("kafka_topic_partition_current_offset", "High watermark of the partition.", OtherSource.LOG_ENDS,
        "high_watermark", _PARTITION, absent="the cluster returned no offsets for the partition",
        instead="lagwarden_topic_partition_end_offset", difference=_READ_ONLY),
    gauge("kafka_topic_partition_oldest_offset", "Log start offset of the partition.", OtherSource.LOG_ENDS,
        "log_start_offset", _PARTITION, absent="the cluster returned no offsets for the partition",
        instead="lagwarden_topic_partition_start_offset", difference=_READ_ONLY),
    gauge("kafka_consumergroup_current_offset",
        "Committed offset of the group; -1 without one, if the group has one for another partition of the topic.",
        OtherSource.PARTITIONS, "committed_or_minus_one", _GROUP_PARTITION,
        absent="the group has no committed offset for the topic", instead="lagwarden_partition_committed_offset"),
    gauge("kafka_consumergroup_current_offset_sum",
        "Sum of kafka_consumergroup_current_offset over the partitions of the topic, each -1 included.",
        OtherSource.GROUP_TOPICS, "committed_or_minus_one_sum", _GROUP_TOPIC,
        absent="the group has no committed offset for the topic",
        instead="sum by (cluster, group, topic) (lagwarden_partition_committed_offset)"),
    gauge("kafka_consumergroup_lag",
        "High watermark minus committed offset, negative if the commit is beyond the end; -1 without a commit.",
        OtherSource.PARTITIONS, "end_minus_committed", _GROUP_PARTITION,
        absent="the cluster returned no offsets for the partition", instead="lagwarden_partition_lag",
        difference="Negative only after a truncation or re-creation of the topic, never because of a race."),
    gauge("kafka_consumergroup_lag_sum",
        "Sum of kafka_consumergroup_lag over the partitions of the topic that have a commit.", OtherSource.GROUP_TOPICS,
        "end_minus_committed_sum", _GROUP_TOPIC, absent="no partition of the topic has a commit and a known end",
        instead="sum by (cluster, group, topic) (lagwarden_partition_lag)",
        difference="kafka_exporter writes 0 if it knows no end."),
    gauge("kafka_consumergroup_members", "Members of the group.", OtherSource.GROUPS, "members", ("consumergroup",),
        instead="lagwarden_group_members", difference="kafka_exporter before 1.10 writes 0 for groups of KIP-848."),
)  # fmt: skip

KAFKA_EXPORTER: Final = OtherExporter(
    "kafka_exporter",
    "kafka_exporter",
    "danielqsj/kafka_exporter",
    _CLUSTER + _SNAPSHOT,
    missing=(
        MissingMetric(
            "kafka_consumergroupzookeeper_lag_zookeeper", "Offsets in ZooKeeper are not read; Kafka 4 has none."),
        MissingMetric("kafka_exporter_build_info", "Use `lagwarden_build_info`."),
    ),
    every_partition=True,
)  # fmt: skip
