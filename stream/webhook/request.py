"""One request to the webhook: a POST of an event, or of alerts, with a limit on its time."""

import email.utils
import http.client
import ssl
import time
from pathlib import Path
from typing import Final, NamedTuple

from stream.config.options import WebhookOptions
from stream.config.secret_sources import SecretUnavailable, read_secret_file
from stream.http_post import post_within

CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
_CONTENT_TYPES: Final = {"cloudevents": CONTENT_TYPE, "alertmanager": "application/json"}
_MOST_READ: Final = 65_536
_TOKEN_MARKS: Final = frozenset("-._~+/=")
_OF_STATUS: Final = {
    **dict.fromkeys((401, 403, 407), "unauthorized"),
    **dict.fromkeys((400, 409, 413, 415, 422), "refused_event"),
    429: "throttled",
}
_OF_CLASS: Final = {3: "redirect", 4: "client_error"}
_REDIRECT: Final = ", a redirect, which is not followed: set webhook.url to the final address"


class WebhookOutcome(NamedTuple):
    """The outcome of a request: why it failed (None: it did not), the cause, and how long the receiver asks to wait.

    `reason` is `unreachable`, `timeout`, `tls` or `token` without a response, else that of `failure_reason`.
    `retry_after` is in seconds.
    """

    reason: str | None
    cause: str
    retry_after: float = 0.0


def post(url: str, options: WebhookOptions, body: bytes) -> WebhookOutcome:
    """Send a body to one of the configured URLs. No text of the outcome contains the token."""
    headers = {"Content-Type": _CONTENT_TYPES[options.format], "User-Agent": "lagwarden"}
    try:
        if options.bearer_token_file is not None:
            headers["Authorization"] = f"Bearer {_token(options.bearer_token_file)}"
        response = post_within(options.timeout, url, body, headers, ca_file=options.ca_file, most_read=_MOST_READ)
    except SecretUnavailable as error:
        return WebhookOutcome("token", error.what)
    except TimeoutError:
        return WebhookOutcome("timeout", f"no response within {options.timeout:g} s")
    except ssl.SSLError as error:
        return WebhookOutcome("tls", error.reason or str(error))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return WebhookOutcome("unreachable", str(error) or type(error).__name__)
    reason = failure_reason(response.status)
    advice = _REDIRECT if reason == "redirect" and "Location" in response.headers else ""
    return WebhookOutcome(reason, f"status {response.status}{advice}", _seconds(response.headers.get("Retry-After")))


def failure_reason(status: int) -> str | None:
    """Return the reason of a failed request by the status of its response, None for a success."""
    if 200 <= status < 300:
        return None
    return _OF_STATUS.get(status) or _OF_CLASS.get(status // 100, "server_error")


def _token(file: Path) -> str:
    """Return the token of a file (RFC 6750). Raises SecretUnavailable."""
    token = read_secret_file(file)
    if not token or not all(sign.isascii() and (sign.isalnum() or sign in _TOKEN_MARKS) for sign in token):
        raise SecretUnavailable(f"{file} has no bearer token (RFC 6750)", "write a token to it")
    return token


def _seconds(retry_after: str | None) -> float:
    """Return the seconds of a Retry-After header (RFC 9110, section 10.2.3); 0 if it is missing or invalid."""
    if retry_after is None:
        return 0.0
    if retry_after.isascii() and retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0
