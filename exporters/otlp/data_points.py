"""Converts what `/metrics` shows at a moment into metrics of the OpenTelemetry SDK, some data points at a time.

The data points are read from the rendered text, so that they are the series of a scrape: after preset, folds and
budget. A gauge or an info is a gauge, a counter a cumulative monotonic sum, a histogram a cumulative histogram. Names,
labels (also that of the cluster) and help texts are the same, and values are doubles as in Prometheus. A series that is
absent has no data point.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, HistogramDataPoint, NumberDataPoint, Sum
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.metrics.export import Metric as OtlpMetric

from exporters.catalogue.metric import CountedSince, Metric, MetricKind, field_at
from exporters.catalogue.metrics import SELF_METRICS
from exporters.cluster.exposition import ServedMetrics
from exporters.readmodel import Histogram, Snapshot
from exporters.text.exposition import ExpositionFormat
from exporters.text.samples import CLUSTER_LABEL
from exporters.text.self_metrics import process_metrics, self_metric_lines

if TYPE_CHECKING:
    from prometheus_client import Metric as PrometheusMetric

UNITS: Final = {"seconds": "s", "bytes": "By", "ratio": "1", "": ""}
"""The units of the catalogue as OTLP writes them (UCUM). Receivers that add units to names find them there already."""
_LABEL: Final = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)")
_CHARACTERS: Final = {"n": "\n", '"': '"', "\\": "\\"}
_UNKNOWN_START: Final = 0
"""OTLP: the start time of the series is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class PointFamily:
    """A metric and its data points, which are made while they are read."""

    name: str
    description: str
    unit: str
    kind: MetricKind
    points: Iterable[NumberDataPoint | HistogramDataPoint]

    def metric(self, points: list[Any]) -> OtlpMetric:
        """Return the metric with some of its data points."""
        data: Gauge | Sum | HistogramData
        if self.kind is MetricKind.COUNTER:
            data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        elif self.kind is MetricKind.HISTOGRAM:
            data = HistogramData(points, AggregationTemporality.CUMULATIVE)
        else:
            data = Gauge(points)
        return OtlpMetric(self.name, self.description, self.unit, data)


def metric_batches(
    served: ServedMetrics, snapshot: Snapshot | None, now: float, most_points: int
) -> Iterator[list[OtlpMetric]]:
    """Yield all metrics at `now` (Unix seconds) in lists of at most `most_points` data points.

    `snapshot` has the start times of counters of groups; None: there are none.
    """
    batch: list[OtlpMetric] = []
    room = most_points
    for family in point_families(served, snapshot, now):
        points = iter(family.points)
        while chunk := list(itertools.islice(points, room)):
            batch.append(family.metric(chunk))
            room -= len(chunk)
            if not room:
                yield batch
                batch, room = [], most_points
    if batch:
        yield batch


def point_families(served: ServedMetrics, snapshot: Snapshot | None, now: float) -> Iterator[PointFamily]:
    """Yield the metrics of snapshot, cluster, monitor and process, in the order of a scrape."""
    status, time, started = served.status, _nanoseconds(now), _nanoseconds(served.status.started_at)
    created = functools.cache(lambda: _created(snapshot))  # read at the first use
    for family in served.exposition.families:
        plain = family.samples.plain
        text = [plain] if isinstance(plain, bytes) else plain
        yield _family(family.metric, _numbers(family.metric, text, time, started, created))
    for metric in SELF_METRICS:
        if metric.kind is MetricKind.HISTOGRAM:
            histogram: Histogram | None = field_at(status, metric.column)
            points = () if histogram is None else (_histogram_point(histogram, time, started, status.cluster_name),)
            yield _family(metric, points)
            continue
        lines = self_metric_lines(metric, status, now, ExpositionFormat.TEXT)
        yield _family(metric, _numbers(metric, [lines], time, started, created))
    yield from _process_families(process_metrics(status.cluster_name), time, started)


def _family(metric: Metric, points: Iterable[NumberDataPoint | HistogramDataPoint]) -> PointFamily:
    return PointFamily(metric.name, metric.help, UNITS[metric.unit], metric.kind, points)


def _numbers(
    metric: Metric, text: Iterable[bytes], time: int, started: int, created: Callable[[], Mapping[str, int]]
) -> Iterator[NumberDataPoint]:
    is_counter = metric.kind is MetricKind.COUNTER
    of_group = is_counter and metric.counted_since is CountedSince.GROUP_CREATED
    start = started if is_counter else _UNKNOWN_START
    for labels, value in parse_samples(text):
        since = created().get(labels.get("group", ""), _UNKNOWN_START) if of_group else start
        yield NumberDataPoint(labels, since, time, value)


def _histogram_point(histogram: Histogram, time: int, started: int, cluster_name: str | None) -> HistogramDataPoint:
    """Return the histogram as one data point.

    The sum is left out if a bound is negative, as in OpenMetrics: such a sum can decrease, which readers take for a
    restart.
    """
    cumulative = (*histogram.cumulative, histogram.count)
    counts = [count - before for before, count in itertools.pairwise((0, *cumulative))]
    has_sum = all(bound >= 0 for bound in histogram.bounds)
    absent: Any = None
    return HistogramDataPoint(
        attributes={} if cluster_name is None else {CLUSTER_LABEL: cluster_name},
        start_time_unix_nano=started,
        time_unix_nano=time,
        count=histogram.count,
        sum=histogram.total if has_sum else absent,
        bucket_counts=counts,
        explicit_bounds=[float(bound) for bound in histogram.bounds],
        min=absent,
        max=absent,
    )


def _process_families(metrics: Iterable[PrometheusMetric], time: int, started: int) -> Iterator[PointFamily]:
    for metric in metrics:
        kind = MetricKind.COUNTER if metric.type == "counter" else MetricKind.GAUGE
        start = started if kind is MetricKind.COUNTER else _UNKNOWN_START
        names = dict.fromkeys(sample.name for sample in metric.samples)
        for name in names:
            points = [
                NumberDataPoint(_present(sample.labels), start, time, float(sample.value))
                for sample in metric.samples
                if sample.name == name and math.isfinite(sample.value)
            ]
            yield PointFamily(name, metric.documentation, "", kind, points)


def _present(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if value}


def _created(snapshot: Snapshot | None) -> dict[str, int]:
    """Return when groups were created (Unix nanoseconds), without folded groups, and those that the log has not."""
    if snapshot is None:
        return {}
    names = snapshot.groups.column("group").to_pylist()
    milliseconds = snapshot.groups.column("created_time").cast("int64").to_pylist()
    return {name: time * 1_000_000 for name, time in zip(names, milliseconds, strict=True) if time is not None}


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1000) * 1_000_000


def parse_samples(text: Iterable[bytes]) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the labels and the value of each sample line; the text may be cut anywhere.

    An empty label is missing, as in Prometheus. Comment lines are not allowed.
    """
    for line in _lines(text):
        head, _, value = line.rpartition(" ")
        _, opened, labels = head.partition("{")
        yield dict(_labels(labels)) if opened else {}, float(value)


def _labels(text: str) -> Iterator[tuple[str, str]]:
    is_escaped = "\\" in text
    for name, value in _LABEL.findall(text):
        if value:
            yield name, _ESCAPED.sub(lambda match: _CHARACTERS[match[1]], value) if is_escaped else value


def _lines(text: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines without line feeds. Only a line feed ends a line: other line breaks can be part of a name."""
    rest = b""
    for piece in text:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode()
    if rest:
        yield rest.decode()
