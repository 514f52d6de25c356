"""The login options of the Python client and of the Java consumer describe the same login."""

# ruff: noqa: S106 -- the passwords of test users
from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.config.kafka_login import client_options, spark_kafka_options
from stream.config.loader import ConfigRefusal, load
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from stream.config.options import KafkaOptions
    from tests.stream.conftest import Certificates


def kafka(**options: Any) -> KafkaOptions:
    """Return the section `kafka` with these options."""
    return load(flags={"kafka.bootstrap_servers": "a:1,b:2", **{f"kafka.{k}": v for k, v in options.items()}}).kafka


def login(mechanism: str = "SCRAM-SHA-512", user: str = "alice", password: str = "secret") -> dict[str, str]:  # noqa: S107 -- a test
    """Return the options of a login."""
    return {"sasl_mechanism": mechanism, "sasl_username": user, "sasl_password": password}


def test_plaintext_needs_only_the_servers() -> None:
    """With PLAINTEXT, both clients get the security protocol and no login."""
    assert client_options(kafka()) == {"security_protocol": "PLAINTEXT"}
    assert spark_kafka_options(kafka()) == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_both_clients_log_in_the_same_way(mechanism: str, module: str) -> None:
    """Both clients get mechanism, user and password; the Java consumer as JAAS configuration."""
    section = kafka(security_protocol="SASL_PLAINTEXT", **login(mechanism))
    assert client_options(section) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": "secret",
    }
    java = spark_kafka_options(section)
    assert java["kafka.sasl.mechanism"] == mechanism
    assert java["kafka.sasl.jaas.config"] == (
        f'org.apache.kafka.common.security.{module} required username="alice" password="secret";'
    )


@given(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1))
def test_passwords_are_escaped_in_jaas(password: str) -> None:
    """Unescaping the JAAS text returns the password: backslash and quote are escaped, all else is unchanged."""
    section = kafka(security_protocol="SASL_PLAINTEXT", **login(password=password))
    jaas = spark_kafka_options(section)["kafka.sasl.jaas.config"]
    start = jaas.index('password="') + len('password="')
    read, at = "", start
    while jaas[at] != '"':
        at += jaas[at] == "\\"
        read += jaas[at]
        at += 1
    assert read == password
    assert jaas[at:] == '";'


def test_consumer_options_are_passed_to_the_java_consumer() -> None:
    """Additional consumer options get the prefix `kafka.`."""
    assert spark_kafka_options(kafka(consumer_options="fetch.max.bytes=1"))["kafka.fetch.max.bytes"] == "1"


class TestTls:
    """Both clients use the same certificate files."""

    def test_both_clients_get_authority_and_client_certificate(self, certificates: Certificates) -> None:
        """The Java consumer gets PEM text, the Python client an SSL context that has loaded the same files."""
        section = kafka(
            security_protocol="SSL",
            ssl_ca_file=str(certificates.authority),
            ssl_certificate_file=str(certificates.certificate("client")),
            ssl_key_file=str(certificates.key("client-locked")),
            ssl_key_password="key-secret",
        )
        java = spark_kafka_options(section)
        assert java["kafka.ssl.truststore.location"] == str(certificates.authority)
        assert java["kafka.ssl.keystore.key"].startswith("-----BEGIN ENCRYPTED PRIVATE KEY")
        assert java["kafka.ssl.key.password"] == "key-secret"
        context = client_options(section)["ssl_context"]
        assert [authority["subject"] for authority in context.get_ca_certs()] == [((("commonName", "test-ca"),),)]
        assert context.check_hostname

    def test_host_name_check_can_be_disabled_for_both(self, certificates: Certificates) -> None:
        """Without `ssl_verify_hostname` both clients skip the host name and still verify the certificate chain."""
        section = kafka(security_protocol="SSL", ssl_ca_file=str(certificates.authority), ssl_verify_hostname="false")
        assert spark_kafka_options(section)["kafka.ssl.endpoint.identification.algorithm"] == ""
        context = client_options(section)["ssl_context"]
        assert not context.check_hostname
        assert context.verify_mode is ssl.CERT_REQUIRED

    def test_both_clients_default_to_the_authorities_of_the_system(self) -> None:
        """Without `ssl_ca_file` the Java consumer uses the system's CA file, not the list of the JDK."""
        found = ssl.get_default_verify_paths()
        if found.cafile is None:
            pytest.skip("this system has no CA file")
        assert spark_kafka_options(kafka(security_protocol="SSL"))["kafka.ssl.truststore.location"] == found.cafile

    @pytest.mark.parametrize(
        ("change", "option"),
        [
            pytest.param({"ssl_ca_file": __file__}, "ssl_ca_file", id="no certificate in the file"),
            pytest.param({"ssl_key_password": "wrong"}, "ssl_certificate_file", id="wrong key password"),
            pytest.param({"ssl_key_password": None}, "ssl_certificate_file", id="no key password"),
            pytest.param({"ssl_key_file": "broker"}, "ssl_certificate_file", id="key of another certificate"),
        ],
    )
    def test_unusable_files_are_named(self, certificates: Certificates, change: dict[str, Any], option: str) -> None:
        """The option of an unusable file is named before any connection is opened."""
        options = {
            "ssl_ca_file": str(certificates.authority),
            "ssl_certificate_file": str(certificates.certificate("client")),
            "ssl_key_file": str(certificates.key("client-locked")),
            "ssl_key_password": "key-secret",
            **change,
        }
        if options["ssl_key_file"] == "broker":
            options["ssl_key_file"] = str(certificates.key("broker"))
        section = kafka(
            security_protocol="SSL", **{name: value for name, value in options.items() if value is not None}
        )
        with pytest.raises(Refusal, match=f"kafka.{option}") as refused:
            client_options(section)
        assert refused.value.code is ExitCode.USAGE

    @pytest.mark.parametrize(
        ("key", "problem"), [("client-old", r"must be PKCS#8"), ("client-modern", r"encrypted with PBES2")]
    )
    def test_key_that_java_cannot_read_is_rejected(self, certificates: Certificates, key: str, problem: str) -> None:
        """Python accepts these keys and Java does not: the job would fail although `check-config --connect` passed."""
        with pytest.raises(ConfigRefusal, match=rf"{problem}.*openssl pkcs8 -topk8"):
            kafka(
                security_protocol="SSL",
                ssl_certificate_file=str(certificates.certificate("client")),
                ssl_key_file=str(certificates.key(key)),
                ssl_key_password="key-secret",
            )
