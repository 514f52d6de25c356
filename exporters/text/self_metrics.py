"""Renders the monitor's own metrics at each scrape: its status and the metrics of its process.

`process_*` and `python_*` come from the official Python client, in a separate registry: metrics that a library
registers globally do not leak into `/metrics`. All series have the label `cluster` if the status has its name.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest as text_of
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_of

from exporters.catalogue.metric import Metric, MetricKind, ValueConversion, field_at
from exporters.catalogue.metrics import SELF_METRICS
from exporters.catalogue.monitor import STATUS
from exporters.readmodel import Histogram, MonitorStatus
from exporters.text.exposition import ExpositionFormat, comment_lines
from exporters.text.samples import CLUSTER_LABEL, cluster_label, escape, label_texts, sample_lines

if TYPE_CHECKING:
    from prometheus_client import Metric as PrometheusMetric
    from prometheus_client.registry import Collector

_OPENMETRICS_END: Final = b"# EOF\n"


def render_self_metrics(
    status: MonitorStatus, now: float, form: ExpositionFormat, names: Collection[str] = ()
) -> bytes:
    """Render the monitor's own metrics at `now` (Unix seconds), and the end of the text. `names` selects metrics."""
    metrics = (metric for metric in SELF_METRICS if metric.is_among(names))
    parts = [
        comment_lines(metric, form) + lines
        for metric in metrics
        if (lines := self_metric_lines(metric, status, now, form))
    ]
    parts.append(_process(form, names, status.cluster_name))
    if form is ExpositionFormat.OPENMETRICS:
        parts.append(_OPENMETRICS_END)
    return b"".join(parts)


def self_metric_lines(metric: Metric, status: MonitorStatus, now: float, form: ExpositionFormat) -> bytes:
    """Return the sample lines of one metric about the monitor; without a sample, none."""
    if metric.kind is MetricKind.HISTOGRAM:
        return _histogram_lines(metric, field_at(status, metric.column), form, status.cluster_name).encode()
    if metric.source == STATUS.source:
        return _status_line(metric, status, now).encode()
    table = metric.source.rows(status)
    if table is None:
        return b""
    return sample_lines(metric, label_texts(table, metric.labels, status.cluster_name), table)[0]


def _status_line(metric: Metric, status: MonitorStatus, now: float) -> str:
    value = field_at(status, metric.column)
    if value is None:
        return ""
    number = _number(value, metric.conversion, now)
    if not math.isfinite(number):
        return ""
    own = [f'{label}="{escape(str(value))}"' for label in metric.labels]
    return f"{metric.name}{_braced(cluster_label(status.cluster_name, metric.labels), *own)} {number!r}\n"


def _histogram_lines(
    metric: Metric, histogram: Histogram | None, form: ExpositionFormat, cluster_name: str | None
) -> str:
    """Return the samples of a histogram. The bounds are written as floats, as both formats define the label `le`.

    OpenMetrics forbids the sum, and with it the count, if a bound is negative: such a sum can decrease, and a counter
    that decreases looks like a restart.
    """
    if histogram is None:
        return ""
    bounds = (*(repr(float(bound)) for bound in histogram.bounds), "+Inf")
    buckets = zip(bounds, (*histogram.cumulative, histogram.count), strict=True)
    cluster = cluster_label(cluster_name, metric.labels)
    limits = ((_braced(cluster, f'le="{bound}"'), count) for bound, count in buckets)
    lines = [f"{metric.name}_bucket{labels} {count}\n" for labels, count in limits]
    if form is ExpositionFormat.TEXT or all(bound >= 0 for bound in histogram.bounds):
        labels = _braced(cluster)
        lines += [
            f"{metric.name}_sum{labels} {histogram.total!r}\n",
            f"{metric.name}_count{labels} {histogram.count}\n",
        ]
    return "".join(lines)


def _braced(*labels: str) -> str:
    """Return labels in braces without the empty ones; empty without a label."""
    text = ",".join(filter(None, labels))
    return f"{{{text}}}" if text else ""


def _number(value: float | str, conversion: ValueConversion, now: float) -> float:
    if isinstance(value, str) or conversion is ValueConversion.ONE:
        return 1
    if conversion is ValueConversion.AGE:
        # The clock that wrote the time may be ahead: an age is never negative.
        return max(now - value, 0.0)
    return int(value) if isinstance(value, bool) else value


def process_metrics(cluster_name: str | None) -> list[PrometheusMetric]:
    """Return the metrics of the process with their samples as of now, labelled with the name of the cluster if any."""
    return list(_LabelledRegistry(_registry(), cluster_name).collect())


class _LabelledRegistry:
    """Adds the label of the cluster to the samples of a registry, whose collectors may keep what they return."""

    def __init__(self, registry: Collector, cluster_name: str | None) -> None:
        self._registry = registry
        self._labels = {} if cluster_name is None else {CLUSTER_LABEL: cluster_name}

    def collect(self) -> Iterator[PrometheusMetric]:
        """Yield the metrics."""
        for metric in self._registry.collect():
            labelled = copy.copy(metric)
            labelled.samples = [sample._replace(labels={**self._labels, **sample.labels}) for sample in metric.samples]
            yield labelled


@functools.cache
def _registry() -> CollectorRegistry:
    # With `auto_describe` the registry knows the names of each collector, which `restricted_registry` needs.
    registry = CollectorRegistry(auto_describe=True)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def _process(form: ExpositionFormat, names: Collection[str], cluster_name: str | None) -> bytes:
    selected = _registry().restricted_registry(names) if names else _registry()
    registry = _LabelledRegistry(selected, cluster_name)
    if form is ExpositionFormat.TEXT:
        return text_of(registry)
    text: bytes = openmetrics_of(registry)  # type: ignore[no-untyped-call]  # the client has no types here
    return text.removesuffix(_OPENMETRICS_END)
