"""The tables of the other exporters against the read model, against what these exporters publish, and as text."""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from exporters.catalogue.metric import MetricKind, PeerSource, ValueConversion
from exporters.catalogue.metrics import METRICS
from exporters.compatibility import cluster_tables, snapshot_tables
from exporters.compatibility.peers import PEER_BY_NAME, PEERS, STATUS_PEERS
from exporters.compatibility.selection import PeerSelection
from exporters.readmodel import NAME
from exporters.selection.series import SeriesSelection, SeriesSelector
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.compatibility.peer_world import NAMES, exposition_text, published, snapshot_at

if TYPE_CHECKING:
    from exporters.compatibility.peer import Peer, PeerMetric

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "peers"
SCHEMAS = {
    source: getattr(snapshot_tables if source.in_snapshot else cluster_tables, source.name) for source in PeerSource
}
SUBJECTS = {"topic": "topic", "partition": "partition", "group": "group"} | {
    "topic_name": "topic",
    "partition_id": "partition",
    "group_id": "group",
    "consumergroup": "group",
    "consumer_group": "group",
}
"""The subject of a series (topic, partition or group) by the label of an exporter that names it."""
every_peer = pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
every_metric = pytest.mark.parametrize(
    "metric", [metric for peer in PEERS for metric in peer.metrics], ids=lambda metric: metric.name
)


def test_the_exporters_are_those_with_published_facts() -> None:
    """There is a table for each exporter whose names and queries are recorded."""
    assert tuple(PEER_BY_NAME) == NAMES
    assert {path.stem for path in GOLDEN.parents[1].glob("compatibility/published/*.yaml")} == set(NAMES)


@every_peer
def test_names_and_labels_are_exactly_the_published_ones(peer: Peer) -> None:
    """Each published metric has a row with its labels in order, or is named as missing; no other metric has a row."""
    facts = published(peer.name)
    assert facts["project"] == peer.project
    missing = {each.name for each in peer.missing}
    shown = {metric.name: list(metric.labels) for metric in peer.metrics}
    assert shown == {name: labels for name, labels in facts["labels"].items() if name not in missing}


@every_metric
def test_column_and_labels_exist_with_fitting_types(metric: PeerMetric) -> None:
    """Value and labels are columns of the source: a label is a name, a whole number or a flag."""
    schema = SCHEMAS[metric.source]  # type: ignore[index]  # rows of peers have no other source
    assert schema.field(metric.column).type in {pa.int32(), pa.int64(), pa.float64(), pa.bool_()}
    assert {schema.field(label).type for label in metric.labels} <= {NAME, pa.int32(), pa.bool_()}
    assert metric.conversion in {ValueConversion.NUMBER, ValueConversion.ONE}


@every_metric
def test_each_row_is_documented(metric: PeerMetric) -> None:
    """The help text is one sentence that needs no escaping; there is a metric of lagwarden to use instead."""
    assert metric.kind is (MetricKind.COUNTER if metric.column == "commits" else MetricKind.GAUGE)
    assert re.fullmatch(r'[A-Z0-9][^\\\n"]+\.', metric.help)
    assert not metric.absent.endswith(".")
    own = set(re.findall(r"lagwarden_\w+", metric.instead))
    assert own
    assert own <= {each.name for each in METRICS}


@every_metric
def test_metric_to_use_instead_has_the_same_subject(metric: PeerMetric) -> None:
    """The metric to use instead has no subject that the other metric lacks, and lacks at most its group."""
    labels = {each.name: each.labels for each in METRICS}
    if metric.instead not in labels:
        return  # an expression, or several metrics
    own, theirs = (
        {SUBJECTS[name] for name in names if name in SUBJECTS} for names in (labels[metric.instead], metric.labels)
    )
    assert own <= theirs
    assert theirs - own <= {"group"}, "the end of a log is that of no group"


def test_missing_metrics_refer_to_existing_ones() -> None:
    """A metric that is recommended instead of a missing one exists."""
    reasons = " ".join(each.reason for peer in PEERS for each in peer.missing)
    assert set(re.findall(r"lagwarden_\w+", reasons)) <= {each.name for each in METRICS}


def test_no_name_is_used_twice() -> None:
    """No two metrics have the same name, so all exporters can be shown together, beside lagwarden's own metrics."""
    names = [metric.name for peer in PEERS for metric in peer.metrics] + [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)


def test_burrow_statuses_are_computed_only_for_exporters_that_show_them() -> None:
    """Only burrow and burrow_exporter need Burrow's statuses, whose rules cost time at each tick."""
    assert {"burrow_exporter", "burrow"} == STATUS_PEERS
    assert not PeerSelection(("kminion", "kafka_exporter")).needs_burrow
    assert PeerSelection(("kminion", "burrow")).needs_burrow


@pytest.mark.parametrize("name", NAMES)
def test_golden_exposition(name: str) -> None:
    """The text under the names of an exporter is exactly the reviewed one."""
    assert exposition_text(name) == (GOLDEN / f"{name}.txt").read_text("utf-8")


def test_openmetrics_is_valid() -> None:
    """The names of all exporters together are valid OpenMetrics."""
    selector = SeriesSelector(SeriesSelection(compatibility=PeerSelection(NAMES, "kafka")))
    parts = PublishedSnapshot.build(snapshot_at(), selector).exposition.plain(ExpositionFormat.OPENMETRICS)
    text = b"".join(part if isinstance(part, bytes) else b"".join(part) for part in parts) + b"# EOF\n"
    families = {family.name for family in parse_openmetrics(text.decode())}
    assert families >= {metric.family for peer in PEERS for metric in peer.snapshot_metrics}
