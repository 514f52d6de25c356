"""The pod passes Kubernetes' pod security standard `restricted`, and some further checks."""

from collections.abc import Callable

import pytest

from tests.chart.rendering import CASES, Object, Rendered, case, every_render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

OF_MODE = {"cluster": {"Role", "RoleBinding"}, "operator": {"PersistentVolumeClaim", "SparkApplication"}}
"""Kinds of objects that only this mode has."""
KINDS = {
    *("ConfigMap", "HTTPRoute", "Ingress", "NetworkPolicy", "Pod", "PodDisruptionBudget", "PrometheusRule", "Service"),
    *("ServiceAccount", "ServiceMonitor", "StatefulSet"),
}
"""Kinds of objects that every mode may have."""
# Kubernetes: "Pod Security Standards", the volume types that restricted allows.
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


# The checks of `restricted`, then further checks of this chart: a name, and a function of the pod, the container and
# both security contexts that returns whether they violate the check.
REFUSED: dict[str, Callable[[Object, Object, list[Object]], bool]] = {
    "host": lambda pod, _, __: any(pod.get(field) for field in ("hostNetwork", "hostPID", "hostIPC")),
    "hostPort": lambda _, container, __: any("hostPort" in port for port in container["ports"]),
    "runAsNonRoot": lambda _, __, both: not any(context.get("runAsNonRoot") for context in both),
    "runAsUser": lambda _, __, both: any(context.get("runAsUser") == 0 for context in both),
    "seccompProfile": lambda _, __, both: (
        not any(context.get("seccompProfile", {}).get("type") == "RuntimeDefault" for context in both)
    ),
    "privileged": lambda _, __, both: bool(both[1].get("privileged")),
    "allowPrivilegeEscalation": lambda _, __, both: both[1].get("allowPrivilegeEscalation") is not False,
    "capabilities": lambda _, __, both: both[1].get("capabilities") != {"drop": ["ALL"]},
    "volumes": lambda pod, _, __: any(
        kind not in VOLUMES for volume in pod["volumes"] for kind in volume if kind != "name"
    ),
    "readOnlyRootFilesystem": lambda _, __, both: not both[1].get("readOnlyRootFilesystem"),
    "automountServiceAccountToken": lambda pod, _, __: pod.get("automountServiceAccountToken") is not False,
}


def offences(rendered: Rendered) -> list[str]:
    """Return the violations of the pod, or else those of the pod of `helm test`."""
    return offences_of_pod(rendered.pod, rendered.container) or _test_offences(rendered.one("Pod")["spec"])


def _test_offences(pod: Object) -> list[str]:
    (container,) = pod["containers"]
    return offences_of_pod({"volumes": [], **pod}, {"ports": [], **container})


def offences_of_pod(pod: Object, container: Object) -> list[str]:
    both = [pod.get("securityContext", {}), container.get("securityContext", {})]
    return [name for name, offends in REFUSED.items() if offends(pod, container, both)]


def test_every_set_of_values_is_restricted() -> None:
    """No value of the chart violates the standard. Only mode cluster mounts a token, and no account mounts its own."""
    allowed = {name: ["automountServiceAccountToken"] * (case(name).get("mode") == "cluster") for name in CASES}
    assert {name: offences(rendered) for name, rendered in every_render()} == allowed
    accounts = [account for _, rendered in every_render() for account in rendered.of_kind("ServiceAccount")]
    assert {account["automountServiceAccountToken"] for account in accounts} == {False}


def test_the_chart_has_no_rights() -> None:
    """The chart has no Role, binding or cluster-scoped object. Only mode cluster has rights, in its namespace."""
    kinds = {name: {one["kind"] for one in rendered.objects} for name, rendered in every_render()}
    more = {name: found - KINDS - OF_MODE.get(case(name).get("mode", "local"), set()) for name, found in kinds.items()}
    assert {name: found for name, found in more.items() if found} == {}
