"""The tables of the other exporters against what these exporters publish, and as text."""

import pathlib
import re
from collections.abc import Iterator

import pyarrow as pa
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from exporters.catalogue.metric import MetricKind, ValueConversion
from exporters.catalogue.metrics import METRICS
from exporters.compatibility.kafka_exporter import other_cluster_facts
from exporters.compatibility.other_exporter import OtherMetric
from exporters.compatibility.selection import OTHER_BY_NAME, OTHER_EXPORTERS, OtherSelection
from exporters.compatibility.snapshot_tables import other_snapshot
from exporters.http.openapi.small_world import small_cluster
from exporters.selection.series import SeriesSelection, SeriesSelector
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.compatibility.other_world import NAMES, exposition_text, published, snapshot_at
from tests.exporters.exposition_text import plain_text

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "other_exporters"
TABLES = {
    **other_snapshot(snapshot_at(), snapshot_at(), "c").derived,
    **other_cluster_facts(small_cluster()).derived,
}
SUBJECTS = {"topic": "topic", "partition": "partition", "group": "group"} | {
    "topic_name": "topic",
    "partition_id": "partition",
    "group_id": "group",
    "consumergroup": "group",
    "consumer_group": "group",
}
"""The subject of a series (topic, partition or group) by the label of an exporter that names it."""
OWN_LABELS = {metric.name: metric.labels for metric in METRICS}
OTHER_METRICS = [metric for other in OTHER_EXPORTERS for metric in other.metrics]


def own_names(text: str) -> set[str]:
    """Return the names of lagwarden's metrics in a text."""
    return set(re.findall(r"lagwarden_\w+", text))


def test_names_and_labels_are_exactly_the_published_ones() -> None:
    """Each published metric has a row with its labels in order, or is named as missing; no other metric has a row."""
    assert tuple(OTHER_BY_NAME) == NAMES
    assert {path.stem for path in GOLDEN.parents[1].glob("compatibility/published/*.yaml")} == set(NAMES)
    for other in OTHER_EXPORTERS:
        facts = published(other.name)
        assert facts["project"] == other.project
        missing = set(other.missing)
        shown = {metric.name: list(metric.labels) for metric in other.metrics}
        assert shown == {name: labels for name, labels in facts["labels"].items() if name not in missing}
        assert own_names(" ".join(other.missing.values())) <= OWN_LABELS.keys()


def faults(metric: OtherMetric) -> Iterator[str]:
    """Yield the rules of types, help texts and recommended metrics that a row breaks."""
    schema = TABLES[metric.source.table].schema
    subjects, own_subjects = (
        {SUBJECTS[name] for name in names if name in SUBJECTS}
        for names in (metric.labels, OWN_LABELS.get(metric.instead, metric.labels))
    )
    rules = {
        "a number": schema.field(metric.column).type in {pa.int32(), pa.int64(), pa.float64(), pa.bool_()},
        "its labels are columns": set(metric.labels) <= set(schema.names),
        "a number or 1": metric.conversion in {ValueConversion.NUMBER, ValueConversion.ONE},
        "its kind": metric.kind is (MetricKind.COUNTER if metric.column == "commits" else MetricKind.GAUGE),
        "help: a sentence without escapes": re.fullmatch(r'[A-Z0-9][^\\\n"]+\.', metric.help),
        "absent: no full stop": not metric.absent.endswith("."),
        "a metric to use instead": set() < own_names(metric.instead) <= OWN_LABELS.keys(),
        # The end of a log is that of no group.
        "instead: the same subject": own_subjects <= subjects and subjects - own_subjects <= {"group"},
    }
    yield from (f"{metric.name}: {rule}" for rule, is_kept in rules.items() if not is_kept)


def test_each_row_is_documented_and_has_fitting_types() -> None:
    """Value and labels fit their columns, a metric of lagwarden on the same subject is named, no name is used twice."""
    assert [fault for metric in OTHER_METRICS for fault in faults(metric)] == []
    names = [metric.name for metric in OTHER_METRICS] + [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", NAMES)
def test_golden_exposition(name: str) -> None:
    """The text under the names of an exporter is exactly the reviewed one."""
    assert exposition_text(name) == (GOLDEN / f"{name}.txt").read_text("utf-8")


def test_openmetrics_is_valid() -> None:
    """The names of all exporters together are valid OpenMetrics."""
    selector = SeriesSelector(SeriesSelection(compatibility=OtherSelection(NAMES, "kafka")))
    text = plain_text(PublishedSnapshot.build(snapshot_at(), selector).exposition, ExpositionFormat.OPENMETRICS)
    families = {family.name for family in parse_openmetrics(f"{text}# EOF\n")}
    assert families >= {
        metric.family for other in OTHER_EXPORTERS for metric in other.metrics if metric.source.in_snapshot
    }
