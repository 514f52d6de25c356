"""References between objects and to the program: names that must match, secrets that must not be visible."""

import http.server
import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from deploy.chart.values_schema import CHART
from exporters.http.admission import PROBES
from stream.config.config_follower import FOLLOWED
from stream.config.loader import load
from tests.chart.rendering import CASES, Object, Rendered, case, every_render, merged, pod_variables, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

SELECTOR = {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
# The program only checks that there is a file.
KEY = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"


def pod_labels(rendered: Rendered) -> Object:
    return rendered.template["metadata"]["labels"]


def test_everything_that_selects_the_pod_finds_it() -> None:
    """StatefulSet, Service and NetworkPolicy select by labels that the pod has and that no upgrade changes.

    The pod of `helm test` is a hook that none of them selects.
    """
    for name, rendered in every_render():
        found = [rendered.service["spec"]["selector"]]
        found += [one["spec"]["selector"]["matchLabels"] for one in rendered.of_kind("StatefulSet")]
        if rendered.of_kind("NetworkPolicy"):
            found.append(rendered.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"])
        test_pod = rendered.one("Pod")["metadata"]
        assert test_pod["annotations"]["helm.sh/hook"] == "test", name
        for selector in found:
            assert selector.keys() == SELECTOR, name
            assert selector.items() <= pod_labels(rendered).items(), name
            assert not selector.items() <= test_pod["labels"].items(), name


def test_monitor_ingress_and_budget_name_what_exists() -> None:
    """ServiceMonitor and Ingress name the Service and its port. The budget selects the pod and allows a drain."""
    rendered = render(case("everything"))
    monitor, service = rendered.one("ServiceMonitor")["spec"], rendered.service
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["namespaceSelector"]["matchNames"] == [service["metadata"]["namespace"]]
    assert [one["port"] for one in monitor["endpoints"]] == [one["name"] for one in service["spec"]["ports"]]
    rendered = render(case("everything"))
    (rule,) = rendered.one("Ingress")["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    service = rendered.service
    assert path["backend"]["service"] == {
        "name": service["metadata"]["name"],
        "port": {"name": service["spec"]["ports"][0]["name"]},
    }
    rendered = render(case("everything"))
    budget = rendered.one("PodDisruptionBudget")["spec"]
    assert budget["selector"]["matchLabels"].items() <= pod_labels(rendered).items()
    assert budget["maxUnavailable"] == 1


def test_volumes_and_mounts_match() -> None:
    """Each mount has its volume, each volume is mounted, and no two mounts share a path."""
    for name, rendered in every_render():
        claims = rendered.workload["spec"].get("volumeClaimTemplates", [])
        volumes = [each["name"] for each in rendered.pod["volumes"]] + [one["metadata"]["name"] for one in claims]
        mounts = rendered.container["volumeMounts"]
        assert sorted(volumes) == sorted(mount["name"] for mount in mounts), name
        assert len({mount["mountPath"] for mount in mounts}) == len(mounts), name
        assert {"checkpoint", "tmp", "config"} <= set(volumes), name


def test_there_is_one_pod_per_part_and_never_two() -> None:
    """Each part has one replica in a StatefulSet, which starts the next pod only after the end of the last.

    With the policy OrderedReady it would wait forever for a pod that never got ready (kubernetes/kubernetes#67250).
    """
    stateful = {name: one["spec"] for name, rendered in every_render() for one in rendered.of_kind("StatefulSet")}
    shards = {name: case(name).get("shards", 1) for name in CASES if case(name).get("mode") != "operator"}
    assert {name: spec["replicas"] for name, spec in stateful.items()} == shards
    assert {spec["podManagementPolicy"] for spec in stateful.values()} == {"Parallel"}
    assert [name for name, spec in stateful.items() if "updateStrategy" in spec] == []


def test_the_route_leads_to_the_service() -> None:
    """The HTTPRoute names the Service and its port, and removes its path: lagwarden's pages begin at /."""
    for path, rewritten in (("/", []), ("/kafka", ["/"])):
        rendered = render(merged(case("everything"), {"httpRoute": {"path": path}}))
        (rule,) = rendered.one("HTTPRoute")["spec"]["rules"]
        service = rendered.one("Service")
        (port,) = service["spec"]["ports"]
        assert rule["backendRefs"] == [{"name": service["metadata"]["name"], "port": port["port"]}]
        assert [one["urlRewrite"]["path"]["replacePrefixMatch"] for one in rule.get("filters", [])] == rewritten


class _Answer(http.server.BaseHTTPRequestHandler):
    """Answers like /readyz, with the status code in the path."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()
        self.wfile.write(b'{"reasons": ["catching up"]}')

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_helm_test_prints_the_answer_of_readyz() -> None:
    """The program of the test pod succeeds when /readyz does, and prints its answer."""
    (container,) = render(case("minimal")).one("Pod")["spec"]["containers"]
    program, url = container["args"]
    assert url == "http://watch-lagwarden.kafka.svc:10848/readyz"
    for code, exit_code in ((200, 0), (503, 1)):
        with http.server.HTTPServer(("127.0.0.1", 0), _Answer) as server:
            threading.Thread(target=server.handle_request, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/{code}"
            done = subprocess.run([sys.executable, "-c", program, address], capture_output=True, text=True, check=False)
        assert done.returncode == exit_code
        assert "catching up" in done.stdout + done.stderr


def test_kubernetes_ends_a_pod_only_when_it_hangs() -> None:
    """Kubernetes kills later than the 30 seconds after which lagwarden ends itself.

    Probes that restart the container use /livez, which succeeds without Kafka. Only readiness uses /readyz.
    """
    for name, rendered in every_render():
        assert rendered.pod["terminationGracePeriodSeconds"] > 30, name
        paths = [
            rendered.container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")
        ]
        assert paths == ["/livez", "/livez", "/readyz"], name
        assert set(paths) <= set(PROBES), "the kubelet sends no login"


@pytest.mark.parametrize("name", CASES)
def test_the_program_accepts_the_settings(name: str, tmp_path: Path) -> None:
    """The pod's file and variables, with the files of Secrets, are a valid configuration."""
    rendered = render(case(name))
    variables = pod_variables(rendered, tmp_path, {"tls.key": KEY, "password": "hush"})
    config = load(tmp_path / "lagwarden.yaml", variables)
    wanted = case(name)["config"]
    assert config.kafka.security_protocol == wanted["kafka"].get("security_protocol", "PLAINTEXT")
    assert config.kafka.bootstrap_servers[0].startswith(("broker-", "kafka-"))
    in_store = case(name).get("objectStore", {}).get("address")
    assert str(config.checkpoint.dir) == (in_store or "/var/lib/lagwarden/checkpoint")
    rules = case(name).get("rules", {})
    assert config.http.grafana_url == rules.get("grafanaUrl")
    assert config.http.runbook_url == rules.get("runbookUrl")
    assert config.http.external_url == rules.get("pageUrl")
    if name == "everything":
        assert config.job.max_offsets_per_trigger == 20_000_000
    if name == "scram":
        assert config.kafka.sasl_username == "from-a-reference"
    if config.kafka.sasl_password is not None:
        assert config.kafka.sasl_password.reveal() == "hush"


def test_secrets_are_only_mounted_as_files() -> None:
    """They are never text or a variable. The token is for the brokers' audience, and none for Kubernetes' API."""
    secret = re.compile("PASSWORD|CLIENT_SECRET|TOKEN")
    for name in ("scram", "mutual-tls", "oauth-client", "web-login", "web-token", "otlp", "everything"):
        rendered = render(case(name))
        assert rendered.of_kind("Secret") == []
        named = [each["name"] for each in rendered.container["env"] if secret.search(each["name"])]
        assert [each for each in named if not each.endswith("_FILE")] == []
        secrets = [
            source["secret"]
            for volume in rendered.pod["volumes"]
            for source in (volume, *volume.get("projected", {}).get("sources", []))
            if "secret" in source
        ]
        # Only the keys that are needed, so that the rest of a shared Secret stays out of the pod.
        assert [bool(each["items"]) for each in secrets] == [True] * len(secrets) != [], name
        assert "password" not in json.dumps(rendered.of_kind("ConfigMap"))
    rendered = render(case("oauth-token"))
    (token,) = (volume["projected"] for volume in rendered.pod["volumes"] if "projected" in volume)
    assert token["sources"] == [
        {"serviceAccountToken": {"audience": "kafka", "expirationSeconds": 3600, "path": "token"}}
    ]
    assert rendered.pod["automountServiceAccountToken"] is False


def test_a_changed_setting_is_a_new_pod() -> None:
    """The pod's template changes with the file, but for the options that the program reads again."""

    def mark(values: Object) -> Any:
        return render(values).template["metadata"]["annotations"]["checksum/config"]

    changed = merged(case("minimal"), {"config": {"log": {"level": "debug"}}})
    assert mark(changed) != mark(case("minimal")) == mark(case("minimal"))
    assert {key.partition(".")[2] for key in FOLLOWED} == {"owners", "maintenance", "silences", "targets"}
    owners = {"groups": {"owners": [{"groups": ".*", "team": "a"}]}, "metrics": {"targets": [".*=1m"]}}
    assert mark(merged(case("minimal"), {"config": owners})) == mark(case("minimal"))
    assert mark(merged(changed, {"config": owners})) == mark(changed)


def test_no_template_queries_the_cluster() -> None:
    """A render on a laptop or by Argo CD is the installed one, because no object depends on the cluster.

    One exception refuses an upgrade early, with the remedy, if the API server would refuse it.
    """
    for template in (path for path in (CHART / "templates").rglob("*") if path.is_file()):
        text = template.read_text()
        assert ".Capabilities" not in text
        assert "lookup " not in text or template.name == "_storage.tpl"


MONITOR = {"serviceMonitor": {"enabled": True}}
NOTES: list[tuple[Object, str]] = [
    ({}, "Prometheus does not scrape it yet"),
    ({}, "/metrics as the job `lagwarden`"),
    (MONITOR, "Prometheus may not select the ServiceMonitor"),
    ({"serviceMonitor": {"enabled": True, "labels": {"release": "kps"}}}, '{"release":"kps"}'),
    ({"rules": {"enabled": True}}, "Set rules.labels"),
    ({"rules": {"enabled": True}, "config": {"webhook": {"format": "alertmanager"}}}, "each fault is two alerts"),
    (
        {"rules": {"enabled": True}},
        "http://watch-lagwarden.kafka.svc:10848, which only clients inside the cluster reach",
    ),
    ({}, "HTTP has neither TLS nor login"),
    ({"http": {"certificate": {"existingSecret": "s"}}}, "TLS and no login"),
    ({"http": {"certificate": {"existingSecret": "s"}}}, "open https://127.0.0.1:10848/"),
    ({"http": {"bearerToken": {"existingSecret": "s"}}}, "a login and no TLS"),
    ({"http": {"webConfig": {"existingSecret": "s"}}, **MONITOR}, "set serviceMonitor.basicAuth if"),
    ({}, "exec watch-lagwarden-0 --"),
    ({"mode": "operator"}, "exec $(kubectl"),
    ({"mode": "operator"}, "kubectl --namespace kafka delete pod"),
    ({"persistence": {"enabled": False}}, "reads the whole offsets topic again"),
    ({}, "With `--wait`, Helm waits until the pod is ready"),
    ({"shards": 3}, "waits until all pods are ready"),
    ({}, "logs watch-lagwarden-0"),
]


def test_the_notes_match_the_installed_objects() -> None:
    """The notes have the remaining steps after the installation."""
    notes = [(render(merged(case("minimal"), change)).notes, sentence) for change, sentence in NOTES]
    assert [sentence for text, sentence in notes if sentence not in text] == []
