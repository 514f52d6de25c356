"""Every metric about lag in time and about verdicts, one row each. `exporters.catalogue.metrics` joins the rows.

All of them are absent before there is a judgement, which is made at every tick after the initial catch-up.
"""

from __future__ import annotations

from typing import Final

from exporters.catalogue.metric import FINE_VERDICTS, Metric, MetricKind, MetricSource, ValueConversion

_PARTITION: Final = ("group", "topic", "partition")

PARTITION_HEALTH_METRICS: Final = (
    Metric(
        "lagwarden_partition_time_lag_seconds",
        MetricKind.GAUGE,
        "Age of the oldest record that the group has not read; 0 where it has read all.",
        MetricSource.PARTITIONS,
        "time_lag",
        _PARTITION,
        "seconds",
        absent="the lag is not known, or when its records were written is not",
    ),
    Metric(
        "lagwarden_partition_lost_offsets",
        MetricKind.GAUGE,
        "Offsets above the group's commit that retention deleted before the group read them.",
        MetricSource.PARTITIONS,
        "lost",
        _PARTITION,
        absent="the group has no committed offset, or where the log starts is not known",
    ),
    Metric(
        "lagwarden_partition_margin_offsets",
        MetricKind.GAUGE,
        "Offsets between the start of the log and the group's commit: what retention may delete without a loss.",
        MetricSource.PARTITIONS,
        "margin",
        _PARTITION,
        absent="the group has no committed offset, or where the log starts is not known",
    ),
    Metric(
        "lagwarden_partition_produce_rate",
        MetricKind.GAUGE,
        "Offsets per second by which the partition grew over the group's commit window.",
        MetricSource.PARTITIONS,
        "produce_rate",
        _PARTITION,
        absent="there are too few commits or ends to tell",
    ),
    Metric(
        "lagwarden_partition_consume_rate",
        MetricKind.GAUGE,
        "Offsets per second by which the group moved on over its commit window.",
        MetricSource.PARTITIONS,
        "consume_rate",
        _PARTITION,
        absent="there are too few commits to tell",
    ),
    Metric(
        "lagwarden_partition_catch_up_seconds",
        MetricKind.GAUGE,
        "How long until the group has read all there is, at the present rates.",
        MetricSource.PARTITIONS,
        "catch_up_seconds",
        _PARTITION,
        "seconds",
        absent="the group does not gain on the partition, or the rates are not known",
    ),
    Metric(
        "lagwarden_partition_verdict",
        MetricKind.GAUGE,
        "1 for the verdict that the group has on the partition.",
        MetricSource.PARTITIONS,
        "verdict",
        (*_PARTITION, "verdict"),
        conversion=ValueConversion.ONE,
        absent="the verdict is ok or caught_up",
        unless=FINE_VERDICTS,
    ),
)
"""Of each partition that a group has committed to, or that belongs to it."""

GROUP_HEALTH_METRICS: Final = (
    Metric(
        "lagwarden_group_verdict",
        MetricKind.GAUGE,
        "1 for the verdict of the group: the worst of its partitions, and how bad that is.",
        MetricSource.GROUPS,
        "verdict",
        ("group", "verdict", "severity"),
        conversion=ValueConversion.ONE,
        absent="the group is dead",
    ),
    Metric(
        "lagwarden_group_severity",
        MetricKind.GAUGE,
        "How bad the verdict of the group is: 0 fine, 1 unknown, 2 notice, 3 warning, 4 critical.",
        MetricSource.GROUPS,
        "severity",
        ("group",),
        conversion=ValueConversion.RANK,
        absent="the group is dead",
    ),
    Metric(
        "lagwarden_group_verdict_timestamp_seconds",
        MetricKind.GAUGE,
        "Since when the group's verdict holds; a restart of the monitor does not move it.",
        MetricSource.GROUPS,
        "verdict_since",
        ("group",),
        "seconds",
        ValueConversion.TIMESTAMP,
        absent="the group is dead, or has committed nothing and owns nothing",
    ),
    Metric(
        "lagwarden_group_time_lag_seconds",
        MetricKind.GAUGE,
        "The greatest time lag among the group's partitions.",
        MetricSource.GROUPS,
        "time_lag_max",
        ("group",),
        "seconds",
        absent="no partition of the group has a known time lag",
    ),
    Metric(
        "lagwarden_group_held_back",
        MetricKind.GAUGE,
        "1 while an open transaction hides the group's commits from the log and its coordinator is asked instead.",
        MetricSource.GROUPS,
        "held_back",
        ("group",),
        absent="the group is dead",
    ),
    Metric(
        "lagwarden_topic_lag",
        MetricKind.GAUGE,
        "Sum of the group's lag over the partitions of one topic whose lag is known.",
        MetricSource.TOPICS,
        "lag_sum",
        ("group", "topic"),
        absent="no partition of the topic has a known lag for the group",
    ),
    Metric(
        "lagwarden_topic_time_lag_seconds",
        MetricKind.GAUGE,
        "The greatest time lag of the group among the partitions of one topic.",
        MetricSource.TOPICS,
        "time_lag_max",
        ("group", "topic"),
        "seconds",
        absent="no partition of the topic has a known time lag for the group",
    ),
    Metric(
        "lagwarden_groups_by_verdict",
        MetricKind.GAUGE,
        "How many groups have each verdict; every verdict has a sample, also with none.",
        MetricSource.VERDICT_GROUPS,
        "groups",
        ("verdict", "severity"),
    ),
)
"""Of each group, of each of its topics, and of all groups together."""

VERDICT_CHANGE_METRICS: Final = (
    Metric(
        "lagwarden_verdict_changes_total",
        MetricKind.COUNTER,
        "Groups that turned to each verdict since the process was ready; turns between fine verdicts are not counted.",
        MetricSource.VERDICT_CHANGES,
        "groups",
        ("verdict",),
        absent="before there is a judgement",
    ),
    Metric(
        "lagwarden_unreadable_tails",
        MetricKind.GAUGE,
        "Partitions before whose end a group rests and whose last records cannot be read, so that transaction markers"
        " cannot be told from unread records; not_authorized: the right to Read the topic is missing.",
        MetricSource.UNREADABLE_TAILS,
        "partitions",
        ("reason",),
        absent="there is none with this reason",
    ),
)
"""How verdicts came and went, and what could not be read for them, rendered for each scrape."""
