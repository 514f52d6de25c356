"""Every metric as one row: the only place where a metric is spelled. Run as a module, it prints `docs/metrics.md`.

The order here is the order in `/metrics` and in `docs/metrics.md`. Names follow the Prometheus conventions: one prefix,
base units last, `_total` for counters, `_timestamp_seconds` for the moment of an event (readers subtract: an age that
nobody updates looks young), `_info` for label sets to join on. No gauge ends in `_sum` or `_count`: those suffixes
belong to histograms and summaries, and `promtool check metrics` refuses them elsewhere.

What a row promises is in `exporters.metric`; turning rows into text is `exporters.exposition` and `exporters.live`.
"""

from __future__ import annotations

import sys
from typing import Final

from exporters.metric import Kind, Metric, Reading, Source

_PARTITION: Final = ("group", "topic", "partition")
_OFFSETS: Final = ("offsets_partition",)

_PARTITIONS: Final = (
    Metric(
        "lagwarden_partition_lag",
        Kind.GAUGE,
        "Offsets between what the group committed and the high watermark of the partition.",
        Source.PARTITIONS,
        "lag",
        _PARTITION,
        absent="the lag is not known; lagwarden_group_partitions_lag_unknown counts it with its reason",
    ),
    Metric(
        "lagwarden_partition_committed_offset",
        Kind.GAUGE,
        "The next offset the group will read, as it committed it.",
        Source.PARTITIONS,
        "committed_offset",
        _PARTITION,
        absent="the group has no committed offset for the partition",
    ),
    Metric(
        "lagwarden_partition_commit_timestamp_seconds",
        Kind.GAUGE,
        "When the broker stored the group's last commit for the partition.",
        Source.PARTITIONS,
        "commit_time",
        _PARTITION,
        "seconds",
        Reading.MOMENT,
        absent="the record of the commit carries no time",
    ),
    Metric(
        "lagwarden_partition_progress_timestamp_seconds",
        Kind.GAUGE,
        "When the committed offset was first reached; commits of the same offset do not move it.",
        Source.PARTITIONS,
        "progress_time",
        _PARTITION,
        "seconds",
        Reading.MOMENT,
        absent="not known when the offset was first committed",
    ),
)

_GROUPS: Final = (
    Metric(
        "lagwarden_group_info",
        Kind.INFO,
        "A group: its kind, state and protocol, to join on. The state is that of now; only one sample a group.",
        Source.GROUPS,
        "group",
        ("group", "kind", "state", "protocol_type", "protocol"),
        reading=Reading.ONE,
        absent="never for a known group; a label is empty where the log does not tell",
    ),
    Metric(
        "lagwarden_group_lag",
        Kind.GAUGE,
        "Sum of the group's lag over the partitions whose lag is known.",
        Source.GROUPS,
        "lag_sum",
        ("group",),
        absent="no partition of the group has a known lag",
    ),
    Metric(
        "lagwarden_group_lag_max",
        Kind.GAUGE,
        "The greatest lag among the group's partitions whose lag is known.",
        Source.GROUPS,
        "lag_max",
        ("group",),
        absent="no partition of the group has a known lag",
    ),
    Metric(
        "lagwarden_group_partitions_lag_unknown",
        Kind.GAUGE,
        "Partitions of the group whose lag is not known, by reason.",
        Source.UNKNOWN_LAGS,
        "partitions",
        ("group", "reason"),
        absent="the group has no such partition",
    ),
    Metric(
        "lagwarden_group_partitions",
        Kind.GAUGE,
        "Partitions for which the group has a committed offset.",
        Source.GROUPS,
        "partitions",
        ("group",),
        absent="not known",
    ),
    Metric(
        "lagwarden_group_members",
        Kind.GAUGE,
        "Members of the group.",
        Source.GROUPS,
        "members",
        ("group",),
        absent="the log does not tell, as for a group that only stores offsets",
    ),
    Metric(
        "lagwarden_group_generation",
        Kind.GAUGE,
        "Generation of a classic group: each completed rebalance adds one.",
        Source.GROUPS,
        "generation",
        ("group",),
        absent="the group is not a classic group with membership",
    ),
    Metric(
        "lagwarden_group_last_commit_timestamp_seconds",
        Kind.GAUGE,
        "When the broker stored the group's latest commit, over all its partitions.",
        Source.GROUPS,
        "last_commit_time",
        ("group",),
        "seconds",
        Reading.MOMENT,
        absent="the group has never committed, or the commits carry no time",
    ),
)

