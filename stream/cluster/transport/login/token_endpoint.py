"""Tokens from a token endpoint by client credentials: one bounded POST (RFC 6749, section 4.4)."""

import base64
import http.client
import socket
import ssl
import time
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from stream.cluster.transport.errors import ClusterError, LoginRefused, LoginUnavailable, certificate_advice
from stream.cluster.transport.login.tokens import (
    LONGEST,
    Token,
    as_seconds,
    is_bearer_token,
    json_object,
    parse_jwt,
    without_tokens,
)
from stream.config.kafka_login import ClientCredentialsLogin
from stream.config.secret_sources import SecretUnavailable
from stream.http_post import post_within

_LARGEST: Final = 2 * LONGEST
"""The largest accepted answer in bytes."""
_LONGEST_QUOTE: Final = 200
_CHECK_ENDPOINT: Final = "check kafka.oauth_token_endpoint and the network to it; lagwarden keeps trying"
_CHECK_CLIENT: Final = "check kafka.oauth_client_id, kafka.oauth_client_secret and kafka.oauth_scope"
_CHECK_URL: Final = "check that kafka.oauth_token_endpoint is the token endpoint of the identity provider"


def fetch_token(login: ClientCredentialsLogin) -> Token:
    """Return a new token. Raises LoginUnavailable, and LoginRefused if the endpoint rejects the client.

    No error contains the secret, also if the endpoint repeats it.
    """
    name = f"the token endpoint {login.endpoint}"
    try:
        secret = login.client_secret.reveal()
    except SecretUnavailable as error:
        raise LoginUnavailable(f"kafka.oauth_client_secret: {error.what}", error.advice) from None
    started = time.time()
    status, kind, body = _post(login, secret, name)
    if status != http.client.OK:
        raise _status_error(name, status, _error_text(body, secret))
    if len(body) > _LARGEST:
        raise LoginUnavailable(f"{name} answers with more than {_LARGEST} bytes", _CHECK_URL)
    answer = json_object(body)
    if answer is None:
        raise LoginUnavailable(f"{name} answers with {kind} that is not a JSON object", _CHECK_URL)
    return _token(name, answer, started)


def _token(name: str, answer: dict[str, Any], started: float) -> Token:
    text, lifetime = answer.get("access_token"), answer.get("expires_in")
    if not isinstance(text, str) or not is_bearer_token(text):
        raise LoginUnavailable(f"{name} answers without a usable access_token", _CHECK_URL)
    try:
        token = parse_jwt(text)
    except ValueError:  # an opaque token, which some brokers check by asking the identity provider
        seconds = as_seconds(lifetime)
        return Token(text, None if seconds is None else started + seconds)
    if token.expires_at is not None and token.expires_at <= started:
        late = started - token.expires_at
        raise LoginUnavailable(
            f"{name} answers with a token that expired {late:.0f} s ago",
            "compare the clocks of this machine and of the identity provider",
        )
    return token


def _post(login: ClientCredentialsLogin, secret: str, name: str) -> tuple[int, str, bytes]:
    """Return status, content type and at most `_LARGEST` + 1 bytes of the answer."""
    form = {"grant_type": "client_credentials"} | ({"scope": login.scope} if login.scope else {})
    client = f"{quote_plus(login.client_id)}:{quote_plus(secret)}".encode()
    headers = {
        "Authorization": f"Basic {base64.b64encode(client).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    try:
        response = post_within(
            login.timeout,
            login.endpoint,
            urlencode(form).encode(),
            headers,
            ca_file=login.ca_file,
            most_read=_LARGEST + 1,
        )
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _connection_error(name, error, login.timeout) from None
    return response.status, response.headers.get_content_type(), response.body


def _connection_error(name: str, error: Exception, timeout: float) -> ClusterError:
    if isinstance(error, TimeoutError):
        return LoginUnavailable(f"{name} does not answer within {timeout:g} s", _CHECK_ENDPOINT)
    if isinstance(error, ssl.SSLCertVerificationError):
        return LoginUnavailable(
            f"the certificate of {name} is not accepted: {error.verify_message}",
            certificate_advice(error.verify_message, "kafka.oauth_ca_file", "kafka.oauth_token_endpoint"),
        )
    what = next((what for kind, what in _FAULTS if isinstance(error, kind)), "does not answer in HTTP")
    reason = getattr(error, "strerror", None) or type(error).__name__
    return LoginUnavailable(f"{name} {what} ({reason})", _CHECK_ENDPOINT)


_FAULTS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (ssl.SSLError, "does not speak TLS as expected"),
    (socket.gaierror, "has a host name that cannot be resolved"),
    (http.client.HTTPException, "does not answer in HTTP"),
    (OSError, "is not reachable"),
)
"""What a failed connection means; the first row whose class matches."""


def _status_error(name: str, status: int, text: str) -> ClusterError:
    answer = f"{name} answers {status}{f': {text}' if text else ''}"
    if status in {400, 401, 403}:
        return LoginRefused(answer, _CHECK_CLIENT)
    if status == http.client.TOO_MANY_REQUESTS or status >= http.client.INTERNAL_SERVER_ERROR:
        return LoginUnavailable(answer, "see the log of the identity provider; lagwarden keeps trying")
    return LoginUnavailable(answer, _CHECK_URL)


def _error_text(body: bytes, secret: str) -> str:
    """Return error and description of an OAuth error (RFC 6749, section 5.2), without the secret and on one line."""
    answer = json_object(body) or {}
    words = [answer.get("error"), answer.get("error_description")]
    text = " ".join(" ".join(word.split()) for word in words if isinstance(word, str))
    shown = "".join(character for character in without_tokens(text) if character.isprintable())
    for form in (secret, quote_plus(secret)):
        shown = shown.replace(form, "**********") if form else shown
    return shown[:_LONGEST_QUOTE]
