"""SASL exchanges: the messages of one login, and the error if the broker refuses it. No I/O.

SCRAM's computations are the library's; names are escaped here, which the library omits (RFC 5802, section 5.1).
"""

import dataclasses
import json
import time
from collections.abc import Callable, Iterable
from typing import Final

from kafka.net.sasl.scram import ScramClient

from stream.cluster.transport.errors import ClusterError, LoginRefused
from stream.cluster.transport.login.tokens import Token, token_refusal, without_tokens

_CHECK_PASSWORD: Final = "check kafka.sasl_mechanism, kafka.sasl_username and kafka.sasl_password"  # noqa: S105 -- a name


@dataclasses.dataclass(frozen=True, slots=True)
class SaslExchange:
    """The client's side of one login."""

    first: bytes = dataclasses.field(repr=False)
    """The first message."""
    reply: Callable[[bytes], bytes | None]
    """Returns the next message for a challenge, or None if the login is complete. Raises ValueError for a wrong one."""
    refusal: Callable[[str, str], ClusterError]
    """Returns the error for a login that a broker (host:port) refuses with a text."""


def plain(username: str, password: str, origin: str) -> SaslExchange:
    """Return an exchange of PLAIN (RFC 4616). `origin` is the place of the password, for messages."""
    return SaslExchange(f"\0{username}\0{password}".encode(), lambda _: None, _password_refusal(origin))


def scram(mechanism: str, username: str, password: str, origin: str) -> SaslExchange:
    """Return an exchange of SCRAM (RFC 5802): two messages, and a proof that the broker knows the password too."""
    client = ScramClient(username.replace("=", "=3D").replace(",", "=2C"), password, mechanism)
    is_first = True

    def reply(challenge: bytes) -> bytes | None:
        nonlocal is_first
        try:
            if is_first:
                is_first = False
                client.process_server_first_message(challenge)
                return bytes(client.final_message())
            client.process_server_final_message(challenge)
        except KeyError as error:
            raise ValueError(f"the SCRAM message has no field {error}") from None
        return None

    return SaslExchange(bytes(client.first_message()), reply, _password_refusal(origin))


def _password_refusal(origin: str) -> Callable[[str, str], ClusterError]:
    return lambda where, text: LoginRefused(
        f"{where} refuses the login: {text or 'no reason given'}", f"{_CHECK_PASSWORD} ({origin})"
    )


@dataclasses.dataclass(slots=True)
class TokenOutcome:
    """What brokers did with the tokens of one login."""

    accepted: Token | None = None
    """The last accepted token."""
    refuse: Callable[[Token], object] = lambda _: None
    """Called with each token that a broker refuses."""


def bearer(token: Token, extensions: Iterable[tuple[str, str]], origin: str, outcome: TokenOutcome) -> SaslExchange:
    """Return an exchange of OAUTHBEARER (RFC 7628, KIP-255). `origin` says where the token is from.

    A broker that refuses the token says why in a challenge, which has to be answered.
    """
    statuses: list[str] = []
    pairs = (("auth", f"Bearer {token.text}"), *extensions)

    def reply(challenge: bytes) -> bytes | None:
        if not challenge:
            outcome.accepted = token
            return None
        statuses.append(challenge.decode(errors="replace"))
        return b"\x01"

    def refusal(where: str, text: str) -> ClusterError:
        outcome.refuse(token)
        status = statuses[-1] if statuses else text
        return token_refusal(where, status, token, origin, accepted=outcome.accepted, now=time.time())

    first = "".join(["n,,\x01", *(f"{name}={value}\x01" for name, value in pairs), "\x01"])
    return SaslExchange(first.encode(), reply, refusal)


def aws_iam(message: bytes) -> SaslExchange:
    """Return an exchange of AWS_MSK_IAM: a signed request as the only message, and an answer with its id."""

    def reply(challenge: bytes) -> None:
        if not isinstance(json.loads(challenge or b"null"), dict):
            raise ValueError("the answer has no request id")  # noqa: TRY004 -- a wrong message, not a wrong type

    def refusal(where: str, text: str) -> ClusterError:
        return LoginRefused(
            f"{where} refuses the AWS credentials: {without_tokens(text) or 'no reason given'}",
            "check that the IAM policy allows kafka-cluster:Connect, the region, and the clock of this machine",
        )

    return SaslExchange(message, reply, refusal)
