"""The data points are the series of a scrape."""

from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from exporters.catalogue.metric import MetricKind
from exporters.catalogue.metrics import METRICS
from exporters.cluster.exposition import PublishedCluster, ServedMetrics
from exporters.http.openapi.small_world import NOON, small_cluster
from exporters.otlp.data_points import UNITS, metric_batches
from exporters.readmodel import MonitorStatus, Snapshot
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from exporters.text.self_metrics import render_self_metrics
from tests.exporters.exposition_text import plain_text
from tests.exporters.otlp.decoded import metrics, received, scraped
from tests.exporters.snapshots import CATCHING_UP, CONNECTING, HOSTILE_NAMES, small_snapshot, snapshot, status

NOW = NOON / 1000
BY_NAME = {metric.name: metric for metric in METRICS}


def served(published: PublishedSnapshot | None, own: MonitorStatus) -> ServedMetrics:
    """Return what `/metrics` shows, with the facts about a cluster."""
    return ServedMetrics.build(published, PublishedCluster.build(small_cluster()), own)


def scrape(shown: ServedMetrics) -> str:
    own = render_self_metrics(shown.status, NOW, ExpositionFormat.TEXT)
    return plain_text(shown.exposition) + own.decode()


def requests(shown: ServedMetrics, of: Snapshot | None, most_points: int = 100) -> list[bytes]:
    scope = InstrumentationScope("lagwarden")
    return [
        encode_metrics(
            MetricsData([ResourceMetrics(Resource({}), [ScopeMetrics(scope, batch, "")], "")])
        ).SerializeToString()
        for batch in metric_batches(shown, of, NOW, most_points)
    ]


def unusual_snapshot() -> Snapshot:
    rows = [{"group": name, "kind": "classic", "lag_sum": 3} for name in sorted(HOSTILE_NAMES)]
    return snapshot(groups=rows)


@pytest.mark.parametrize("changes", [{}, CATCHING_UP, CONNECTING], ids=["running", "catching up", "connecting"])
@pytest.mark.parametrize("of", [small_snapshot(), unusual_snapshot(), None], ids=["small", "unusual names", "none"])
def test_data_points_are_exactly_the_series_of_a_scrape(of: Snapshot | None, changes: dict[str, Any]) -> None:
    """Data points have the names, labels and values of a scrape, except values of the process, which change."""
    shown = served(None if of is None else PublishedSnapshot.build(of), status(**changes))
    expected, found = scraped(scrape(shown)), received(requests(shown, of))
    assert found.keys() == expected.keys()
    own = {series for series in expected if series[0].startswith("lagwarden_")}
    assert len(own) > 20
    assert {series: found[series] for series in own} == {series: expected[series] for series in own}


def test_each_metric_has_the_type_the_help_and_the_unit_of_its_row() -> None:
    """A counter is a cumulative monotonic sum; a gauge and an info are gauges."""
    of = small_snapshot()
    kinds = {MetricKind.COUNTER: "sum", MetricKind.HISTOGRAM: "histogram"}
    seen = set()
    for metric in metrics(requests(served(PublishedSnapshot.build(of), status()), of)):
        if row := BY_NAME.get(metric.name):
            kind = metric.WhichOneof("data")
            assert (kind, metric.description, metric.unit) == (kinds.get(row.kind, "gauge"), row.help, UNITS[row.unit])
            if kind == "sum":
                assert (metric.sum.is_monotonic, metric.sum.aggregation_temporality) == (True, 2)
            seen.add(row.kind)
    assert seen == set(MetricKind)


def test_counters_start_when_they_were_zero() -> None:
    """Counters of the process start with it, and those of a group at its creation; gauges have no start."""
    of = small_snapshot()
    created = {row["group"]: row["created_time"] for row in of.groups.select(["group", "created_time"]).to_pylist()}
    own = status(started_at=NOW - 500.0)
    starts: dict[str, set[int]] = {}
    groups = 0
    for metric in metrics(requests(served(PublishedSnapshot.build(of), own), of)):
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            assert point.time_unix_nano == NOON * 1_000_000
            if metric.name in {"lagwarden_group_rebalances_total", "lagwarden_group_transitions_total"}:
                labels = {each.key: each.value.string_value for each in point.attributes}
                time = created[labels["group"]]
                assert point.start_time_unix_nano == (0 if time is None else round(time.timestamp() * 1000) * 1_000_000)
                groups += time is not None
            else:
                starts.setdefault(kind, set()).add(point.start_time_unix_nano)
    assert groups
    process_start = (NOON - 500_000) * 1_000_000
    assert starts == {"gauge": {0}, "sum": {process_start}, "histogram": {process_start}}


@pytest.mark.parametrize("most_points", [1, 7, 10_000])
def test_the_number_of_data_points_of_a_request_is_limited(most_points: int) -> None:
    """A large metric continues in the next request; all requests together have all series."""
    of = small_snapshot()
    shown = served(PublishedSnapshot.build(of), status())
    bodies = requests(shown, of, most_points)
    sizes = [
        sum(len(getattr(each, each.WhichOneof("data")).data_points) for each in metrics([body])) for body in bodies
    ]
    assert max(sizes) <= most_points
    assert set(sizes[:-1]) <= {most_points}
    assert received(bodies).keys() == received(requests(shown, of)).keys()
