"""Tokens: their claims (RFC 7519), their renewal, and the cause for which a broker refuses one.

The claims are read without checking the signature: the broker decides whether a token is valid; the claims say when to
renew it, and explain a refusal. Kafka's validator answers `invalid_token` and writes the cause to the broker's log
only. The cause is derived from the claims of the token, the clock, and the claims of the last accepted token. Other
validators answer with a sentence, which is quoted without tokens.
"""

import base64
import dataclasses
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from stream.cluster.transport.errors import ClusterError, LoginRefused, LoginUnavailable, TokenExpired
from stream.wording import duration_in_one_unit

LONGEST: Final = 100_000
"""The longest accepted token in characters; brokers accept up to half a megabyte, real tokens have some thousand."""
_LATEST: Final = 1e12
_ADVICE: Final = "check kafka.oauth_token_file and what writes it; the file is read at each login"
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_JWT: Final = re.compile(r"[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*")
_JWT_IN_TEXT: Final = re.compile(r"\bey[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]+(\.[A-Za-z0-9_\-]*)*")


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """A bearer token. `expires_at` is in Unix seconds, None if unknown; neither text nor claims are in its repr."""

    text: str = dataclasses.field(repr=False)
    expires_at: float | None
    header: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    claims: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


def parse_jwt(text: str) -> Token:
    """Return the token with its header and claims. Raises ValueError, without the text, if it is not a JWT."""
    if len(text) > LONGEST or _JWT.fullmatch(text) is None:
        raise ValueError("not a JWT")
    try:
        parts = [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in text.split(".")[:2]]
    except ValueError:
        raise ValueError("not a JWT") from None
    header, claims = map(json_object, parts)
    if header is None or claims is None:
        raise ValueError("not a JWT")
    return Token(text, as_seconds(claims.get("exp")), header, claims)


def as_seconds(value: object) -> float | None:
    """Return a number of seconds of a JSON document; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LATEST < value < _LATEST:
        return None
    return float(value)


def is_bearer_token(text: str) -> bool:
    """Return whether the text can be sent as a token (RFC 6750, section 2.1)."""
    return len(text) <= LONGEST and _TOKEN.fullmatch(text) is not None


def without_tokens(text: str) -> str:
    """Replace every JWT in a text by stars."""
    return _JWT_IN_TEXT.sub("**********", text)


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the object of a JSON document; None for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_token_file(path: Path) -> Token:
    """Return the token in the file, blanks and line breaks around it ignored. Raises LoginUnavailable.

    An expired token is returned too: the broker's clock decides.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST + 2)
    except OSError as error:
        raise LoginUnavailable(f"the token file {path} cannot be read: {error.strerror}", _ADVICE) from None
    text = content.decode("latin-1").strip()
    if not text:
        raise LoginUnavailable(f"the token file {path} is empty", _ADVICE)
    try:
        return parse_jwt(text)
    except ValueError as error:
        raise LoginUnavailable(f"the token file {path} has no token: its content is {error}", _ADVICE) from None


_LONGEST_QUOTE: Final = 200
_LONGEST_CLAIM: Final = 100
_KEY: Final = "signature key"
_COMPARED: Final = {
    "audience": ("aud", "sasl.oauthbearer.expected.audience"),
    "issuer": ("iss", "sasl.oauthbearer.expected.issuer"),
    _KEY: ("kid", "sasl.oauthbearer.jwks.endpoint.url"),
}
"""What a broker compares: the claim, or the field of the header, and the option of its listener."""
_REQUIRED: Final = ("sub", "exp", "iat")
"""Claims without which Kafka's validator refuses a token."""


