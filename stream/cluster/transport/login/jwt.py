"""Tokens and what they say about themselves: the claims of a JWT (RFC 7519), read without checking the signature.

The broker decides whether a token is valid; the claims say when to renew it, and explain a refusal.
"""

import base64
import binascii
import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stream.cluster.transport.errors import LoginUnavailable

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
    header, claims = (_json_object(part) for part in text.split(".")[:2])
    expires_at = claims.get("exp")
    return Token(text, as_seconds(expires_at), header, claims)


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


def _json_object(part: str) -> dict[str, Any]:
    try:
        value = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        raise ValueError("not a JWT") from None
    if not isinstance(value, dict):
        raise ValueError("not a JWT")  # noqa: TRY004 -- one error for everything that is not a JWT
    return value


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
