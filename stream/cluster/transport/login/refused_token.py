"""Derives the cause for which a broker refuses a token.

Kafka's validator answers `invalid_token` and writes the cause to the broker's log only. The cause is derived from the
claims of the token, the clock, and the claims of the last accepted token. Other validators answer with a sentence,
which is quoted without tokens.
"""

import json
from typing import Any, Final

from stream.cluster.transport.errors import LoginRefused, TokenExpired
from stream.cluster.transport.login.jwt import Token, as_seconds, without_tokens
from stream.wording import duration_in_one_unit

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
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    status = answer.get("status") if isinstance(answer, dict) else text
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in str(status)).split())
    return without_tokens(line)[:_LONGEST_QUOTE] or "no reason given"


def _duration(seconds: float) -> str:
    return duration_in_one_unit(seconds * 1_000, exact=False)
