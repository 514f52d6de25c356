"""One request to the webhook: a POST of an event, or of alerts, with a limit on its time."""

import dataclasses
import email.utils
import http.client
import ssl
import time
from pathlib import Path
from typing import Final

from stream.config.options import WebhookOptions
from stream.config.secret_sources import SecretUnavailable, read_secret_file
from stream.http_post import post_within

CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
_CONTENT_TYPES: Final = {"cloudevents": CONTENT_TYPE, "alertmanager": "application/json"}
_MOST_READ: Final = 65_536
_TOKEN_MARKS: Final = frozenset("-._~+/=")


@dataclasses.dataclass(frozen=True, slots=True)
class WebhookTarget:
    """The configured webhook. `timeout` is the limit of one request in seconds."""

    url: str
    timeout: float = 10.0
    token_file: Path | None = None
    ca_file: Path | None = None
    content_type: str = CONTENT_TYPE


def webhook_targets(options: WebhookOptions) -> list[WebhookTarget]:
    """Return the configured target of each URL."""
    further = (options.timeout, options.bearer_token_file, options.ca_file, _CONTENT_TYPES[options.format])
    return [WebhookTarget(url, *further) for url in options.url]


@dataclasses.dataclass(frozen=True, slots=True)
class WebhookResponse:
    """The response: its status, how long to wait before the next request (seconds), and where a redirect leads."""

    status: int
    retry_after: float | None = None
    location: str | None = None


class RequestFailedError(Exception):
    """There is no response; `reason` is `unreachable`, `timeout`, `tls` or `token`, the text is the cause."""

    def __init__(self, reason: str, cause: str) -> None:
        super().__init__(cause)
        self.reason = reason


def post(target: WebhookTarget, body: bytes) -> WebhookResponse:
    """Send a body and return the response. Raises RequestFailedError; no text contains the token."""
    headers = {"Content-Type": target.content_type, "User-Agent": "lagwarden", **_authorization(target)}
    try:
        response = post_within(target.timeout, target.url, body, headers, ca_file=target.ca_file, most_read=_MOST_READ)
    except TimeoutError:
        raise RequestFailedError("timeout", f"no response within {target.timeout:g} s") from None
    except ssl.SSLError as error:
        raise RequestFailedError("tls", error.reason or str(error)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise RequestFailedError("unreachable", str(error) or type(error).__name__) from None
    return WebhookResponse(
        response.status, _seconds(response.headers.get("Retry-After")), response.headers.get("Location")
    )


def _authorization(target: WebhookTarget) -> dict[str, str]:
    if target.token_file is None:
        return {}
    try:
        token = read_secret_file(target.token_file)
    except SecretUnavailable as error:
        raise RequestFailedError("token", error.what) from None
    if not token or not all(sign.isascii() and (sign.isalnum() or sign in _TOKEN_MARKS) for sign in token):
        raise RequestFailedError("token", f"{target.token_file} has no bearer token (RFC 6750)")
    return {"Authorization": f"Bearer {token}"}


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110, section 10.2.3); None if it is missing or invalid."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
