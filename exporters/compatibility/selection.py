"""All exporters whose names lagwarden can show, and the configured ones with the name of their cluster.

burrow_exporter reads Burrow's API (jirwin/burrow_exporter, metrics.go); Burrow's own metrics are in linkedin/Burrow,
core/internal/httpserver/prometheus.go. Both have the status by Burrow's rules, which are applied beside lagwarden's own
(`stream.health.burrow`).
"""

import dataclasses
from typing import Final

from exporters.compatibility.kafka_exporter import KAFKA_EXPORTER
from exporters.compatibility.kminion import KMINION
from exporters.compatibility.other_exporter import READ_ONLY, OtherExporter, OtherMetric, OtherSource, gauge

_EXPORTER_GROUP: Final = ("cluster", "group")
_EXPORTER_PARTITION: Final = ("cluster", "group", "topic", "partition")
_OWN_GROUP: Final = ("cluster", "consumer_group")
_OWN_PARTITION: Final = ("cluster", "consumer_group", "topic", "partition")
_TOPIC_PARTITION: Final = ("cluster", "topic", "partition")
_ZERO: Final = "{} writes 0 for partitions of the topic without a commit."
_WINDOW: Final = (
    "One commit per tick enters the window of ten, as with Burrow's `min-distance`; Burrow without it has every commit."
)
_CLUSTER_NAME: Final = "The value of `metrics.compatibility_cluster`, else of `metrics.cluster_name`, else `kafka`."

BURROW_EXPORTER: Final = OtherExporter(
    "burrow_exporter",
    "burrow_exporter",
    "jirwin/burrow_exporter",
    (
        gauge("kafka_burrow_partition_lag", "High watermark minus committed offset, at least 0.",
            OtherSource.PARTITIONS, "end_minus_committed_or_zero", _EXPORTER_PARTITION,
            instead="lagwarden_partition_lag", difference=_ZERO.format("burrow_exporter")),
        gauge("kafka_burrow_partition_current_offset", "Committed offset of the group.", OtherSource.PARTITIONS,
            "committed_offset", _EXPORTER_PARTITION, instead="lagwarden_partition_committed_offset",
            difference=_ZERO.format("burrow_exporter")),
        gauge("kafka_burrow_partition_status",
            "Status of the partition by Burrow's rules: 2 OK, 3 WARN, 5 STOP, 6 STALL, 7 REWIND.",
            OtherSource.PARTITIONS, "burrow_exporter_status", _EXPORTER_PARTITION,
            instead="lagwarden_partition_verdict", difference=_WINDOW),
        gauge("kafka_burrow_partition_max_offset", "High watermark of the partition.", OtherSource.PARTITIONS,
            "high_watermark", _EXPORTER_PARTITION, instead="lagwarden_topic_partition_end_offset",
            difference="Without a commit only if a member owns the partition. burrow_exporter writes 0 with version 3"
            " of Burrow's API, which does not have it."),
        gauge("kafka_burrow_total_lag", "Sum of kafka_burrow_partition_lag over the partitions of the group.",
            OtherSource.GROUPS, "lag_sum", _EXPORTER_GROUP, instead="lagwarden_group_lag"),
        gauge("kafka_burrow_status", "Status of the group by Burrow's rules: 2 OK, 3 WARN, 4 ERR.", OtherSource.GROUPS,
            "burrow_exporter_status", _EXPORTER_GROUP, instead="lagwarden_group_severity", difference=_WINDOW),
        gauge("kafka_burrow_topic_partition_offset", "High watermark of a partition.", OtherSource.LOG_ENDS,
            "high_watermark", _TOPIC_PARTITION, instead="lagwarden_topic_partition_end_offset", difference=READ_ONLY),
    ),
    unknown_labels={"cluster": _CLUSTER_NAME},
)  # fmt: skip

