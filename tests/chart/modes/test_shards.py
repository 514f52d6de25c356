"""Several pods that share the groups of a cluster (`shards`)."""

import pytest

from stream.config.loader import load
from stream.groups.placement import InstancePart
from tests.chart.rendering import Object, Rendered, case, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]


@pytest.fixture(scope="module")
def sharded() -> Rendered:
    """Return the objects of three pods."""
    return render(case("shards"))


def variables(rendered: Rendered, pod: str) -> dict[str, str]:
    """Return the variables of the container in this pod, as a kubelet fills them in."""
    given: list[Object] = rendered.container["env"]
    fields = {one["name"]: pod for one in given if one.get("valueFrom", {}).get("fieldRef")}
    values = {one["name"]: one["value"] for one in given if "value" in one}
    return {name: value.replace("$(POD_NAME)", fields["POD_NAME"]) for name, value in values.items()}


def test_each_pod_has_its_part(sharded: Rendered) -> None:
    """The number in a pod's name is that of its part. The program reads it from the pod's variables."""
    stateful = sharded.one("StatefulSet")
    assert (stateful["spec"]["replicas"], stateful["spec"]["podManagementPolicy"]) == (3, "Parallel")
    for number in range(3):
        pod = f"{stateful['metadata']['name']}-{number}"
        own = {"LAGWARDEN_JOB_INSTANCE", "LAGWARDEN_HTTP_SIBLINGS"}
        environment = {name: value for name, value in variables(sharded, pod).items() if name in own}
        config = load(environment=environment, flags={"kafka.bootstrap_servers": "b:9092"})
        assert config.job.part == InstancePart(number, 3)
        assert config.http.siblings[number].partition("://")[2].startswith(f"{pod}.")


def test_each_pod_has_an_address_that_selects_it_alone(sharded: Rendered) -> None:
    """The list of siblings has these addresses. A ServiceMonitor scrapes each pod once, through the common Service."""
    stateful, monitor = sharded.one("StatefulSet"), sharded.one("ServiceMonitor")
    labels, selector = stateful["spec"]["template"]["metadata"]["labels"], monitor["spec"]["selector"]["matchLabels"]
    services = {one["metadata"]["name"]: one for one in sharded.of_kind("Service")}
    name = stateful["metadata"]["name"]
    assert services.keys() == {name, f"{name}-0", f"{name}-1", f"{name}-2"}
    urls = variables(sharded, f"{name}-0")["LAGWARDEN_HTTP_SIBLINGS"].split(",")
    for number in range(3):
        service = services.pop(f"{name}-{number}")
        pod = {**labels, "statefulset.kubernetes.io/pod-name": f"{name}-{number}"}
        other = {**labels, "statefulset.kubernetes.io/pod-name": f"{name}-{number + 1}"}
        assert service["spec"]["selector"].items() <= pod.items()
        assert not service["spec"]["selector"].items() <= other.items()
        assert not selector.items() <= service["metadata"]["labels"].items()
        host = f"{name}-{number}.{service['metadata']['namespace']}.svc"
        assert urls[number].endswith(f"://{host}:{service['spec']['ports'][0]['port']}")
    (of_all,) = services.values()
    assert selector.items() <= of_all["metadata"]["labels"].items()
