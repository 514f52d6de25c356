"""All metrics in one list. As a program, this module prints `docs/metrics.md`.

Each metric is defined by one row: about groups in `exporters.catalogue.group` and `exporters.catalogue.health`, about
the cluster in `exporters.catalogue.cluster`, about the monitor in `exporters.catalogue.monitor`, `service` and
`selection`. The order here is the order in `/metrics` and in `docs/metrics.md`.

Names follow the Prometheus conventions: one prefix, base units last, `_total` for counters, `_timestamp_seconds` for
the time of an event (readers subtract: an age that is no longer updated looks recent), `_info` for label sets to join.
No gauge ends in `_sum` or `_count`: those suffixes belong to histograms and summaries, and `promtool check metrics`
rejects them elsewhere.

`exporters.catalogue.metric` has the type of a row; `exporters.text` renders rows.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from exporters.catalogue.cluster import BROKER_METRICS, CLUSTER_METRICS, POLL_METRICS, REPLICA_METRICS, TOPIC_METRICS
from exporters.catalogue.group import GROUP_METRICS, LIFECYCLE_METRICS, PARTITION_METRICS
from exporters.catalogue.health import GROUP_HEALTH_METRICS, PARTITION_HEALTH_METRICS, VERDICT_CHANGE_METRICS
from exporters.catalogue.metric import MetricSource
from exporters.catalogue.monitor import EXPIRY_METRICS, READINESS_METRICS, STREAM_METRICS
from exporters.catalogue.resources import RESOURCE_METRICS
from exporters.catalogue.selection import BUDGET_METRICS, TARGET_METRICS
from exporters.catalogue.service import SERVICE_METRICS

if TYPE_CHECKING:
    from exporters.catalogue.metric import Metric

SNAPSHOT_METRICS: Final = (
    PARTITION_METRICS
    + PARTITION_HEALTH_METRICS
    + GROUP_METRICS
    + GROUP_HEALTH_METRICS
    + LIFECYCLE_METRICS
    + TARGET_METRICS
)
"""Metrics rendered once per snapshot."""

SELF_METRICS: Final = (
    READINESS_METRICS
    + BUDGET_METRICS
    + VERDICT_CHANGE_METRICS
    + EXPIRY_METRICS
    + STREAM_METRICS
    + RESOURCE_METRICS
    + SERVICE_METRICS
)
"""Metrics rendered at each scrape, also before the first snapshot."""

METRICS: Final = SNAPSHOT_METRICS + CLUSTER_METRICS + SELF_METRICS

_CHAPTERS: Final = (
    ("Per group, topic and partition", PARTITION_METRICS),
    ("Time lag and verdicts per partition", PARTITION_HEALTH_METRICS),
    ("Per group", GROUP_METRICS),
    ("Verdicts and time lag per group", GROUP_HEALTH_METRICS),
    ("Lifecycle of a group", LIFECYCLE_METRICS),
    ("Targets of groups", TARGET_METRICS),
    ("Brokers, controller and settings", BROKER_METRICS),
    ("Per topic of the cluster", TOPIC_METRICS),
    ("Per partition of the cluster", REPLICA_METRICS),
    ("The offsets topic on disk", POLL_METRICS),
    ("Readiness of the monitor", READINESS_METRICS),
    ("Series left out of `/metrics`", BUDGET_METRICS),
    ("Verdict changes", VERDICT_CHANGE_METRICS),
    ("Deaths of groups and expiry of offsets", EXPIRY_METRICS),
    ("The stream that reads `__consumer_offsets`", STREAM_METRICS),
    ("Memory, CPU, heap, descriptors and checkpoint of the monitor", RESOURCE_METRICS),
    ("HTTP server and files of the monitor", SERVICE_METRICS),
)

_PER_GROUP: Final = sum(metric.source is MetricSource.GROUPS for metric in SNAPSHOT_METRICS)
_PER_TOPIC: Final = sum(metric.source is MetricSource.TOPICS for metric in SNAPSHOT_METRICS)

_PER_OFFSETS_PARTITION: Final = sum("offsets_partition" in metric.labels for metric in SELF_METRICS)

_PREFACE: Final = f"""\
# Metrics

Generated from `exporters/catalogue/metrics.py` by `python -m exporters.catalogue.metrics > docs/metrics.md`; a test
compares.

An unknown number is *absent*, never 0, -1 or NaN. All series of a group are absent from the first scrape after its
removal on. Series about groups are rendered once per snapshot, so one scrape never mixes two snapshots; series about
the cluster are rendered once per poll (`cluster.interval`), and series about the monitor at each scrape. Before the
first snapshot there are only the latter two.

Number of series: at most {len(PARTITION_METRICS + PARTITION_HEALTH_METRICS)} for each partition that a group has
committed to or that belongs to it, {_PER_GROUP} for each group, {_PER_TOPIC} for each group and topic, one for each
group and reason of an unknown lag, and one for each group and transition that it has had. About the cluster:
{len(TOPIC_METRICS)} for each topic, {len(REPLICA_METRICS)} for each of at most `cluster.partitions_shown` partitions,
and one for each setting. About the monitor itself: {_PER_OFFSETS_PARTITION} for each partition of
`__consumer_offsets`, and some dozens. The section `metrics` of the configuration limits the series that are shown.

A time lag is the age of the oldest unread record. If that record is older than the known history of its partition, the
time lag is a lower bound. Series do not show this; the status page, the command line and the API (`time_lag_exact` of a
partition, `time_lag_max_exact` of a group or topic) do.

Verdicts are words, described in `docs/health.md`. To alert on all groups that need attention, whatever their verdict:
`lagwarden_group_severity >= 3`; the same with the verdict as a label:
`lagwarden_group_severity * on (group) group_left (verdict) lagwarden_group_verdict >= 3`. With `health.rules: burrow`
the verdicts are Burrow's words (`OK`, `WARN`, `ERR`, `STOP`, `STALL`, `REWIND`, `NOTFOUND`); WARN is of severity
`warning`, NOTFOUND `unknown`, OK `fine`, all others `critical`.

To add a group's kind or state to a value, join with its info metric:
`lagwarden_group_lag * on (group) group_left (kind, state) lagwarden_group_info`. To add the cause of a death:
`lagwarden_group_died_timestamp_seconds * on (group) group_left (death_cause) lagwarden_group_death_info`.

`/metrics` responds in the Prometheus text format 0.0.4 or in OpenMetrics 1.0.0, whichever the `Accept` header prefers,
compressed with gzip if the client accepts it. `?name[]=lagwarden_group_lag` (repeatable) selects metrics by name. The
metrics `process_*` and `python_*` of the process come from the official Python client.
"""


def markdown() -> str:
    """Return the reference page of all metrics (`docs/metrics.md`)."""
    chapters = (f"\n## {title}\n\n{''.join(map(_paragraph, metrics))}" for title, metrics in _CHAPTERS)
    return _PREFACE + "".join(chapters).rstrip("\n") + "\n"


def _paragraph(metric: Metric) -> str:
    unit = f", {metric.unit}" if metric.unit else ""
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    form = f"{metric.kind.value}{unit}; labels: {labels}"
    return f"### `{metric.name}`\n\n{metric.help}\n\n- {form}\n- absent: {metric.absent}\n\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
