"""The metrics of burrow_exporter and of Burrow's own `/metrics`, all of type gauge.

burrow_exporter reads Burrow's API (jirwin/burrow_exporter, metrics.go); Burrow's own metrics are in linkedin/Burrow,
core/internal/httpserver/prometheus.go. Both have the status by Burrow's rules, which are applied beside lagwarden's own
(`stream.health.burrow`).
"""

from typing import Final

from exporters.compatibility.other_exporter import MissingMetric, OtherExporter, OtherSource, gauge

_EXPORTER_GROUP: Final = ("cluster", "group")
_EXPORTER_PARTITION: Final = ("cluster", "group", "topic", "partition")
_OWN_GROUP: Final = ("cluster", "consumer_group")
_OWN_PARTITION: Final = ("cluster", "consumer_group", "topic", "partition")
_TOPIC_PARTITION: Final = ("cluster", "topic", "partition")
_READ_ONLY: Final = "Only partitions that a group reads."
_NO_COMMIT: Final = "the group has no committed offset for the partition"
_NO_LAG: Final = "the group has no commit for the partition, or the cluster returned no offsets for it"
_NO_GROUP_LAG: Final = "no lag of the group is known"
_ZERO: Final = "{} writes 0 for partitions of the topic without a commit."
_NO_ENDS: Final = "the cluster returned no offsets for the partition"
_WINDOW: Final = (
    "One commit per tick enters the window of ten, as with Burrow's `min-distance`; Burrow without it has every commit."
)
_UNKNOWN_CLUSTER: Final = (
    ("cluster", "The value of `metrics.compatibility_cluster`, else of `metrics.cluster_name`, else `kafka`."),
)

BURROW_EXPORTER: Final = OtherExporter(
    "burrow_exporter",
    "burrow_exporter",
    "jirwin/burrow_exporter",
    (
        gauge("kafka_burrow_partition_lag", "High watermark minus committed offset, at least 0.",
            OtherSource.PARTITIONS, "end_minus_committed_or_zero", _EXPORTER_PARTITION, absent=_NO_LAG,
            instead="lagwarden_partition_lag", difference=_ZERO.format("burrow_exporter")),
        gauge("kafka_burrow_partition_current_offset", "Committed offset of the group.", OtherSource.PARTITIONS,
            "committed_offset", _EXPORTER_PARTITION, absent=_NO_COMMIT, instead="lagwarden_partition_committed_offset",
            difference=_ZERO.format("burrow_exporter")),
        gauge("kafka_burrow_partition_status",
            "Status of the partition by Burrow's rules: 2 OK, 3 WARN, 5 STOP, 6 STALL, 7 REWIND.",
            OtherSource.PARTITIONS, "burrow_exporter_status", _EXPORTER_PARTITION, absent=_NO_COMMIT,
            instead="lagwarden_partition_verdict", difference=_WINDOW),
        gauge("kafka_burrow_partition_max_offset", "High watermark of the partition.", OtherSource.PARTITIONS,
            "high_watermark", _EXPORTER_PARTITION, absent=_NO_ENDS, instead="lagwarden_topic_partition_end_offset",
            difference="Without a commit only if a member owns the partition. burrow_exporter writes 0 with version 3"
            " of Burrow's API, which does not have it."),
        gauge("kafka_burrow_total_lag", "Sum of kafka_burrow_partition_lag over the partitions of the group.",
            OtherSource.GROUPS, "lag_sum", _EXPORTER_GROUP, absent=_NO_GROUP_LAG, instead="lagwarden_group_lag"),
        gauge("kafka_burrow_status", "Status of the group by Burrow's rules: 2 OK, 3 WARN, 4 ERR.", OtherSource.GROUPS,
            "burrow_exporter_status", _EXPORTER_GROUP, absent="the group has no commit",
            instead="lagwarden_group_severity", difference=_WINDOW),
        gauge("kafka_burrow_topic_partition_offset", "High watermark of a partition.", OtherSource.LOG_ENDS,
            "high_watermark", _TOPIC_PARTITION, absent=_NO_ENDS, instead="lagwarden_topic_partition_end_offset",
            difference=_READ_ONLY),
    ),
    unknown_labels=_UNKNOWN_CLUSTER,
)  # fmt: skip

BURROW: Final = OtherExporter(
    "burrow",
    "Burrow",
    "linkedin/Burrow",
    (
        gauge("burrow_kafka_consumer_lag_total",
            "Sum of burrow_kafka_consumer_partition_lag over the partitions of the group.", OtherSource.GROUPS,
            "lag_sum", _OWN_GROUP, absent=_NO_GROUP_LAG, instead="lagwarden_group_lag"),
        gauge("burrow_kafka_consumer_status", "Status of the group by Burrow's rules: 1 OK, 2 WARN, 3 ERR.",
            OtherSource.GROUPS, "burrow_status", _OWN_GROUP, absent="the group has no commit",
            instead="lagwarden_group_severity", difference=_WINDOW),
        gauge("burrow_kafka_consumer_partition_lag", "High watermark minus committed offset, at least 0.",
            OtherSource.PARTITIONS, "end_minus_committed_or_zero", _OWN_PARTITION, absent=_NO_LAG,
            instead="lagwarden_partition_lag", difference=_ZERO.format("Burrow")),
        gauge("burrow_kafka_consumer_current_offset",
            "Committed offset of the group, once every slot of Burrow's window is filled.", OtherSource.PARTITIONS,
            "burrow_complete_offset", _OWN_PARTITION, absent="the window has fewer than ten commits",
            instead="lagwarden_partition_committed_offset"),
        gauge("burrow_kafka_topic_partition_status",
            "Status of the partition by Burrow's rules: 1 OK, 2 WARN, 4 STOP, 5 STALL, 6 REWIND.",
            OtherSource.PARTITIONS, "burrow_complete_status", _OWN_PARTITION,
            absent="the window has fewer than ten commits", instead="lagwarden_partition_verdict", difference=_WINDOW),
        gauge("burrow_kafka_topic_partition_offset", "High watermark of a partition.", OtherSource.LOG_ENDS,
            "high_watermark", _TOPIC_PARTITION, absent=_NO_ENDS, instead="lagwarden_topic_partition_end_offset",
            difference=_READ_ONLY),
    ),
    missing=(MissingMetric("go_*, process_*", "Metrics of Burrow's own process."),),
    unknown_labels=_UNKNOWN_CLUSTER,
)  # fmt: skip
