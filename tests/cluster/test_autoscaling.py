"""The examples of docs/autoscaling.md on a real API server, ScaledObjects by KEDA's own definition."""

from typing import Any

import pytest

from deploy.chart.tools import KEDA, ToolsUnreachableError, definition_of
from sandbox.kubernetes.control_plane import ControlPlane
from tests.deploy.autoscaling import AUTOSCALER, BY_API, BY_PROMETHEUS

pytestmark = pytest.mark.cluster

DEFAULT = "default"


@pytest.fixture(scope="module")
def cluster_with_keda(cluster: ControlPlane) -> ControlPlane:
    try:
        cluster.define(definition_of(KEDA, KEDA.newest, "ScaledObject"))
    except ToolsUnreachableError as error:
        pytest.skip(str(error))
    return cluster


@pytest.mark.parametrize("example", [AUTOSCALER, BY_PROMETHEUS, BY_API], ids=["autoscaler", "Prometheus", "API"])
def test_an_example_passes_a_strict_dry_run(cluster_with_keda: ControlPlane, example: dict[str, Any]) -> None:
    """The API server knows every field, accepts every value, and gives no warning."""
    assert cluster_with_keda.judge(example, example, DEFAULT) == []
