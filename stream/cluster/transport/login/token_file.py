"""Tokens from a file that another program writes, such as a projected service account token of Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream.cluster.transport.errors import LoginUnavailable
from stream.cluster.transport.login.jwt import LONGEST, Token, parse_jwt

if TYPE_CHECKING:
    from pathlib import Path

_ADVICE: Final = "check kafka.oauth_token_file and what writes it; the file is read at each login"


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
