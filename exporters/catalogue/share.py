"""The metrics about the progress of share groups, one row each, rendered once per read of it."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability, ValueConversion

_GROUP: Final = ("group",)
_PARTITION: Final = ("group", "topic", "partition")
_UNKNOWN: Final = "unknown: needs Read on __share_group_state; or the group is no share group"
_NOT_STARTED: Final = f"{_UNKNOWN}; or no delivery in the partition has ended yet"

SHARE_METRICS: Final = (
    Metric(
        "lagwarden_share_groups_timestamp_seconds",
        MetricKind.GAUGE,
        "When the numbers of share groups were read. If reads fail, they stay for a while.",
        MetricSource.SHARE_READS,
        "read_time",
        unit="seconds",
        conversion=ValueConversion.TIMESTAMP,
        absent="the cluster never had a share group; or before the first read, without Read on __share_group_state, if "
        "no read succeeded for health.share_pause and for two intervals, and with cluster.interval 0",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_group_lag",
        MetricKind.GAUGE,
        "Records that a share group has not finished, in all partitions (kafka-share-groups --describe --offsets).",
        MetricSource.SHARE_GROUPS,
        "lag",
        _GROUP,
        absent=f"{_UNKNOWN}; or the lag of one of its partitions is unknown",
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_start_offset",
        MetricKind.GAUGE,
        "Start offset of a share group: all records before it are finished.",
        MetricSource.SHARE_PARTITIONS,
        "start_offset",
        _PARTITION,
        absent=_NOT_STARTED,
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_lag",
        MetricKind.GAUGE,
        "Records of the partition that are neither acknowledged nor archived.",
        MetricSource.SHARE_PARTITIONS,
        "lag",
        _PARTITION,
        absent=f"{_NOT_STARTED}; or its end is unknown, or its state was written by Kafka before 4.2",
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_finished_records",
        MetricKind.GAUGE,
        "Records after the start offset that are acknowledged or archived.",
        MetricSource.SHARE_PARTITIONS,
        "finished",
        _PARTITION,
        absent=f"{_NOT_STARTED}; or its state was written by Kafka before 4.2",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_returned_records",
        MetricKind.GAUGE,
        "Records that were delivered, came back without an acknowledgement, and wait for another delivery.",
        MetricSource.SHARE_PARTITIONS,
        "returned",
        _PARTITION,
        absent=f"{_UNKNOWN}; or the group has more batches of such records than are kept",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_most_deliveries",
        MetricKind.GAUGE,
        "Highest number of deliveries of a record that came back.",
        MetricSource.SHARE_PARTITIONS,
        "most_deliveries",
        _PARTITION,
        absent=f"{_UNKNOWN}; or no record waits for another delivery",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_acknowledged_total",
        MetricKind.COUNTER,
        "Records that became acknowledged since the start of the monitor.",
        MetricSource.SHARE_PARTITIONS,
        "acknowledged",
        _PARTITION,
        absent=_UNKNOWN,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_archived_total",
        MetricKind.COUNTER,
        "Records that were rejected, or delivered as often as allowed, since the start of the monitor.",
        MetricSource.SHARE_PARTITIONS,
        "archived",
        _PARTITION,
        absent=_UNKNOWN,
        preset=Preset.STANDARD,
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_share_partition_returns_total",
        MetricKind.COUNTER,
        "Deliveries since the start of the monitor after which the record was neither acknowledged nor archived.",
        MetricSource.SHARE_PARTITIONS,
        "returns",
        _PARTITION,
        absent=_UNKNOWN,
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of share groups (KIP-932)."""
