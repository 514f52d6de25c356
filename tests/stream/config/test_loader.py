"""Loading the configuration: the precedence of its sources, and errors that are all reported at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stream.config.loader import KEYS, ConfigRefusal, environment_variable, load
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SERVERS = {"kafka.bootstrap_servers": "broker-1:9092"}
LOGIN = {
    **SERVERS,
    "kafka.security_protocol": "SASL_PLAINTEXT",
    "kafka.sasl_mechanism": "PLAIN",
    "kafka.sasl_username": "u",
}


def faults(*, flags: Mapping[str, Any] | None = None, **sources: Any) -> list[str]:
    """Load the configuration and return the text of each error; an empty list if it is valid."""
    try:
        load(flags=flags or {}, **sources)
    except ConfigRefusal as refusal:
        return [str(fault) for fault in refusal.faults]
    return []


def write(folder: Path, tree: object) -> Path:
    """Write a configuration file and return its path."""
    path = folder / "lagwarden.yaml"
    path.write_text(tree if isinstance(tree, str) else yaml.safe_dump(tree))
    return path


def test_flags_override_environment_overrides_file_overrides_defaults(tmp_path: Path) -> None:
    """Each source overrides the previous one, option by option."""
    path = write(
        tmp_path, {"kafka": {"bootstrap_servers": "a:1"}, "job": {"shards": 1, "commit_window_slots": 3}, "http": None}
    )
    environment = {"LAGWARDEN_JOB_SHARDS": "2", "LAGWARDEN_HTTP_PORT": "1234"}
    config = load(path, environment, {"http.port": 99, "log.level": "debug"})
    assert (config.kafka.bootstrap_servers, config.job.commit_window_slots) == (("a:1",), 3)
    assert (config.job.shards, config.http.port, config.log.level) == (2, 99, "debug")
    assert config.job.trigger_interval == 5.0


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        pytest.param({}, ["kafka.bootstrap_servers (not set): is required"], id="required option is missing"),
        pytest.param({"kafka.bootstrap_servers": ","}, ["must name at least one broker"], id="servers: empty list"),
        pytest.param(
            {"kafka.bootstrap_servers": "a:1,b"}, ["'b' must be host:port"], id="servers: address without port"
        ),
        pytest.param({"kafka.bootstrap_servers": "a:0"}, ["'a:0' must be host:port"], id="servers: port zero"),
        pytest.param(
            {"kafka.bootstrap_servers": "PLAINTEXT://a:1"}, ["must be host:port"], id="servers: with listener name"
        ),
        pytest.param(
            {**SERVERS, "job.shard": 1},
            ["job.shard (command line): no such option; did you mean job.shards?"],
            id="misspelt option",
        ),
        pytest.param(
            {**SERVERS, "job.tick_interval": "5 parsecs"}, ["must be a number of seconds"], id="unknown unit of time"
        ),
        pytest.param(
            {**SERVERS, "http.port": "http"},
            ["http.port = 'http' (command line): must be a valid integer"],
            id="not an integer",
        ),
        pytest.param({**SERVERS, "http.port": 70000}, ["must be less than or equal to 65535"], id="port too high"),
        pytest.param(
            {**SERVERS, "job.driver_memory": "2 GB"},
            ["whole number followed by k, m, g or t"],
            id="heap size with a space",
        ),
        pytest.param(
            {**SERVERS, "job.freshness_limit": 15},
            ["at least twice tick_interval"],
            id="freshness limit below two ticks",
        ),
        pytest.param(
            {**SERVERS, "job.watchdog_limit": 6},
            ["at least four times trigger_interval"],
            id="watchdog limit below four triggers",
        ),
        pytest.param(
            {**SERVERS, "job.instance": "1/3", "http.siblings": "http://a:1,http://b:1"},
            ["an address for each of 3, as job.instance is 1/3; it has 2"],
            id="an instance without an address",
        ),
        pytest.param(
            {**SERVERS, "cluster.topic_settings": "retention.ms,Retention MS"},
            ["'Retention MS' must be the name of a setting of a topic"],
            id="a setting with a space",
        ),
        pytest.param(
            {**SERVERS, "cluster.topic_settings": ",".join("abcdefghijklmnopqrstu")},
            ["should have at most 20 items"],
            id="too many settings",
        ),
        pytest.param({**SERVERS, "http.siblings": "a:1"}, ["must be a URL"], id="an address that is no URL"),
        pytest.param({**SERVERS, "http.grafana_url": "javascript:0//a"}, ["must be a URL"], id="a script as a link"),
        pytest.param({**SERVERS, "job.tick_interval": "nan"}, ["must be a number of seconds"], id="NaN"),
        pytest.param(
            {**SERVERS, "kafka.security_protocol": "TLS"}, ["must be 'PLAINTEXT', 'SSL'"], id="unknown protocol"
        ),
        pytest.param(LOGIN, ["kafka.sasl_password (default or not set): is needed with"], id="login without password"),
        pytest.param(
            {**SERVERS, "kafka.sasl_username": "u"},
            ["has no effect with security_protocol PLAINTEXT"],
            id="login without SASL",
        ),
        pytest.param(
            {**SERVERS, "kafka.ssl_ca_file": __file__},
            ["has no effect with security_protocol PLAINTEXT"],
            id="CA without TLS",
        ),
        pytest.param(
            {**SERVERS, "kafka.security_protocol": "SSL", "kafka.ssl_ca_file": "/no"},
            ["ssl_ca_file"],
            id="CA file does not exist",
        ),
        pytest.param(
            {**SERVERS, "kafka.security_protocol": "SSL", "kafka.ssl_key_file": __file__},
            ["ssl_certificate_file (default or not set): is needed"],
            id="key without certificate",
        ),
        pytest.param(
            {**SERVERS, "kafka.consumer_options": "fetch.max.bytes=1", "job.connector_jars": "/jars"},
            ["consumer_options (command line): is no longer an option", "connector_jars (command line): is no longer"],
            id="options of Spark's Kafka source",
        ),
        pytest.param(
            {"kafka.bootstrap_servers": "a", "http.port": -1, "job.shards": 0, "log.level": "loud"},
            ["'a' must be", "http.port = -1", "job.shards = 0", "log.level = 'loud'"],
            id="four errors in four sections",
        ),
    ],
)
def test_all_errors_are_reported_at_once(flags: dict[str, Any], wanted: list[str]) -> None:
    """Every error names its key, its value and the valid values."""
    found = faults(flags=flags)
    assert len(found) == len(wanted), found
    for text, fault in zip(wanted, found, strict=True):
        assert text in fault


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("kafka: [", "is not valid YAML: ", id="invalid YAML"),
        pytest.param("- a\n- b", "must be a mapping", id="list at the top level"),
        pytest.param("kafka: a:1", "kafka (file ", id="text instead of a section"),
        pytest.param("htp: {port: 1}", "no such section; did you mean http?", id="misspelt section"),
        pytest.param("http: {prot: 1}", "did you mean http.port?", id="misspelt option"),
    ],
)
def test_errors_of_the_file_are_reported(tmp_path: Path, text: str, wanted: str) -> None:
    """Errors in the syntax or structure of the file have the same form."""
    assert any(wanted in fault for fault in faults(file=write(tmp_path, text), flags=SERVERS))


def test_invalid_configuration_is_a_usage_error() -> None:
    """An invalid configuration ends the process with the exit code USAGE."""
    with pytest.raises(Refusal) as refused:
        load()
    assert refused.value.code is ExitCode.USAGE


def test_missing_file_is_reported_with_the_other_errors(tmp_path: Path) -> None:
    """A missing file is one error, named by its path, in addition to all others."""
    found = faults(file=tmp_path / "absent.yaml", environment={"LAGWARDEN_JOB_SHARD": "1"})
    assert "absent.yaml (configuration file): cannot be read: No such file" in found[0]
    assert [fault.partition(" ")[0] for fault in found[1:]] == ["LAGWARDEN_JOB_SHARD", "kafka.bootstrap_servers"]


def test_unknown_variable_is_an_error_that_suggests_a_name() -> None:
    """A misspelt variable is rejected, with the most similar valid name, instead of being ignored."""
    assert faults(environment={"LAGWARDEN_HTTP_PROT": "1"}, flags=SERVERS) == [
        "LAGWARDEN_HTTP_PROT (environment): no such variable; did you mean LAGWARDEN_HTTP_PORT?"
    ]


def test_service_links_of_kubernetes_are_ignored() -> None:
    """Kubernetes sets variables for services named lagwarden or lagwarden-http in each pod; they are not options."""
    links = {
        "LAGWARDEN_SERVICE_HOST": "10.0.0.1",
        "LAGWARDEN_SERVICE_PORT_METRICS": "10848",
        "LAGWARDEN_PORT": "tcp://10.0.0.1:10848",
        "LAGWARDEN_HTTP_PORT": "tcp://10.0.0.1:10848",
        "LAGWARDEN_PORT_10848_TCP_ADDR": "10.0.0.1",
        "LAGWARDEN_CACHE": "/cache",
    }
    assert load(None, links, SERVERS).http.port == 10848


@given(st.sampled_from(KEYS))
def test_every_option_has_its_own_variable(key: str) -> None:
    """No two options share an environment variable."""
    assert [other for other in KEYS if environment_variable(other) == environment_variable(key)] == [key]


@given(st.integers(1, 3600), st.sampled_from([("ms", 1000.0), ("s", 1.0), ("", 1.0), ("m", 1 / 60), ("h", 1 / 3600)]))
def test_a_duration_is_the_same_in_each_unit(seconds: int, unit: tuple[str, float]) -> None:
    """5 m, 300 s, 300000 ms and the number 300 are the same duration."""
    name, per_second = unit
    flags = {**SERVERS, "job.trigger_interval": f"{seconds * per_second:.9f} {name}", "job.watchdog_limit": "5h"}
    assert load(flags=flags).job.trigger_interval == pytest.approx(seconds, rel=1e-5)


class TestSecrets:
    """Passwords can come from every source and are never printed."""

    def test_file_named_by_a_variable(self, tmp_path: Path) -> None:
        """A mounted secret is read from its file, without the line break at its end."""
        (tmp_path / "pw").write_text(" hunter2 \n")
        config = load(None, {"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "pw")}, LOGIN)
        assert config.kafka.sasl_password is not None
        assert config.kafka.sasl_password.reveal() == " hunter2 "

    def test_secret_file_in_the_environment_overrides_a_value_in_the_file(self, tmp_path: Path) -> None:
        """The precedence of the sources applies to both spellings of a key."""
        (tmp_path / "pw").write_text("mounted")
        path = write(tmp_path, {"kafka": {"sasl_password": "written"}})
        config = load(path, {"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "pw")}, LOGIN)
        assert config.kafka.sasl_password is not None
        assert config.kafka.sasl_password.reveal() == "mounted"

    def test_both_spellings_in_one_source_are_an_error(self, tmp_path: Path) -> None:
        """A password that is set directly and by a file in the same source is ambiguous."""
        (tmp_path / "pw").write_text("mounted")
        both = {"LAGWARDEN_KAFKA_SASL_PASSWORD": "x", "LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "pw")}
        assert "is set twice" in faults(environment=both, flags=LOGIN)[0]

    def test_missing_secret_file_is_named(self) -> None:
        """The error names the missing file and the variable that refers to it."""
        found = faults(environment={"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": "/no/pw"}, flags=LOGIN)
        assert (
            "kafka.sasl_password_file = '/no/pw' (variable LAGWARDEN_KAFKA_SASL_PASSWORD_FILE): cannot be read"
            in found[0]
        )

    @pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT", "nonsense"])
    @pytest.mark.parametrize("secret", ["hunter2", 12345, ["hunter2"]])
    def test_secrets_are_never_printed(self, protocol: str, secret: object) -> None:
        """A password appears in no error, no repr and not in the effective configuration."""
        flags = {**LOGIN, "kafka.security_protocol": protocol, "kafka.sasl_password": secret}
        try:
            config = load(flags=flags)
        except ConfigRefusal as refusal:
            shown = str(refusal)
        else:
            shown = f"{config!r} {config.masked()}"
            assert "**********" in shown
        assert "hunter2" not in shown
        assert "12345" not in shown

    @pytest.mark.parametrize(
        "options",
        [
            "logicalCluster=lkc-1,auth=hunter2",
            {"client.secret": "hunter2"},
            ["password=hunter2"],
            {"secret": ["hunter2"]},
            17,
        ],
    )
    def test_values_of_rejected_extensions_are_not_printed(self, options: object) -> None:
        """The error names the rejected extensions without their values."""
        (fault,) = faults(flags={**SERVERS, "kafka.oauth_extensions": options})
        assert fault.startswith("kafka.oauth_extensions (command line): ")
        assert "hunter2" not in fault

    def test_value_of_a_removed_option_is_not_printed(self) -> None:
        """The removed options of the Java consumer may contain a password."""
        found = faults(environment={"LAGWARDEN_KAFKA_CONSUMER_OPTIONS": "ssl.key.password=hunter2"}, flags=SERVERS)
        assert [fault.partition(": ")[0] for fault in found] == [
            "kafka.consumer_options (variable LAGWARDEN_KAFKA_CONSUMER_OPTIONS)"
        ]
        assert "hunter2" not in found[0]

    def test_section_that_is_not_a_mapping_is_not_printed(self, tmp_path: Path) -> None:
        """The text in place of the section may contain passwords of the section."""
        file = tmp_path / "config.yaml"
        file.write_text("kafka: sasl_password=hunter2\n")
        with pytest.raises(ConfigRefusal) as refused:
            load(file, {}, {})
        assert "must be a mapping" in str(refused.value)
        assert "hunter2" not in str(refused.value)

    def test_extensions_that_may_be_secrets_are_masked(self) -> None:
        """The effective configuration prints stars for SASL extensions with names such as secret or password."""
        login = {
            "kafka.security_protocol": "SASL_SSL",
            "kafka.sasl_mechanism": "OAUTHBEARER",
            "kafka.oauth_token_file": "/token",
            "kafka.oauth_extensions": "logicalCluster=lkc,poolSecret=hunter2",
        }
        shown = load(flags={**SERVERS, **login}).masked()["kafka"]["oauth_extensions"]
        assert shown == {"logicalCluster": "lkc", "poolSecret": "**********"}


@pytest.mark.parametrize(
    "key",
    [
        "kafka.oauth_token_endpoint",
        "checkpoint.s3_endpoint",
        "http.grafana_url",
        "http.runbook_url",
        "http.siblings",
        "webhook.url",
        "otlp.endpoint",
    ],
)
def test_errors_do_not_print_the_password_of_a_url(key: str) -> None:
    """A URL with user and password is refused, and the log of the refusal has neither."""
    found = faults(flags={**SERVERS, key: "https://alice:hunter2@host.example.com/a?b=c"})
    assert any(each.startswith(f"{key} ") for each in found)
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("scheme", ["s3a", "s3", "hdfs"])
@pytest.mark.parametrize("secret", ["hunter2", "hun/ter2"])
def test_errors_do_not_print_the_login_of_a_checkpoint_address(scheme: str, secret: str) -> None:
    """Older versions of Hadoop accept key and secret in the address; a secret of S3 may have slashes."""
    found = faults(flags={**SERVERS, "checkpoint.dir": f"{scheme}://AKIA:{secret}@bucket/path"})
    assert len(found) == 1
    assert f"{scheme}://**********@bucket/path" in found[0]
    assert not [each for each in ("AKIA", "ter2") if each in found[0]]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.com:8443/services/hunter2?key=hunter2", "https://hooks.example.com:8443/**********"),
        ("https://hooks.example.com?key=hunter2", "https://hooks.example.com/**********"),
        ("http://[::1]:80/", "http://[::1]:80"),
    ],
)
def test_effective_configuration_has_only_the_host_of_the_webhook(url: str, shown: str) -> None:
    """Receivers often have their token in the path or in the query of the URL."""
    assert load(flags={**SERVERS, "webhook.url": url}).masked()["webhook"]["url"] == shown
