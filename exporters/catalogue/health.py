"""The metrics about time lag and verdicts, one row each. `exporters.catalogue.metrics` joins the rows.

All of them are absent before the first evaluation, which follows the initial catch-up.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability, ValueConversion

_PARTITION: Final = ("group", "topic", "partition")

PARTITION_HEALTH_METRICS: Final = (
    Metric(
        "lagwarden_partition_time_lag_seconds",
        MetricKind.GAUGE,
        "Age of the oldest record that the group has not read; 0 if it has read all.",
        MetricSource.PARTITIONS,
        "time_lag",
        _PARTITION,
        "seconds",
        absent="the lag is unknown, or the time of its records is unknown",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_partition_lost_offsets",
        MetricKind.GAUGE,
        "Offsets above the group's commit that retention deleted before the group read them.",
        MetricSource.PARTITIONS,
        "lost",
        _PARTITION,
        absent="the group has no committed offset, or the log start offset is unknown",
    ),
    Metric(
        "lagwarden_partition_margin_offsets",
        MetricKind.GAUGE,
        "Offsets between the log start and the group's committed offset: retention can delete them without loss.",
        MetricSource.PARTITIONS,
        "margin",
        _PARTITION,
        absent="the group has no committed offset, or the log start offset is unknown",
    ),
    Metric(
        "lagwarden_partition_produce_rate",
        MetricKind.GAUGE,
        "Growth of the partition in offsets per second over the group's commit window.",
        MetricSource.PARTITIONS,
        "produce_rate",
        _PARTITION,
        absent="there are too few commits or end offsets",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_partition_consume_rate",
        MetricKind.GAUGE,
        "Progress of the group in offsets per second over its commit window.",
        MetricSource.PARTITIONS,
        "consume_rate",
        _PARTITION,
        absent="there are too few commits",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_partition_catch_up_seconds",
        MetricKind.GAUGE,
        "Time until the group has no unread records, at the present rates.",
        MetricSource.PARTITIONS,
        "catch_up_seconds",
        _PARTITION,
        "seconds",
        absent="the group does not catch up, or the rates are unknown",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_partition_verdict",
        MetricKind.GAUGE,
        "1 for the verdict of the group on the partition.",
        MetricSource.PARTITIONS,
        "verdict",
        (*_PARTITION, "verdict"),
        conversion=ValueConversion.ONE,
        absent="the severity of the verdict is fine",
        omits_fine=True,
        preset=Preset.STANDARD,
    ),
)
"""Metrics per partition that a group has committed to, or that belongs to it."""

GROUP_HEALTH_METRICS: Final = (
    Metric(
        "lagwarden_group_verdict",
        MetricKind.GAUGE,
        "1 for the verdict of the group, which is the worst of its partitions, with its severity.",
        MetricSource.GROUPS,
        "verdict",
        ("group", "verdict", "severity"),
        conversion=ValueConversion.ONE,
        absent="the group is dead",
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_group_severity",
        MetricKind.GAUGE,
        "Severity of the group's verdict: 0 fine, 1 unknown, 2 notice, 3 warning, 4 critical.",
        MetricSource.GROUPS,
        "severity",
        ("group",),
        conversion=ValueConversion.RANK,
        absent="the group is dead",
    ),
    Metric(
        "lagwarden_group_verdict_timestamp_seconds",
        MetricKind.GAUGE,
        "When the group's present verdict began; a restart of the monitor does not change it.",
        MetricSource.GROUPS,
        "verdict_since",
        ("group",),
        "seconds",
        ValueConversion.TIMESTAMP,
        absent="the group is dead, or has neither commits nor partitions",
        preset=Preset.STANDARD,
    ),
    Metric(
        "lagwarden_group_time_lag_seconds",
        MetricKind.GAUGE,
        "The greatest time lag of the group's partitions.",
        MetricSource.GROUPS,
        "time_lag_max",
        ("group",),
        "seconds",
        absent="no partition of the group has a known time lag",
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_group_lost_offsets",
        MetricKind.GAUGE,
        "Offsets above the group's commits that retention deleted before the group read them, over all partitions.",
        MetricSource.GROUPS,
        "lost_sum",
        ("group",),
        absent="no partition of the group has both a committed offset and a known log start offset",
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_group_held_back",
        MetricKind.GAUGE,
        "1 while an open transaction hides the group's commits in the log, so that its coordinator is queried, else 0.",
        MetricSource.GROUPS,
        "held_back",
        ("group",),
        absent="the group is dead",
        stability=Stability.EXPERIMENTAL,
    ),
    Metric(
        "lagwarden_group_topic_lag",
        MetricKind.GAUGE,
        "Sum of the group's lag over the partitions of one topic whose lag is known.",
        MetricSource.TOPICS,
        "lag_sum",
        ("group", "topic"),
        absent="no partition of the topic has a known lag for the group",
        preset=Preset.LEAN,
        sums_over="partition",
    ),
    Metric(
        "lagwarden_group_topic_time_lag_seconds",
        MetricKind.GAUGE,
        "The greatest time lag of the group in the partitions of one topic.",
        MetricSource.TOPICS,
        "time_lag_max",
        ("group", "topic"),
        "seconds",
        absent="no partition of the topic has a known time lag for the group",
        preset=Preset.STANDARD,
        sums_over="partition",
    ),
    Metric(
        "lagwarden_groups_by_verdict",
        MetricKind.GAUGE,
        "Number of groups per verdict; every verdict has a sample, also with 0 groups.",
        MetricSource.VERDICT_GROUPS,
        "groups",
        ("verdict", "severity"),
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_groups_held_back",
        MetricKind.GAUGE,
        "Groups whose commits are hidden in the log behind an open transaction, so that their coordinator is queried.",
        MetricSource.SUMMARY,
        "held_back",
        absent="before the first evaluation",
        preset=Preset.LEAN,
    ),
    Metric(
        "lagwarden_groups_with_odd_times",
        MetricKind.GAUGE,
        "Groups with impossible times in their records: in the future, before 1970 or after the year 9999.",
        MetricSource.SUMMARY,
        "odd_times",
        preset=Preset.LEAN,
    ),
)
"""Metrics per group, per group and topic, and of all groups."""

VERDICT_CHANGE_METRICS: Final = (
    Metric(
        "lagwarden_verdict_changes_total",
        MetricKind.COUNTER,
        "Changes of groups to each verdict since the process was ready; changes between fine verdicts are not counted.",
        MetricSource.VERDICT_CHANGES,
        "groups",
        ("verdict",),
        absent="before the first evaluation",
    ),
    Metric(
        "lagwarden_unreadable_tails",
        MetricKind.GAUGE,
        "Partitions whose last records cannot be read although a group has stopped before their end: transaction "
        "markers cannot be distinguished from unread records; not_authorized: the ACL to Read the topic is missing.",
        MetricSource.UNREADABLE_TAILS,
        "partitions",
        ("reason",),
        absent="there is no such partition",
        stability=Stability.EXPERIMENTAL,
    ),
)
"""Metrics of verdict changes and of partitions that could not be read, rendered for each scrape."""
