"""Describes all metrics, for people and for programs. As a program, this module prints `docs/metrics.md`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from exporters.catalogue.estimate import BOUNDS
from exporters.catalogue.metric import Preset
from exporters.catalogue.metrics import CHAPTERS, METRICS, SELF_METRICS
from exporters.catalogue.partitions import LOG_ENDS
from exporters.catalogue.share import SHARE_METRICS
from exporters.catalogue.topics import REPLICA_METRICS, TOPIC_METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.catalogue.metric import Metric

_SIZES: Final = ((100, 10), (1_000, 20), (2_000, 17), (10_000, 20))
"""Examples of clusters: groups, and partitions of each group."""

_PER_OFFSETS_PARTITION: Final = sum("offsets_partition" in metric.labels for metric in SELF_METRICS)


def _costs() -> str:
    """Return the table of the series per preset, as Markdown."""
    heading = ["Preset", "per partition", "per group", "per topic of a group"]
    heading += [f"{groups:,} x {partitions:,}" for groups, partitions in _SIZES]
    rows = [heading, ["---"] * len(heading)]
    for bound in BOUNDS:
        name = f"`{bound.preset}`" + (" (default)" if bound.preset is Preset.STANDARD else "")
        costs = [bound.per_partition, bound.per_group, bound.per_topic, *(bound.series(*size) for size in _SIZES)]
        rows.append([name, *(f"{cost:,}" for cost in costs)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cluster_costs() -> str:
    """Return the rows of the table of the series per preset that do not depend on groups, as Markdown."""
    tables = (LOG_ENDS.metrics, TOPIC_METRICS, REPLICA_METRICS)
    rows = [[sum(metric.is_in(preset) for metric in table) for table in tables] for preset in Preset]
    return "\n".join(f"| `{preset}` | {' | '.join(map(str, row))} |" for preset, row in zip(Preset, rows, strict=True))


_PREFACE: Final = f"""\
# Metrics

Generated from the catalogue by `python -m exporters.catalogue.reference_page > docs/metrics.md`; a test compares. For
programs: `lagwarden metrics --json`.

An unknown number is *absent*, never 0, -1 or NaN. All series of a group are absent from the first scrape after its
removal on. Series about groups are rendered once per snapshot, so one scrape never mixes two snapshots; series about
the cluster are rendered once per poll (`cluster.interval`), and series about the monitor at each scrape. Before the
first snapshot there are only the latter two.

## Presets and their costs

