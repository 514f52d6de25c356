"""Renders JSON and pages on worker threads, and shares one rendering between clients. The headers of responses.

Large responses that are sent in slices, as fast as the client reads.

The bytes of a snapshot are shared by all clients; a client costs one slice and the socket's buffer.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from exporters.group_search import MembersHiddenError
from exporters.http.api import encode
from exporters.http.shared_renderings import SharedRenderings
from exporters.page.document import VIEW_TYPE, Page
from exporters.page.group import failed_page
from exporters.text.exposition import ExpositionFormat, gzipped
from exporters.text.samples import PlainText

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

_OPENMETRICS: Final = "application/openmetrics-text"
# 1.0.0 is the version that is served; Prometheus named the same format 0.0.1 before it was a standard.
_OPENMETRICS_VERSIONS: Final = ("", "1.0.0", "0.0.1")
_TEXT_RANGES: Final = ("text/plain", "text/*", "*/*")


def preferred_format(accept: str) -> ExpositionFormat:
    """Return the format for an `Accept` header: OpenMetrics if it is named with at least the quality of plain text.

    Otherwise, and for any header that cannot be satisfied, the text format, which all readers support.
    """
    openmetrics, text = 0.0, 0.0
    for kind, parameters in _weighted(accept):
        quality = _quality(parameters)
        if kind == _OPENMETRICS and parameters.get("version", "") in _OPENMETRICS_VERSIONS:
            openmetrics = max(openmetrics, quality)
        elif kind in _TEXT_RANGES and parameters.get("version", "0.0.4") == "0.0.4":
            text = max(text, quality)
    return ExpositionFormat.OPENMETRICS if openmetrics and openmetrics >= text else ExpositionFormat.TEXT


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an `Accept-Encoding` header accepts gzip. The name has precedence over `*`."""
    qualities = {coding: _quality(parameters) for coding, parameters in _weighted(accept_encoding)}
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def _weighted(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Parse a list header: yield each value with its parameters, all in lower case."""
    for item in header.lower().split(","):
        value, *parameters = (part.strip() for part in item.split(";"))
        named = (parameter.partition("=") for parameter in parameters)
        yield value, {name.strip(): text.strip(' "') for name, _, text in named}


def _quality(parameters: dict[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 0.0


_SLICE: Final = 256 * 1024
"""Bytes per slice."""


class StreamedResponse(Response):
    """A response whose body is a sequence of shared bytes, never joined. Aborts if the client reads for too long."""

    def __init__(
        self,
        parts: Sequence[PlainText],
        *,
        headers: Mapping[str, str],
        media_type: str,
        seconds: float,
        code: int = 200,
    ) -> None:
        with_length = {**headers, "content-length": str(sum(map(len, parts)))}
        super().__init__(status_code=code, headers=with_length, media_type=media_type)
        self._parts = parts
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # ASGI's signature
        """Send the body slice by slice. uvicorn awaits each until the send buffer has room."""
        disconnected = asyncio.ensure_future(_disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with asyncio.timeout(self._seconds):
                for body in _slices(self._parts):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    # Sending does not always yield to the loop, which must run other tasks and notice a disconnect.
                    await asyncio.sleep(0)
                    if disconnected.done():
                        return
        except TimeoutError:
            # Unfinished on purpose: uvicorn closes the connection, so the client does not take the body for complete.
            return
        finally:
            disconnected.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":  # noqa: ASYNC110 -- `receive` is what waits
        await asyncio.sleep(0)


def _slices(parts: Sequence[PlainText]) -> Iterator[memoryview]:
    for part in parts:
        for text in (part,) if isinstance(part, bytes) else part:
            view = memoryview(text)
            for start in range(0, len(view), _SLICE):
                yield view[start : start + _SLICE]


# Enough for a million series over a slow link. Prometheus aborts after its scrape timeout, 10 s by default.
RESPONSE_SECONDS: Final = 60.0
JSON: Final = "application/json"
NO_STORE: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

INTERNAL_ERROR: Final = "internal error: lagwarden could not create this response; its log has the details"
MEMBERS_HIDDEN: Final = "members are hidden (http.hide_members): no filter by client or host"
# Scripts and styles from this server only, nothing inline, no frames; and no script may turn text into HTML.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE_HEADERS: Final = {**NO_STORE, "content-security-policy": _POLICY, "referrer-policy": "no-referrer"}


@dataclasses.dataclass(frozen=True, slots=True)
class _RenderedResponse:
    """A rendered response that can be sent to several clients."""

    parts: Sequence[PlainText]
    headers: Mapping[str, str]
    media_type: str
    code: int

    def response(self) -> Response:
        """Return the response for one client."""
        return StreamedResponse(
            self.parts, headers=self.headers, media_type=self.media_type, seconds=RESPONSE_SECONDS, code=self.code
        )


class RenderedResponses:
    """Sends JSON and pages. They take work, so they are rendered on worker threads (`SharedRenderings`)."""

    def __init__(self, on_failure: Callable[[str, Exception], None]) -> None:
        """`on_failure` receives the path and the exception of a response that failed."""
        self._on_failure = on_failure
        self._renderings = SharedRenderings[_RenderedResponse]()

    async def json(self, request: Request, key: Hashable, answer: Callable[[], tuple[bytes, int]]) -> Response:
        """Send a response of the API. `answer` returns its body and status code."""
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))

        def render() -> _RenderedResponse:
            try:
                body, code = answer()
            except MembersHiddenError:
                body, code = encode({"error": MEMBERS_HIDDEN}), 403
            except Exception as error:  # noqa: BLE001 - an error in one response must not break the server
                self._on_failure(request.url.path, error)
                body, code = encode({"error": INTERNAL_ERROR, "group": requested_name(request)}), 500
            return _rendered(body, NO_STORE, JSON, code, zipped=zipped)

        return (await self._renderings.get(("json", zipped, key), render)).response()

    async def page(self, request: Request, key: Hashable, view: Callable[[], Page]) -> Response:
        """Send the HTML document to a browser, and the view to the script of the page."""
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))
        wants_view = VIEW_TYPE in request.headers.get("accept", "")

        def render() -> _RenderedResponse:
            try:
                rendered = view()
                body = rendered.view() if wants_view else rendered.html()
            except Exception as error:  # noqa: BLE001 - likewise
                self._on_failure(request.url.path, error)
                rendered = failed_page(INTERNAL_ERROR, requested_name(request), root_of(request))
                body = rendered.view() if wants_view else rendered.html()
            if wants_view:
                return _rendered(body, NO_STORE, VIEW_TYPE, rendered.code, zipped=zipped)
            return _rendered(body, _PAGE_HEADERS, "text/html; charset=utf-8", rendered.code, zipped=zipped)

        return (await self._renderings.get(("page", zipped, wants_view, key), render)).response()


async def bad_request(_request: Request, error: Exception) -> Response:
    """Return the response for a request that is not valid."""
    return Response(encode({"error": str(error)}), 400, NO_STORE, JSON)


def _rendered(
    body: bytes, headers: Mapping[str, str], media_type: str, code: int, *, zipped: bool
) -> _RenderedResponse:
    headers = {**headers, "vary": "Accept, Accept-Encoding"}
    if zipped:
        return _RenderedResponse(gzipped(body), {**headers, "content-encoding": "gzip"}, media_type, code)
    return _RenderedResponse([body], headers, media_type, code)


def requested_name(request: Request) -> str | None:
    """Return the group's name from the path or the query; None if neither has one."""
    return request.path_params.get("name", request.query_params.get("name"))


def root_of(request: Request) -> str:
    """Return the relative path from the request to the status page, so that a prefix added by a proxy is kept."""
    return "../" * (request.scope["raw_path"].count(b"/") - 1) or "./"
