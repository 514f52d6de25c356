"""SASL exchanges: the messages of one login, and the error if the broker refuses it. No I/O.

SCRAM's computations are the library's; names are escaped here, which the library omits (RFC 5802, section 5.1).
"""

import dataclasses
import json
import time
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from kafka.net.sasl.scram import ScramClient

from stream.cluster.transport.errors import ClusterError, LoginRefused
from stream.cluster.transport.login.tokens import Token, token_refusal, without_tokens

_CHECK_PASSWORD: Final = "check kafka.sasl_mechanism, kafka.sasl_username and kafka.sasl_password"  # noqa: S105 -- a name


class SaslExchange(Protocol):
    """The client's side of one login."""

    def first(self) -> bytes:
        """Return the first message."""
        ...

    def reply(self, challenge: bytes) -> bytes | None:
        """Return the next message, or None if the login is complete. Raises ValueError for a wrong challenge."""
        ...

    def refusal(self, where: str, text: str) -> ClusterError:
        """Return the error for a login that `where` (host:port) refuses with this text."""
        ...


class PlainExchange:
    """PLAIN (RFC 4616). `origin` is the place of the password, for messages."""

    def __init__(self, username: str, password: str, origin: str) -> None:
        self._message = f"\0{username}\0{password}".encode()
        self._origin = origin

    def first(self) -> bytes:
        """See SaslExchange."""
        return self._message

    def reply(self, _: bytes) -> bytes | None:
        """See SaslExchange."""
        return None

    def refusal(self, where: str, text: str) -> ClusterError:
        """See SaslExchange."""
        return LoginRefused(
            f"{where} refuses the login: {text or 'no reason given'}", f"{_CHECK_PASSWORD} ({self._origin})"
        )


class ScramExchange(PlainExchange):
    """SCRAM (RFC 5802): two messages, and a proof that the broker knows the password too."""

    def __init__(self, mechanism: str, username: str, password: str, origin: str) -> None:
        self._client = ScramClient(username.replace("=", "=3D").replace(",", "=2C"), password, mechanism)
        self._origin = origin
        self._is_first = True

    def first(self) -> bytes:
        """See SaslExchange."""
        return bytes(self._client.first_message())

    def reply(self, challenge: bytes) -> bytes | None:
        """See SaslExchange."""
        try:
            if self._is_first:
                self._is_first = False
                self._client.process_server_first_message(challenge)
                return bytes(self._client.final_message())
            self._client.process_server_final_message(challenge)
        except KeyError as error:
            raise ValueError(f"the SCRAM message has no field {error}") from None
        return None


@dataclasses.dataclass(slots=True)
class TokenOutcome:
    """What brokers did with the tokens of one login."""

    accepted: Token | None = None
    """The last accepted token."""
    refuse: Callable[[Token], object] = lambda _: None
    """Called with each token that a broker refuses."""


class TokenExchange:
    """OAUTHBEARER (RFC 7628, KIP-255). `origin` says where the token is from."""

    def __init__(self, token: Token, extensions: Iterable[tuple[str, str]], origin: str, outcome: TokenOutcome) -> None:
        self._token = token
        self._extensions = tuple(extensions)
        self._origin = origin
        self._outcome = outcome
        self._status: str | None = None

    def first(self) -> bytes:
        """See SaslExchange."""
        pairs = (("auth", f"Bearer {self._token.text}"), *self._extensions)
        return "".join(["n,,\x01", *(f"{name}={value}\x01" for name, value in pairs), "\x01"]).encode()

    def reply(self, challenge: bytes) -> bytes | None:
        """See SaslExchange. A broker that refuses the token says why in a challenge, which has to be answered."""
        if not challenge:
            self._outcome.accepted = self._token
            return None
        self._status = challenge.decode(errors="replace")
        return b"\x01"

    def refusal(self, where: str, text: str) -> ClusterError:
        """See SaslExchange."""
        self._outcome.refuse(self._token)
        status, accepted = self._status or text, self._outcome.accepted
        return token_refusal(where, status, self._token, self._origin, accepted=accepted, now=time.time())


class AwsIamExchange:
    """AWS_MSK_IAM: one message with a signed request, one answer with the id of the request."""

    def __init__(self, message: bytes) -> None:
        self._message = message

    def first(self) -> bytes:
        """See SaslExchange."""
        return self._message

    def reply(self, challenge: bytes) -> None:
        """See SaslExchange."""
        if not isinstance(json.loads(challenge or b"null"), dict):
            raise ValueError("the answer has no request id")  # noqa: TRY004 -- a wrong message, not a wrong type

    def refusal(self, where: str, text: str) -> ClusterError:
        """See SaslExchange."""
        return LoginRefused(
            f"{where} refuses the AWS credentials: {without_tokens(text) or 'no reason given'}",
            "check that the IAM policy allows kafka-cluster:Connect, the region, and the clock of this machine",
        )
