"""The examples of docs/autoscaling.md: valid YAML, and names of metrics and API fields that exist."""

import re
import typing

from exporters.api_types.groups import GroupRow
from exporters.catalogue.metric import Preset
from exporters.catalogue.metrics import METRICS
from tests.chart.promql import faults, known, metrics_of
from tests.deploy.autoscaling import ADAPTER, AUTOSCALER, BY_API, BY_PROMETHEUS, PAGE


def test_the_objects_are_of_the_served_kinds() -> None:
    """Objects have a target and bounds, and KEDA's metadata only strings. An absent series must not count as 0."""
    for example in (BY_PROMETHEUS, BY_API):
        assert (example["apiVersion"], example["kind"]) == ("keda.sh/v1alpha1", "ScaledObject")
        assert example["spec"].keys() >= {"scaleTargetRef", "minReplicaCount", "maxReplicaCount", "triggers"}
    assert (AUTOSCALER["apiVersion"], AUTOSCALER["kind"]) == ("autoscaling/v2", "HorizontalPodAutoscaler")
    assert AUTOSCALER["spec"].keys() >= {"scaleTargetRef", "minReplicas", "maxReplicas", "metrics"}
    triggers = [trigger for example in (BY_PROMETHEUS, BY_API) for trigger in example["spec"]["triggers"]]
    assert {type(value) for trigger in triggers for value in trigger["metadata"].values()} == {str}
    assert triggers[0]["metadata"]["ignoreNullValues"] == "false"


def test_the_queries_use_metrics_of_the_default_preset() -> None:
    """Every series and label exists with the default configuration."""
    presets = {metric.name: metric.smallest_preset for metric in METRICS}
    (trigger,), (rule,) = BY_PROMETHEUS["spec"]["triggers"], ADAPTER["rules"]["external"]
    for query in (trigger["metadata"]["query"], rule["metricsQuery"].replace("<<.LabelMatchers>>", 'group="billing"')):
        assert faults(query, known({})) == []
        assert all(Preset.STANDARD.includes(presets[name]) for name in metrics_of(query, {}))


def test_the_api_has_the_fields() -> None:
    """Each trigger reads a number of the group, and the formula uses each trigger."""
    triggers = BY_API["spec"]["triggers"]
    numbers = {name for name, kind in typing.get_type_hints(GroupRow).items() if kind in {int | None, float | None}}
    assert {trigger["metadata"]["valueLocation"] for trigger in triggers} <= numbers
    formula = BY_API["spec"]["advanced"]["scalingModifiers"]["formula"]
    assert set(re.findall(r"[a-z]+", formula)) - {"floor"} == {trigger["name"] for trigger in triggers}


def test_the_page_names_metrics_that_exist() -> None:
    """Every metric is in the catalogue but the adapter's, which the autoscaler requests with the same labels."""
    (rule,) = ADAPTER["rules"]["external"]
    metric = AUTOSCALER["spec"]["metrics"][0]["external"]["metric"]
    assert metric["name"] == rule["name"]["as"]
    assert f"max by ({', '.join(['cluster', *metric['selector']['matchLabels']])})" in rule["metricsQuery"]
    made = {ADAPTER["rules"]["external"][0]["name"]["as"]}
    named = set(re.findall(r"lagwarden_\w+", PAGE))
    assert named - made <= {metric.name for metric in METRICS}
    assert made <= named