`metrics.preset` selects the metrics. `standard` has everything that the rules and dashboards of the chart use. `lean`
has one series per partition of a group; with it, the dashboards have empty panels, and some alerts of
[alerting.md](alerting.md#presets) do not fire. `full` has all metrics of this page.

The most series about groups, per partition that a group has committed to or that belongs to it, per group, per topic of
a group, and in total for some numbers of groups x partitions of each group (with one topic):

{_costs()}

`lagwarden metrics --estimate 2000x17` prints the same for other numbers. Series that are absent are not subtracted.
The owner of a group adds one series, also to a dead group, and an open maintenance window or a silence another
(docs/owners.md).
A group whose faults raise no alert has one series more (docs/alerting.md), and so has an unhealthy group for each
common cause that it shares with others.
With `metrics.granularity: topic`, series per topic of a group replace those per partition.

`metrics.compatibility` adds the names of other exporters, beside those of this page and not counted above:
[kafka_exporter](migration/kafka_exporter.md#what-the-names-cost),
[kafka-lag-exporter](migration/kafka_lag_exporter.md#what-the-names-cost),
[KMinion](migration/kminion.md#what-the-names-cost),
[burrow_exporter](migration/burrow_exporter.md#what-the-names-cost) and
[Burrow](migration/burrow.md#what-the-names-cost).

A dead group has one series, `lagwarden_group_died_timestamp_seconds`, for `groups.dead_grace`. Groups with generated
names have the series of one group per pattern, if at least `metrics.fold_generated` groups have the same pattern:
`console-consumer-*` stands for all of `console-consumer-31755`, and so on. A name has generated parts if it has a UUID,
the suffix of a Kubernetes pod, a number of five digits or more that does not begin with 0, eight or more hexadecimal
digits, or five or more characters that change at least three times between letters and digits. `metrics.fold` adds
patterns of your own. The series of a folded row have the sum of the lag, the greatest time lag, the worst verdict and
the sum of the members; `lagwarden_group_folded_groups` has the number of groups. There are no series per partition and
no counters of folded groups. The API and the pages show every group.

Other series depend on the cluster, not on the number of groups:

| Preset | per partition of a topic that groups read | per topic | per partition in `cluster.partitions_shown` |
| --- | --- | --- | --- |
{_cluster_costs()}

With `full` there is also one for each setting. About the monitor itself there are {_PER_OFFSETS_PARTITION} for each
partition of `__consumer_offsets`, and some dozens, with every preset.

Order of precedence: the preset selects metrics; `metrics.add` and `metrics.omit` change that selection by name;
`granularity` and the patterns of groups and topics take series away from it, and `series_budget` is the last limit.

`metrics.series_budget` bounds the series about groups and about the cluster; a quarter of it is for the cluster. A
metric for which there is no room is left out for all groups, the least important first, and counted in
`lagwarden_series_over_budget`. The default, 300,000, has room for about 50,000 partitions of groups with `standard`. It
protects the Prometheus: each series costs it some kilobytes of memory, so a cluster that grows beyond the default would
take gigabytes without a decision of its operators.

## The name of the cluster

With `metrics.cluster_name: orders-eu`, every series of this page has the label `cluster="orders-eu"`, also those of the
process, of the names of other exporters and of [OTLP](otlp.md). The lists of labels below do not repeat it. Set it if
one Prometheus has the series of several clusters: all joins and sums of the shipped rules keep the label, alerts name
the cluster, and the dashboards have a variable for it. A target label `cluster` of the scrape takes precedence:
Prometheus renames lagwarden's to `exported_cluster`, unless the scrape has `honor_labels: true`. Rules then work with
the label of the target. Without the option, series have no such label. A name that is set, changed or removed makes new
series, so alerts begin again.

## Stability

Each metric is stable or experimental.

- A *stable* metric keeps its name, type, labels and meaning. To rename or remove it, a release first announces that
  under *Metrics* in CHANGELOG.md, with the metric that replaces it, and still exports the old name; the next minor
  release at the earliest is without it.
- An *experimental* metric may change or go in any release; CHANGELOG.md says so.
- A new label value, such as a verdict, is not a change; a new label is. The presets are part of the promise for stable
  metrics: none moves to a larger preset without the same announcement.

## Reading the values

A time lag is the age of the oldest unread record. If that record is older than the known history of its partition, the
time lag is a lower bound. Series do not show this; the status page, the command line and the API (`time_lag_exact` of a
partition, `time_lag_max_exact` of a group or topic) do. Records have the times that producers write: of
replayed records it is the age of the event, not how long the record has been in the log. A time before September 2001
or ahead of now, as of producers that write seconds or microseconds, is not used, and the time lag is a lower bound.

Verdicts are words, described in `docs/health.md`. To alert on all groups that need attention, whatever their verdict:
`lagwarden_group_verdict{{severity=~"warning|critical"}}`.

To add a group's kind or state to a value, join with its info metric:
`lagwarden_group_lag * on (job, instance, cluster, group) group_left (kind, state) lagwarden_group_info`.

Rates follow from the offsets: `deriv(lagwarden_partition_committed_offset[5m])` is what a group reads per second, and
`deriv(lagwarden_topic_partition_end_offset[5m])` what producers write. Offsets are no counters: a reset makes the first
one negative.

`lagwarden_group_commits_total` counts the commits that were read since the process has caught up: what a start reads
from the log, with or without a checkpoint, is not counted, and neither is what is read again after the state was set
aside. It begins at 0 with each process, and for a group that returns after its removal. Aborted commits, and commits
that were removed before the end of the batch that read them, do not count.

To scale consumers by their lag: [autoscaling.md](autoscaling.md).

`/metrics` responds in the Prometheus text format 0.0.4 or in OpenMetrics 1.0.0, whichever the `Accept` header prefers,
compressed with gzip if the client accepts it. `?name[]=lagwarden_group_lag` (repeatable) selects metrics by name. The
metrics `process_*` and `python_*` of the process come from the official Python client.
"""  # noqa: S608 -- prose, not SQL


_NOTES: Final[Mapping[tuple[Metric, ...], str]] = {
    SHARE_METRICS: """\
A share group commits no offsets, so the metrics above about lag, offsets and partitions have no series of it; those
about its members, state and verdict have. `{__name__=~"lagwarden_(share_)?group_lag"}` has the lag of groups of all
kinds, each group once.

There is no number of records in flight. Which records members have acquired is in the memory of the partition's leader
only: its JMX metric InFlightMessageCount counts them (KIP-1103), but no request asks for it, and the answer of
DescribeShareGroupOffsets has a start offset and a lag. A broker writes to `__share_group_state` what has happened to
the record when the delivery ends: acknowledged, archived, or available again. So a record counts as returned also while
a member has it for another time, and the lag includes what members have now. InFlightMessageCount is between both,
`returned_records <= in flight <= lag`, measured with Kafka 4.3.1 by
`tests/stream/cluster_facts/test_records_in_flight.py`.
While members hold the very first records of a partition, nothing is recorded: no start offset, no lag, and neither of
the bounds.

The numbers are read three times per `cluster.interval`. If a read fails, the last ones stay, with their time in
`lagwarden_share_groups_timestamp_seconds`, for `health.share_pause` and at least for two intervals; the failure counts
in `lagwarden_cluster_facts_unknown` as `share group read`. After that they are absent, and it counts as `share groups`.

""",
}
"""The text before the metrics of a chapter."""


def markdown() -> str:
    """Return the reference page of all metrics (`docs/metrics.md`)."""
    chapters = (
        f"\n## {title}\n\n{_NOTES.get(metrics, '')}{''.join(map(_paragraph, metrics))}" for title, metrics in CHAPTERS
    )
    return _PREFACE + "".join(chapters).rstrip("\n") + "\n"


def descriptions() -> list[Mapping[str, str | list[str]]]:
    """Return every metric as plain values, in the order of the catalogue."""
    return [
        {
            "name": metric.name,
            "type": metric.kind.value,
            "unit": metric.unit,
            "labels": list(metric.labels),
            "stability": metric.stability.value,
            "preset": metric.smallest_preset.value,
            "help": metric.help,
            "absent": metric.absent,
        }
        for metric in METRICS
    ]


def _paragraph(metric: Metric) -> str:
    unit = f", {metric.unit}" if metric.unit else ""
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    form = f"{metric.kind.value}{unit}; labels: {labels}"
    where = "" if metric in SELF_METRICS else f"; preset: {_presets(metric)}"
    return (
        f"### `{metric.name}`\n\n{metric.help}\n\n- {form}\n- {metric.stability}{where}\n- absent: {metric.absent}\n\n"
    )


def _presets(metric: Metric) -> str:
    if not metric.sums_over:
        return f"`{metric.preset}`"
    return f"`{Preset.FULL}`; `{metric.preset}` without series per {metric.sums_over} (`metrics.granularity`)"


if __name__ == "__main__":
    sys.stdout.write(markdown())
