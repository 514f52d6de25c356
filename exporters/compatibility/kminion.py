"""The metrics of KMinion (redpanda-data/kminion, prometheus/*.go) with its default namespace."""

from typing import Final

from exporters.catalogue.metric import MetricKind, ValueConversion
from exporters.compatibility.other_exporter import READ_ONLY, OtherExporter, OtherMetric, OtherSource, gauge

_TOPIC: Final = ("topic_name",)
_PARTITION: Final = ("topic_name", "partition_id")
_GROUP: Final = ("group_id",)
_GROUP_TOPIC: Final = ("group_id", "topic_name")
_SUM: Final = "the offset of a partition of the topic is unknown, or no group reads it"
_NO_SIZES: Final = (
    "Describe is not allowed on the cluster, a broker did not answer or has an offline log directory, or the cluster"
    " has more than 30,000 replicas"
)
_CLASSIC_ONLY: Final = "KMinion has no series for groups of the new protocol (KIP-848)."
_ASSIGNED: Final = "no member owns a partition of the topic, or the assignment is unknown"

_CLUSTER: Final = (
    gauge("kminion_kafka_cluster_info", "The cluster with its number of brokers, its controller and its id, always 1.",
        OtherSource.CLUSTER, "brokers", ("cluster_version", "broker_count", "controller_id", "cluster_id"),
        conversion=ValueConversion.ONE, instead="lagwarden_controller",
        difference="With KRaft, controller_id is the active controller, which need not be a broker."),
    gauge("kminion_kafka_broker_info", "A live broker with its advertised address, always 1.", OtherSource.BROKERS,
        "one", ("broker_id", "address", "port", "rack_id", "is_controller"), conversion=ValueConversion.ONE,
        instead="lagwarden_broker_info",
        difference="With KRaft, is_controller is false for a broker that is not the active controller."),
    gauge("kminion_kafka_broker_log_dir_size_total_bytes", "Size of all replicas on the broker, without indexes.",
        OtherSource.BROKERS, "bytes", ("broker_id", "address", "port", "rack_id"), absent=_NO_SIZES,
        instead="lagwarden_broker_bytes",
        difference="Absent where KMinion writes the sum of the log directories that are online."),
    gauge("kminion_kafka_topic_log_dir_size_total_bytes", "Size of all replicas of the topic, without indexes.",
        OtherSource.TOPIC_SIZES, "bytes", _TOPIC, absent=_NO_SIZES, instead="lagwarden_topic_bytes",
        difference="Only topics that exist. KMinion writes the size of no topic if a broker does not answer."),
    gauge("kminion_kafka_topic_info",
        "A topic with its partitions, its replication factor and its cleanup policy, always 1.",
        OtherSource.CLUSTER_TOPICS, "partitions",
        ("topic_name", "partition_count", "replication_factor", "cleanup_policy"), conversion=ValueConversion.ONE,
        absent="Describe is not allowed on the topic",
        instead="lagwarden_topic_partitions, lagwarden_topic_replication_factor, lagwarden_config_info",
        difference="Only the setting that KMinion shows by default."),
)  # fmt: skip

