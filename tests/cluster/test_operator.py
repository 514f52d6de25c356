"""Mode operator on a real API server: its SparkApplication is valid, and the pod that Spark makes of it is admitted."""

from pathlib import Path

import pytest
import yaml

from tests.chart.rendering import case, render
from tests.cluster.release import Release
from tests.cluster.spark_operator import KIND, driver_pod

pytestmark = pytest.mark.cluster


def test_the_pod_that_spark_builds_is_admitted(release: Release, tmp_path: Path) -> None:
    """The pod that Spark builds from the stored object runs lagwarden, with the readiness probe and the limits.

    It has the labels by which Service, NetworkPolicy and PodDisruptionBudget select.
    """
    release.install(case("operator"))
    (stored,) = release.cluster.objects(*KIND, release.namespace)
    # The objects of a list have no apiVersion and no kind.
    pod = driver_pod({"apiVersion": KIND[0], "kind": KIND[1], **stored}, tmp_path)
    assert release.cluster.judge(yaml.safe_dump(pod), pod, release.namespace) == []
    created = release.cluster.create(pod, release.namespace)
    (container,) = (one for one in created["spec"]["containers"] if one["name"] == "lagwarden")
    wanted = render(case("operator")).container
    assert container["command"] == wanted["command"]
    assert container["args"][0] == "driver"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    limits = {"cpu": "2", "memory": "3Gi", "ephemeral-storage": wanted["resources"]["limits"]["ephemeral-storage"]}
    assert container["resources"]["limits"] == limits
    assert created["spec"]["automountServiceAccountToken"] is False
    policies = ("networking.k8s.io/v1", "NetworkPolicy"), ("policy/v1", "PodDisruptionBudget")
    for version, kind in (("v1", "Service"), *policies):
        (found,) = release.cluster.objects(version, kind, release.namespace)
        selector = found["spec"].get("selector") or found["spec"]["podSelector"]
        assert selector.get("matchLabels", selector).items() <= pod["metadata"]["labels"].items()
