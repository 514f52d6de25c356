"""The examples of docs/autoscaling.md on a real API server, ScaledObjects by KEDA's own definition."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest

from deploy.chart.tools import KEDA, ToolsUnreachableError, definition_of
from sandbox.kubernetes.control_plane import RefusedError
from tests.deploy.autoscaling import AUTOSCALER, BY_API, BY_PROMETHEUS

if TYPE_CHECKING:
    from sandbox.kubernetes.control_plane import ControlPlane

pytestmark = pytest.mark.cluster

DEFAULT = "default"


@pytest.fixture(scope="module")
def cluster_with_keda(cluster: ControlPlane) -> ControlPlane:
    """Return the cluster with the kind ScaledObject."""
    try:
        cluster.define(definition_of(KEDA, KEDA.newest, "ScaledObject"))
    except ToolsUnreachableError as error:
        pytest.skip(str(error))
    return cluster


def changed(example: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return an example with another value at the path."""
    found = copy.deepcopy(example)
    *parents, name = path.split(".")
    part: Any = found
    for parent in parents:
        part = part[int(parent) if parent.isdigit() else parent]
    part[name] = value
    return found


def test_the_autoscaler_passes_a_strict_dry_run(cluster: ControlPlane) -> None:
    """The API server knows every field, accepts every value, and gives no warning."""
    assert cluster.judge(AUTOSCALER, AUTOSCALER, DEFAULT) == []


@pytest.mark.parametrize("example", [BY_PROMETHEUS, BY_API], ids=["Prometheus", "API"])
def test_a_scaled_object_passes_a_strict_dry_run(cluster_with_keda: ControlPlane, example: dict[str, Any]) -> None:
    """KEDA's definition has every field of the example, with the type of its value."""
    assert cluster_with_keda.judge(example, example, DEFAULT) == []


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        pytest.param("spec.maxReplica", 3, 'unknown field "spec.maxReplica"', id="unknown field"),
        pytest.param("spec.minReplicas", 99, "spec.maxReplicas", id="minReplicas above maxReplicas"),
        pytest.param(
            "spec.metrics.0.external.target.type", "Avg", "spec.metrics[0].external.target.type", id="unknown type"
        ),
    ],
)
def test_faults_of_an_autoscaler_are_found(cluster: ControlPlane, path: str, value: object, reason: str) -> None:
    """The dry run refuses an autoscaler with each of these faults."""
    with pytest.raises(RefusedError, match=re.escape(reason)):
        cluster.judge(changed(AUTOSCALER, path, value), AUTOSCALER, DEFAULT)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        pytest.param("spec.maxReplicas", 3, 'unknown field "spec.maxReplicas"', id="field of HorizontalPodAutoscaler"),
        pytest.param("spec.triggers.0.metadata.targetValue", 1, "must be of type string", id="number instead of text"),
        pytest.param("spec.advanced.scalingModifiers.formel", "a", "unknown field", id="unknown modifier"),
    ],
)
def test_faults_of_a_scaled_object_are_found(
    cluster_with_keda: ControlPlane, path: str, value: object, reason: str
) -> None:
    """The dry run refuses a ScaledObject with each of these faults."""
    with pytest.raises(RefusedError, match=re.escape(reason)):
        cluster_with_keda.judge(changed(BY_API, path, value), BY_API, DEFAULT)