_READINESS: Final = (
    Metric(
        "lagwarden_build_info",
        Kind.INFO,
        "The version of lagwarden that answers.",
        Source.STATUS,
        "version",
        ("version",),
        reading=Reading.ONE,
    ),
    Metric(
        "lagwarden_cluster_info",
        Kind.INFO,
        "The Kafka cluster that is watched.",
        Source.STATUS,
        "cluster_id",
        ("cluster_id",),
        reading=Reading.ONE,
        absent="until Kafka has answered for the first time",
    ),
    Metric(
        "lagwarden_phase_info",
        Kind.INFO,
        "What the monitor is doing: connecting, waiting for topic, starting, catching up, running, stopping or failed.",
        Source.STATUS,
        "phase",
        ("phase",),
        reading=Reading.ONE,
    ),
    Metric(
        "lagwarden_ready",
        Kind.GAUGE,
        "1 while the groups' numbers are complete and fresh, else 0; /readyz tells why.",
        Source.STATUS,
        "ready",
    ),
    Metric(
        "lagwarden_kafka_reachable",
        Kind.GAUGE,
        "1 while Kafka answers the monitor, else 0.",
        Source.STATUS,
        "kafka_reachable",
    ),
    Metric(
        "lagwarden_snapshot_timestamp_seconds",
        Kind.GAUGE,
        "When the ends of the partitions had been read for the snapshot that is served.",
        Source.STATUS,
        "snapshot_taken_at",
        unit="seconds",
        reading=Reading.MOMENT,
        absent="before the first snapshot",
    ),
    Metric(
        "lagwarden_snapshot_age_seconds",
        Kind.GAUGE,
        "Age of the snapshot that is served, at the moment of the scrape.",
        Source.STATUS,
        "snapshot_taken_at",
        unit="seconds",
        reading=Reading.AGE,
        absent="before the first snapshot",
    ),
    Metric(
        "lagwarden_series",
        Kind.GAUGE,
        "Series about groups in the snapshot that is served.",
        Source.STATUS,
        "series",
    ),
    Metric(
        "lagwarden_catch_up_ratio",
        Kind.GAUGE,
        "Share of the records to read at start that has been read, from 0 to 1.",
        Source.STATUS,
        "catch_up_ratio",
        unit="ratio",
        absent="not known what there is to read",
    ),
    Metric(
        "lagwarden_catch_up_records_per_second",
        Kind.GAUGE,
        "How fast the records to read at start are being read.",
        Source.STATUS,
        "catch_up_records_per_second",
        absent="no batch has been read yet, or the catch-up is over",
    ),
    Metric(
        "lagwarden_catch_up_remaining_seconds",
        Kind.GAUGE,
        "How long the catch-up will still take at its present speed.",
        Source.STATUS,
        "catch_up_seconds_left",
        unit="seconds",
        absent="no batch has been read yet, or the catch-up is over",
    ),
)

