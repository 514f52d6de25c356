"""The HTTP session under the exporter of the OpenTelemetry SDK: headers from a file, and the outcome of each request.

The SDK says only whether an export failed, and takes a redirect for a success.
"""

from __future__ import annotations

import dataclasses
import http.client
import io
import time
from typing import TYPE_CHECKING, Any, Final

import requests
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from stream.config.secret_sources import SecretUnavailable, read_secret_file

if TYPE_CHECKING:
    import socket
    from pathlib import Path

_MOST_READ: Final = 65_536
_SDK_HEADERS: Final = frozenset({"content-type", "content-encoding", "user-agent"})
"""The headers that are the SDK's own. All others come from `OTEL_EXPORTER_OTLP_HEADERS`, which is not for this URL."""
_OF_STATUS: Final = {**dict.fromkeys((401, 403, 407), "unauthorized"), 413: "too_large", 429: "throttled"}
_OF_CLASS: Final = {3: "redirect", 4: "client_error"}


class RefusedRequestError(Exception):
    """The request failed, or was not sent; `reason` is one of `stream.otlp.pusher.FAILURES`, the text is the cause."""

    def __init__(self, reason: str, cause: str) -> None:
        super().__init__(cause)
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True)
class RequestOutcome:
    """The outcome of a request: the reason of a failure with its cause (None: no failure), and the rejected points."""

    reason: str | None = None
    cause: str = ""
    rejected_points: int = 0


class OtlpSession(requests.Session):
    """Sends the requests of the exporter. Proxies, logins and authorities of the environment are not used."""

    def __init__(self, headers_file: Path | None = None) -> None:
        """`headers_file` has lines such as `Authorization: Bearer TOKEN`; it is read again for each request."""
        super().__init__()
        self.trust_env = False
        for scheme in ("http://", "https://"):
            self.mount(scheme, _BoundedAdapter())
        self._headers_file = headers_file
        self.outcome = RequestOutcome()
        """The outcome of the last request."""

    def request(self, method: str, url: str, **options: Any) -> requests.Response:  # type: ignore[override]
        """Send a request and record its outcome. Raises for a redirect, and the errors of `requests`."""
        try:
            given = (options.get("headers") or {}).items()
            sdk_headers = {name: value for name, value in given if name.lower() in _SDK_HEADERS}
            options["headers"] = {**sdk_headers, **self._own_headers()}
            response = super().request(method, url, stream=True, **options)
            self.outcome = _outcome(response)
        except RefusedRequestError as error:
            self.outcome = RequestOutcome(error.reason, str(error))
            raise
        except requests.RequestException as error:
            self.outcome = RequestOutcome(_reason_of(error), _cause_of(error))
            raise
        if self.outcome.reason == "redirect":
            raise RefusedRequestError("redirect", self.outcome.cause)
        return response

    def _own_headers(self) -> dict[str, str]:
        if self._headers_file is None:
            return {}
        try:
            return parse_headers(read_secret_file(self._headers_file))
        except SecretUnavailable as error:
            raise RefusedRequestError("headers", error.what) from None
        except ValueError as error:
            raise RefusedRequestError("headers", f"{self._headers_file}: {error}") from None


class _BoundedStream(io.RawIOBase):
    """What a socket receives until its timeout has passed since now; a socket alone bounds each piece."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        timeout = sock.gettimeout()
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedResponse(http.client.HTTPResponse):
    """A response whose header and body together must arrive within the timeout of the socket."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_BoundedStream(sock))


class _HttpConnection(HTTPConnection):
    response_class = _BoundedResponse


class _HttpsConnection(HTTPSConnection):
    response_class = _BoundedResponse


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _HttpConnection


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _HttpsConnection


class _BoundedAdapter(HTTPAdapter):
    """Makes connections whose responses are bounded."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}


def parse_headers(text: str) -> dict[str, str]:
    """Return the headers of lines `Name: value`; empty lines are skipped. Raises ValueError without the values."""
    headers = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, separator, value = (part.strip() for part in line.partition(":"))
        token = name.replace("-", "").replace("_", "")
        if (
            not separator
            or not token.isascii()
            or not token.isalnum()
            or not value.isascii()
            or not value.isprintable()
        ):
            raise ValueError(f"line {number} is no header: write Name: value")
        headers[name] = value
    return headers


def _outcome(response: requests.Response) -> RequestOutcome:
    """Return the outcome of a response. Reads only a part of a long or slow body."""
    body = _body(response)
    status = response.status_code
    if not 200 <= status < 300:
        reason = _OF_STATUS.get(status) or _OF_CLASS.get(status // 100, "server_error")
        redirect = ", a redirect, which is not followed: set otlp.endpoint to the final address"
        return RequestOutcome(reason, f"status {status}{redirect if reason == 'redirect' else ''}")
    try:
        partial = ExportMetricsServiceResponse.FromString(body).partial_success
    except DecodeError:  # some receivers answer with text
        return RequestOutcome()
    if not partial.rejected_data_points:
        return RequestOutcome()
    return RequestOutcome("rejected", partial.error_message or "no message", partial.rejected_data_points)


def _body(response: requests.Response) -> bytes:
    body = b""
    try:
        while len(body) < _MOST_READ:
            piece = response.raw.read1(_MOST_READ)
            if not piece:
                break
            body += piece
    except Exception:  # noqa: BLE001 -- the status is known; urllib3 has several errors of a body
        return body
    finally:
        response.close()
    return body


def _reason_of(error: requests.RequestException) -> str:
    if isinstance(error, requests.exceptions.SSLError):
        return "tls"
    return "timeout" if isinstance(error, requests.Timeout) else "unreachable"


def _cause_of(error: requests.RequestException) -> str:
    """Return the innermost cause, whose text has no address of an object and no URL."""
    cause: BaseException = error
    while True:
        inner = getattr(cause, "reason", None)
        if not isinstance(inner, BaseException):
            inner = next((arg for arg in cause.args if isinstance(arg, BaseException)), cause.__cause__)
        if inner is None:
            break
        cause = inner
    if isinstance(error, requests.Timeout):
        return "no response within otlp.timeout"
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
