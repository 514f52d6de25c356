"""The login of Spark's Java consumer, from the same options as that of lagwarden's own client."""

# ruff: noqa: S106 -- the passwords of test users
from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.config.java_login import spark_kafka_options
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
    """With PLAINTEXT there is the security protocol and no login."""
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
def test_password_logins(mechanism: str, module: str) -> None:
    """Mechanism, user and password are a JAAS configuration."""
    java = spark_kafka_options(kafka(security_protocol="SASL_PLAINTEXT", **login(mechanism)))
    assert java["kafka.sasl.mechanism"] == mechanism
    assert java["kafka.sasl.jaas.config"] == (
        f'org.apache.kafka.common.security.{module} required username="alice" password="secret";'
    )


def test_client_credentials(certificates: Certificates) -> None:
    """The Java client asks the token endpoint itself, with the same client, scope, extensions and authorities."""
    java = spark_kafka_options(
        kafka(
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            oauth_token_endpoint="https://login.test/token",
            oauth_client_id="alice",
            oauth_client_secret='hun"ter',
            oauth_scope="kafka",
            oauth_ca_file=str(certificates.authority),
            oauth_timeout="3s",
            oauth_extensions="logicalCluster=lkc-1",
        )
    )
    oauth = "org.apache.kafka.common.security.oauthbearer"
    assert java["kafka.sasl.login.callback.handler.class"] == f"{oauth}.OAuthBearerLoginCallbackHandler"
    assert java["kafka.sasl.oauthbearer.token.endpoint.url"] == "https://login.test/token"
    assert java["kafka.sasl.login.read.timeout.ms"] == "3000"
    assert java["kafka.sasl.jaas.config"] == (
        f'{oauth}.OAuthBearerLoginModule required clientId="alice" clientSecret="hun\\"ter" scope="kafka"'
        f' extension_logicalCluster="lkc-1" ssl.truststore.type="PEM"'
        f' ssl.truststore.location="{certificates.authority}";'
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sasl_mechanism": "OAUTHBEARER", "oauth_token_file": "/t"}, "kafka.oauth_token_file"),
        ({"sasl_mechanism": "AWS_MSK_IAM"}, "AWS_MSK_IAM"),
    ],
)
def test_login_that_the_source_does_not_support_is_refused(options: dict[str, str], named: str) -> None:
    """The error names the option before the query starts."""
    with pytest.raises(Refusal, match=rf"{named} is not supported by Spark's Kafka source") as refused:
        spark_kafka_options(kafka(security_protocol="SASL_SSL", **options))
    assert refused.value.code is ExitCode.USAGE


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
    """The Java consumer reads the same certificate files."""

    def test_authority_and_client_certificate(self, certificates: Certificates) -> None:
        """Key and certificate are passed as PEM text."""
        java = spark_kafka_options(
            kafka(
                security_protocol="SSL",
                ssl_ca_file=str(certificates.authority),
                ssl_certificate_file=str(certificates.certificate("client")),
                ssl_key_file=str(certificates.key("client-locked")),
                ssl_key_password="key-secret",
            )
        )
        assert java["kafka.ssl.truststore.location"] == str(certificates.authority)
        assert java["kafka.ssl.keystore.key"].startswith("-----BEGIN ENCRYPTED PRIVATE KEY")
        assert java["kafka.ssl.key.password"] == "key-secret"

    def test_host_name_check_can_be_disabled(self, certificates: Certificates) -> None:
        """Without `ssl_verify_hostname` the host name is not compared."""
        section = kafka(security_protocol="SSL", ssl_ca_file=str(certificates.authority), ssl_verify_hostname="false")
        assert spark_kafka_options(section)["kafka.ssl.endpoint.identification.algorithm"] == ""

    def test_default_authorities_are_those_of_the_system(self) -> None:
        """Without `ssl_ca_file` the Java consumer uses the system's CA file, not the list of the JDK."""
        found = ssl.get_default_verify_paths()
        if found.cafile is None:
            pytest.skip("this system has no CA file")
        assert spark_kafka_options(kafka(security_protocol="SSL"))["kafka.ssl.truststore.location"] == found.cafile

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