_STREAM: Final = (
    Metric(
        "lagwarden_batches_total",
        Kind.COUNTER,
        "Micro-batches finished since the process started.",
        Source.STATUS,
        "batches",
    ),
    Metric(
        "lagwarden_last_batch_duration_seconds",
        Kind.GAUGE,
        "How long the last finished micro-batch took.",
        Source.STATUS,
        "last_batch_seconds",
        unit="seconds",
        absent="before the first batch has finished",
    ),
    Metric(
        "lagwarden_last_batch_timestamp_seconds",
        Kind.GAUGE,
        "When the last micro-batch finished.",
        Source.STATUS,
        "last_batch_at",
        unit="seconds",
        reading=Reading.MOMENT,
        absent="before the first batch has finished",
    ),
    Metric(
        "lagwarden_resyncs_total",
        Kind.COUNTER,
        "How often the reader had to start over because offsets it wanted were gone.",
        Source.STATUS,
        "resyncs",
    ),
    Metric(
        "lagwarden_records_read_total",
        Kind.COUNTER,
        "Records of __consumer_offsets read since the process started, by type; tracking says what becomes of them.",
        Source.RECORDS_READ,
        "records",
        ("record_type", "tracking"),
        absent="no record of the type has been read",
    ),
    Metric(
        "lagwarden_decode_errors_total",
        Kind.COUNTER,
        "Records that could not be decoded since the process started, by type, version of the value and reason.",
        Source.DECODE_ERRORS,
        "records",
        ("record_type", "version", "reason"),
        absent="no such error has been met",
    ),
    Metric(
        "lagwarden_offsets_partition_position",
        Kind.GAUGE,
        "The next offset of the __consumer_offsets partition that the monitor will read.",
        Source.OFFSETS_PARTITIONS,
        "position",
        _OFFSETS,
        absent="not known yet",
    ),
    Metric(
        "lagwarden_offsets_partition_high_watermark",
        Kind.GAUGE,
        "High watermark of the __consumer_offsets partition.",
        Source.OFFSETS_PARTITIONS,
        "high_watermark",
        _OFFSETS,
        absent="the cluster did not answer for the partition",
    ),
    Metric(
        "lagwarden_offsets_partition_last_stable_offset",
        Kind.GAUGE,
        "Last stable offset of the __consumer_offsets partition: the end of what can be read of it.",
        Source.OFFSETS_PARTITIONS,
        "last_stable_offset",
        _OFFSETS,
        absent="the cluster did not answer for the partition",
    ),
    Metric(
        "lagwarden_offsets_partition_distance",
        Kind.GAUGE,
        "Offsets between the monitor's position and the last stable offset: what it could have read but has not.",
        Source.OFFSETS_PARTITIONS,
        "distance",
        _OFFSETS,
        absent="the position or the last stable offset is not known",
    ),
    Metric(
        "lagwarden_offsets_partition_stable_gap",
        Kind.GAUGE,
        "Offsets between the last stable offset and the high watermark: what an open transaction holds back.",
        Source.OFFSETS_PARTITIONS,
        "stable_gap",
        _OFFSETS,
        absent="the cluster did not answer for the partition",
    ),
)

SNAPSHOT_METRICS: Final = _PARTITIONS + _GROUPS
"""What is rendered once per snapshot."""

LIVE_METRICS: Final = _READINESS + _STREAM
"""What is rendered for each scrape, also before there is a snapshot."""

METRICS: Final = SNAPSHOT_METRICS + LIVE_METRICS

_CHAPTERS: Final = (
    ("Per group, topic and partition", _PARTITIONS),
    ("Per group", _GROUPS),
    ("Readiness of the monitor", _READINESS),
    ("The stream behind it", _STREAM),
)

_PREFACE: Final = f"""\
# Metrics

Generated from `exporters/catalogue.py` by `python -m exporters.catalogue > docs/metrics.md`; a test compares.

A number that is not known is *absent*: there is no 0, -1 or NaN in its place. All series of a group leave at the first
scrape after the group has. Series about groups are rendered once per snapshot, so one scrape never mixes two moments;
the monitor's own series are those of the scrape. Before the first snapshot there are only the latter.

How many series: {len(_PARTITIONS)} for each partition that a group has committed to,
{sum(metric.source is Source.GROUPS for metric in _GROUPS)} for each group, and one for each group and reason of an
unknown lag.

`/metrics` answers in the Prometheus text format 0.0.4 or in OpenMetrics 1.0.0, whichever the `Accept` header prefers,
compressed by gzip where that is accepted. `?name[]=lagwarden_group_lag` (repeatable) gives only the metrics named. The
process's own `process_*` and `python_*` are those of the official Python client.
"""


def markdown() -> str:
    """Give the reference page of all metrics."""
    chapters = (f"\n## {title}\n\n{''.join(map(_paragraph, metrics))}" for title, metrics in _CHAPTERS)
    return _PREFACE + "".join(chapters).rstrip("\n") + "\n"


def _paragraph(metric: Metric) -> str:
    unit = f", {metric.unit}" if metric.unit else ""
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    form = f"{metric.kind.value}{unit}; labels: {labels}"
    return f"### `{metric.name}`\n\n{metric.help}\n\n- {form}\n- absent: {metric.absent}\n\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
