"""Where the configuration comes from: the order of the sources, and that every fault is named at once."""

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
    """Load and give the text of each fault; none when it loads."""
    try:
        load(flags=flags or {}, **sources)
    except ConfigRefusal as refusal:
        return [str(fault) for fault in refusal.faults]
    return []


def write(folder: Path, tree: object) -> Path:
    """Write a configuration file."""
    path = folder / "lagwarden.yaml"
    path.write_text(tree if isinstance(tree, str) else yaml.safe_dump(tree))
    return path


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    """Each source is stronger than the one before, option by option."""
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
        pytest.param({}, ["kafka.bootstrap_servers (not set): is required"], id="nothing given: the one needed option"),
        pytest.param({"kafka.bootstrap_servers": ","}, ["must name at least one broker"], id="servers: an empty list"),
        pytest.param({"kafka.bootstrap_servers": "a:1,b"}, ["'b' must be host:port"], id="servers: one without port"),
        pytest.param({"kafka.bootstrap_servers": "a:0"}, ["'a:0' must be host:port"], id="servers: port zero"),
        pytest.param(
            {"kafka.bootstrap_servers": "PLAINTEXT://a:1"}, ["must be host:port"], id="servers: a listener's name"
        ),
        pytest.param(
            {**SERVERS, "job.shard": 1},
            ["job.shard (command line): no such option; did you mean job.shards?"],
            id="misspelt",
        ),
        pytest.param(
            {**SERVERS, "job.tick_interval": "5 parsecs"}, ["must be a number of seconds"], id="no such unit of time"
        ),
        pytest.param(
            {**SERVERS, "http.port": "http"},
            ["http.port = 'http' (command line): must be a valid integer"],
            id="no number",
        ),
        pytest.param({**SERVERS, "http.port": 70000}, ["must be less than or equal to 65535"], id="port too high"),
        pytest.param(
            {**SERVERS, "job.driver_memory": "2 GB"}, ["whole number with k, m, g or t"], id="heap with a space"
        ),
        pytest.param(
            {**SERVERS, "job.freshness_limit": 15}, ["at least twice tick_interval"], id="fresher than a tick"
        ),
        pytest.param(
            {**SERVERS, "job.watchdog_limit": 6}, ["at least four times trigger_interval"], id="watchdog too eager"
        ),
        pytest.param(
            {**SERVERS, "job.tick_interval": "nan"}, ["must be a number of seconds"], id="not a number at all"
        ),
        pytest.param(
            {**SERVERS, "kafka.security_protocol": "TLS"}, ["must be 'PLAINTEXT', 'SSL'"], id="no such protocol"
        ),
        pytest.param(LOGIN, ["kafka.sasl_password (default or not set): is needed with"], id="login without password"),
        pytest.param(
            {**SERVERS, "kafka.sasl_username": "u"},
            ["has no effect with security_protocol PLAINTEXT"],
            id="login unused",
        ),
        pytest.param(
            {**SERVERS, "kafka.ssl_ca_file": __file__},
            ["has no effect with security_protocol PLAINTEXT"],
            id="CA unused",
        ),
        pytest.param(
            {**SERVERS, "kafka.security_protocol": "SSL", "kafka.ssl_ca_file": "/no"},
            ["ssl_ca_file"],
            id="CA not there",
        ),
        pytest.param(
            {**SERVERS, "kafka.security_protocol": "SSL", "kafka.ssl_key_file": __file__},
            ["ssl_certificate_file (default or not set): is needed", "must be PKCS#8"],
            id="a key without certificate, and no key at that",
        ),
        pytest.param(
            {**SERVERS, "kafka.consumer_options": "fetch.max.bytes=1,group.id=x"},
            ["group.id is decided by"],
            id="our own option",
        ),
        pytest.param(
            {"kafka.bootstrap_servers": "a", "http.port": -1, "job.shards": 0, "log.level": "loud"},
            ["'a' must be", "http.port = -1", "job.shards = 0", "log.level = 'loud'"],
            id="four sections, four faults, one run",
        ),
    ],
)
def test_each_fault_is_named(flags: dict[str, Any], wanted: list[str]) -> None:
    """Every fault is said, in one run, with its key, its value and what would be right."""
    found = faults(flags=flags)
    assert len(found) == len(wanted), found
    for text, fault in zip(wanted, found, strict=True):
        assert text in fault


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("kafka: [", "is not YAML: ", id="broken YAML"),
        pytest.param("- a\n- b", "must be a mapping", id="a list at the top"),
        pytest.param("kafka: a:1", "kafka (file ", id="text where a section is due"),
        pytest.param("htp: {port: 1}", "no such section; did you mean http?", id="misspelt section"),
        pytest.param("http: {prot: 1}", "did you mean http.port?", id="misspelt option"),
    ],
)
def test_file_faults(tmp_path: Path, text: str, wanted: str) -> None:
    """What is wrong with the file itself is said in the same way."""
    assert any(wanted in fault for fault in faults(file=write(tmp_path, text), flags=SERVERS))


