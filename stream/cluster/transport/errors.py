"""Why the cluster does not answer as wanted: one class per cause that a person treats differently.

No Kafka library here: these are the words in which `client` speaks to the rest of lagwarden. Each class is a `Refusal`
with its exit code, and says by `passes` whether waiting may help: a broker that is away comes back by itself, a wrong
password does not.
"""

# ruff: noqa: N818 -- each class is named after what the world did, as a person would say it: "login refused"
from __future__ import annotations

from typing import ClassVar

from stream.errors import ExitCode, Refusal


class ClusterError(Refusal):
    """The cluster, or one broker of it, did not answer as wanted. The base; only its subclasses are raised."""

    passes: ClassVar[bool] = False
    """Whether it may pass by itself, so that trying again makes sense."""


class Unreachable(ClusterError):
    """No connection: refused, unknown host name, or cut off."""

    code = ExitCode.KAFKA_UNREACHABLE
    passes = True


class CutOff(Unreachable):
    """A connection that was good broke before the answer came."""


class TimedOut(Unreachable):
    """There is a connection, or the start of one, but no answer within the limit."""


class WrongProtocol(ClusterError):
    """Something answers, but not in the configured security protocol, or it is not a Kafka broker."""

    code = ExitCode.WRONG_PROTOCOL


class TlsRefused(ClusterError):
    """The TLS handshake failed over a certificate."""

    code = ExitCode.TLS_REFUSED


class LoginRefused(ClusterError):
    """SASL authentication failed, or the mechanism is not enabled."""

    code = ExitCode.LOGIN_REFUSED


class NotAuthorised(ClusterError):
    """The login is good, but a right is missing."""

    code = ExitCode.NOT_AUTHORISED


class Unsupported(ClusterError):
    """The broker is too old, or too new, for what it was asked."""

    code = ExitCode.WRONG_PROTOCOL


class Malformed(ClusterError):
    """The request could not be encoded, or the answer not decoded: a fault of lagwarden or its library."""

    code = ExitCode.INTERNAL