_SNAPSHOT: Final = (
    gauge("kminion_kafka_topic_partition_high_water_mark", "High watermark of the partition.", OtherSource.LOG_ENDS,
        "high_watermark", _PARTITION, instead="lagwarden_topic_partition_end_offset", difference=READ_ONLY),
    gauge("kminion_kafka_topic_high_water_mark_sum", "Sum of the high watermarks of all partitions of the topic.",
        OtherSource.TOPICS, "high_watermark_sum", _TOPIC, absent=_SUM,
        instead="sum by (cluster, topic) (max by (cluster, topic, partition) (lagwarden_topic_partition_end_offset))",
        difference="Only topics of which groups read all partitions."),
    gauge("kminion_kafka_topic_partition_low_water_mark", "Log start offset of the partition.", OtherSource.LOG_ENDS,
        "log_start_offset", _PARTITION, instead="lagwarden_topic_partition_start_offset", difference=READ_ONLY),
    gauge("kminion_kafka_topic_low_water_mark_sum", "Sum of the log start offsets of all partitions of the topic.",
        OtherSource.TOPICS, "log_start_offset_sum", _TOPIC, absent=_SUM,
        instead="sum by (cluster, topic) (max by (cluster, topic, partition)"
        " (lagwarden_topic_partition_start_offset))", difference="Only topics of which groups read all partitions."),
    gauge("kminion_kafka_consumer_group_info", "A group with its protocol and state: 1 if the state is Stable, else 0.",
        OtherSource.GROUPS, "is_stable", ("group_id", "protocol", "protocol_type", "state", "coordinator_id"),
        instead="lagwarden_group_info",
        difference="A rebalance of a classic group is seen when it is described (`groups.asked_per_tick`). "
        f"{_CLASSIC_ONLY}"),
    gauge("kminion_kafka_consumer_group_members", "Members of the group.", OtherSource.GROUPS, "members", _GROUP,
        instead="lagwarden_group_members", difference=_CLASSIC_ONLY),
    gauge("kminion_kafka_consumer_group_empty_members", "Members of the group that have no partition assigned.",
        OtherSource.GROUPS, "idle_members", _GROUP, absent="every member has a partition, or the assignment is unknown",
        instead="lagwarden_group_members_idle", difference=_CLASSIC_ONLY),
    gauge("kminion_kafka_consumer_group_topic_members", "Members of the group that own a partition of the topic.",
        OtherSource.GROUP_TOPICS, "members", _GROUP_TOPIC, absent=_ASSIGNED, instead="lagwarden_group_topic_members",
        difference=_CLASSIC_ONLY),
    gauge("kminion_kafka_consumer_group_topic_assigned_partitions",
        "Partitions of the topic that members of the group own.", OtherSource.GROUP_TOPICS, "assigned_partitions",
        _GROUP_TOPIC, absent=_ASSIGNED, instead="lagwarden_group_topic_partitions_assigned", difference=_CLASSIC_ONLY),
    gauge("kminion_kafka_consumer_group_topic_offset_sum",
        "Sum of the committed offsets of the group over the partitions of the topic whose end is known.",
        OtherSource.GROUP_TOPICS, "committed_sum", _GROUP_TOPIC,
        absent="no partition of the topic has a commit and a known end",
        instead="sum by (cluster, group, topic) (lagwarden_partition_committed_offset)"),
    gauge("kminion_kafka_consumer_group_topic_partition_lag", "High watermark minus committed offset, at least 0.",
        OtherSource.PARTITIONS, "end_minus_committed_or_zero", ("group_id", "topic_name", "partition_id"),
        instead="lagwarden_partition_lag"),
    gauge("kminion_kafka_consumer_group_topic_lag",
        "Sum of kminion_kafka_consumer_group_topic_partition_lag over the partitions of the topic.",
        OtherSource.GROUP_TOPICS, "lag_sum", _GROUP_TOPIC,
        instead="sum by (cluster, group, topic) (lagwarden_partition_lag)",
        difference="Absent where KMinion writes 0 because it knows no end."),
    OtherMetric("kminion_kafka_consumer_group_offset_commits_total", MetricKind.COUNTER,
        "Offset commits of the group that were read after the process had caught up.", OtherSource.GROUPS, "commits",
        _GROUP, instead="lagwarden_group_commits_total",
        difference="KMinion also counts the commits that it reads at its start, and forgets those of removed"
        " offsets."),
)  # fmt: skip

KMINION: Final = OtherExporter(
    "kminion",
    "KMinion",
    "redpanda-data/kminion",
    _CLUSTER + _SNAPSHOT,
    missing={
        "kminion_exporter_up": "Use `up` and `lagwarden_ready`.",
        "kminion_exporter_offset_consumer_records_consumed_total": "Use `sum by (cluster)"
        " (lagwarden_records_read_total)`.",
        "kminion_end_to_end_*": "lagwarden writes nothing to Kafka, so it has no end-to-end probe.",
    },
    unknown_labels={
        "cluster_version": "Empty: the protocol does not have it, KMinion guesses it from the supported requests.",
        "controller_id": "Empty if the controller is unknown, where KMinion writes -1.",
        "coordinator_id": "Empty: which broker coordinates a group is not part of the snapshot.",
        "cleanup_policy": "Empty for a topic that no group reads, where KMinion writes the setting of every topic.",
    },
)