def token_refusal(
    where: str, text: str, token: Token, origin: str, *, accepted: Token | None, now: float
) -> LoginRefused:
    """Return the error for a token from `origin` that `where` (host:port) refuses with this text.

    `accepted` is the last token that a broker has accepted, `now` the time in Unix seconds.
    """
    refused = f"{where} refuses the token of {origin}"
    if token.expires_at is not None and token.expires_at <= now:
        return TokenExpired(
            f"{refused}: it expired {_duration(now - token.expires_at)} ago",
            "check what renews the token, and the clock of this machine",
        )
    starts_at = as_seconds(token.claims.get("nbf"))
    if starts_at is not None and starts_at > now:
        return TokenExpired(
            f"{refused}: it is not valid before {_duration(starts_at - now)} from now", "compare the clocks"
        )
    reason = _quoted(text)
    if token.claims and (missing := [name for name in _REQUIRED if name not in token.claims]):
        return LoginRefused(
            f"{refused} ({reason}): it has no claim {' and no claim '.join(missing)}", "correct the issuer"
        )
    changed = [] if accepted is None else [name for name in _COMPARED if _value(token, name) != _value(accepted, name)]
    if accepted is not None and changed:
        changes = [f"{name} is now {_value(token, name)}, not {_value(accepted, name)}" for name in changed]
        return LoginRefused(f"{refused} ({reason}): its {' and its '.join(changes)} as before", _advice(changed))
    facts = [f"{name} {_value(token, name)}" for name in _COMPARED] if token.claims else ["not a JWT"]
    return LoginRefused(f"{refused} ({reason}): {', '.join(facts)}", _advice(list(_COMPARED)))


def _advice(names: list[str]) -> str:
    options = ", ".join(_COMPARED[name][1] for name in names)
    return f"compare with {options} of the broker's listener; the broker's log has the cause"


def _value(token: Token, name: str) -> str:
    claim = _COMPARED[name][0]
    value: Any = (token.header if name == _KEY else token.claims).get(claim)
    if isinstance(value, list):
        value = ", ".join(str(item) for item in value)
    return "none" if value is None else repr(str(value)[:_LONGEST_CLAIM])


def _quoted(text: str) -> str:
    """Return the status of a broker's JSON (RFC 7628, section 3.2.2), or its text, on one short line without tokens."""
    answer = json_object(text)
    status = text if answer is None else answer.get("status")
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in str(status)).split())
    return without_tokens(line)[:_LONGEST_QUOTE] or "no reason given"


def _duration(seconds: float) -> str:
    return duration_in_one_unit(seconds * 1_000, exact=False)


_RENEWED_AFTER: Final = 0.8
"""The part of its lifetime that a token is used. A connection logs in again after 85 % of its session (KIP-368), which
is never longer than its token lives: it then gets a new token."""
_PAUSE_SECONDS: Final = 3.0
"""The minimum interval between two requests after a failure or a refused token, for all connections together."""


@dataclasses.dataclass(slots=True, eq=False)
class RenewedToken:
    """The current token of one login, shared by all connections of the process. Any thread may call it; `get` blocks.

    `_fetch` returns a new token or raises ClusterError.
    """

    _fetch: Callable[[], Token]
    _clock: Callable[[], float] = time.time
    _lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    _token: Token | None = None
    _renew_at: float = 0.0
    _is_refused: bool = False
    _tried_at: float = 0.0
    _error: ClusterError | None = None

    def get(self) -> Token:
        """Return a token that has not expired, renewed if its time has come. Raises ClusterError if there is none.

        If the request for a new token fails, the old one is used as long as it is valid.
        """
        with self._lock:
            now = self._clock()
            has_failed = self._error is not None or self._is_refused
            is_pausing = has_failed and 0 <= now - self._tried_at < _PAUSE_SECONDS
            if (self._token is None or now >= self._renew_at) and not is_pausing:
                self._renew(now)
            is_valid = self._token is not None and (self._token.expires_at is None or now < self._token.expires_at)
            if self._error is not None and (self._is_refused or not is_valid):
                raise self._error
            assert self._token is not None  # noqa: S101 -- without a token there is an error
            return self._token

    def refuse(self, token: Token) -> None:
        """Record that a broker refuses the token: the next login gets another one."""
        with self._lock:
            if token is self._token:
                self._is_refused = True
                self._renew_at = 0.0

    def _renew(self, now: float) -> None:
        self._tried_at = now
        try:
            token = self._fetch()
        except ClusterError as error:
            if self._token is not None and self._error is None:
                # Not imported above: tasks import this module, and structlog is 7 MB of which most log nothing.
                import structlog  # noqa: PLC0415

                log = structlog.get_logger(__name__)
                log.warning("token not renewed", cause=str(error), valid_until=self._token.expires_at)
            self._error = error
            return
        lifetime = 0.0 if token.expires_at is None else token.expires_at - now
        self._token, self._error, self._is_refused = token, None, False
        self._renew_at = now + _RENEWED_AFTER * lifetime
