"""Tests of the conversion of library exceptions that no test listener can cause."""

from __future__ import annotations

import ssl

import kafka.errors
import pytest

from stream.cluster.transport import connection_errors as causes
from stream.cluster.transport import errors
from stream.errors import ExitCode, Refusal


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        pytest.param(
            kafka.errors.SaslAuthenticationFailedError("SaslAuthenticationFailedError: Nope"),
            errors.LoginRefused,
            "login: Nope",
            id="a login",
        ),
        pytest.param(kafka.errors.UnsupportedSaslMechanismError(), errors.LoginRefused, "mechanism", id="a mechanism"),
        pytest.param(
            kafka.errors.ClusterAuthorizationFailedError(), errors.NotAuthorised, "denies a request", id="a right"
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
        pytest.param(ssl.SSLCertVerificationError("bad"), errors.TlsRefused, "not accepted", id="a certificate"),
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


@pytest.mark.parametrize("kind", [errors.Unreachable, errors.CutOff, errors.TimedOut])
def test_only_unreachable_errors_are_retriable(kind: type[errors.ClusterError]) -> None:
    """`run` waits for an unreachable broker only; a wrong password is permanent."""
    waiting = {each for each in _all_kinds(errors.ClusterError) if each.passes}
    assert kind in waiting
    assert {each.code for each in waiting} == {ExitCode.KAFKA_UNREACHABLE}
    assert issubclass(kind, Refusal)


def _all_kinds(kind: type[errors.ClusterError]) -> set[type[errors.ClusterError]]:
    return {kind}.union(*(_all_kinds(each) for each in kind.__subclasses__()))
