"""Decoded requests of OTLP: data points and scrapes in one form, so that they can be compared."""

from collections.abc import Iterable, Iterator
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from tests.exporters.exposition_text import parsed

Series = tuple[str, frozenset[tuple[str, str]]]
"""A name and labels."""


def scraped(text: str) -> dict[Series, float]:
    """Return the series of a scrape, without empty labels."""
    return {
        (name, frozenset(label for label in labels if label[1])): float(value)
        for (name, labels), value in parsed(text).items()
    }


def metrics(requests: Iterable[bytes]) -> Iterator[Any]:
    """Yield the metrics of serialized requests, as protobuf messages."""
    for body in requests:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in resource.scope_metrics:
                yield from scope.metrics


def received(requests: Iterable[bytes]) -> dict[Series, float]:
    """Return the data points of requests as series of Prometheus. Fails if a series occurs twice."""
    found: dict[Series, float] = {}
    for metric in metrics(requests):
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            labels = frozenset((each.key, each.value.string_value) for each in point.attributes)
            rows = _histogram(point) if kind == "histogram" else [("", (), getattr(point, point.WhichOneof("value")))]
            for suffix, more, value in rows:
                series = (metric.name + suffix, labels | set(more))
                assert series not in found, series
                found[series] = value
    return found


def _histogram(point: Any) -> list[tuple[str, tuple[tuple[str, str], ...], float]]:
    bounds = [*(repr(bound) for bound in point.explicit_bounds), "+Inf"]
    rows: list[tuple[str, tuple[tuple[str, str], ...], float]] = []
    total = 0
    for bound, count in zip(bounds, point.bucket_counts, strict=True):
        total += count
        rows.append(("_bucket", (("le", bound),), total))
    rows.append(("_count", (), point.count))
    if point.HasField("sum"):
        rows.append(("_sum", (), point.sum))
    return rows
