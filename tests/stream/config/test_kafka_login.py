"""The options describe one login, contradictions are refused, and no copy of the login has a secret."""

import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
import structlog

from sandbox.certificates import Certificates
from stream.config.kafka_login import (
    AwsIamLogin,
    ClientCredentialsLogin,
    PasswordLogin,
    TokenFileLogin,
    login_from_options,
)
from stream.config.loader import ConfigRefusal, load
from stream.config.options import KafkaOptions
from stream.config.secret_sources import SecretFile

SERVERS = {"kafka.bootstrap_servers": "a:1"}
ENDPOINT = {
    "oauth_token_endpoint": "https://login.test/token",
    "oauth_client_id": "alice",
    "oauth_client_secret": "hunter2",
}
FILE = {"oauth_token_file": "/var/run/token"}
USER = {"sasl_username": "alice", "sasl_password": "hunter2"}


def kafka(protocol: str = "SASL_SSL", mechanism: str | None = None, **options: Any) -> KafkaOptions:
    """Return the section `kafka` with these options."""
    given = {"security_protocol": protocol, "sasl_mechanism": mechanism, **options}
    return load(flags={**SERVERS, **{f"kafka.{k}": v for k, v in given.items() if v is not None}}).kafka


def test_every_mechanism_has_its_credentials() -> None:
    """Each kind of login is a class of its own that has the options of this login."""
    scram = login_from_options(kafka(mechanism="SCRAM-SHA-512", **USER)).credentials
    assert isinstance(scram, PasswordLogin)
    assert (scram.mechanism, scram.username, scram.password.reveal()) == ("SCRAM-SHA-512", "alice", "hunter2")
    options = {**ENDPOINT, "oauth_scope": "s", "oauth_timeout": "3s", "oauth_extensions": "b=2,a=1"}
    client = login_from_options(kafka(mechanism="OAUTHBEARER", **options)).credentials
    assert isinstance(client, ClientCredentialsLogin)
    assert (client.endpoint, client.scope, client.timeout) == ("https://login.test/token", "s", 3.0)
    assert client.extensions == (("a", "1"), ("b", "2"))
    assert login_from_options(kafka(mechanism="OAUTHBEARER", **FILE)).credentials == TokenFileLogin(
        Path("/var/run/token")
    )
    assert login_from_options(kafka(mechanism="AWS_MSK_IAM", aws_region="r")).credentials == AwsIamLogin("r")


OAUTH = {"mechanism": "OAUTHBEARER"}
# Per row: the options, and the start of each error.
CONTRADICTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["sasl_mechanism (default or not set): is needed"]),
    ({"mechanism": "PLAIN", "sasl_username": "u"}, ["sasl_password"]),
    (OAUTH, ["oauth_token_endpoint", "oauth_client_id", "oauth_client_secret"]),
    ({**OAUTH, **FILE, **ENDPOINT}, sorted(ENDPOINT)),
    ({**OAUTH, **FILE, **USER}, ["sasl_password", "sasl_username"]),
    ({"mechanism": "PLAIN", **USER, **FILE}, ["oauth_token_file"]),
    ({"mechanism": "PLAIN", **USER, "aws_region": "r"}, ["aws_region"]),
    ({"protocol": "SASL_PLAINTEXT", "mechanism": "AWS_MSK_IAM"}, ["security_protocol"]),
    ({"protocol": "SSL", **FILE}, ["oauth_token_file"]),
]


def test_contradictions_are_named() -> None:
    """One refusal names all options that are missing or have no effect, and has no secret."""
    wrong = []
    for options, faults in CONTRADICTIONS:
        with pytest.raises(ConfigRefusal) as refused:
            kafka(**options)
        lines = [str(fault).removeprefix("kafka.") for fault in refused.value.faults]
        if len(lines) != len(faults) or not all(map(str.startswith, lines, faults)):
            wrong.append(f"{options}: {lines} instead of {faults}")
        assert "hunter2" not in str(refused.value)
    assert wrong == []


CLEAR = "the client secret would be sent in the clear"
UNSAFE = {
    "http://login.test/token": CLEAR,
    "http://127.0.0.1.login.test/token": CLEAR,
    "https://u:hunter2@login.test/": "without user name",
    "https://login.test/#x": "without user name, password, fragment",
    "login.test/token": "must be a URL",
    "https://[::1/token": "must be a URL",
    "https://login.test:x/": "must be a URL",
    "file:///token": "must be a URL",
    "": "must be a URL",
}


def test_unsafe_endpoints_are_rejected() -> None:
    """An endpoint must use HTTPS, or HTTP on this machine, such as a sidecar. The error does not print its password."""
    for url, problem in UNSAFE.items():
        with pytest.raises(ConfigRefusal, match=problem) as refused:
            kafka(mechanism="OAUTHBEARER", **{**ENDPOINT, "oauth_token_endpoint": url})
        assert "hunter2" not in str(refused.value)
    for url in ("http://127.0.0.1:1/t", "http://localhost/t", "http://[::1]/t", "https://x.test?tenant=1"):
        assert kafka(mechanism="OAUTHBEARER", **{**ENDPOINT, "oauth_token_endpoint": url}).oauth_token_endpoint == url


def test_extensions_that_break_the_message_are_rejected() -> None:
    """RFC 7628 allows only names of letters and values of ASCII text."""
    for pairs in ({"auth": "x"}, {"a-b": "x"}, {"": "x"}, {"a": "x\x01"}, {"a": "ü"}):
        with pytest.raises(ConfigRefusal, match="must be a name of letters"):
            kafka(mechanism="OAUTHBEARER", **FILE, oauth_extensions=pairs)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "mutual TLS"])
def test_no_copy_of_a_login_has_a_secret(
    mechanism: str, tmp_path: Path, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    """No repr, pickle or log line of the configuration or login has the secret; a copy has the path of its file."""
    secret_file = tmp_path / "secret"
    secret_file.write_text("hunter2")
    by_mechanism: dict[str, dict[str, Any]] = {
        "OAUTHBEARER": {
            "oauth_token_endpoint": "https://login.test/token",
            "oauth_client_id": "alice",
            "oauth_client_secret_file": str(secret_file),
        },
        "mutual TLS": {
            "ssl_certificate_file": str(certificates.certificate("client")),
            "ssl_key_file": str(certificates.key("client-locked")),
            "ssl_key_password_file": str(secret_file),
        },
    }
    options = by_mechanism.get(mechanism, {"sasl_username": "alice", "sasl_password_file": str(secret_file)})
    protocol, sasl = ("SSL", None) if mechanism == "mutual TLS" else ("SASL_SSL", mechanism)
    section = kafka(protocol, sasl, **options)
    login = login_from_options(section)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("x").warning("%s %r", section, login)
        structlog.get_logger("x").warning("login", section=section, login=login)
    shown = [repr(section), str(section), section.model_dump_json(), repr(login), caplog.text]
    assert [text for text in shown if "hunter2" in text] == []
    for copied in (section, login):
        pickled = pickle.dumps(copied)
        assert b"hunter2" not in pickled
        assert pickle.loads(pickled) == copied  # noqa: S301 -- pickled above
    places = {section.sasl_password, section.oauth_client_secret, section.ssl_key_password} - {None}
    assert places == {SecretFile(secret_file)}
