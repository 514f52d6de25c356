"""The catalogue against the read model, the naming conventions and the reference page."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import types
import typing

import pyarrow as pa
import pytest

from exporters import readmodel
from exporters.catalogue.cluster import CLUSTER_METRICS
from exporters.catalogue.estimate import TRANSITIONS_OF_LIVE_GROUPS, SeriesBound, estimate_lines
from exporters.catalogue.metric import Metric, MetricKind, MetricSource, Preset, Stability, ValueConversion
from exporters.catalogue.metrics import METRICS, SELF_METRICS, SNAPSHOT_METRICS
from exporters.catalogue.reference_page import descriptions, markdown
from exporters.cluster import model as cluster_model
from stream.groups.lifecycle.model import TransitionType

ROOT = pathlib.Path(__file__).parents[3]
STATUS_TYPES = typing.get_type_hints(readmodel.MonitorStatus, localns={"pa": pa})
SCHEMAS = {
    source: getattr(cluster_model if source.in_cluster else readmodel, source.name)
    for source in MetricSource
    if source is not MetricSource.STATUS
}

# Columns without a metric, with the reason.
NOT_EXPORTED = {
    (MetricSource.PARTITIONS, "high_watermark"): "belongs to the topic: LOG_ENDS has it once",
    (MetricSource.PARTITIONS, "last_stable_offset"): "as the high watermark",
    (MetricSource.PARTITIONS, "log_start_offset"): "as the high watermark",
    (MetricSource.GROUPS, "died_time"): "DEAD_GROUPS has it",
    (MetricSource.GROUPS, "death_cause"): "DEAD_GROUPS has it",
    (MetricSource.PARTITIONS, "lag_unknown_reason"): "counted per group in UNKNOWN_LAGS",
    (MetricSource.PARTITIONS, "time_lag_exact"): "the API and the pages have it",
    (MetricSource.GROUPS, "time_lag_max_exact"): "the API and the pages have it",
    (MetricSource.TOPICS, "time_lag_max_exact"): "the API and the pages have it",
    (MetricSource.PARTITIONS, "trend"): "a word; the rates have the numbers",
    (MetricSource.PARTITIONS, "verdict_since"): "per group",
    (MetricSource.PARTITIONS, "offset_hidden"): "per group, as held_back",
    (MetricSource.GROUPS, "partitions_lag_unknown"): "the sum of UNKNOWN_LAGS of the group",
    (MetricSource.PARTITIONS, "odd_time"): "counted in lagwarden_group_odd_times",
    (MetricSource.GROUPS, "verdict_partitions"): "counts the series of lagwarden_partition_verdict",
    (MetricSource.GROUPS, "sentence"): "a sentence; the API has it",
    **{(MetricSource.GROUPS, label): "OWNERS has it" for label in ("team", "tier", "link", "max_severity")},
    (
        MetricSource.GROUPS,
        "maintenance_until",
    ): "MAINTENANCE has whether one is open",
    (MetricSource.GROUPS, "silence_reason"): "MAINTENANCE has whether one mutes the group",
    (MetricSource.GROUPS, "silence_until"): "as the reason",
    (MetricSource.GROUPS, "unpaged"): "UNPAGED has the groups that are",
    (MetricSource.TOPICS, "partitions"): "counts the series of lagwarden_partition_committed_offset",
    (MetricSource.TOPICS, "lag_max"): "the maximum of lagwarden_partition_lag",
    (MetricSource.TOPICS, "partitions_lag_unknown"): "per group, with its reason",
    (MetricSource.TOPICS, "verdict"): "per partition and per group",
    (MetricSource.VERDICT_GROUPS, "meaning"): "a sentence; the legend of the page has it",
    (MetricSource.VERDICT_GROUPS, "next_step"): "as the meaning",
    (MetricSource.STATUS, "not_ready_reasons"): "sentences; /readyz has them",
    (MetricSource.STATUS, "started_at"): "process_start_time_seconds has it",
    (MetricSource.STATUS, "records_read"): "a separate table",
    (MetricSource.STATUS, "decode_errors"): "a separate table",
    (MetricSource.STATUS, "offsets_skipped"): "a separate table",
    (MetricSource.STATUS, "offsets_partitions"): "a separate table",
    (MetricSource.STATUS, "deaths"): "a separate table",
    (MetricSource.STATUS, "expiry_checks"): "a separate table",
    (MetricSource.STATUS, "series_dropped"): "a separate table",
    (MetricSource.STATUS, "http_refusals"): "a separate table",
    (MetricSource.STATUS, "file_failures"): "a separate table",
    (MetricSource.STATUS, "descriptors"): "a separate table",
    (MetricSource.STATUS, "processes"): "a separate table",
    (MetricSource.STATUS, "webhook_failures"): "a separate table",
    (MetricSource.STATUS, "webhook_drops"): "a separate table",
    (MetricSource.STATUS, "otlp_failures"): "a separate table",
    (MetricSource.PARTITIONS_SHOWN, "leader_epoch"): "changes with the leader; the API has it",
    (MetricSource.PARTITIONS_SHOWN, "replica_brokers"): "a list; the API has it",
    (MetricSource.PARTITIONS_SHOWN, "in_sync_brokers"): "a list; the API has it",
    (MetricSource.PARTITIONS_SHOWN, "offline_brokers"): "a list; the API has it",
    (MetricSource.OFFSETS_REPLICAS, "unknown_reason"): "counted in UNKNOWN_FACTS",
    (MetricSource.CONFIGS_SHOWN, "unknown_reason"): "counted in UNKNOWN_FACTS",
    (MetricSource.QUORUM_REPLICAS, "directory"): "changes with a disk; the API has it",
    (MetricSource.QUORUM_REPLICAS, "log_end_offset"): "grows all the time; the lag has the distance",
    (MetricSource.SHARE_PARTITIONS, "end"): "start offset, lag and finished records give it; the API has it",
    (MetricSource.SHARE_GROUPS, "partitions"): "count the series of the partitions",
    (MetricSource.STATUS, "verdict_changes"): "a separate table",
    (MetricSource.STATUS, "offsets_held_back"): "a separate table",
    (MetricSource.STATUS, "unreadable_tails"): "a separate table",
    (MetricSource.STATUS, "offsets_unavailable"): "a separate table",
    (MetricSource.STATUS, "offsets_unavailable_groups"): "a separate table",
    (MetricSource.STATUS, "siblings"): "links of the pages",
    (MetricSource.STATUS, "cluster_name"): "the label cluster of every series, by option",
    (MetricSource.COMMON_CAUSES, "affected"): "in the sentence; the API has it",
    (MetricSource.COMMON_CAUSES, "compared"): "in the sentence; the API has it",
    (MetricSource.COMMON_CAUSES, "sentence"): "words; the API has them",
    (MetricSource.COMMON_CAUSES, "next_step"): "words; the API has them",
    (MetricSource.COMMON_CAUSES, "groups"): "a list; COVERED_GROUPS has its names",
    (MetricSource.STATUS, "internal_errors"): "a separate table",
    (MetricSource.OFFSETS_HELD_BACK, "since"): "the gap of the same partition has it",
}

every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


def columns(source: MetricSource) -> dict[str, object]:
    """Return the columns of a source with their types: Arrow's, or for the status Python's without None."""
    if source is MetricSource.STATUS:
        return {name: _known(hint) for name, hint in STATUS_TYPES.items()}
    return {field.name: field.type for field in SCHEMAS[source]}


def _known(hint: object) -> object:
    if isinstance(hint, types.UnionType):
        (hint,) = (member for member in typing.get_args(hint) if member is not types.NoneType)
    return hint


def fits(metric: Metric) -> bool:
    """Return whether the conversion of a metric supports the type of its column."""
    column = columns(metric.source)[metric.column]
    match metric.conversion:
        case ValueConversion.ONE:
            return column is str or column in {readmodel.NAME, pa.int32()}
        case ValueConversion.TIMESTAMP:
            return column in {float, readmodel.TIMESTAMP}
        case ValueConversion.AGE:
            return column is float
        case ValueConversion.NUMBER:
            return column in {int, float, bool, pa.int32(), pa.int64(), pa.float64(), pa.bool_()}
        case ValueConversion.RANK:
            return column == readmodel.NAME
        case ValueConversion.BUCKETS:
            return column is readmodel.Histogram


@every_metric
def test_source_column_exists_with_a_fitting_type(metric: Metric) -> None:
    """The column of each metric is in the read model, with a type that its conversion supports."""
    assert metric.column in columns(metric.source)
    assert fits(metric)


@every_metric
def test_labels_are_names_or_numbers_of_the_same_row(metric: Metric) -> None:
    """Each label is a column of the metric's source with names, ids or flags."""
    for label in metric.labels:
        assert columns(metric.source)[label] in {str, readmodel.NAME, pa.int32(), pa.int64(), pa.bool_()}


