"""The catalogue against the read model, the naming conventions and the reference page."""

import dataclasses
import pathlib
import re
import types
import typing
from collections.abc import Iterator

import pyarrow as pa

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

NOT_EXPORTED = {
    "belongs to the topic: LOG_ENDS has it once": "PARTITIONS high_watermark last_stable_offset log_start_offset",
    "DEAD_GROUPS has it": "GROUPS died_time death_cause",
    "counted per group in UNKNOWN_LAGS": "PARTITIONS lag_unknown_reason",
    "the API and the pages have it": "PARTITIONS time_lag_exact, GROUPS time_lag_max_exact, TOPICS time_lag_max_exact",
    "a word; the rates have the numbers": "PARTITIONS trend",
    "per group, the offsets as held_back": "PARTITIONS verdict_since offset_hidden",
    "the sum of UNKNOWN_LAGS of the group": "GROUPS partitions_lag_unknown",
    "counted in lagwarden_group_odd_times": "PARTITIONS odd_time",
    "counts the series of lagwarden_partition_verdict": "GROUPS verdict_partitions",
    "a sentence; the API has it": "GROUPS sentence",
    "OWNERS has it": "GROUPS team tier link max_severity",
    "MAINTENANCE has whether a window or a silence mutes": "GROUPS maintenance_until silence_reason silence_until",
    "UNPAGED has the groups that are": "GROUPS unpaged",
    "counts the series of lagwarden_partition_committed_offset": "TOPICS partitions",
    "the maximum of lagwarden_partition_lag": "TOPICS lag_max",
    "per partition and per group, with its reason": "TOPICS partitions_lag_unknown verdict",
    "sentences; the legend of the page has them": "VERDICT_GROUPS meaning next_step",
    "sentences; /readyz has them": "STATUS not_ready_reasons",
    "process_start_time_seconds has it": "STATUS started_at",
    "a separate table": (
        "STATUS records_read decode_errors offsets_skipped offsets_partitions deaths expiry_checks series_dropped"
        " http_refusals file_failures descriptors processes webhook_failures webhook_drops otlp_failures"
        " verdict_changes offsets_held_back unreadable_tails offsets_unavailable offsets_unavailable_groups"
        " internal_errors"
    ),
    "links of the pages": "STATUS siblings",
    "the label cluster of every series, by option": "STATUS cluster_name",
    "changes with the leader; the API has it": "PARTITIONS_SHOWN leader_epoch",
    "a list; the API has it": "PARTITIONS_SHOWN replica_brokers in_sync_brokers offline_brokers",
    "counted in UNKNOWN_FACTS": "OFFSETS_REPLICAS unknown_reason, CONFIGS_SHOWN unknown_reason",
    "changes with a disk; the API has it": "QUORUM_REPLICAS directory",
    "grows all the time; the lag has the distance": "QUORUM_REPLICAS log_end_offset",
    "start offset, lag and finished records give it; the API has it": "SHARE_PARTITIONS end",
    "count the series of the partitions": "SHARE_GROUPS partitions",
    "in the sentence, which the API has": "COMMON_CAUSES affected compared sentence next_step",
    "a list; COVERED_GROUPS has its names": "COMMON_CAUSES groups",
    "the gap of the same partition has it": "OFFSETS_HELD_BACK since",
}
"""The columns without a metric, behind the name of their table, by the reason."""


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
    column = columns(metric.source).get(metric.column)
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


NAMES = {str, readmodel.NAME, pa.int32(), pa.int64(), pa.bool_()}
"""The types of labels: names, ids and flags."""


def test_value_and_labels_are_columns_with_fitting_types() -> None:
    """The value of each metric is a column with a type that its conversion supports, each label one of its row."""
    faults = [f"{metric.name}: {metric.column}" for metric in METRICS if not fits(metric)]
    faults += [
        f"{metric.name}: label {label}"
        for metric in METRICS
        for label in metric.labels
        if columns(metric.source).get(label) not in NAMES
    ]
    assert faults == []


def test_a_source_names_a_field_and_decides_when_it_is_rendered() -> None:
    """Those of snapshot and cluster are rendered once, those of the status at each scrape."""
    in_snapshot = {field.name for field in dataclasses.fields(readmodel.Snapshot)}
    in_cluster = {field.name for field in dataclasses.fields(cluster_model.ClusterFacts)}
    for source in SCHEMAS:
        other_fields = in_cluster if source.in_cluster else STATUS_TYPES
        assert source.value in (in_snapshot if source.in_snapshot else other_fields)
    assert all(metric.source.in_snapshot for metric in SNAPSHOT_METRICS)
    assert all(metric.source.in_cluster for metric in CLUSTER_METRICS)
    assert not any(metric.source.in_snapshot or metric.source.in_cluster for metric in SELF_METRICS)


def test_every_column_is_exported_or_has_a_reason() -> None:
    """Every column is the value or a label of a metric, or is listed with the reason why not."""
    shown = {(metric.source, name) for metric in METRICS for name in (metric.column, *metric.labels)}
    known = {(source, name) for source in MetricSource for name in columns(source)}
    rows = [row.split() for text in NOT_EXPORTED.values() for row in text.split(",")]
    assert known - shown == {(MetricSource[table], name) for table, *names in rows for name in names}


