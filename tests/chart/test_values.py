"""Wrong values are refused with their path, and contradictions with a sentence."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
import yaml

from deploy.chart.readme import VALUES
from deploy.chart.values_schema import schema
from tests.chart.rendering import ACCEPTED, Object, case, merged, refusal, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]


def at(path: str, value: Any) -> Object:
    for part in reversed(path.split(".")):
        value = {part: value}
    return dict(value)


def changed(name: str, change: Mapping[str, Any]) -> Object:
    """Return the values of a case with other values at dotted paths; without a name, only those."""
    return functools.reduce(merged, (at(path, value) for path, value in change.items()), case(name) if name else {})


UNKNOWN: Final = {
    # Names that no value has, or had.
    "replicas": 2,
    "replicaCount": 2,
    "service.prot": 1,
    "persistence.accessModes": ["ReadWriteMany"],
    "config.job.triger_interval": 5,
    "bootstrapServersFrom.secretKeyRef": {"name": "a", "key": "b", "kye": "c"},
    # Secrets in plain values.
    "config.kafka.sasl_password": "hush",
    "config.kafka.oauth_client_secret": "hush",
    "http.users": {"prometheus": "$2y$10$"},
    "credentials.sasl.password": "hush",
    # Options of the program that the chart decides.
    "config.kafka.oauth_token_file": "/token",
    "config.kafka.ssl_ca_file": "/ca",
    "config.job.driver_port": 1,
    "config.http.port": 1,
    "config.http.web_config": "/x",
    "config.checkpoint": {"dir": "/x"},
    "config.job.instance": "0/3",
    "config.http.siblings": ["http://a"],
}
WRONG: Final = {
    "mode": "yarn",
    "executor.memoryOverhead": "1Gi",
    "terminationGracePeriodSeconds": 10,
    "image.digest": "sha256:abc",
    "image.pullPolicy": "Sometimes",
    "persistence.accessMode": "ReadOnlyMany",
    "persistence.size": "5 GB",
    "service.port": 70000,
    "shards": 0,
    "serviceMonitor.interval": "soon",
    "serviceMonitor.labels": {"release": 1},
    "config.job.trigger_interval": "5 parsecs",
    "config.job.shards": 0,
    "config.kafka.security_protocol": "TLS",
    "probes.startupSeconds": 1,
    "rules.profile": "first",
}


def test_an_unknown_or_wrong_value_is_refused_with_its_path() -> None:
    """Names that no template reads, values of the wrong kind and values outside their limits are refused."""
    errors = {path: refusal(changed("minimal", {path: value})) for path, value in (UNKNOWN | WRONG).items()}
    faults = [path for path in WRONG if path.replace(".", "/") not in errors[path].replace(".", "/")]
    for path in UNKNOWN:
        *parents, name = path.split(".") if "kye" not in str(UNKNOWN[path]) else f"{path}.kye".split(".")
        if "/".join(parents) not in errors[path].replace(".", "/") or name not in errors[path]:
            faults.append(path)
    assert [f"{path}: {errors[path]}" for path in faults] == []


CONTRADICTIONS: Final = """
{} -> config.kafka.bootstrap_servers: name the brokers
# minimal
{bootstrapServersFrom.secretKeyRef: {name: a, key: b}} -> bootstrapServersFrom: has no effect beside
{image.repository: ''} -> image.repository: name the image
{config.kafka.security_protocol: SASL_SSL} -> credentials.sasl.existingSecret: is needed
{credentials.sasl.existingSecret: x} -> credentials.sasl.existingSecret: has no effect
{credentials.ca.existingSecret: x} -> credentials.ca.existingSecret: has no effect
{credentials.client.existingSecret: x} -> credentials.client.existingSecret: has no effect
{credentials.otlp.headers.existingSecret: x}
-> credentials.otlp.headers.existingSecret: has no effect without config.otlp.endpoint
{serviceMonitor.tlsConfig: {insecureSkipVerify: true}} -> serviceMonitor.tlsConfig: has no effect
{ingress.enabled: true} -> ingress.host: is needed
{shards: 3, persistence.existingClaim: one} -> persistence.existingClaim: is one volume for 3 pods (shards)
{httpRoute.enabled: true} -> httpRoute.parentRefs: is needed
{podLabels: {app.kubernetes.io/name: x}} -> podLabels: the label app.kubernetes.io/name is taken
{podLabels: {team: a}, commonLabels: {team: b}} -> podLabels: the label team is taken
{serviceMonitor.labels: {team: a}, commonLabels: {team: b}} -> serviceMonitor.labels: the label team is taken
{dashboards.labels: {grafana_dashboard: '2'}} -> dashboards.labels: the label grafana_dashboard is taken
{mode: cluster} -> persistence.accessMode: ReadWriteOnce is one node's alone
{config.job.master: 'spark://master:7077'} -> config.job.master: spark://master:7077 needs executors
{config.job.master: 'local-cluster[2,1,1024]'} -> config.job.master: local-cluster[2,1,1024] needs executors
{config.job.executors: 2} -> config.job.executors: has no effect with mode local
{podAnnotations: {checksum/config: x}} -> podAnnotations: the annotation checksum/config is taken
{extraEnv: [{name: LAGWARDEN_CONFIG, value: x}]} -> extraEnv: the name LAGWARDEN_CONFIG is taken
{extraEnv: [{name: A, value: x}, {name: A, value: y}]} -> extraEnv: the name A is taken
{extraVolumes: [{name: tmp, emptyDir: {}}]} -> extraVolumes: the name tmp is taken
{extraVolumeMounts: [{name: x, mountPath: /etc/lagwarden}]} -> extraVolumeMounts: the path /etc/lagwarden is taken
{extraContainers: [{name: lagwarden, image: x}]} -> extraContainers: the name lagwarden is taken
# scram
{credentials.sasl.usernameKey: ''} -> config.kafka.sasl_username: name the user
{config.kafka.sasl_username: me} -> credentials.sasl.usernameKey: has no effect
{credentials.oauth.existingSecret: x}
-> credentials.oauth.existingSecret: has no effect with config.kafka.sasl_mechanism SCRAM-SHA-512
{credentials.ca.existingSecret: x} -> credentials.ca: takes existingSecret or existingConfigMap
# oauth-token
{credentials.oauth.serviceAccountToken.audience: ''}
-> credentials.oauth: set existingSecret (client credentials) or serviceAccountToken.audience
{credentials.oauth.existingSecret: x} -> credentials.oauth: takes existingSecret or serviceAccountToken.audience
# oauth-client
{config.kafka.oauth_token_endpoint: null} -> config.kafka.oauth_token_endpoint: is needed
{credentials.oauth.clientIdKey: ''} -> config.kafka.oauth_client_id: name the client
{config.kafka.oauth_client_id: me} -> credentials.oauth.clientIdKey: has no effect
{credentials.sasl.existingSecret: x}
-> credentials.sasl.existingSecret: has no effect with config.kafka.sasl_mechanism OAUTHBEARER
# otlp
{config.otlp.endpoint: 'http://collector:4318/v1/metrics'} -> has no effect without an https URL in config.otlp.endpoint
{credentials.otlp.ca.existingSecret: x} -> credentials.otlp.ca: takes existingSecret or existingConfigMap
# web-login
{http.webConfig.tls: false} -> http.certificate.existingSecret: has no effect with http.webConfig.tls: false
{serviceMonitor.authorization: {credentials: {name: a, key: b}}} -> serviceMonitor: takes basicAuth or authorization
{serviceMonitor.basicAuth: null, serviceMonitor.authorization.type: Bearer}
-> serviceMonitor.authorization: has no effect
{serviceMonitor.namespace: monitoring} -> serviceMonitor.tlsConfig.ca: is needed
# web-token
{serviceMonitor.basicAuth: {username: {name: a, key: b}}} -> serviceMonitor.basicAuth: has no effect
{serviceMonitor.namespace: monitoring} -> serviceMonitor.authorization: is needed
# object-store
{persistence.enabled: true} -> persistence.enabled: has no effect with objectStore.address
{shards: 2} -> objectStore.address: needs mode local and one shard
# cluster
{shards: 2} -> shards: is 1 with mode cluster
{persistence.enabled: false} -> persistence.enabled: is needed with mode cluster
{executor.podLabels: {team: b}} -> executor.podLabels: the label team is taken
{config.job.master: 'spark://master:7077'} -> config.job.master: is set by mode cluster
{config.job.spark_options: {spark.executor.memoryOverhead: 2g}}
-> config.job.spark_options: spark.executor.memoryOverhead is set by the chart
# operator
{shards: 2} -> shards: is 1 with mode operator
{resources.limits.memory: null} -> resources.limits.memory: is needed with mode operator
{config.job.master: 'k8s://https://kubernetes.default.svc'} -> with mode operator it takes local[N]
{config.job.executors: 2} -> config.job.executors: has no effect with mode operator
"""
"""Values that are valid each, as YAML by dotted path, and the error of the chart. A heading names the case that they
change; the first row changes none."""


def contradictions() -> Iterator[tuple[str, str]]:
    """Yield each row of the table with its error, and the error of the chart."""
    name = ""
    for row in CONTRADICTIONS.strip().replace("\n-> ", " -> ").splitlines():
        if row.startswith("#"):
            name = row.removeprefix("# ")
        else:
            values, _, sentence = row.partition(" -> ")
            yield f"{name}: {values} -> {sentence}", refusal(changed(name, yaml.safe_load(values)))


def test_contradictory_values_are_refused() -> None:
    """The program would refuse the values or ignore one. The chart refuses them first."""
    errors = list(contradictions())
    assert len(errors) > 50
    assert [(row, error) for row, error in errors if row.partition(" -> ")[2] not in error] == []


def test_global_values() -> None:
    """Helm passes `global` to every chart of a release. Values for images apply, and other values are ignored."""
    values = {"global": {"imageRegistry": "mirror.example/", "imagePullSecrets": [{"name": "m"}], "other": 1}}
    rendered = render(merged(case("minimal"), values))
    for pod in (rendered.pod, rendered.one("Pod")["spec"]):
        assert pod["containers"][0]["image"].startswith("mirror.example/lagwarden:")
        assert pod["imagePullSecrets"] == [{"name": "m"}]


HEAPS: Final = {
    ("512m", "2560Mi"): True,
    ("16g", "4Gi"): False,
    ("3G", "4Gi"): True,
    ("3073m", "4Gi"): False,
    ("1536m", "2.5Gi"): True,
    ("2g", "3000M"): False,
    ("2g", "4294967296"): True,
}
"""Heaps and memory limits, and whether the limit has 1 GiB beside the heap."""


def test_a_heap_that_the_limit_cannot_hold_is_refused() -> None:
    """With less than 1 GiB beside the heap the kernel would kill the process hours later."""

    def error(heap: str, limit: str) -> str:
        return refusal(changed("minimal", {"config.job.driver_memory": heap, "resources.limits.memory": limit}))

    errors = {pair: error(*pair) for pair in HEAPS}
    wanted = {pair: ACCEPTED if fits else "resources.limits.memory" for pair, fits in HEAPS.items()}
    assert [(pair, errors[pair]) for pair in HEAPS if wanted[pair] not in errors[pair]] == []


DEFAULTS: Object = yaml.safe_load(VALUES.read_text())


def test_the_values_are_those_of_the_schema() -> None:
    """Every value has a default in values.yaml, except the program's options, which have their own."""

    def names(described: Object) -> Object:
        inner = described.get("properties") if described.get("additionalProperties") is False else None
        return {name: names(part) for name, part in inner.items()} if inner else {}

    wanted = {name: part for name, part in names(schema()).items() if name not in ("global", "config")}

    def missing(part: Object, values: Any, path: str) -> Iterator[str]:
        for name, inner in part.items():
            if not isinstance(values, dict) or name not in values:
                yield f"{path}{name}"
            else:
                yield from missing(inner, values[name], f"{path}{name}.")

    # Values that are given as a whole, in the form of Kubernetes.
    whole = ("bootstrapServersFrom.", "resources.")
    assert [path for path in missing(wanted, DEFAULTS, "") if not path.startswith(whole)] == []
