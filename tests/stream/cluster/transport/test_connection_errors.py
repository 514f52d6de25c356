"""Tests of the conversion of library exceptions that no test listener can cause."""

from __future__ import annotations

import ssl

import kafka.errors
import pytest

from stream.cluster.transport import connection_errors as causes
from stream.cluster.transport import errors
from stream.errors import ExitCode


def _unverified(reason: str) -> ssl.SSLCertVerificationError:
    """Return an error as OpenSSL raises it."""
    error = ssl.SSLCertVerificationError(f"certificate verify failed: {reason}")
    error.verify_message = reason
    return error


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        pytest.param(
            kafka.errors.SaslAuthenticationFailedError("SaslAuthenticationFailedError: Nope"),
            errors.LoginRefused,
            "login: Nope",
            id="refused login",
        ),
        pytest.param(
            kafka.errors.UnsupportedSaslMechanismError(), errors.LoginRefused, "mechanism", id="SASL mechanism"
        ),
        pytest.param(
            kafka.errors.ClusterAuthorizationFailedError(),
            errors.NotAuthorised,
            "denies a request",
            id="missing ACL right",
        ),
        pytest.param(
            kafka.errors.IncompatibleBrokerVersion("no ListOffsets"),
            errors.Unsupported,
            "does not support",
            id="an old broker",
        ),
        pytest.param(kafka.errors.RequestTimedOutError(), errors.TimedOut, "in time", id="a request that timed out"),
        pytest.param(kafka.errors.NodeNotReadyError(1), errors.Unreachable, "not reachable", id="a node in back-off"),
        pytest.param(
            kafka.errors.KafkaConnectionError("104 ECONNRESET"),
            errors.Unreachable,
            "ECONNRESET",
            id="a reset connection",
        ),
        pytest.param(
            kafka.errors.CorrelationIdError("x"),
            errors.WrongProtocol,
            "not a Kafka broker",
            id="an answer without a request",
        ),
        pytest.param(_unverified("bad"), errors.TlsRefused, "not accepted", id="certificate not accepted"),
        pytest.param(
            kafka.errors.KafkaConnectionError(ssl.SSLError(1, "TLSV13_ALERT_CERTIFICATE_REQUIRED")),
            errors.TlsRefused,
            "client certificate",
            id="a missing client certificate, wrapped",
        ),
        pytest.param(
            AttributeError("API_VERSION"), errors.Malformed, "AttributeError: API_VERSION", id="an internal error"
        ),
    ],
)
def test_each_exception_has_its_class(raised: Exception, kind: type[errors.ClusterError], text: str) -> None:
    """The message has the address, and the advice is never empty."""
    found = causes.named(raised, "broker-7:9092", "SASL_SSL")
    assert type(found) is kind
    assert "broker-7:9092" in found.what
    assert text in found.what
    assert found.advice
    assert "\n" not in str(found)


def test_a_cluster_error_is_returned_unchanged() -> None:
    """A second conversion changes nothing."""
    error = errors.TimedOut("what", "advice")
    assert causes.named(error, "elsewhere:1", "SSL") is error


def test_only_temporary_errors_are_retriable() -> None:
    """Only unreachable brokers, time-outs, and unavailable or expired tokens are retriable, each with its exit code."""
    waiting = {each: each.code for each in _all_kinds(errors.ClusterError) if each.passes}
    assert waiting == {
        errors.Unreachable: ExitCode.KAFKA_UNREACHABLE,
        errors.CutOff: ExitCode.KAFKA_UNREACHABLE,
        errors.TimedOut: ExitCode.KAFKA_UNREACHABLE,
        errors.LoginUnavailable: ExitCode.LOGIN_REFUSED,
        errors.TokenExpired: ExitCode.LOGIN_REFUSED,
    }


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        pytest.param("certificate has expired", "renew the certificate", id="expired"),
        pytest.param("certificate is not yet valid", "clock", id="not yet valid"),
        pytest.param("unable to get local issuer certificate", "set kafka.ssl_ca_file", id="unknown authority"),
        pytest.param("self-signed certificate in certificate chain", "set kafka.ssl_ca_file", id="self-signed"),
        pytest.param("Hostname mismatch, certificate is not valid for 'a'", "host name", id="wrong host"),
        pytest.param("IP address mismatch, certificate is not valid for '::1'", "host name", id="wrong address"),
        pytest.param("something new", "check kafka.ssl_ca_file", id="unknown reason"),
    ],
)
def test_each_fault_of_a_certificate_has_its_advice(reason: str, advice: str) -> None:
    """The error quotes the reason of OpenSSL, and its advice fits the reason."""
    found = causes.named(_unverified(reason), "broker-7:9092", "SSL")
    assert type(found) is errors.TlsRefused
    assert reason in found.what
    assert advice in found.advice


def test_a_login_that_waits_for_a_token_names_the_endpoint() -> None:
    """The error names the token endpoint and is retriable."""
    found = causes.login_waits("broker-7:9092", "the token endpoint https://login.test/token")
    assert "waits for the token endpoint https://login.test/token" in found.what
    assert found.passes


def _all_kinds(kind: type[errors.ClusterError]) -> set[type[errors.ClusterError]]:
    return {kind}.union(*(_all_kinds(each) for each in kind.__subclasses__()))
