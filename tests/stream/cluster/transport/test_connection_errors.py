"""Tests of the conversion of library exceptions that no test listener can cause."""

import ssl

from kafka import errors as library

from stream.cluster.transport import connection_errors as causes
from stream.cluster.transport import errors
from stream.errors import ExitCode


def _unverified(reason: str) -> ssl.SSLCertVerificationError:
    """Return an error as OpenSSL raises it."""
    error = ssl.SSLCertVerificationError(f"certificate verify failed: {reason}")
    error.verify_message = reason
    return error


RAISED: list[tuple[Exception, type[errors.ClusterError], str]] = [
    (library.SaslAuthenticationFailedError("SaslAuthenticationFailedError: Nope"), errors.LoginRefused, "login: Nope"),
    (library.UnsupportedSaslMechanismError(), errors.LoginRefused, "mechanism"),
    (library.ClusterAuthorizationFailedError(), errors.NotAuthorised, "denies a request"),
    (library.IncompatibleBrokerVersion("no ListOffsets"), errors.Unsupported, "does not support"),
    (library.RequestTimedOutError(), errors.TimedOut, "in time"),
    (library.NodeNotReadyError(1), errors.Unreachable, "not reachable"),
    (library.KafkaConnectionError("104 ECONNRESET"), errors.Unreachable, "ECONNRESET"),
    (library.CorrelationIdError("x"), errors.WrongProtocol, "not a Kafka broker"),
    (
        library.KafkaConnectionError(ssl.SSLError(1, "TLSV13_ALERT_CERTIFICATE_REQUIRED")),
        errors.TlsRefused,
        "client certificate",
    ),
    (AttributeError("API_VERSION"), errors.Malformed, "AttributeError: API_VERSION"),
]


def test_each_exception_has_its_class() -> None:
    """The message has the address and is one line, and the advice is never empty."""
    found = [causes.named(raised, "broker-7:9092", "SASL_SSL") for raised, _, _ in RAISED]
    assert [type(error) for error in found] == [kind for _, kind, _ in RAISED]
    assert [error for error, (_, _, text) in zip(found, RAISED, strict=True) if text not in error.what] == []
    assert [error for error in found if "broker-7:9092" not in error.what or "\n" in str(error)] == []
    assert all(error.advice for error in found)


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


ADVICE = {
    "certificate has expired": "renew the certificate",
    "certificate is not yet valid": "clock",
    "unable to get local issuer certificate": "set kafka.ssl_ca_file",
    "self-signed certificate in certificate chain": "set kafka.ssl_ca_file",
    "Hostname mismatch, certificate is not valid for 'a'": "host name",
    "IP address mismatch, certificate is not valid for '::1'": "host name",
    "something new": "check kafka.ssl_ca_file",
}


def test_each_fault_of_a_certificate_has_its_advice() -> None:
    """The error quotes the reason of OpenSSL, and its advice fits the reason."""
    found = {reason: causes.named(_unverified(reason), "broker-7:9092", "SSL") for reason in ADVICE}
    assert {type(error) for error in found.values()} == {errors.TlsRefused}
    assert [reason for reason, error in found.items() if f"is not accepted: {reason}" not in error.what] == []
    assert [error for reason, error in found.items() if ADVICE[reason] not in error.advice] == []


def _all_kinds(kind: type[errors.ClusterError]) -> set[type[errors.ClusterError]]:
    return {kind}.union(*(_all_kinds(each) for each in kind.__subclasses__()))
