"""The chart on a real API server: each set of values installs, and `restricted` admits its pod."""

import pytest
import yaml

from sandbox.kubernetes.control_plane import ControlPlane
from tests.chart.rendering import CASES, NAMESPACE, Object, case, documents, render
from tests.cluster.release import Release
from tests.deploy.autoscaling import AUTOSCALER, BY_API, BY_PROMETHEUS

pytestmark = pytest.mark.cluster


def hooks(objects: tuple[Object, ...]) -> list[str]:
    """Return the names of the objects that `helm install` does not create."""
    return [one["metadata"]["name"] for one in objects if "helm.sh/hook" in one["metadata"].get("annotations", {})]


@pytest.mark.parametrize("name", CASES)
def test_each_set_of_values_is_installed(release: Release, name: str) -> None:
    """`helm install` creates every object, and the StatefulSet its pod, in a namespace that enforces `restricted`."""
    release.install(case(name))
    rendered = render(case(name))
    # The pod of a SparkApplication is checked in test_operator.py, because no operator runs here to create it.
    if rendered.of_kind("StatefulSet"):
        pod = release.pod()["spec"]
        assert [one["name"] for one in pod["containers"]] == [one["name"] for one in rendered.pod["containers"]]
        assert pod["serviceAccountName"] == rendered.pod["serviceAccountName"]
    for one in rendered.objects:
        if one["metadata"]["name"] not in hooks(rendered.objects):
            namespace = one["metadata"].get("namespace", NAMESPACE).replace(NAMESPACE, release.namespace)
            assert release.cluster.get(one["apiVersion"], one["kind"], namespace, one["metadata"]["name"]) is not None


@pytest.mark.parametrize("name", CASES)
def test_each_object_passes_a_strict_dry_run(cluster: ControlPlane, name: str) -> None:
    """The API server knows every field, finds no duplicate, and gives no warning, also for `helm test`."""
    texts = documents(case(name))
    assert len(texts) == len(render(case(name)).objects)
    assert [cluster.judge(text, yaml.safe_load(text), NAMESPACE) for text in texts] == [[]] * len(texts)


@pytest.mark.parametrize("example", [AUTOSCALER, BY_PROMETHEUS, BY_API], ids=["autoscaler", "Prometheus", "API"])
def test_an_example_of_an_autoscaler_passes_a_strict_dry_run(cluster: ControlPlane, example: Object) -> None:
    """The API server knows every field of docs/autoscaling.md, by KEDA's own definition, and gives no warning."""
    assert cluster.judge(example, example, "default") == []
