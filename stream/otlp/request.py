"""One request of the export: headers from a file, repetitions within its timeout, and its outcome."""

import dataclasses
import gzip
import http.client
import re
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from stream.config.options import OtlpOptions
from stream.config.secret_sources import SecretUnavailable, read_secret_file
from stream.http_post import PostResponse, post_within

_MOST_READ: Final = 65_536
_HEADERS: Final = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip", "User-Agent": "lagwarden"}
_OF_STATUS: Final = {**dict.fromkeys((401, 403, 407), "unauthorized"), 413: "too_large", 429: "throttled"}
_OF_CLASS: Final = {3: "redirect", 4: "client_error"}
_REPEATED_STATUS: Final = frozenset({429, 502, 503, 504})
_FIRST_PAUSE: Final = 1.0
_HEADER: Final = re.compile(r"\s*([-_]*[A-Za-z0-9][-_A-Za-z0-9]*)\s*:\s*([ -~]*?)\s*")


@dataclasses.dataclass(frozen=True, slots=True)
class RequestOutcome:
    """The outcome of a request: the reason of a failure with its cause (None: no failure), and the rejected points.

    `pause` is after how many seconds it may be repeated; None: a repetition would not help.
    """

    reason: str | None = None
    cause: str = ""
    rejected_points: int = 0
    pause: float | None = None


def send(options: OtlpOptions, message: bytes, stopping: threading.Event) -> RequestOutcome:
    """Send a serialized request until it succeeds, its timeout would pass, or `stopping` is set."""
    try:
        text = "" if options.headers_file is None else read_secret_file(options.headers_file)
        headers = _HEADERS | parse_headers(text)
    except SecretUnavailable as error:
        return RequestOutcome("headers", error.what)
    except ValueError as error:
        return RequestOutcome("headers", f"{options.headers_file}: {error}")
    body, deadline, pause = gzip.compress(message), time.monotonic() + options.timeout, _FIRST_PAUSE
    while True:
        outcome = _attempt(options, body, headers, deadline - time.monotonic())
        if outcome.pause is None:
            return outcome
        wait = max(outcome.pause, pause)
        if time.monotonic() + wait >= deadline or stopping.wait(wait):
            return outcome
        pause *= 2


def _attempt(options: OtlpOptions, body: bytes, headers: Mapping[str, str], seconds: float) -> RequestOutcome:
    certificate, key = options.certificate_file, options.key_file
    try:
        response = post_within(
            seconds,
            str(options.endpoint),
            body,
            headers,
            ca_file=options.ca_file,
            most_read=_MOST_READ,
            client_certificate=None if certificate is None or key is None else (certificate, key),
        )
    except TimeoutError:
        return RequestOutcome("timeout", "no response within otlp.timeout")
    except ssl.SSLError as error:
        return RequestOutcome("tls", error.reason or str(error))
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return RequestOutcome("unreachable", cause, pause=0.0)
    return _outcome(response)


def _outcome(response: PostResponse) -> RequestOutcome:
    status = response.status
    if not 200 <= status < 300:
        reason = _OF_STATUS.get(status) or _OF_CLASS.get(status // 100, "server_error")
        redirect = ", a redirect, which is not followed: set otlp.endpoint to the final address"
        after = response.headers.get("Retry-After", "")
        pause = (float(after) if after.isdecimal() else 0.0) if status in _REPEATED_STATUS else None
        return RequestOutcome(reason, f"status {status}{redirect if reason == 'redirect' else ''}", pause=pause)
    try:
        partial = ExportMetricsServiceResponse.FromString(response.body).partial_success
    except DecodeError:  # some receivers answer with text
        return RequestOutcome()
    if not partial.rejected_data_points:
        return RequestOutcome()
    return RequestOutcome("rejected", partial.error_message or "no message", partial.rejected_data_points)


def parse_headers(text: str) -> dict[str, str]:
    """Return the headers of lines `Name: value`; empty lines are skipped. Raises ValueError without the values."""
    headers = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if (header := _HEADER.fullmatch(line)) is None:
            raise ValueError(f"line {number} is no header: write Name: value")
        headers[header[1]] = header[2]
    return headers
