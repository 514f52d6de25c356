"""One cluster for all tests, and a namespace and a release per test; without a cluster, tests skip with the reason."""

import itertools
from collections.abc import Iterator
from typing import Final

import pytest

from deploy.chart.tools import CUSTOM, KEDA, ToolsUnreachableError, custom_definition, definition_of, python_tools
from sandbox.kubernetes.control_plane import ControlPlane
from sandbox.kubernetes.programs import KubernetesMissingError, require_programs
from tests.chart.rendering import NAMESPACE, Object
from tests.cluster import spark_operator
from tests.cluster.release import Release

SITE: Final[tuple[Object, ...]] = (
    {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "monitoring"}, "value": 1000},
)
"""Objects that the values of ci/ expect in a cluster, in addition to CRDs and the namespace `monitoring`."""
_numbers = itertools.count(1)


def new_namespace(cluster: ControlPlane, name: str) -> str:
    """Create a namespace that enforces the pod security standard `restricted`; return its name."""
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    cluster.wait_for(lambda: cluster.get("v1", "ServiceAccount", name, "default"), f"the account of {name}")
    return name


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Return a running cluster with the CRDs, classes and namespaces that the values of ci/ expect."""
    try:
        require_programs()
        python_tools()
        definitions = [custom_definition(CUSTOM[kind].newest, kind) for kind in CUSTOM]
        definitions.append(definition_of(KEDA, KEDA.newest, "ScaledObject"))
    except (KubernetesMissingError, ToolsUnreachableError) as error:
        pytest.skip(str(error))
    with ControlPlane(tmp_path_factory.mktemp("kubernetes")) as running:
        for definition in (*definitions, spark_operator.definition(running)):
            running.define(definition)
        for one in SITE:
            running.create(one)
        for name in (NAMESPACE, "monitoring"):
            new_namespace(running, name)
        yield running


@pytest.fixture
def namespace(cluster: ControlPlane) -> str:
    """Return the name of a new namespace that enforces `restricted`."""
    return new_namespace(cluster, f"test-{next(_numbers)}")


@pytest.fixture
def release(cluster: ControlPlane, namespace: str) -> Iterator[Release]:
    """Return a release that is not installed yet, in a new namespace; it is uninstalled at the end."""
    with Release(cluster, namespace) as one:
        yield one
