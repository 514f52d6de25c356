"""Converts exceptions of the Kafka library into a ClusterError with its cause and an advice.

Contains all messages about connections. Pure functions of the exception, the address and the configured security
protocol.
"""

import errno
import re
import ssl
from collections.abc import Iterator
from typing import Final

import kafka.errors

from stream.cluster.transport.corrections.tls_alert import SpeaksTlsError
from stream.cluster.transport.errors import (
    ClusterError,
    LoginRefused,
    LoginUnavailable,
    Malformed,
    NotAuthorised,
    TimedOut,
    TlsRefused,
    Unreachable,
    Unsupported,
    WrongProtocol,
    certificate_advice,
)

_CHECK_ADDRESS: Final = "check kafka.bootstrap_servers, the broker and the network between"
_CHECK_PROTOCOL: Final = "set kafka.security_protocol to what the broker's listener uses"
_PASSING: Final = frozenset({-1, 2})
"""UNKNOWN_SERVER_ERROR, and CORRUPT_MESSAGE of a broker that could not read its log: final only for the library."""
_CHECK_LOGIN: Final = "check kafka.sasl_mechanism, kafka.sasl_username and kafka.sasl_password"

_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


def named(error: BaseException, where: str, security_protocol: str) -> ClusterError:
    """Return the ClusterError for an exception that was raised in an exchange with `where` (host:port)."""
    if isinstance(error, ClusterError):
        return error
    tls = next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), None)
    if tls is not None:
        return _tls(tls, where)
    explained = (
        _refused(error, where, security_protocol)
        or _not_understood(error, where, security_protocol)
        or _away(error, where)
    )
    if explained is not None:
        return explained
    return Malformed(
        f"the exchange with {where} failed in the client: {type(error).__name__}: {error}",
        "this is an error in lagwarden; please report it with this line",
    )


def closed_on_first_request(where: str, security_protocol: str) -> ClusterError:
    """Return the error for a broker that answers ApiVersions but closes the connection on the first request."""
    wanted = "SASL_SSL" if security_protocol == "SSL" else "SASL_PLAINTEXT"
    return WrongProtocol(
        f"{where} closes the connection on the first request over {security_protocol}: its listener requires a login",
        f"set kafka.security_protocol={wanted} with kafka.sasl_mechanism, kafka.sasl_username and kafka.sasl_password",
    )


def login_waits(where: str, origin: str) -> LoginUnavailable:
    """Return the error for a login that is still waiting for its credentials, such as a token, from `origin`."""
    return LoginUnavailable(
        f"no connection to {where} yet: the login waits for {origin}", "check why it does not answer in time"
    )


def no_topic_right(topic: str, operation: str) -> NotAuthorised:
    """Return the error for a missing right on a topic, with the advice to grant it."""
    return NotAuthorised(
        f"no right to {operation} topic {topic}",
        f"grant {operation} on topic {topic} to lagwarden's user (`lagwarden acls` prints the commands)",
    )


