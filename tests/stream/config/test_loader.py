"""Loading the configuration: the precedence of its sources, and errors that are all reported at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from stream.config.loader import ConfigRefusal, load

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


PLAINTEXT_ONLY = "has no effect with security_protocol PLAINTEXT"
FOUR = {"kafka.bootstrap_servers": "a", "http.port": -1, "job.shards": 0, "log.level": "loud"}
OF_SPARK = {"kafka.consumer_options": "fetch.max.bytes=1", "job.connector_jars": "/jars"}
OF_SPARK_FAULTS = ["consumer_options (command line): is no longer an option", "connector_jars (command line): is no lo"]
# Per row: the options beside the servers, and a part of each error.
ERRORS: list[tuple[dict[str, Any], list[str]]] = [
    ({"kafka.bootstrap_servers": None}, ["kafka.bootstrap_servers (not set): is required"]),
    ({"kafka.bootstrap_servers": ","}, ["must name at least one broker"]),
    ({"kafka.bootstrap_servers": "a:1,b"}, ["'b' must be host:port"]),
    ({"kafka.bootstrap_servers": "a:0"}, ["'a:0' must be host:port"]),
    ({"kafka.bootstrap_servers": "PLAINTEXT://a:1"}, ["must be host:port"]),
    ({"job.shard": 1}, ["job.shard (command line): no such option; did you mean job.shards?"]),
    ({"job.tick_interval": "5 parsecs"}, ["must be a number of seconds"]),
    ({"http.port": "http"}, ["http.port = 'http' (command line): must be a valid integer"]),
    ({"http.port": 70000}, ["must be less than or equal to 65535"]),
    ({"job.driver_memory": "2 GB"}, ["whole number followed by k, m, g or t"]),
    ({"job.freshness_limit": 15}, ["at least twice tick_interval"]),
    ({"job.watchdog_limit": 6}, ["at least four times trigger_interval"]),
    (
        {"job.instance": "1/3", "http.siblings": "http://a:1,http://b:1"},
        ["an address for each of 3, as job.instance is 1/3; it has 2"],
    ),
    (
        {"cluster.topic_settings": "retention.ms,Retention MS"},
        ["'Retention MS' must be the name of a setting of a topic"],
    ),
    ({"cluster.topic_settings": ",".join("abcdefghijklmnopqrstu")}, ["should have at most 20 items"]),
    ({"http.siblings": "a:1"}, ["must be a URL"]),
    ({"http.allowed_hosts": "a.example,b:10848"}, ["'b:10848' must be the name of a host without a port"]),
    ({"http.grafana_url": "javascript:0//a"}, ["must be a URL"]),
    ({"http.messages_url": "https://a/{topic}?p={part}"}, ["{part} is none of these"]),
    ({"http.messages_url": "https://a/messages"}, ["{topic} is missing"]),
    ({"http.messages_url": "https://{topic}.example/"}, ["the host must have no placeholder"]),
    ({"http.messages_url": "https://a/{topic"}, ["must be a URL"]),
    ({"job.tick_interval": "nan"}, ["must be a number of seconds"]),
    ({"kafka.security_protocol": "TLS"}, ["must be 'PLAINTEXT', 'SSL'"]),
    (LOGIN, ["kafka.sasl_password (default or not set): is needed with"]),
    ({"kafka.sasl_username": "u"}, [PLAINTEXT_ONLY]),
    ({"kafka.ssl_ca_file": __file__}, [PLAINTEXT_ONLY]),
    ({"kafka.security_protocol": "SSL", "kafka.ssl_ca_file": "/no"}, ["ssl_ca_file"]),
    (
        {"kafka.security_protocol": "SSL", "kafka.ssl_key_file": __file__},
        ["ssl_certificate_file (default or not set): is needed"],
    ),
    (OF_SPARK, OF_SPARK_FAULTS),
    (FOUR, ["'a' must be", "http.port = -1", "job.shards = 0", "log.level = 'loud'"]),
]


def test_all_errors_are_reported_at_once() -> None:
    """Every error names its key, its value and the valid values."""
    wrong = []
    for flags, wanted in ERRORS:
        found = faults(flags={key: value for key, value in (SERVERS | flags).items() if value is not None})
        if len(found) != len(wanted) or not all(text in fault for text, fault in zip(wanted, found, strict=True)):
            wrong.append(f"{flags}: {found} instead of {wanted}")
    assert wrong == []


def test_errors_of_the_file_are_reported(tmp_path: Path) -> None:
    """Errors in the syntax or structure of the file have the same form."""
    texts = {
        "kafka: [": "is not valid YAML: ",
        "- a\n- b": "must be a mapping",
        "kafka: a:1": "kafka (file ",
        "htp: {port: 1}": "no such section; did you mean http?",
        "http: {prot: 1}": "did you mean http.port?",
    }
    found = {text: faults(file=write(tmp_path, text), flags=SERVERS) for text in texts}
    assert {text: each for text, each in found.items() if not any(texts[text] in fault for fault in each)} == {}


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


def password_of(**sources: Any) -> str:
    password = load(flags=LOGIN, **sources).kafka.sasl_password
    assert password is not None
    return password.reveal()


def test_secrets_can_be_in_files(tmp_path: Path) -> None:
    """A mounted secret is read from its file, without the line break at its end; the error names a missing file.

    The precedence of the sources applies to both spellings of a key; both in one source are ambiguous.
    """
    mounted = {"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "pw")}
    (tmp_path / "pw").write_text(" hunter2 \n")
    assert password_of(environment=mounted) == " hunter2 "
    assert password_of(file=write(tmp_path, {"kafka": {"sasl_password": "x"}}), environment=mounted) == " hunter2 "
    assert "is set twice" in faults(environment=mounted | {"LAGWARDEN_KAFKA_SASL_PASSWORD": "x"}, flags=LOGIN)[0]
    (missing, *_) = faults(environment={"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": "/no/pw"}, flags=LOGIN)
    variable = "(variable LAGWARDEN_KAFKA_SASL_PASSWORD_FILE)"
    assert f"kafka.sasl_password_file = '/no/pw' {variable}: cannot be read" in missing


def test_secrets_are_never_printed() -> None:
    """A password appears in no error, no repr and not in the effective configuration."""
    for protocol in ("PLAINTEXT", "SASL_PLAINTEXT", "nonsense"):
        for secret in ("hunter2", 12345, ["hunter2"]):
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


def test_values_that_may_be_secrets_are_not_printed(tmp_path: Path) -> None:
    """Errors name rejected extensions and a removed option of the Java consumer without their values.

    The text in place of a section may contain passwords of the section.
    """
    key = "kafka.oauth_extensions"
    rejected: list[object] = ["logicalCluster=lkc-1,auth=hunter2", {"client.secret": "hunter2"}, ["password=hunter2"]]
    for options in (*rejected, {"secret": ["hunter2"]}, 17):
        (fault,) = faults(flags={**SERVERS, key: options})
        assert fault.startswith(f"{key} (command line): ")
        assert "hunter2" not in fault
    (fault,) = faults(environment={"LAGWARDEN_KAFKA_CONSUMER_OPTIONS": "ssl.key.password=hunter2"}, flags=SERVERS)
    assert fault.startswith("kafka.consumer_options (variable LAGWARDEN_KAFKA_CONSUMER_OPTIONS): ")
    assert "hunter2" not in fault
    found = str(faults(file=write(tmp_path, "kafka: sasl_password=hunter2\n")))
    assert "must be a mapping" in found
    assert "hunter2" not in found


def test_extensions_that_may_be_secrets_are_masked() -> None:
    """The effective configuration prints stars for SASL extensions with names such as secret or password."""
    login = {
        "kafka.security_protocol": "SASL_SSL",
        "kafka.sasl_mechanism": "OAUTHBEARER",
        "kafka.oauth_token_file": "/token",
        "kafka.oauth_extensions": "logicalCluster=lkc,poolSecret=hunter2",
    }
    shown = load(flags={**SERVERS, **login}).masked()["kafka"]["oauth_extensions"]
    assert shown == {"logicalCluster": "lkc", "poolSecret": "**********"}


URLS = (
    *("kafka.oauth_token_endpoint", "checkpoint.s3_endpoint", "http.grafana_url", "http.runbook_url", "http.siblings"),
    *("webhook.url", "otlp.endpoint", "http.messages_url"),
)


def test_errors_do_not_print_the_password_of_a_url() -> None:
    """A URL with user and password is refused, and the log of the refusal has neither."""
    url = "https://alice:hunter2@host.example.com/a?b=c"
    found = {key: faults(flags={**SERVERS, key: url}) for key in URLS}
    assert [key for key, each in found.items() if not any(fault.startswith(f"{key} ") for fault in each)] == []
    assert "hunter2" not in str(found)


def test_errors_do_not_print_the_login_of_a_checkpoint_address() -> None:
    """Older versions of Hadoop accept key and secret in the address; a secret of S3 may have slashes."""
    for scheme in ("s3a", "s3", "hdfs"):
        for secret in ("hunter2", "hun/ter2"):
            (fault,) = faults(flags={**SERVERS, "checkpoint.dir": f"{scheme}://AKIA:{secret}@bucket/path"})
            assert f"{scheme}://**********@bucket/path" in fault
            assert not [each for each in ("AKIA", "ter2") if each in fault]


def test_effective_configuration_has_only_the_host_of_the_webhook() -> None:
    """Receivers often have their token in the path or in the query of the URL."""
    urls = {
        "https://hooks.example.com:8443/services/hunter2?key=hunter2": "https://hooks.example.com:8443/**********",
        "https://hooks.example.com?key=hunter2": "https://hooks.example.com/**********",
        "http://[::1]:80/": "http://[::1]:80",
    }
    assert {url: load(flags={**SERVERS, "webhook.url": url}).masked()["webhook"]["url"][0] for url in urls} == urls
