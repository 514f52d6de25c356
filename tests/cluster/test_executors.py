"""Mode cluster on a real API server: the driver may only start executors, and `restricted` admits them."""

from typing import Any

import pytest
import yaml

from tests.chart.rendering import case
from tests.cluster.release import Release

pytestmark = pytest.mark.cluster


def executor_of(release: Release) -> dict[str, Any]:
    """Return an executor's pod: the installed template with what Spark adds to it."""
    (written,) = (
        one["data"]
        for one in release.cluster.objects("v1", "ConfigMap", release.namespace)
        if "executor.yaml" in one["data"]
    )
    pod: dict[str, Any] = yaml.safe_load(written["executor.yaml"])
    job = yaml.safe_load(written["lagwarden.yaml"])["job"]
    pod["metadata"]["name"] = "lagwarden-exec-1"
    pod["metadata"]["labels"]["spark-role"] = "executor"
    pod["spec"] |= {"restartPolicy": "Never", "serviceAccountName": job["executor_service_account"]}
    (container,) = pod["spec"]["containers"]
    container |= {
        "name": "spark-kubernetes-executor",
        "image": job["executor_image"],
        "args": ["executor"],
        "env": [*container["env"], {"name": "SPARK_EXECUTOR_ID", "value": "1"}],
        "resources": {"requests": {"cpu": "2", "memory": "3584Mi"}, "limits": {"cpu": "2", "memory": "3584Mi"}},
    }
    return pod


def test_executors_are_admitted(release: Release) -> None:
    """A pod of the template, with Spark's additions, passes a strict dry run and is admitted under `restricted`."""
    release.install(case("cluster"))
    release.pod()
    executor = executor_of(release)
    assert release.cluster.judge(yaml.safe_dump(executor), executor, release.namespace) == []
    created = release.cluster.create(executor, release.namespace)
    assert created["spec"]["automountServiceAccountToken"] is False


def test_the_driver_has_only_the_rights_of_a_driver(release: Release) -> None:
    """The account of the driver may make and delete executors in its namespace, and reads no Secret."""
    release.install(case("cluster"))
    account = release.pod()["spec"]["serviceAccountName"]

    def is_allowed(verb: str, resource: str, namespace: str) -> bool:
        name, _, part = resource.partition("/")
        spec = {
            "user": f"system:serviceaccount:{release.namespace}:{account}",
            "resourceAttributes": {"namespace": namespace, "verb": verb, "resource": name, "subresource": part},
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}
        return bool(release.cluster.create(review)["status"]["allowed"])

    for verb, resource, wanted in (
        ("create", "pods", True),
        ("deletecollection", "pods", True),
        ("create", "configmaps", True),
        ("delete", "persistentvolumeclaims", True),
        ("get", "secrets", False),
        ("create", "pods/exec", False),
        ("update", "statefulsets", False),
    ):
        assert is_allowed(verb, resource, release.namespace) is wanted, (verb, resource)
        assert not is_allowed(verb, resource, "default"), (verb, resource)