BURROW: Final = OtherExporter(
    "burrow",
    "Burrow",
    "linkedin/Burrow",
    (
        gauge("burrow_kafka_consumer_lag_total",
            "Sum of burrow_kafka_consumer_partition_lag over the partitions of the group.", OtherSource.GROUPS,
            "lag_sum", _OWN_GROUP, instead="lagwarden_group_lag"),
        gauge("burrow_kafka_consumer_status", "Status of the group by Burrow's rules: 1 OK, 2 WARN, 3 ERR.",
            OtherSource.GROUPS, "burrow_status", _OWN_GROUP, instead="lagwarden_group_severity", difference=_WINDOW),
        gauge("burrow_kafka_consumer_partition_lag", "High watermark minus committed offset, at least 0.",
            OtherSource.PARTITIONS, "end_minus_committed_or_zero", _OWN_PARTITION, instead="lagwarden_partition_lag",
            difference=_ZERO.format("Burrow")),
        gauge("burrow_kafka_consumer_current_offset",
            "Committed offset of the group, once every slot of Burrow's window is filled.", OtherSource.PARTITIONS,
            "burrow_complete_offset", _OWN_PARTITION, absent="the window has fewer than ten commits",
            instead="lagwarden_partition_committed_offset"),
        gauge("burrow_kafka_topic_partition_status",
            "Status of the partition by Burrow's rules: 1 OK, 2 WARN, 4 STOP, 5 STALL, 6 REWIND.",
            OtherSource.PARTITIONS, "burrow_complete_status", _OWN_PARTITION,
            absent="the window has fewer than ten commits", instead="lagwarden_partition_verdict", difference=_WINDOW),
        gauge("burrow_kafka_topic_partition_offset", "High watermark of a partition.", OtherSource.LOG_ENDS,
            "high_watermark", _TOPIC_PARTITION, instead="lagwarden_topic_partition_end_offset", difference=READ_ONLY),
    ),
    missing={"go_*, process_*": "Metrics of Burrow's own process."},
    unknown_labels={"cluster": _CLUSTER_NAME},
)  # fmt: skip


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
            OtherSource.LOG_ENDS, "high_watermark", _PARTITION, instead="lagwarden_topic_partition_end_offset"),
        gauge("kafka_partition_earliest_offset", "Log start offset of a partition that a group reads.",
            OtherSource.LOG_ENDS, "log_start_offset", _PARTITION, instead="lagwarden_topic_partition_start_offset"),
        gauge("kafka_consumergroup_group_offset", "Committed offset of the group.", OtherSource.PARTITIONS,
            "committed_offset", _MEMBER, instead="lagwarden_partition_committed_offset",
            difference=f"{_NOT_A_NUMBER} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_lag", "High watermark minus committed offset, at least 0.",
            OtherSource.PARTITIONS, "end_minus_committed_or_zero", _MEMBER, instead="lagwarden_partition_lag",
            difference=f"{_NOT_A_NUMBER} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_lag_seconds",
            "Age of the oldest unread record in seconds, 0 if nothing is unread.", OtherSource.PARTITIONS, "time_lag",
            _MEMBER, instead="lagwarden_partition_time_lag_seconds", difference=f"{_TIME} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_max_lag", "The greatest kafka_consumergroup_group_lag of the group.",
            OtherSource.GROUPS, "lag_max", _GROUP, instead="lagwarden_group_lag_max",
            difference=f"{_NOT_A_NUMBER} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_max_lag_seconds",
            "The greatest kafka_consumergroup_group_lag_seconds of the group.", OtherSource.GROUPS, "time_lag_max",
            _GROUP, instead="lagwarden_group_time_lag_seconds", difference=f"{_TIME} {_UNOWNED}"),
        gauge("kafka_consumergroup_group_sum_lag",
            "Sum of kafka_consumergroup_group_lag over the partitions of the group.", OtherSource.GROUPS, "lag_sum",
            _GROUP, instead="lagwarden_group_lag",
            difference=f"Absent where kafka-lag-exporter writes 0 because every lag is NaN. {_UNOWNED}"),
        gauge("kafka_consumergroup_group_topic_sum_lag",
            "Sum of kafka_consumergroup_group_lag over the partitions of the topic.", OtherSource.GROUP_TOPICS,
            "lag_sum", _GROUP_TOPIC, instead="sum by (cluster, group, topic) (lagwarden_partition_lag)",
            difference=f"Absent where kafka-lag-exporter writes 0 because every lag is NaN. {_UNOWNED}"),
    ),
    missing={
        "kafka_consumergroup_poll_time_ms":
            "lagwarden does not poll groups; `time() - lagwarden_snapshot_timestamp_seconds` is the age of its data.",
        "jvm_*": "Metrics of the exporter's own JVM; docs/metrics.md has those of lagwarden.",
    },
    unknown_labels={"cluster_name": _CLUSTER_NAME, "member_host, consumer_id, client_id": _MEMBER_LABELS},
)  # fmt: skip


OTHER_EXPORTERS: Final = (KAFKA_EXPORTER, KAFKA_LAG_EXPORTER, KMINION, BURROW_EXPORTER, BURROW)
OTHER_BY_NAME: Final = {other.name: other for other in OTHER_EXPORTERS}


@dataclasses.dataclass(frozen=True, slots=True)
class OtherSelection:
    """The option `metrics.compatibility` with what belongs to it. Raises KeyError on use if a name is unknown.

    `cluster` is the value of the labels `cluster` and `cluster_name`. With `hide_members` no label names a member.
    """

    names: tuple[str, ...] = ()
    cluster: str = "kafka"
    hide_members: bool = False

    @property
    def others(self) -> tuple[OtherExporter, ...]:
        """The exporters, each once."""
        return tuple(OTHER_BY_NAME[name] for name in dict.fromkeys(self.names))

    @property
    def metrics(self) -> tuple[OtherMetric, ...]:
        """The metrics of all of them, those of a snapshot and those of a poll of the cluster."""
        return tuple(metric for other in self.others for metric in other.metrics)

    @property
    def needs_burrow(self) -> bool:
        """True if a metric has the status by Burrow's rules."""
        return any("burrow" in metric.column for metric in self.metrics)

    @property
    def needs_every_partition(self) -> bool:
        """True if a metric has a value for each partition of a topic for which a group has a commit."""
        return any(other.every_partition for other in self.others)

    @property
    def has_burrow_api(self) -> bool:
        """True if the paths of Burrow's API are served (`exporters.http.burrow_api`)."""
        return BURROW.name in self.names
