"""The errors of requests, one class per cause that needs another action, and the reasons why a value is unknown.

Independent of the Kafka library. Each class is a `Refusal` with its exit code; `passes` is True if the error may end
without an action: an unreachable broker may restart, a wrong password stays wrong.
"""

# ruff: noqa: N818 -- each class is named after its cause: "login refused"

import enum
from typing import ClassVar, Final

from stream.errors import ExitCode, Refusal


class ClusterError(Refusal):
    """The cluster, or one broker of it, did not answer as expected. The base; only its subclasses are raised."""

    passes: ClassVar[bool] = False
    """True if the error is retriable: it may end without an action."""


class Unreachable(ClusterError):
    """No connection: refused, unknown host name, or cut off."""

    code = ExitCode.KAFKA_UNREACHABLE
    passes = True


class CutOff(Unreachable):
    """An established connection broke before the answer."""


class TimedOut(Unreachable):
    """There is a connection, or an attempt at one, but no answer within the limit."""


class WrongProtocol(ClusterError):
    """The listener does not use the configured security protocol, or is not a Kafka broker."""

    code = ExitCode.WRONG_PROTOCOL


class TlsRefused(ClusterError):
    """The TLS handshake failed, in most cases because of a certificate."""

    code = ExitCode.TLS_REFUSED


class LoginRefused(ClusterError):
    """SASL authentication failed, or the mechanism is not enabled."""

    code = ExitCode.LOGIN_REFUSED


class TokenExpired(LoginRefused):
    """The broker refuses an expired token; the next token may be accepted."""

    passes = True


class LoginUnavailable(ClusterError):
    """There are no credentials to log in with now: a token endpoint or a file does not have them."""

    code = ExitCode.LOGIN_REFUSED
    passes = True


class NotAuthorised(ClusterError):
    """The login succeeded, but a right is missing."""

    code = ExitCode.NOT_AUTHORISED


class Unsupported(ClusterError):
    """The broker is too old, or too new, for the request."""

    code = ExitCode.WRONG_PROTOCOL


class Malformed(ClusterError):
    """The request could not be encoded, or the answer not decoded: an error in lagwarden or its library."""

    code = ExitCode.INTERNAL


_CERTIFICATE_ADVICE: Final = (
    (("has expired",), "renew the certificate of the server; if it is valid, correct the clock of this machine"),
    (("not yet valid",), "correct the clock of this machine, or wait until the certificate is valid"),
    (("mismatch",), "use a host name that the certificate contains in {address}"),
    (
        ("self-signed", "self signed", "unable to get local issuer", "unable to get issuer", "unable to verify"),
        "set {authorities} to the authority that signed the certificate",
    ),
)


def certificate_advice(reason: str, authorities: str, address: str) -> str:
    """Return what to do about OpenSSL's `reason`; `authorities` and `address` are the options to correct."""
    low = reason.lower()
    advice = next(
        (advice for signs, advice in _CERTIFICATE_ADVICE if any(sign in low for sign in signs)), "check {authorities}"
    )
    return advice.format(authorities=authorities, address=address)


class ErrorReason(enum.StrEnum):
    """The reason why a value is unknown."""

    NOT_AUTHORIZED = "not_authorized"
    NOT_FOUND = "not_found"
    INVALID = "invalid"
    NO_LEADER = "no_leader"
    LEADER_CHANGED = "leader_changed"
    NO_COORDINATOR = "no_coordinator"
    COORDINATOR_LOADING = "coordinator_loading"
    COORDINATOR_CHANGED = "coordinator_changed"
    NOT_AVAILABLE = "not_available"
    UNSTABLE = "unstable"
    STORAGE_FAILED = "storage_failed"
    UNSUPPORTED = "unsupported"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    NOT_ASKED = "not_asked"
    OTHER = "other"


_CODES: Final = {
    ErrorReason.NOT_FOUND: (3, 69, 100, 105),  # topic or partition, group, topic id, transactional id
    ErrorReason.NO_LEADER: (5,),
    ErrorReason.LEADER_CHANGED: (6, 74, 75),  # no leader or follower, fenced or unknown leader epoch
    ErrorReason.TIMED_OUT: (7,),
    ErrorReason.UNREACHABLE: (8, 9, 13),  # broker or replica not available, network exception
    ErrorReason.COORDINATOR_LOADING: (14,),
    ErrorReason.NO_COORDINATOR: (15,),
    ErrorReason.COORDINATOR_CHANGED: (16,),
    ErrorReason.INVALID: (17, 24, 42),  # topic, group id, request
    ErrorReason.NOT_AUTHORIZED: (29, 30, 31, 53),  # topic, group, cluster, transactional id
    ErrorReason.UNSUPPORTED: (35,),
    ErrorReason.STORAGE_FAILED: (56, 57),  # storage error, log directory not found
    ErrorReason.NOT_AVAILABLE: (78,),
    ErrorReason.UNSTABLE: (88,),
}
"""What Kafka's error codes (org.apache.kafka.common.protocol.Errors) mean."""
_BY_CODE: Final = {code: reason for reason, codes in _CODES.items() for code in codes}


def of_code(code: int) -> ErrorReason | None:
    """Return the reason for an error code of an answer; None for success (0)."""
    return _BY_CODE.get(code, ErrorReason.OTHER) if code else None


def of_failure(error: ClusterError) -> ErrorReason:
    """Return the reason for a ClusterError that took the place of an answer."""
    if isinstance(error, TimedOut):
        return ErrorReason.TIMED_OUT
    if isinstance(error, NotAuthorised):
        return ErrorReason.NOT_AUTHORIZED
    if isinstance(error, Unsupported):
        return ErrorReason.UNSUPPORTED
    return ErrorReason.UNREACHABLE if error.passes else ErrorReason.OTHER
