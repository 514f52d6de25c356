"""The errors of requests to the cluster: one class per cause that needs a different action.

Independent of the Kafka library. Each class is a `Refusal` with its exit code; `passes` is True if the error may end
without an action: an unreachable broker may restart, a wrong password stays wrong.
"""

# ruff: noqa: N818 -- each class is named after its cause: "login refused"

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
