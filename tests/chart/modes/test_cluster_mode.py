"""Mode cluster: executors are pods that Spark makes from the chart's template, and reach the driver by its Service."""

import pytest
import yaml

from tests.chart.rendering import Object, Rendered, case, merged, render
from tests.chart.test_policy import offences_of_pod

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]


@pytest.fixture
def rendered() -> Rendered:
    return render(case("cluster"))


def options(rendered: Rendered) -> Object:
    written: Object = yaml.safe_load(rendered.one("ConfigMap")["data"]["lagwarden.yaml"])
    return dict(written["job"])


def template(rendered: Rendered) -> Object:
    return yaml.safe_load(rendered.one("ConfigMap")["data"]["executor.yaml"])


def named(parts: list[Object], key: str = "name") -> dict[str, Object]:
    """Return parts of a pod by their name."""
    return {part[key]: part for part in parts}


def driver_service(rendered: Rendered) -> Object:
    (found,) = (one for one in rendered.of_kind("Service") if one["spec"].get("clusterIP") == "None")
    return found


def test_executors_reach_the_driver_by_its_service(rendered: Rendered) -> None:
    """The driver's host is the headless Service, which has the address of the pod before it is ready."""
    service = driver_service(rendered)
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    assert options(rendered)["driver_host"] == f"{name}.{namespace}.svc"
    assert options(rendered)["driver_bind_address"] == "0.0.0.0"  # noqa: S104 -- the pod's own addresses
    assert service["spec"]["publishNotReadyAddresses"] is True


def test_only_executors_reach_the_ports_of_the_driver(rendered: Rendered) -> None:
    """The policy of the driver selects the pods of the template, which no Service and no StatefulSet selects."""
    _, rule = rendered.one("NetworkPolicy")["spec"]["ingress"]
    (peer,) = rule["from"]
    labels = template(rendered)["metadata"]["labels"]
    assert peer["podSelector"]["matchLabels"].items() <= labels.items()
    selectors = [one["spec"]["selector"] for one in rendered.of_kind("Service")]
    for selector in (*selectors, rendered.one("StatefulSet")["spec"]["selector"]["matchLabels"]):
        assert not selector.items() <= labels.items()


def test_executors_can_reach_the_driver_and_each_other(rendered: Rendered) -> None:
    """The policy of executors allows ingress from both, and egress to both, to DNS and to the brokers."""
    (policy,) = (one for one in rendered.of_kind("NetworkPolicy") if one["metadata"]["name"].endswith("-executor"))
    labels = template(rendered)["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    driver = rendered.one("StatefulSet")["spec"]["selector"]["matchLabels"]
    peers = [{"podSelector": {"matchLabels": part}} for part in (driver, policy["spec"]["podSelector"]["matchLabels"])]
    assert policy["spec"]["ingress"] == [{"from": peers}]
    dns = {"ports": [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]}
    brokers = case("cluster")["networkPolicy"]["egress"]["rules"]
    assert policy["spec"]["egress"] == [dns, {"to": peers}, *brokers]


def test_driver_and_executors_share_the_checkpoint(rendered: Rendered) -> None:
    """Executors mount the claim of the StatefulSet's pod, or the existing one; the variable marks it as shared."""
    stateful_set = rendered.one("StatefulSet")
    (claim,) = stateful_set["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    volume = named(template(rendered)["spec"]["volumes"])["checkpoint"]
    made = f"{claim['metadata']['name']}-{stateful_set['metadata']['name']}-0"
    assert volume["persistentVolumeClaim"]["claimName"] == made
    assert named(rendered.container["env"])["LAGWARDEN_CHECKPOINT_SHARED"]["value"] == "true"
    rendered = render(merged(case("cluster"), {"persistence": {"existingClaim": "shared"}}))
    for pod in (rendered.pod, template(rendered)["spec"]):
        assert named(pod["volumes"])["checkpoint"]["persistentVolumeClaim"]["claimName"] == "shared"


def test_executors_read_the_same_files_but_those_of_http(rendered: Rendered) -> None:
    """Tasks read passwords and certificates from the driver's paths. Only the driver has the HTTP keys."""
    (container,) = template(rendered)["spec"]["containers"]
    driver = named(rendered.container["volumeMounts"], "mountPath")
    assert "/run/secrets/lagwarden/http" in driver
    del driver["/run/secrets/lagwarden/http"]
    assert named(container["volumeMounts"], "mountPath") == driver
    volumes = named(template(rendered)["spec"]["volumes"])
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes.keys()


def test_executors_are_restricted_and_have_no_token(rendered: Rendered) -> None:
    """The template passes the pod security standard `restricted`. Only the driver has a token for the API server."""
    spec = template(rendered)["spec"]
    (container,) = spec["containers"]
    assert offences_of_pod(spec, {"ports": [], **container}) == []
    assert rendered.pod["automountServiceAccountToken"] is True


def test_the_role_is_for_the_account_of_the_driver(rendered: Rendered) -> None:
    """The role covers executors and what Spark makes for them, and is bound to the account of the driver."""
    assert rendered.one("Role")["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["pods", "configmaps", "services", "persistentvolumeclaims"],
            "verbs": ["create", "get", "list", "watch", "delete", "deletecollection", "patch"],
        }
    ]
    binding = rendered.one("RoleBinding")
    assert binding["roleRef"]["name"] == rendered.one("Role")["metadata"]["name"]
    (subject,) = binding["subjects"]
    assert subject["name"] == rendered.pod["serviceAccountName"] == options(rendered)["executor_service_account"]