def naming_faults(metric: Metric) -> Iterator[str]:
    """Yield the rules of names, kinds and help texts that a metric breaks."""
    suffixes = {
        "_total": metric.kind is MetricKind.COUNTER,
        "_info": metric.kind is MetricKind.INFO,
        "_timestamp_seconds": metric.conversion is ValueConversion.TIMESTAMP,
    }
    is_state = metric.column in {"verdict", "dimension"}
    rules = {
        "lower case with one prefix": re.fullmatch(r"lagwarden(_[a-z]+)+", metric.name),
        **{suffix: metric.name.endswith(suffix) == wanted for suffix, wanted in suffixes.items()},
        "no reserved suffix": not metric.name.endswith(("_sum", "_count", "_bucket", "_created")),
        "a known unit": metric.unit in {"", "seconds", "ratio", "bytes"},
        "the suffix of its unit": metric.family.endswith(f"_{metric.unit}" if metric.unit else ""),
        "a unit": bool(metric.unit) == metric.family.endswith(("_seconds", "_ratio", "_bytes")),
        "1 for information and states": (metric.kind is MetricKind.INFO or is_state)
        == (metric.conversion is ValueConversion.ONE),
        "buckets of a histogram": (metric.kind is MetricKind.HISTOGRAM)
        == (metric.conversion is ValueConversion.BUCKETS),
        "help: a sentence without escapes": re.fullmatch(r'[A-Z0-9][^\\\n"]+\.', metric.help),
        "absent: no full stop": not metric.absent.endswith("."),
        "the topic is the first label": not metric.name.startswith("lagwarden_topic_") or metric.labels[0] == "topic",
        "the group is the first label": not (metric.name.startswith("lagwarden_group_") and metric.source.in_snapshot)
        or metric.labels[0] == "group",
    }
    yield from (f"{metric.name}: {rule}" for rule, is_kept in rules.items() if not is_kept)


def test_metrics_follow_the_conventions() -> None:
    """A metric has the suffixes of its kind and unit, a help text without escapes, a unique name and family."""
    assert [fault for metric in METRICS for fault in naming_faults(metric)] == []
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.family for metric in METRICS}) == len(METRICS)


def test_reference_page_is_current() -> None:
    """`docs/metrics.md` is what `python -m exporters.catalogue.reference_page` prints."""
    assert (ROOT / "docs" / "metrics.md").read_text("utf-8") == markdown()
    assert re.findall(r"^### `(.+)`$", markdown(), re.MULTILINE) == [metric.name for metric in METRICS]


def test_reference_page_and_description_have_stability_and_preset() -> None:
    """The reference page and the description have the stability of a metric and the preset that shows it."""
    described = {each["name"]: (each["stability"], each["preset"]) for each in descriptions()}
    assert described == {metric.name: (metric.stability, metric.smallest_preset) for metric in METRICS}
    page, faults = markdown(), []
    for metric in METRICS:
        paragraph = page.partition(f"### `{metric.name}`\n")[2].partition("\n### ")[0]
        has_preset = metric.source.in_snapshot or metric.source.in_cluster
        if f"- {metric.stability}" not in paragraph or (has_preset and f"`{metric.preset}`" not in paragraph):
            faults.append(metric.name)
    assert faults == []


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


def test_a_preset_is_within_its_promise() -> None:
    """A preset has the promised bounds; series per topic of a group exist only instead of those per partition.

    Lean has the lag per partition, and what alerts need per group; standard what rules and dashboards need.
    """
    for preset, per_partition, per_group in ((Preset.LEAN, 1, 6), (Preset.STANDARD, 4, 12)):
        bound = SeriesBound.of_preset(preset)
        assert bound.per_partition <= per_partition
        assert bound.per_group <= per_group
        assert bound.per_topic == 0
        instead = {metric.source for metric in SNAPSHOT_METRICS if metric.is_in(preset, {"partition"})}
        assert MetricSource.TOPICS in instead
        assert MetricSource.PARTITIONS not in instead


def test_series_beyond_the_bound_are_named_by_the_page() -> None:
    """The page names what a group in `standard` may add: an owner, maintenance, an old fault, and common causes."""
    counted = {MetricSource.GROUPS, MetricSource.TARGETS, MetricSource.PARTITIONS, MetricSource.DEAD_GROUPS}
    # A partition with an unknown lag has no series of its lag, and a folded row stands for several groups.
    instead = {MetricSource.UNKNOWN_LAGS, MetricSource.FOLDED_GROUPS}
    further = {
        metric.source for metric in SNAPSHOT_METRICS if "group" in metric.labels and metric.is_in(Preset.STANDARD)
    } - (counted | instead)
    assert {source.name for source in further} == {"OWNERS", "MAINTENANCE", "UNPAGED", "COVERED_GROUPS"}
    costs = " ".join(markdown().partition("## Presets and their costs")[2].partition("\n## ")[0].split())
    for words in ("owner of a group adds one", "or a silence another", "raise no alert has one", "common cause"):
        assert words in costs


def test_a_preset_has_all_series_of_the_smaller_ones() -> None:
    """At any granularity. The estimate is for 2,000 groups of 17 partitions, with all transitions of a live group."""
    for hidden in ((), ("partition",), ("partition", "topic")):
        shown = [{metric for metric in METRICS if metric.is_in(preset, hidden)} for preset in Preset]
        assert shown[0] < shown[1] < shown[2]
    assert shown[2] == {metric for metric in METRICS if not {"topic", "partition"} & set(metric.labels)}
    assert SeriesBound(Preset.FULL, per_partition=12, per_group=30, per_topic=2).series(2000, 17) == 472_000
    lines = estimate_lines(2000, 17)
    assert [line.split()[0] for line in lines] == ["preset", *Preset]
    assert lines[2].split()[-1] == f"{SeriesBound.of_preset(Preset.STANDARD).series(2000, 17):,}"
    assert set(TransitionType) - {TransitionType.DEAD} == set(list(TransitionType)[:TRANSITIONS_OF_LIVE_GROUPS])
