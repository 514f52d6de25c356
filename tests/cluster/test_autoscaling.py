"""The examples of docs/autoscaling.md on a real API server, ScaledObjects by KEDA's own definition."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from deploy.chart.tools import KEDA, ToolsUnreachableError, definition_of
from sandbox.kubernetes.control_plane import RefusedError
from tests.cluster.release import changed
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


FAULTS: Final = (
    (AUTOSCALER, "spec.maxReplica", 3, 'unknown field "spec.maxReplica"'),
    (AUTOSCALER, "spec.minReplicas", 99, "spec.maxReplicas"),
    (AUTOSCALER, "spec.metrics.0.external.target.type", "Avg", "spec.metrics[0].external.target.type"),
    (BY_API, "spec.maxReplicas", 3, 'unknown field "spec.maxReplicas"'),
    (BY_API, "spec.triggers.0.metadata.targetValue", 1, "must be of type string"),
    (BY_API, "spec.advanced.scalingModifiers.formel", "a", "unknown field"),
)
"""An example, the path of a wrong value in it, the value, and the answer of the API server."""


@pytest.mark.parametrize("example", [AUTOSCALER, BY_PROMETHEUS, BY_API], ids=["autoscaler", "Prometheus", "API"])
def test_an_example_passes_a_strict_dry_run(cluster_with_keda: ControlPlane, example: dict[str, Any]) -> None:
    """The API server knows every field, accepts every value, and gives no warning."""
    assert cluster_with_keda.judge(example, example, DEFAULT) == []


def test_faults_of_the_examples_are_found(cluster_with_keda: ControlPlane) -> None:
    """The dry run refuses an example with each of these faults."""
    for example, path, value, reason in FAULTS:
        with pytest.raises(RefusedError, match=re.escape(reason)):
            cluster_with_keda.judge(changed(example, path, value), example, DEFAULT)