def retry_of_code(code: int) -> tuple[bool, bool]:
    """Return whether an error code may end by itself, and whether the metadata must be read first."""
    error = kafka.errors.for_code(code)
    return error.retriable or code in _PASSING, error.invalid_metadata


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, the exceptions it wraps and its causes; kafka-python wraps in the arguments."""
    while error is not None:
        yield error
        wrapped = next((argument for argument in error.args if isinstance(argument, BaseException)), None)
        error = wrapped or error.__cause__


def _tls(error: ssl.SSLError, where: str) -> ClusterError:
    reason = str(getattr(error, "reason", None) or error).upper()
    if any(sign in reason for sign in _NOT_TLS):
        return WrongProtocol(f"{where} does not speak TLS", _CHECK_PROTOCOL)
    if isinstance(error, ssl.SSLCertVerificationError):
        return TlsRefused(
            f"the certificate of {where} is not accepted: {error.verify_message}",
            certificate_advice(error.verify_message, "kafka.ssl_ca_file", "kafka.bootstrap_servers"),
        )
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return TlsRefused(
            f"{where} does not accept the client certificate, or requires one ({_words(reason)})",
            "set kafka.ssl_certificate_file and kafka.ssl_key_file to a certificate that the broker trusts and that"
            " has not expired",
        )
    return TlsRefused(f"the TLS handshake with {where} failed ({_words(reason)})", "check the kafka.ssl_* options")


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ")


def _refused(error: BaseException, where: str, security_protocol: str) -> ClusterError | None:
    """Return the error for a login or a request that the broker refuses; None for any other."""
    if isinstance(error, kafka.errors.SaslAuthenticationFailedError):
        # The library prefixes the broker's message with the class of the error, and the error with its number.
        text = re.sub(r"^(\[Error \d+\] )?(\w+Error: )*", "", str(error))
        return LoginRefused(f"{where} refuses the login: {text or 'no reason given'}", _CHECK_LOGIN)
    if isinstance(error, kafka.errors.UnsupportedSaslMechanismError):
        mechanisms = re.search(r"SASL mechanism .+; it offers .+", str(error))
        return LoginRefused(
            f"{where} does not offer the {mechanisms[0] if mechanisms else 'SASL mechanism'}",
            "set kafka.sasl_mechanism to one that the broker's listener enables",
        )
    if isinstance(error, kafka.errors.IllegalSaslStateError):
        wanted = "SSL" if security_protocol == "SASL_SSL" else "PLAINTEXT"
        return WrongProtocol(
            f"{where} does not accept a login on this listener", f"set kafka.security_protocol={wanted}"
        )
    if isinstance(error, kafka.errors.AuthorizationError):
        return NotAuthorised(
            f"{where} denies a request because a right is missing ({error})",
            "grant what `lagwarden acls` prints to lagwarden's user",
        )
    return None


def _not_understood(error: BaseException, where: str, security_protocol: str) -> ClusterError | None:
    """Return the error for a server that does not speak the protocol as expected; None for any other."""
    if isinstance(error, kafka.errors.IncompatibleBrokerVersion):
        if "MetadataRequest" in str(error):
            return WrongProtocol(
                f"{where} is a KRaft controller, not a broker", "name brokers in kafka.bootstrap_servers"
            )
        return Unsupported(
            f"the broker {where} does not support a request ({error})", "see docs/support.md for supported versions"
        )
    if isinstance(error, SpeaksTlsError):
        wanted = "SASL_SSL" if security_protocol.startswith("SASL") else "SSL"
        return WrongProtocol(f"{where} speaks TLS, not {security_protocol}", f"set kafka.security_protocol={wanted}")
    if isinstance(error, kafka.errors.KafkaProtocolError):
        return WrongProtocol(
            f"what answers at {where} is not a Kafka broker ({error})", "check kafka.bootstrap_servers"
        )
    return None


def _away(error: BaseException, where: str) -> ClusterError | None:
    """Return the error for a broker that is not reachable, or does not answer; None for any other."""
    if not isinstance(error, _OF_CONNECTIONS):
        return None
    text = str(error)
    if isinstance(error, _OF_TIME) or "timed out" in text:
        return TimedOut(f"{where} does not answer in time", _CHECK_ADDRESS)
    if "ECONNREFUSED" in text:
        return Unreachable(f"{where} refuses the connection: nothing listens there", _CHECK_ADDRESS)
    if "DNS" in text:
        return Unreachable(f"the host name of {where} cannot be resolved", _CHECK_ADDRESS)
    known = re.search(r"\b(E[A-Z]{4,})\b", text)
    reason = known.group(1) if known and hasattr(errno, known.group(1)) else "connection lost"
    return Unreachable(f"{where} is not reachable ({reason})", _CHECK_ADDRESS)


_OF_TIME: Final = (kafka.errors.KafkaTimeoutError, kafka.errors.RequestTimedOutError)
_OF_CONNECTIONS: Final = (
    *_OF_TIME,
    kafka.errors.KafkaConnectionError,
    kafka.errors.NodeNotReadyError,
    kafka.errors.UnknownBrokerIdError,
    kafka.errors.Cancelled,
    OSError,
)