def test_source_names_a_field_of_the_snapshot_or_the_status() -> None:
    """The value of each source is the field with its table, which the renderers read."""
    in_snapshot = {field.name for field in dataclasses.fields(readmodel.Snapshot)}
    in_cluster = {field.name for field in dataclasses.fields(cluster_model.ClusterFacts)}
    for source in SCHEMAS:
        other_fields = in_cluster if source.in_cluster else STATUS_TYPES
        assert source.value in (in_snapshot if source.in_snapshot else other_fields)


def test_every_column_is_exported_or_has_a_reason() -> None:
    """Every column is the value or a label of a metric, or is listed with the reason why not."""
    shown = {(metric.source, name) for metric in METRICS for name in (metric.column, *metric.labels)}
    known = {(source, name) for source in MetricSource for name in columns(source)}
    assert known - shown == set(NOT_EXPORTED)


@every_metric
def test_name_follows_the_conventions(metric: Metric) -> None:
    """A name is lower case, with one prefix, the suffix of its kind and its unit, and no reserved suffix."""
    assert re.fullmatch(r"lagwarden(_[a-z]+)+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
    assert metric.name.endswith("_info") == (metric.kind is MetricKind.INFO)
    assert metric.name.endswith("_timestamp_seconds") == (metric.conversion is ValueConversion.TIMESTAMP)
    assert not metric.name.endswith(("_sum", "_count", "_bucket", "_created"))
    assert metric.family.endswith(f"_{metric.unit}" if metric.unit else "")
    assert metric.unit in {"", "seconds", "ratio", "bytes"}
    assert bool(metric.unit) == metric.family.endswith(("_seconds", "_ratio", "_bytes"))


@every_metric
def test_information_is_always_one(metric: Metric) -> None:
    """Info metrics and the metrics of verdicts and common causes, whose labels are a state, are always 1."""
    is_state = metric.column in {"verdict", "dimension"}
    assert (metric.kind is MetricKind.INFO or is_state) == (metric.conversion is ValueConversion.ONE)


@every_metric
def test_a_histogram_has_buckets(metric: Metric) -> None:
    """A metric is a histogram if and only if its conversion is BUCKETS."""
    assert (metric.kind is MetricKind.HISTOGRAM) == (metric.conversion is ValueConversion.BUCKETS)


@every_metric
def test_help_is_one_sentence_that_needs_no_escaping(metric: Metric) -> None:
    """A help text ends with a full stop and has no character that the formats escape."""
    assert re.fullmatch(r'[A-Z0-9][^\\\n"]+\.', metric.help)
    assert not metric.absent.endswith(".")


def test_names_and_families_are_unique() -> None:
    """No two metrics have the same name or family."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.family for metric in METRICS}) == len(METRICS)


def test_the_source_decides_when_a_metric_is_rendered() -> None:
    """Metrics of the snapshot and of the cluster are rendered once, metrics of the status at each scrape."""
    assert all(metric.source.in_snapshot for metric in SNAPSHOT_METRICS)
    assert all(metric.source.in_cluster for metric in CLUSTER_METRICS)
    assert not any(metric.source.in_snapshot or metric.source.in_cluster for metric in SELF_METRICS)


def test_reference_page_is_current() -> None:
    """`docs/metrics.md` is what `python -m exporters.catalogue.reference_page` prints."""
    assert (ROOT / "docs" / "metrics.md").read_text("utf-8") == markdown()


def test_reference_page_names_every_metric_once() -> None:
    """The reference page has a heading for each metric, in the order of the catalogue."""
    assert re.findall(r"^### `(.+)`$", markdown(), re.MULTILINE) == [metric.name for metric in METRICS]


@every_metric
def test_reference_page_and_description_have_stability_and_preset(metric: Metric) -> None:
    """The reference page and the description have the stability of a metric and the preset that shows it."""
    paragraph = markdown().partition(f"### `{metric.name}`\n")[2].partition("\n### ")[0]
    assert f"- {metric.stability}" in paragraph
    (described,) = (each for each in descriptions() if each["name"] == metric.name)
    assert described["stability"] == metric.stability
    assert described["preset"] == metric.smallest_preset
    if metric.source.in_snapshot or metric.source.in_cluster:
        assert f"`{metric.preset}`" in paragraph


def test_a_prefix_has_one_subject() -> None:
    """`lagwarden_topic_*` metrics are about topics, and `lagwarden_group_*` metrics are about groups."""
    for metric in METRICS:
        if metric.name.startswith("lagwarden_topic_"):
            assert metric.labels[0] == "topic", metric.name
        if metric.name.startswith("lagwarden_group_") and metric.source.in_snapshot:
            assert metric.labels[0] == "group", metric.name


def test_metrics_of_the_lean_preset_are_stable() -> None:
    """The metrics of preset lean, with topics instead of partitions, are stable, except the listed ones."""
    assert {
        metric.name
        for metric in METRICS
        if metric.stability is Stability.EXPERIMENTAL and metric.is_in(Preset.LEAN, {"partition"})
        if metric not in SELF_METRICS
    } == {
        "lagwarden_common_cause_muted_groups",
        "lagwarden_group_folded_groups",
        "lagwarden_group_maintenance",
        "lagwarden_group_owner_info",
        "lagwarden_group_scalable_lag",
        "lagwarden_group_unpaged",
        "lagwarden_offsets_topic_cleaner_suspect",
    }


@pytest.mark.parametrize(
    ("preset", "per_partition", "per_group"),
    [
        pytest.param(Preset.LEAN, 1, 6, id="lean: lag per partition, and what alerts need per group"),
        pytest.param(Preset.STANDARD, 4, 12, id="standard: what rules and dashboards need"),
    ],
)
def test_a_preset_is_within_its_promise(preset: Preset, per_partition: int, per_group: int) -> None:
    """A preset has the promised bounds; series per topic of a group exist only instead of those per partition."""
    bound = SeriesBound.of_preset(preset)
    assert bound.per_partition <= per_partition
    assert bound.per_group <= per_group
    assert bound.per_topic == 0
    instead = [metric for metric in SNAPSHOT_METRICS if metric.is_in(preset, {"partition"})]
    assert any(metric.source is MetricSource.TOPICS for metric in instead)
    assert not any(metric.source is MetricSource.PARTITIONS for metric in instead)


def test_series_beyond_the_bound_are_named_by_the_page() -> None:
    """The page names what a group in `standard` may add: an owner, maintenance, an old fault, and common causes."""
    counted = {MetricSource.GROUPS, MetricSource.TARGETS, MetricSource.PARTITIONS, MetricSource.DEAD_GROUPS}
    # A partition with an unknown lag has no series of its lag, and a folded row stands for several groups.
    instead = {MetricSource.UNKNOWN_LAGS, MetricSource.FOLDED_GROUPS}
    further = {
        metric.source for metric in SNAPSHOT_METRICS if "group" in metric.labels and metric.is_in(Preset.STANDARD)
    } - (counted | instead)
    assert further == {
        MetricSource.OWNERS,
        MetricSource.MAINTENANCE,
        MetricSource.UNPAGED,
        MetricSource.COVERED_GROUPS,
    }
    costs = " ".join(markdown().partition("## Presets and their costs")[2].partition("\n## ")[0].split())
    for words in ("owner of a group adds one", "or a silence another", "raise no alert has one", "common cause"):
        assert words in costs


def test_a_preset_has_all_series_of_the_smaller_ones() -> None:
    """Each preset from lean to full has all metrics of the smaller ones at any granularity."""
    for hidden in ((), ("partition",), ("partition", "topic")):
        shown = [{metric for metric in METRICS if metric.is_in(preset, hidden)} for preset in Preset]
        assert shown[0] < shown[1] < shown[2]
    assert shown[2] == {metric for metric in METRICS if not {"topic", "partition"} & set(metric.labels)}


def test_the_estimate_multiplies_the_bounds() -> None:
    """The estimate is for 2,000 groups of 17 partitions; a live group has all types of transitions but one."""
    assert SeriesBound(Preset.FULL, per_partition=12, per_group=30, per_topic=2).series(2000, 17) == 472_000
    lines = estimate_lines(2000, 17)
    assert [line.split()[0] for line in lines] == ["preset", *Preset]
    assert lines[2].split()[-1] == f"{SeriesBound.of_preset(Preset.STANDARD).series(2000, 17):,}"
    assert set(TransitionType) - {TransitionType.DEAD} == set(list(TransitionType)[:TRANSITIONS_OF_LIVE_GROUPS])
