"""References between objects and to the program: names that must match, secrets that must not be visible."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from deploy.chart.values_schema import CHART
from stream.config.loader import load
from tests.chart.rendering import CASES, Object, Rendered, case, merged, render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

SELECTOR = {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
# The program only checks that there is a file.
KEY = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"


WITH_STATEFUL_SET = [name for name in CASES if case(name).get("mode") != "operator"]


@pytest.fixture(params=CASES)
def rendered(request: pytest.FixtureRequest) -> Rendered:
    """Return the objects of each set of values in turn."""
    return render(case(request.param))


def pod_labels(rendered: Rendered) -> Object:
    """Return the labels of the pod."""
    labels: Object = rendered.template["metadata"]["labels"]
    return labels


def test_everything_that_selects_the_pod_finds_it(rendered: Rendered) -> None:
    """StatefulSet, Service and NetworkPolicy select by labels that the pod has and that no upgrade changes."""
    found = [rendered.service["spec"]["selector"]]
    found += [one["spec"]["selector"]["matchLabels"] for one in rendered.of_kind("StatefulSet")]
    if rendered.of_kind("NetworkPolicy"):
        found.append(rendered.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"])
    for selector in found:
        assert selector.keys() == SELECTOR
        assert selector.items() <= pod_labels(rendered).items()


def test_the_service_monitor_finds_the_service() -> None:
    """The ServiceMonitor's selector, namespace and port are the Service's."""
    rendered = render(case("everything"))
    monitor, service = rendered.one("ServiceMonitor")["spec"], rendered.service
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["namespaceSelector"]["matchNames"] == [service["metadata"]["namespace"]]
    assert [one["port"] for one in monitor["endpoints"]] == [one["name"] for one in service["spec"]["ports"]]


def test_ports_have_one_name(rendered: Rendered) -> None:
    """Services, probes and policies name the container's ports."""
    ports = {port["name"] for port in rendered.container["ports"]}
    named = {port["targetPort"] for one in rendered.of_kind("Service") for port in one["spec"]["ports"]}
    named |= {rendered.container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe")}
    for policy in rendered.of_kind("NetworkPolicy"):
        named |= {port["port"] for rule in policy["spec"]["ingress"] for port in rule.get("ports", [])}
    assert named == ports


def test_volumes_and_mounts_match(rendered: Rendered) -> None:
    """Each mount has its volume, each volume is mounted, and no two mounts share a path."""
    claims = rendered.workload["spec"].get("volumeClaimTemplates", [])
    volumes = [volume["name"] for volume in rendered.pod["volumes"]] + [one["metadata"]["name"] for one in claims]
    mounts = rendered.container["volumeMounts"]
    assert sorted(volumes) == sorted(mount["name"] for mount in mounts)
    assert len({mount["mountPath"] for mount in mounts}) == len(mounts)
    assert {"checkpoint", "tmp", "config"} <= set(volumes)


@pytest.mark.parametrize("name", WITH_STATEFUL_SET)
def test_there_is_one_pod_per_part_and_never_two(name: str) -> None:
    """Each part has one replica in a StatefulSet, which starts the next pod only after the end of the last."""
    stateful = render(case(name)).one("StatefulSet")
    assert stateful["spec"]["replicas"] == case(name).get("shards", 1)
    assert "updateStrategy" not in stateful["spec"]


@pytest.mark.parametrize("name", WITH_STATEFUL_SET)
def test_a_pod_that_never_got_ready_is_replaced(name: str) -> None:
    """A StatefulSet with the policy OrderedReady waits for such a pod forever (kubernetes/kubernetes#67250)."""
    assert render(case(name)).one("StatefulSet")["spec"]["podManagementPolicy"] == "Parallel"


@pytest.mark.parametrize(
    ("value", "wanted"), [("fast", {"storageClassName": "fast"}), ("-", {"storageClassName": ""}), ("", {})]
)
def test_storage_class(value: str, wanted: Object) -> None:
    """A hyphen is Kubernetes' empty class, which provisions nothing. An empty value selects the cluster's default."""
    values = merged(case("minimal"), {"persistence": {"storageClass": value}})
    (claim,) = render(values).one("StatefulSet")["spec"]["volumeClaimTemplates"]
    assert {name: claim["spec"][name] for name in claim["spec"].keys() & {"storageClassName"}} == wanted


def test_the_ingress_leads_to_the_service() -> None:
    """The Ingress names the Service and its port."""
    rendered = render(case("everything"))
    (rule,) = rendered.one("Ingress")["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    service = rendered.service
    assert path["backend"]["service"] == {
        "name": service["metadata"]["name"],
        "port": {"name": service["spec"]["ports"][0]["name"]},
    }


@pytest.mark.parametrize(("path", "is_rewritten"), [("/", False), ("/kafka", True)])
def test_the_route_leads_to_the_service(path: str, *, is_rewritten: bool) -> None:
    """The HTTPRoute names the Service and its port, and removes its path: lagwarden's pages begin at /."""
    rendered = render(merged(case("everything"), {"httpRoute": {"path": path}}))
    (rule,) = rendered.one("HTTPRoute")["spec"]["rules"]
    service = rendered.one("Service")
    (port,) = service["spec"]["ports"]
    assert rule["backendRefs"] == [{"name": service["metadata"]["name"], "port": port["port"]}]
    rewritten = [one["urlRewrite"]["path"]["replacePrefixMatch"] for one in rule.get("filters", [])]
    assert rewritten == (["/"] if is_rewritten else [])


def test_a_drain_may_evict_the_pod() -> None:
    """The budget selects the pod and allows its eviction. Any other budget for one replica would block a drain."""
    rendered = render(case("everything"))
    budget = rendered.one("PodDisruptionBudget")["spec"]
    assert budget["selector"]["matchLabels"].items() <= pod_labels(rendered).items()
    assert budget["maxUnavailable"] == 1


# --- helm test ---


def test_nothing_selects_the_pod_of_helm_test(rendered: Rendered) -> None:
    """The test pod is a hook, gets no requests of the Service, and is no pod of the StatefulSet."""
    pod = rendered.one("Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert not rendered.service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()


class _Answer(http.server.BaseHTTPRequestHandler):
    """Answers like /readyz, with the status code in the path."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()
        self.wfile.write(b'{"reasons": ["catching up"]}')

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.mark.parametrize(("code", "exit_code"), [(200, 0), (503, 1)])
def test_helm_test_prints_the_answer_of_readyz(code: int, exit_code: int) -> None:
    """The program of the test pod succeeds when /readyz does, and prints its answer."""
    (container,) = render(case("minimal")).one("Pod")["spec"]["containers"]
    program, url = container["args"]
    assert url == "http://watch-lagwarden.kafka.svc:10848/readyz"
    with http.server.HTTPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{code}"
        done = subprocess.run([sys.executable, "-c", program, address], capture_output=True, text=True, check=False)
    assert done.returncode == exit_code
    assert "catching up" in done.stdout + done.stderr


def test_the_grace_period_exceeds_the_programs_own_limit(rendered: Rendered) -> None:
    """Kubernetes kills later than the 30 seconds after which lagwarden ends itself."""
    assert rendered.pod["terminationGracePeriodSeconds"] > 30


def test_probes_never_restart_a_pod_that_only_waits(rendered: Rendered) -> None:
    """Probes that restart the container use /livez, which succeeds without Kafka. Only readiness uses /readyz."""
    paths = {probe: rendered.container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness")}
    assert set(paths.values()) == {"/livez"}
    assert rendered.container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_every_object_has_labels_and_a_namespace(rendered: Rendered) -> None:
    """All objects of the chart have its labels and a namespace."""
    for one in rendered.objects:
        if one["metadata"]["name"].startswith("beside-"):
            continue
        assert one["metadata"]["labels"].keys() >= SELECTOR
        assert one["metadata"]["namespace"]


def wanted_rules(name: str) -> Object:
    """Return the values of the rules in a case."""
    rules: Object = case(name).get("rules", {})
    return rules


@pytest.mark.parametrize("name", CASES)
def test_the_program_accepts_the_settings(name: str, tmp_path: Path) -> None:
    """The pod's file and variables, with the files of Secrets, are a valid configuration."""
    rendered = render(case(name))
    config = load(_written(rendered, tmp_path), _environment(rendered, tmp_path))
    wanted = case(name)["config"]
    assert config.kafka.security_protocol == wanted["kafka"].get("security_protocol", "PLAINTEXT")
    assert config.kafka.bootstrap_servers[0].startswith(("broker-", "kafka-"))
    in_store = case(name).get("objectStore", {}).get("address")
    assert str(config.checkpoint.dir) == (in_store or "/var/lib/lagwarden/checkpoint")
    rules = wanted_rules(name)
    assert config.http.grafana_url == rules.get("grafanaUrl")
    assert config.http.runbook_url == rules.get("runbookUrl")
    if name == "everything":
        assert config.job.max_offsets_per_trigger == 20_000_000
    if name == "scram":
        assert config.kafka.sasl_username == "from-a-reference"
    if config.kafka.sasl_password is not None:
        assert config.kafka.sasl_password.reveal() == "hush"


def _written(rendered: Rendered, folder: Path) -> Path:
    """Write the files of the ConfigMap to a folder; return that of the configuration, which names the others there."""
    for name, text in rendered.one("ConfigMap")["data"].items():
        (folder / name).write_text(text.replace("/etc/lagwarden/", f"{folder}/"))
    return folder / "lagwarden.yaml"


def mounted_items(rendered: Rendered) -> Iterator[tuple[str, Object]]:
    """Yield the volume and the item of each key of a Secret or ConfigMap that is mounted as a file."""
    for volume in rendered.pod["volumes"]:
        for source in (volume, *volume.get("projected", {}).get("sources", [])):
            for item in (source.get("secret") or source.get("configMap") or {}).get("items", []):
                yield volume["name"], item


def _environment(rendered: Rendered, folder: Path) -> dict[str, str]:
    """Return the container's variables as in the pod, with mounted files below a folder of the test."""
    contents = {"tls.key": KEY, "password": "hush"}
    for volume, item in mounted_items(rendered):
        path = folder / volume / item["path"]
        path.parent.mkdir(exist_ok=True)
        path.write_text(contents.get(item["path"], "text"))
    found = {}
    for variable in rendered.container["env"]:
        text = variable.get("value", "broker-9:9092" if "SERVERS" in variable["name"] else "from-a-reference")
        text = text.replace("$(POD_NAME)", f"{rendered.workload['metadata']['name']}-0")
        found[variable["name"]] = text.replace("/run/secrets/lagwarden", str(folder))
    return found


@pytest.mark.parametrize(
    "name", ["scram", "mutual-tls", "oauth-client", "web-login", "web-token", "otlp", "everything"]
)
def test_secrets_are_only_mounted_as_files(name: str) -> None:
    """Passwords and keys are files of existing Secrets: never text, a variable or part of a ConfigMap."""
    rendered = render(case(name))
    assert rendered.of_kind("Secret") == []
    for variable in rendered.container["env"]:
        is_secret = any(word in variable["name"] for word in ("PASSWORD", "CLIENT_SECRET", "TOKEN"))
        assert not is_secret or variable["name"].endswith("_FILE")
    secrets = [
        source["secret"]
        for volume in rendered.pod["volumes"]
        for source in (volume, *volume.get("projected", {}).get("sources", []))
        if "secret" in source
    ]
    assert secrets
    # Only the keys that are needed, so that the rest of a shared Secret stays out of the pod.
    assert all(secret["items"] for secret in secrets)
    assert "password" not in json.dumps(rendered.of_kind("ConfigMap"))


def test_the_token_of_the_service_account_is_mounted() -> None:
    """The pod has a token for the brokers' audience, and none for the API of Kubernetes."""
    rendered = render(case("oauth-token"))
    (token,) = (volume["projected"] for volume in rendered.pod["volumes"] if "projected" in volume)
    assert token["sources"] == [
        {"serviceAccountToken": {"audience": "kafka", "expirationSeconds": 3600, "path": "token"}}
    ]
    assert rendered.pod["automountServiceAccountToken"] is False


def test_a_changed_setting_is_a_new_pod() -> None:
    """The program reads its file once, so the pod's template changes with the file."""

    def mark(values: Object) -> Any:
        return render(values).template["metadata"]["annotations"]["checksum/config"]

    changed = merged(case("minimal"), {"config": {"log": {"level": "debug"}}})
    assert mark(changed) != mark(case("minimal")) == mark(case("minimal"))


def test_no_template_queries_the_cluster() -> None:
    """A render on a laptop or by Argo CD is the installed one, because no object depends on the cluster.

    One exception refuses an upgrade early, with the remedy, if the API server would refuse it.
    """
    for template in (path for path in (CHART / "templates").rglob("*") if path.is_file()):
        text = template.read_text()
        assert ".Capabilities" not in text
        assert "lookup " not in text or template.name == "_storage.tpl"


def test_long_names_fit() -> None:
    """A StatefulSet's name with the suffix of Kubernetes fits into a label for any release name."""
    name = render(merged(case("minimal"), {"fullnameOverride": "x" * 80})).one("StatefulSet")["metadata"]["name"]
    assert len(f"{name}-0123456789") <= 63


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param({}, "Prometheus does not scrape it yet", id="no ServiceMonitor: next step"),
        pytest.param({}, "/metrics as the job `lagwarden`", id="no ServiceMonitor: job of the rules"),
        pytest.param(
            {"serviceMonitor": {"enabled": True}},
            "Prometheus may not select the ServiceMonitor",
            id="a ServiceMonitor without labels",
        ),
        pytest.param(
            {"serviceMonitor": {"enabled": True, "labels": {"release": "kps"}}},
            '{"release":"kps"}',
            id="a ServiceMonitor with labels",
        ),
        pytest.param({"rules": {"enabled": True}}, "set rules.labels", id="rules without labels"),
        pytest.param({}, "HTTP has neither TLS nor login", id="no TLS and no login"),
        pytest.param(
            {"http": {"certificate": {"existingSecret": "s"}}}, "TLS and no login", id="a certificate without users"
        ),
        pytest.param(
            {"http": {"bearerToken": {"existingSecret": "s"}}}, "a login and no TLS", id="a token in clear text"
        ),
        pytest.param(
            {"http": {"webConfig": {"existingSecret": "s"}}, "serviceMonitor": {"enabled": True}},
            "set serviceMonitor.basicAuth if",
            id="a ServiceMonitor without a login",
        ),
        pytest.param(
            {"http": {"certificate": {"existingSecret": "s"}}}, "open https://127.0.0.1:10848/", id="the page with TLS"
        ),
        pytest.param({}, "exec watch-lagwarden-0 --", id="the pod of the StatefulSet"),
        pytest.param({"mode": "operator"}, "exec $(kubectl", id="a pod with a changing name"),
        pytest.param({"mode": "operator"}, "kubectl --namespace kafka delete pod", id="restart by the operator"),
        pytest.param({"persistence": {"enabled": False}}, "reads the whole offsets topic again", id="no volume"),
        pytest.param({}, "With `--wait`, Helm waits until the pod is ready", id="what --wait waits for"),
        pytest.param({"shards": 3}, "waits until all pods are ready", id="what --wait waits for with several pods"),
        pytest.param({}, "logs watch-lagwarden-0", id="logs of a pod that is not ready"),
    ],
)
def test_the_notes_match_the_installed_objects(change: Object, sentence: str) -> None:
    """The notes have the remaining steps after the installation."""
    assert sentence in render(merged(case("minimal"), change)).notes
