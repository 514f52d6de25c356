"""The stability of the fields of the JSON responses. `openapi_check` compares the types with the responses."""

import typing
from typing import Any

import pytest

from exporters.api_types import groups as group_types
from exporters.api_types.stability import EXPERIMENTAL
from exporters.catalogue.metric import MetricSource, Stability
from exporters.catalogue.metrics import METRICS


@pytest.mark.parametrize(
    ("declared", "source"),
    [
        (group_types.GroupRow, MetricSource.GROUPS),
        (group_types.PartitionRow, MetricSource.PARTITIONS),
        (group_types.TopicRow, MetricSource.TOPICS),
    ],
    ids=["groups", "partitions", "topics"],
)
def test_a_field_is_as_stable_as_its_metric(declared: Any, source: MetricSource) -> None:
    """A field whose metrics are all experimental is experimental; one with a stable metric is stable."""
    hints = typing.get_type_hints(declared, include_extras=True)
    marked = {name for name, hint in hints.items() if EXPERIMENTAL in getattr(hint, "__metadata__", ())}
    metrics = [metric for metric in METRICS if metric.source is source and metric.column in hints]
    stable = {metric.column for metric in metrics if metric.stability is Stability.STABLE}
    assert marked & stable == set()
    assert {metric.column for metric in metrics} - stable <= marked
