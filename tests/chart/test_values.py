"""Wrong values are refused with their path, contradictions with a sentence, and every value is used."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from deploy.chart.readme import VALUES
from deploy.chart.values_schema import schema
from tests.chart.rendering import Object, case, merged, refusal, render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]


def at(path: str, value: Any) -> Object:
    """Return values with one value at a dotted path."""
    for part in reversed(path.split(".")):
        value = {part: value}
    return dict(value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("replicas", 2, id="number of replicas"),
        pytest.param("replicaCount", 2, id="number of replicas by its usual name"),
        pytest.param("service.prot", 1, id="misspelt name"),
        pytest.param("persistence.accessModes", ["ReadWriteMany"], id="list of access modes"),
        pytest.param("config.kafka.sasl_password", "hush", id="a password in plain values"),
        pytest.param("config.kafka.oauth_client_secret", "hush", id="a client secret in plain values"),
        pytest.param("config.kafka.oauth_token_file", "/token", id="a token file that the chart decides"),
        pytest.param("config.kafka.ssl_ca_file", "/ca", id="a path that the chart decides"),
        pytest.param("config.job.driver_port", 1, id="a port of the driver that the chart decides"),
        pytest.param("config.http.port", 1, id="a port that the chart decides"),
        pytest.param("config.http.web_config", "/x", id="a file that the chart decides"),
        pytest.param("http.users", {"prometheus": "$2y$10$"}, id="hashes in plain values"),
        pytest.param("config.checkpoint", {"dir": "/x"}, id="a folder that the chart decides"),
        pytest.param("config.job.instance", "0/3", id="a part that the pod decides"),
        pytest.param("config.http.siblings", ["http://a"], id="addresses that the chart decides"),
        pytest.param("config.job.triger_interval", 5, id="misspelt option of the program"),
        pytest.param("credentials.sasl.password", "hush", id="a password beside the Secret"),
        pytest.param(
            "bootstrapServersFrom.secretKeyRef",
            {"name": "a", "key": "b", "kye": "c"},
            id="misspelt name in a nested value",
        ),
    ],
)
def test_an_unknown_value_is_refused_with_its_path(path: str, value: Any) -> None:
    """A name that no template reads is refused with a message that has its path."""
    error = refusal(merged(case("minimal"), at(path, value)))
    *parents, name = path.split(".")
    if isinstance(value, dict) and "kye" in value:
        parents, name = [*parents, name], "kye"
    assert "/".join(parents) in error.replace(".", "/")
    assert f"'{name}'" in error or name in error


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("mode", "yarn", id="unknown mode"),
        pytest.param("executor.memoryOverhead", "1Gi", id="Kubernetes quantity for Spark"),
        pytest.param("terminationGracePeriodSeconds", 10, id="a grace shorter than the program's own"),
        pytest.param("image.digest", "sha256:abc", id="incomplete digest"),
        pytest.param("image.pullPolicy", "Sometimes", id="unknown pull policy"),
        pytest.param("persistence.accessMode", "ReadOnlyMany", id="a read-only volume"),
        pytest.param("persistence.size", "5 GB", id="not a Kubernetes quantity"),
        pytest.param("service.port", 70000, id="port out of range"),
        pytest.param("shards", 0, id="zero pods"),
        pytest.param("serviceMonitor.interval", "soon", id="not a duration of Prometheus"),
        pytest.param("serviceMonitor.labels", {"release": 1}, id="number instead of a label text"),
        pytest.param("config.job.trigger_interval", "5 parsecs", id="not a duration of the program"),
        pytest.param("config.job.shards", 0, id="below the program's own limit"),
        pytest.param("config.kafka.security_protocol", "TLS", id="not a protocol of Kafka"),
        pytest.param("probes.startupSeconds", 1, id="startup time too short"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(path: str, value: Any) -> None:
    """A value of the wrong kind or outside its limits is refused with a message that has its path."""
    error = refusal(merged(case("minimal"), at(path, value)))
    assert path.replace(".", "/") in error.replace(".", "/")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        pytest.param({}, "config.kafka.bootstrap_servers: name the brokers", id="no brokers"),
        pytest.param(
            merged(case("minimal"), at("bootstrapServersFrom.secretKeyRef", {"name": "a", "key": "b"})),
            "bootstrapServersFrom: has no effect beside",
            id="brokers in two values",
        ),
        pytest.param(
            merged(case("minimal"), {"config": {"kafka": {"security_protocol": "SASL_SSL"}}}),
            "credentials.sasl.existingSecret: is needed",
            id="a login without a Secret",
        ),
        pytest.param(
            merged(case("minimal"), at("credentials.sasl.existingSecret", "x")),
            "credentials.sasl.existingSecret: has no effect",
            id="a Secret without a login",
        ),
        pytest.param(
            merged(case("scram"), at("credentials.sasl.usernameKey", "")),
            "config.kafka.sasl_username: name the user",
            id="a login without a user",
        ),
        pytest.param(
            merged(case("scram"), at("config.kafka.sasl_username", "me")),
            "credentials.sasl.usernameKey: has no effect",
            id="a user twice",
        ),
        pytest.param(
            merged(case("oauth-token"), at("credentials.oauth.serviceAccountToken.audience", "")),
            "credentials.oauth: set existingSecret (client credentials) or serviceAccountToken.audience",
            id="OAUTHBEARER without credentials",
        ),
        pytest.param(
            merged(case("oauth-token"), at("credentials.oauth.existingSecret", "x")),
            "credentials.oauth: takes existingSecret or serviceAccountToken.audience",
            id="two kinds of tokens",
        ),
        pytest.param(
            merged(case("oauth-client"), at("config.kafka.oauth_token_endpoint", None)),
            "config.kafka.oauth_token_endpoint: is needed",
            id="client credentials without an endpoint",
        ),
        pytest.param(
            merged(case("oauth-client"), at("credentials.oauth.clientIdKey", "")),
            "config.kafka.oauth_client_id: name the client",
            id="client credentials without a client",
        ),
        pytest.param(
            merged(case("oauth-client"), at("config.kafka.oauth_client_id", "me")),
            "credentials.oauth.clientIdKey: has no effect",
            id="a client twice",
        ),
        pytest.param(
            merged(case("oauth-client"), at("credentials.sasl.existingSecret", "x")),
            "credentials.sasl.existingSecret: has no effect with config.kafka.sasl_mechanism OAUTHBEARER",
            id="a password beside a token",
        ),
        pytest.param(
            merged(case("scram"), at("credentials.oauth.existingSecret", "x")),
            "credentials.oauth.existingSecret: has no effect with config.kafka.sasl_mechanism SCRAM-SHA-512",
            id="a client secret beside a password",
        ),
        pytest.param(
            merged(case("scram"), at("credentials.ca.existingSecret", "x")),
            "credentials.ca: takes existingSecret or existingConfigMap",
            id="authorities twice",
        ),
        pytest.param(
            merged(case("minimal"), at("credentials.ca.existingSecret", "x")),
            "credentials.ca.existingSecret: has no effect",
            id="authorities without TLS",
        ),
        pytest.param(
            merged(case("minimal"), at("credentials.client.existingSecret", "x")),
            "credentials.client.existingSecret: has no effect",
            id="a certificate without TLS",
        ),
        pytest.param(
            merged(case("minimal"), at("credentials.otlp.headers.existingSecret", "x")),
            "credentials.otlp.headers.existingSecret: has no effect without config.otlp.endpoint",
            id="headers without a receiver",
        ),
        pytest.param(
            merged(case("otlp"), at("config.otlp.endpoint", "http://collector:4318/v1/metrics")),
            "has no effect without an https URL in config.otlp.endpoint",
            id="certificates for a receiver without TLS",
        ),
        pytest.param(
            merged(case("otlp"), at("credentials.otlp.ca.existingSecret", "x")),
            "credentials.otlp.ca: takes existingSecret or existingConfigMap",
            id="authorities of the receiver twice",
        ),
        pytest.param(
            merged(case("web-login"), at("http.webConfig.tls", False)),
            "http.certificate.existingSecret: has no effect with http.webConfig.tls: false",
            id="a certificate of a server without TLS",
        ),
        pytest.param(
            merged(case("web-login"), at("serviceMonitor.authorization", {"credentials": {"name": "a", "key": "b"}})),
            "serviceMonitor: takes basicAuth or authorization",
            id="two logins for one scrape",
        ),
        pytest.param(
            merged(case("web-token"), at("serviceMonitor.basicAuth", {"username": {"name": "a", "key": "b"}})),
            "serviceMonitor.basicAuth: has no effect",
            id="a password for a server without users",
        ),
        pytest.param(
            merged(case("web-login"), {"serviceMonitor": {"basicAuth": None, "authorization": {"type": "Bearer"}}}),
            "serviceMonitor.authorization: has no effect",
            id="a token for a server without a token",
        ),
        pytest.param(
            merged(case("minimal"), at("serviceMonitor.tlsConfig", {"insecureSkipVerify": True})),
            "serviceMonitor.tlsConfig: has no effect",
            id="TLS settings for a server without TLS",
        ),
        pytest.param(
            merged(case("web-token"), at("serviceMonitor.namespace", "monitoring")),
            "serviceMonitor.authorization: is needed",
            id="a token in a namespace that the ServiceMonitor cannot read",
        ),
        pytest.param(
            merged(case("web-login"), at("serviceMonitor.namespace", "monitoring")),
            "serviceMonitor.tlsConfig.ca: is needed",
            id="an authority in a namespace that the ServiceMonitor cannot read",
        ),
        pytest.param(
            merged(case("minimal"), at("ingress.enabled", True)),
            "ingress.host: is needed",
            id="an Ingress without a host",
        ),
        pytest.param(
            merged(case("minimal"), {"shards": 3, "persistence": {"existingClaim": "one"}}),
            "persistence.existingClaim: is one volume for 3 pods (shards)",
            id="one volume for several pods",
        ),
        pytest.param(
            merged(case("minimal"), at("httpRoute.enabled", True)),
            "httpRoute.parentRefs: is needed",
            id="an HTTPRoute without a gateway",
        ),
        pytest.param(
            merged(case("minimal"), {"podLabels": {"app.kubernetes.io/name": "x"}}),
            "podLabels: the label app.kubernetes.io/name is taken",
            id="a label of the selector",
        ),
        pytest.param(
            merged(case("minimal"), {"podLabels": {"team": "a"}, "commonLabels": {"team": "b"}}),
            "podLabels: the label team is taken",
            id="a label twice",
        ),
        pytest.param(
            merged(case("minimal"), {"serviceMonitor": {"labels": {"team": "a"}}, "commonLabels": {"team": "b"}}),
            "serviceMonitor.labels: the label team is taken",
            id="a label of the ServiceMonitor twice",
        ),
        pytest.param(
            merged(case("minimal"), at("dashboards.labels", {"grafana_dashboard": "2"})),
            "dashboards.labels: the label grafana_dashboard is taken",
            id="the label for the sidecar twice",
        ),
        pytest.param(
            merged(case("minimal"), {"mode": "cluster"}),
            "persistence.accessMode: ReadWriteOnce is one node's alone",
            id="mode cluster with a volume of one node",
        ),
        pytest.param(
            merged(case("object-store"), at("persistence.enabled", True)),
            "persistence.enabled: has no effect with objectStore.address",
            id="a volume beside an object store",
        ),
        pytest.param(
            merged(case("object-store"), at("shards", 2)),
            "objectStore.address: needs mode local and one shard",
            id="two pods with one checkpoint",
        ),
        pytest.param(
            merged(case("cluster"), at("shards", 2)),
            "shards: is 1 with mode cluster",
            id="mode cluster with two shards",
        ),
        pytest.param(
            merged(case("cluster"), at("persistence.enabled", False)),
            "persistence.enabled: is needed with mode cluster",
            id="mode cluster without a shared checkpoint",
        ),
        pytest.param(
            merged(case("cluster"), at("executor.podLabels", {"team": "b"})),
            "executor.podLabels: the label team is taken",
            id="a label of executors twice",
        ),
        pytest.param(
            merged(case("cluster"), at("config.job.master", "spark://master:7077")),
            "config.job.master: is set by mode cluster",
            id="mode cluster with a configured master",
        ),
        pytest.param(
            merged(case("cluster"), at("config.job.spark_options", {"spark.executor.memoryOverhead": "2g"})),
            "config.job.spark_options: spark.executor.memoryOverhead is set by the chart",
            id="memory of executors twice",
        ),
        pytest.param(
            merged(case("minimal"), at("config.job.master", "spark://master:7077")),
            "config.job.master: spark://master:7077 needs executors",
            id="mode local with a master that needs executors",
        ),
        pytest.param(
            merged(case("minimal"), at("config.job.master", "local-cluster[2,1,1024]")),
            "config.job.master: local-cluster[2,1,1024] needs executors",
            id="mode local with a local cluster",
        ),
        pytest.param(
            merged(case("minimal"), at("config.job.executors", 2)),
            "config.job.executors: has no effect with mode local",
            id="executors of a local master",
        ),
        pytest.param(
            merged(case("operator"), at("shards", 2)),
            "shards: is 1 with mode operator",
            id="several pods of a SparkApplication",
        ),
        pytest.param(
            merged(case("operator"), at("resources.limits.memory", None)),
            "resources.limits.memory: is needed with mode operator",
            id="mode operator without a memory limit",
        ),
        pytest.param(
            merged(case("operator"), at("config.job.master", "k8s://https://kubernetes.default.svc")),
            "with mode operator it takes local[N]",
            id="mode operator with a master that needs executors",
        ),
        pytest.param(
            merged(case("operator"), at("config.job.executors", 2)),
            "config.job.executors: has no effect with mode operator",
            id="executors with the operator",
        ),
        pytest.param(
            merged(case("minimal"), {"podAnnotations": {"checksum/config": "x"}}),
            "podAnnotations: the annotation checksum/config is taken",
            id="the chart's own annotation",
        ),
        pytest.param(
            merged(case("minimal"), {"extraEnv": [{"name": "LAGWARDEN_CONFIG", "value": "x"}]}),
            "extraEnv: the name LAGWARDEN_CONFIG is taken",
            id="a variable of the chart's own",
        ),
        pytest.param(
            merged(case("minimal"), {"extraEnv": [{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]}),
            "extraEnv: the name A is taken",
            id="a variable twice",
        ),
        pytest.param(
            merged(case("minimal"), {"extraVolumes": [{"name": "tmp", "emptyDir": {}}]}),
            "extraVolumes: the name tmp is taken",
            id="a volume of the chart's own",
        ),
        pytest.param(
            merged(case("minimal"), {"extraVolumeMounts": [{"name": "x", "mountPath": "/etc/lagwarden"}]}),
            "extraVolumeMounts: the path /etc/lagwarden is taken",
            id="a path of the chart's own",
        ),
        pytest.param(
            merged(case("minimal"), {"extraContainers": [{"name": "lagwarden", "image": "x"}]}),
            "extraContainers: the name lagwarden is taken",
            id="two containers with one name",
        ),
    ],
)
def test_contradictory_values_are_refused(values: Object, sentence: str) -> None:
    """Each value is valid, but the program would refuse the values or ignore one. The chart refuses them first."""
    assert sentence in refusal(values)


def test_global_values() -> None:
    """Helm passes `global` to every chart of a release. Values for images apply, and other values are ignored."""
    values = {"global": {"imageRegistry": "mirror.example/", "imagePullSecrets": [{"name": "m"}], "other": 1}}
    rendered = render(merged(case("minimal"), values))
    for pod in (rendered.pod, rendered.one("Pod")["spec"]):
        assert pod["containers"][0]["image"].startswith("mirror.example/lagwarden:")
        assert pod["imagePullSecrets"] == [{"name": "m"}]


@pytest.mark.parametrize(
    ("heap", "limit", "is_refused"),
    [
        pytest.param("512m", "2560Mi", False, id="default values"),
        pytest.param("16g", "4Gi", True, id="heap larger than the limit"),
        pytest.param("3G", "4Gi", False, id="exactly 1 GiB beside the heap"),
        pytest.param("3073m", "4Gi", True, id="1 MiB less than 1 GiB beside the heap"),
        pytest.param("1536m", "2.5Gi", False, id="fractional limit"),
        pytest.param("2g", "3000M", True, id="limit in decimal units"),
        pytest.param("2g", "4294967296", False, id="limit in bytes"),
    ],
)
def test_a_heap_that_the_limit_cannot_hold_is_refused(heap: str, limit: str, *, is_refused: bool) -> None:
    """With less than 1 GiB beside the heap the kernel would kill the process hours later."""
    values = {"config": {"job": {"driver_memory": heap}}, "resources": {"limits": {"memory": limit}}}
    if is_refused:
        assert "resources.limits.memory" in refusal(merged(case("minimal"), values))
    else:
        assert render(merged(case("minimal"), values)).objects


# --- every value does something ---

ON: Object = {
    "serviceMonitor": {"enabled": True},
    "rules": {"enabled": True},
    "dashboards": {"enabled": True},
    "networkPolicy": {"egress": {"enabled": True}},
}
TLS: Object = {"config": {"kafka": {"security_protocol": "SASL_SSL"}}, "credentials": {"sasl": {"existingSecret": "s"}}}
# The values that another value needs to have an effect, by the beginning of its path.
GIVEN: dict[str, Object] = {
    "credentials.sasl": merged(TLS, {"config": {"kafka": {"sasl_username": "u"}}}),
    "credentials.sasl.usernameKey": merged(TLS, {"credentials": {"sasl": {"usernameKey": "u"}}}),
    "credentials.oauth": case("oauth-client"),
    "credentials.oauth.existingSecret": case("oauth-client"),
    "credentials.oauth.serviceAccountToken": case("oauth-token"),
    "credentials.ca": merged(TLS, {"config": {"kafka": {"sasl_username": "u"}}}),
    "credentials.ca.key": merged(
        TLS, {"config": {"kafka": {"sasl_username": "u"}}, "credentials": {"ca": {"existingSecret": "c"}}}
    ),
    "credentials.client": {
        "config": {"kafka": {"security_protocol": "SSL"}},
        "credentials": {"client": {"existingSecret": "c"}},
    },
}
RECEIVER: Object = at("config.otlp.endpoint", "https://collector:4318/v1/metrics")
GIVEN |= {
    "credentials.otlp": RECEIVER,
    "credentials.otlp.headers.key": case("otlp"),
    "credentials.otlp.ca.key": case("otlp"),
    "credentials.otlp.client": case("otlp"),
    "objectStore": case("object-store"),
    "objectStore.address": {"persistence": {"enabled": False}},
    "http.webConfig.key": case("web-login"),
    "http.webConfig.tls": at("http.webConfig.existingSecret", "web"),
    "http.certificate": case("web-token"),
    "http.bearerToken": case("web-token"),
    "serviceMonitor.tlsConfig": case("web-login"),
    "serviceMonitor.basicAuth": merged(case("web-login"), at("serviceMonitor.basicAuth", {})),
    "serviceMonitor.authorization": case("web-token"),
    "ingress": {"ingress": {"enabled": True, "host": "lag.example"}},
    "ingress.enabled": {"ingress": {"host": "lag.example"}},
    "mode": {"persistence": {"existingClaim": "shared"}},
    "executor": {"mode": "cluster", "persistence": {"existingClaim": "shared"}},
    "httpRoute": {"httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}]}},
    "httpRoute.enabled": {"httpRoute": {"parentRefs": [{"name": "public"}]}},
}
# Values that need their own sample, because the templates would refuse any other.
SAMPLES: dict[str, Any] = {
    "config.otlp": RECEIVER["config"]["otlp"],
    "shards": 3,
    "rules.disabled": ["FirstAlert"],
    "rules.alerts": {"FirstAlert": {"for": "7m"}},
    **dict.fromkeys(("rules.runbookUrl", "rules.grafanaUrl", "rules.pageUrl"), "https://another.example"),
    "global": {"imageRegistry": "another.example"},
    "objectStore.address": "s3a://another/path",
    "objectStore.endpoint": "https://another.example",
    "ingress.path": "/another",
    "httpRoute.path": "/another",
    "httpRoute.hostnames": ["another.example"],
    "serviceMonitor.targetLabels": ["another"],
    "serviceMonitor.podTargetLabels": ["another"],
    "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}}],
    "config.kafka.bootstrap_servers": ["broker-3:9092"],
    "config.job.master": "local[4]",
    "bootstrapServersFrom": {"secretKeyRef": {"name": "a", "key": "b"}},
}


def value_at(values: Any, path: str, default: Any) -> Any:
    """Return the value at a dotted path, or the default if the values do not have it."""
    for part in path.split("."):
        if part not in values:
            return default
        values = values[part]
    return values


def leaves(values: Object, described: Object, prefix: str = "") -> Iterator[tuple[str, Any, Object]]:
    """Yield the path, the default and the schema of each value of the chart."""
    for name, value in values.items():
        part = described["properties"][name]
        if isinstance(value, dict) and value and "properties" in part and part.get("additionalProperties") is False:
            yield from leaves(value, part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value, part


def another(default: Any, described: Object) -> Any:
    """Return a value that the schema accepts and that is not the default."""
    if "enum" in described:
        return next(value for value in described["enum"] if value != default)
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 60
    if isinstance(default, dict):
        return {**default, "another": "one"}
    if isinstance(default, list):
        return [*default, {"name": "another"}]
    for sample in ("another", "7Gi", "7m", "sha256:" + "0" * 64):
        if re.search(described.get("pattern", ""), sample):
            return sample
    raise AssertionError(f"no sample fits {described}")


DEFAULTS: Object = yaml.safe_load(VALUES.read_text())
LEAVES = {path: (value, part) for path, value, part in leaves(DEFAULTS, schema())}


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


@pytest.mark.parametrize("path", LEAVES)
def test_every_value_has_an_effect(path: str, chart_with_files: Path) -> None:
    """A value that is not the default changes the objects."""
    given = max((prefix for prefix in GIVEN if path.startswith(prefix)), key=len, default=None)
    base = merged(merged(case("minimal"), ON), GIVEN[given] if given else {})
    if path == "bootstrapServersFrom":
        base["config"]["kafka"] = {"bootstrap_servers": []}
    default, part = LEAVES[path]
    value = SAMPLES[path] if path in SAMPLES else another(value_at(base, path, default), part)
    changed = render(merged(base, at(path, value)), chart_with_files)
    if path == "bootstrapServersFrom":
        assert "LAGWARDEN_KAFKA_BOOTSTRAP_SERVERS" in json.dumps(changed.objects)
    else:
        assert changed.objects != render(base, chart_with_files).objects
