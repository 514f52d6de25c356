"""Every metric, in one list. Run as a module, it prints `docs/metrics.md`.

Each metric is one row, and that row is the only place where it is spelled: `exporters.catalogue.group` and
`exporters.catalogue.health` have those about groups, `exporters.catalogue.cluster` those about the cluster beside them,
`catalogue.monitor`, `catalogue.service` and `catalogue.selection` those about the monitor. The
order here is the order in `/metrics` and in `docs/metrics.md`. Names follow the Prometheus conventions: one prefix,
base units last, `_total` for counters, `_timestamp_seconds` for the moment of an event (readers subtract: an age that
nobody updates looks young), `_info` for label sets to join on. No gauge ends in `_sum` or `_count`: those suffixes
belong to histograms and summaries, and `promtool check metrics` refuses them elsewhere.

What a row promises is in `catalogue.metric`; turning rows into text is `text.exposition` and `text.live`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from exporters.catalogue.cluster import BROKER_METRICS, CLUSTER_METRICS, POLL_METRICS, REPLICA_METRICS, TOPIC_METRICS
from exporters.catalogue.group import GROUP_METRICS, LIFE_METRICS, PARTITION_METRICS
from exporters.catalogue.health import GROUP_HEALTH_METRICS, PARTITION_HEALTH_METRICS, VERDICT_CHANGE_METRICS
from exporters.catalogue.metric import MetricSource
from exporters.catalogue.monitor import ENDS_METRICS, READINESS_METRICS, STREAM_METRICS
from exporters.catalogue.selection import BUDGET_METRICS, TARGET_METRICS
from exporters.catalogue.service import SERVICE_METRICS

if TYPE_CHECKING:
    from exporters.catalogue.metric import Metric

SNAPSHOT_METRICS: Final = (
    PARTITION_METRICS + PARTITION_HEALTH_METRICS + GROUP_METRICS + GROUP_HEALTH_METRICS + LIFE_METRICS + TARGET_METRICS
)
"""What is rendered once per snapshot."""

SELF_METRICS: Final = (
    READINESS_METRICS + BUDGET_METRICS + VERDICT_CHANGE_METRICS + ENDS_METRICS + STREAM_METRICS + SERVICE_METRICS
)
"""What is rendered for each scrape, also before there is a snapshot."""

METRICS: Final = SNAPSHOT_METRICS + CLUSTER_METRICS + SELF_METRICS

_CHAPTERS: Final = (
    ("Per group, topic and partition", PARTITION_METRICS),
    ("Time lag and verdicts per partition", PARTITION_HEALTH_METRICS),
    ("Per group", GROUP_METRICS),
    ("Verdicts and time lag per group", GROUP_HEALTH_METRICS),
    ("The life of a group", LIFE_METRICS),
    ("Targets of groups", TARGET_METRICS),
    ("Brokers and settings", BROKER_METRICS),
    ("Per topic of the cluster", TOPIC_METRICS),
    ("Per partition of the cluster", REPLICA_METRICS),
    ("The offsets topic on disk", POLL_METRICS),
    ("Readiness of the monitor", READINESS_METRICS),
    ("What is left out of `/metrics`", BUDGET_METRICS),
    ("How verdicts come and go", VERDICT_CHANGE_METRICS),
    ("How groups and offsets end", ENDS_METRICS),
    ("The stream behind it", STREAM_METRICS),
    ("The HTTP server and the files of the monitor", SERVICE_METRICS),
)

_PER_GROUP: Final = sum(metric.source is MetricSource.GROUPS for metric in SNAPSHOT_METRICS)
_PER_TOPIC: Final = sum(metric.source is MetricSource.TOPICS for metric in SNAPSHOT_METRICS)

_PER_OFFSETS_PARTITION: Final = sum("offsets_partition" in metric.labels for metric in SELF_METRICS)

_PREFACE: Final = f"""\
# Metrics

Generated from `exporters/catalogue/metrics.py` by `python -m exporters.catalogue.metrics > docs/metrics.md`; a test
compares.

A number that is not known is *absent*: there is no 0, -1 or NaN in its place. All series of a group leave at the first
scrape after the group has. Series about groups are rendered once per snapshot, so one scrape never mixes two moments;
those about the cluster beside the groups once per poll of it (`cluster.interval`), and the monitor's own series are
those of the scrape. Before the first snapshot there are only the latter two.

How many series: at most {len(PARTITION_METRICS + PARTITION_HEALTH_METRICS)} for each partition that a group has
committed to or that belongs to it, {_PER_GROUP} for each group, {_PER_TOPIC} for each group and topic, one for each
group and reason of an unknown lag, and one for each group and transition that has happened to it. About the cluster:
{len(TOPIC_METRICS)} for each topic, {len(REPLICA_METRICS)} for each of at most `cluster.partitions_shown` partitions,
and one for each setting; about the monitor itself {_PER_OFFSETS_PARTITION} for each partition of
`__consumer_offsets`, and some dozens. The section `metrics` of the configuration says how much of it is shown.

A time lag is the age of the oldest unread record. Where that record is older than what is known of its partition, it is
a lower bound: at least so long. A series cannot tell; the page, the command line and the API (`time_lag_exact` of a
partition, `time_lag_max_exact` of a group or topic) do.

Verdicts are words; `docs/health.md` says what each means. To be told of groups that need somebody, whatever their
verdict: `lagwarden_group_severity >= 3`, and to have the word beside it:
`lagwarden_group_severity * on (group) group_left (verdict) lagwarden_group_verdict >= 3`. With `health.rules: burrow`
the verdicts are Burrow's words (`OK`, `WARN`, `ERR`, `STOP`, `STALL`, `REWIND`, `NOTFOUND`); WARN is of severity
`warning`, NOTFOUND `unknown`, OK `fine`, all others `critical`.

To name a group's kind or state beside a number, join on the one sample that its info metric has:
`lagwarden_group_lag * on (group) group_left (kind, state) lagwarden_group_info`. Likewise the cause of a death:
`lagwarden_group_died_timestamp_seconds * on (group) group_left (death_cause) lagwarden_group_death_info`.

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
