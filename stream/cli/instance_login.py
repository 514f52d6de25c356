"""The login of the commands that ask a running instance, from environment variables.

There are no options for it: every user of a machine can read the arguments of a process.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stream.errors import ExitCode, Refusal

VARIABLES: Final = {
    "LAGWARDEN_USER": "the user",
    "LAGWARDEN_PASSWORD": "the password of the user",
    "LAGWARDEN_PASSWORD_FILE": "a file with the password",
    "LAGWARDEN_TOKEN_FILE": "a file with a bearer token, instead of user and password",
    "LAGWARDEN_CA_FILE": "a PEM file with the authority of the server's certificate",
}
LOGIN_ADVICE: Final = "set LAGWARDEN_USER and LAGWARDEN_PASSWORD (or LAGWARDEN_PASSWORD_FILE), or LAGWARDEN_TOKEN_FILE"


def instance_login(environment: Mapping[str, str]) -> tuple[str | None, Path | None]:
    """Return the value of the header `Authorization` and the file of the authorities to trust, by these variables.

    An empty variable is not set. Raises Refusal.
    """
    user, password, password_file, token_file, ca_file = (environment.get(name) or None for name in VARIABLES)
    ca = None if ca_file is None else Path(ca_file)
    if token_file is not None:
        if user is not None:
            raise Refusal("LAGWARDEN_USER and LAGWARDEN_TOKEN_FILE exclude each other", "unset one", ExitCode.USAGE)
        return f"Bearer {_token(token_file)}", ca
    if user is None:
        return None, ca
    if password is None and password_file is not None:
        password = _content("LAGWARDEN_PASSWORD_FILE", password_file)
    if password is None:
        raise Refusal("LAGWARDEN_USER is set without a password", LOGIN_ADVICE, ExitCode.USAGE)
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode(), ca


def _token(file: str) -> str:
    """Return the token in a file. Raises Refusal if it cannot be sent: the error of the HTTP client would print it."""
    token = _content("LAGWARDEN_TOKEN_FILE", file)
    if not token.isascii() or not token.isprintable() or len(token.split()) != 1:
        raise Refusal(f"LAGWARDEN_TOKEN_FILE: {file} must have one word in ASCII", "name another file", ExitCode.USAGE)
    return token


def _content(variable: str, file: str) -> str:
    """Return the content of a file without blanks around it. Raises Refusal."""
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise Refusal(f"{variable}: {file} cannot be read: {reason}", "name a readable file", ExitCode.USAGE) from error