def test_refusal_is_a_fault_of_usage() -> None:
    """All of it ends the process with the code for wrong usage."""
    with pytest.raises(Refusal) as refused:
        load()
    assert refused.value.code is ExitCode.USAGE


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file is a fault that names it, beside all others."""
    found = faults(file=tmp_path / "absent.yaml", environment={"LAGWARDEN_JOB_SHARD": "1"})
    assert "absent.yaml (configuration file): cannot be read: No such file" in found[0]
    assert [fault.partition(" ")[0] for fault in found[1:]] == ["LAGWARDEN_JOB_SHARD", "kafka.bootstrap_servers"]


def test_unknown_variable_names_the_nearest() -> None:
    """A misspelt variable would be ignored in silence; here it is refused."""
    assert faults(environment={"LAGWARDEN_HTTP_PROT": "1"}, flags=SERVERS) == [
        "LAGWARDEN_HTTP_PROT (environment): no such variable; did you mean LAGWARDEN_HTTP_PORT?"
    ]


def test_service_links_of_kubernetes_are_no_options() -> None:
    """A service called lagwarden, or lagwarden-http, puts variables into each pod: they configure nothing."""
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
    """The variable of an option belongs to it alone, so that no value goes astray."""
    assert [other for other in KEYS if environment_variable(other) == environment_variable(key)] == [key]


@given(st.integers(1, 3600), st.sampled_from([("ms", 1000.0), ("s", 1.0), ("", 1.0), ("m", 1 / 60), ("h", 1 / 3600)]))
def test_a_duration_is_the_same_in_each_unit(seconds: int, unit: tuple[str, float]) -> None:
    """5 m, 300 s, 300000 ms and the number 300 are one duration."""
    name, per_second = unit
    flags = {**SERVERS, "job.trigger_interval": f"{seconds * per_second:.9f} {name}", "job.watchdog_limit": "5h"}
    assert load(flags=flags).job.trigger_interval == pytest.approx(seconds, rel=1e-5)


class TestSecrets:
    """Passwords come from anywhere and are shown nowhere."""

    def test_file_named_by_a_variable(self, tmp_path: Path) -> None:
        """A mounted secret is read from its file, without the line break that an editor puts there."""
        (tmp_path / "pw").write_text(" hunter2 \n")
        config = load(None, {"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "pw")}, LOGIN)
        assert config.kafka.sasl_password is not None
        assert config.kafka.sasl_password.get_secret_value() == " hunter2 "

    def test_file_in_the_environment_beats_a_value_in_the_file(self, tmp_path: Path) -> None:
        """The order of the sources holds over both spellings."""
        (tmp_path / "pw").write_text("mounted")
        path = write(tmp_path, {"kafka": {"sasl_password": "written"}})
        config = load(path, {"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "pw")}, LOGIN)
        assert config.kafka.sasl_password is not None
        assert config.kafka.sasl_password.get_secret_value() == "mounted"

    def test_both_spellings_in_one_source(self, tmp_path: Path) -> None:
        """Nobody should have to guess which of two passwords is used."""
        (tmp_path / "pw").write_text("mounted")
        both = {"LAGWARDEN_KAFKA_SASL_PASSWORD": "x", "LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "pw")}
        assert "is given twice" in faults(environment=both, flags=LOGIN)[0]

    def test_missing_file_is_named(self) -> None:
        """The file that is not there is named, and so is the variable that names it."""
        found = faults(environment={"LAGWARDEN_KAFKA_SASL_PASSWORD_FILE": "/no/pw"}, flags=LOGIN)
        assert (
            "kafka.sasl_password_file = '/no/pw' (variable LAGWARDEN_KAFKA_SASL_PASSWORD_FILE): cannot be read"
            in found[0]
        )

    @pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT", "nonsense"])
    @pytest.mark.parametrize("secret", ["hunter2", 12345, ["hunter2"]])
    def test_no_fault_and_no_print_shows_a_secret(self, protocol: str, secret: object) -> None:
        """Whatever is wrong around it, a password appears in no fault, no repr and no effective configuration."""
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
            "fetch.max.bytes=1,sasl.jaas.config=login required password=hunter2",
            {"ssl.keystore.password": "hunter2"},
            ["ssl.key.password=hunter2"],
            {"client.secret": ["hunter2"]},
            17,
        ],
    )
    def test_refused_consumer_options_are_not_shown(self, options: object) -> None:
        """The fault names the refused options without any value."""
        (fault,) = faults(flags={**SERVERS, "kafka.consumer_options": options})
        assert fault.startswith("kafka.consumer_options (command line): ")
        assert "hunter2" not in fault

    def test_a_section_that_is_no_mapping_is_not_shown(self, tmp_path: Path) -> None:
        """Its text may hold the passwords that belong into it."""
        file = tmp_path / "config.yaml"
        file.write_text("kafka: sasl_password=hunter2\n")
        with pytest.raises(ConfigRefusal) as refused:
            load(file, {}, {})
        assert "must be a mapping" in str(refused.value)
        assert "hunter2" not in str(refused.value)

    def test_options_that_may_be_secrets_are_printed_as_stars(self) -> None:
        """The effective configuration shows ordinary client options only."""
        options = "fetch.max.bytes=1,basic.auth.user.info=u:hunter2"
        shown = load(flags={**SERVERS, "kafka.consumer_options": options}).masked()["kafka"]["consumer_options"]
        assert shown == {"fetch.max.bytes": "1", "basic.auth.user.info": "**********"}
