"""The metrics of kafka-lag-exporter (seglo/kafka-lag-exporter, Metrics.scala), all of type gauge."""

from typing import Final

from exporters.compatibility.other_exporter import MissingMetric, OtherExporter, OtherSource, gauge

_PARTITION: Final = ("cluster_name", "topic", "partition")
_GROUP: Final = ("cluster_name", "group")
_GROUP_TOPIC: Final = ("cluster_name", "group", "topic")
_MEMBER: Final = ("cluster_name", "group", "topic", "partition", "member_host", "consumer_id", "client_id")
_NOT_A_NUMBER: Final = "Absent where kafka-lag-exporter writes NaN."
_UNOWNED: Final = (
    "With partitions that no member owns, which kafka-lag-exporter leaves out as long as the group has members."
)
_MEMBER_LABELS: Final = (
    "`unknown`, as in kafka-lag-exporter, if no member owns it, in a rebalance, and with `http.hide_members`."
    " Groups of the new protocol (KIP-848) have their members here, where kafka-lag-exporter writes `unknown`."
)
_TIME: Final = (
    "The age of the oldest unread record, where kafka-lag-exporter interpolates between its own polls; absent where it"
    " writes NaN."
)

KAFKA_LAG_EXPORTER: Final = OtherExporter(
    "kafka_lag_exporter",
    "kafka-lag-exporter",
    "seglo/kafka-lag-exporter",
    (
        gauge("kafka_partition_latest_offset", "High watermark of a partition that a group reads.",
            OtherSource.LOG_ENDS, "high_watermark", _PARTITION,
            absent="the cluster returned no offsets for the partition", instead="lagwarden_topic_partition_end_offset"),
        gauge("kafka_partition_earliest_offset", "Log start offset of a partition that a group reads.",
            OtherSource.LOG_ENDS, "log_start_offset", _PARTITION,
            absent="the cluster returned no offsets for the partition",
            instead="lagwarden_topic_partition_start_offset"),
        gauge("kafka_consumergroup_group_offset", "Committed offset of the group.", OtherSource.PARTITIONS,
            "committed_offset", _MEMBER, absent="the group has no committed offset for the partition",
            instead="lagwarden_partition_committed_offset", difference=f"{_NOT_A_NUMBER} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_lag", "High watermark minus committed offset, at least 0.",
            OtherSource.PARTITIONS, "end_minus_committed_or_zero", _MEMBER,
            absent="the group has no commit for the partition, or the cluster returned no offsets for it",
            instead="lagwarden_partition_lag", difference=f"{_NOT_A_NUMBER} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_lag_seconds",
            "Age of the oldest unread record in seconds, 0 if nothing is unread.", OtherSource.PARTITIONS, "time_lag",
            _MEMBER, absent="the time lag is unknown", instead="lagwarden_partition_time_lag_seconds",
            difference=f"{_TIME} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_max_lag", "The greatest kafka_consumergroup_group_lag of the group.",
            OtherSource.GROUPS, "lag_max", _GROUP, absent="no lag of the group is known",
            instead="lagwarden_group_lag_max", difference=f"{_NOT_A_NUMBER} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_max_lag_seconds",
            "The greatest kafka_consumergroup_group_lag_seconds of the group.", OtherSource.GROUPS, "time_lag_max",
            _GROUP, absent="no time lag of the group is known", instead="lagwarden_group_time_lag_seconds",
            difference=f"{_TIME} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_sum_lag",
            "Sum of kafka_consumergroup_group_lag over the partitions of the group.", OtherSource.GROUPS, "lag_sum",
            _GROUP, absent="no lag of the group is known", instead="lagwarden_group_lag",
            difference=f"Absent where kafka-lag-exporter writes 0 because every lag is NaN. {_UNOWNED}"),
        gauge("kafka_consumergroup_group_topic_sum_lag",
            "Sum of kafka_consumergroup_group_lag over the partitions of the topic.", OtherSource.GROUP_TOPICS,
            "lag_sum", _GROUP_TOPIC, absent="no lag of the group on the topic is known",
            instead="sum by (cluster, group, topic) (lagwarden_partition_lag)",
            difference=f"Absent where kafka-lag-exporter writes 0 because every lag is NaN. {_UNOWNED}"),
    ),
    missing=(
        MissingMetric("kafka_consumergroup_poll_time_ms",
            "lagwarden does not poll groups; `time() - lagwarden_snapshot_timestamp_seconds` is the age of its data."),
        MissingMetric("jvm_*", "Metrics of the exporter's own JVM; docs/metrics.md has those of lagwarden."),
    ),
    unknown_labels=(
        ("cluster_name", "The value of `metrics.compatibility_cluster`, else of `metrics.cluster_name`, else `kafka`."),
        (
            "member_host, consumer_id, client_id",
            _MEMBER_LABELS,
        ),
    ),
)  # fmt: skip
