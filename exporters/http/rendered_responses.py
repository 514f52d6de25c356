"""Renders JSON and pages on worker threads, shares one rendering between clients, and sends large responses in slices.

The bytes of a snapshot are shared by all clients; a client costs one slice and the socket's buffer.
"""

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from exporters.group_search import MembersHiddenError
from exporters.http.api import encode
from exporters.page.document import VIEW_TYPE, Page
from exporters.page.group import failed_page
from exporters.text.exposition import ExpositionFormat, gzipped
from exporters.text.samples import PlainText

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
# Enough for a million series over a slow link. Prometheus aborts after its scrape timeout, 10 s by default.
RESPONSE_SECONDS: Final = 60.0


class StreamedResponse(StreamingResponse):
    """A response whose body is a sequence of shared bytes, never joined. Aborts if the client reads for too long."""

    def __init__(
        self,
        parts: Sequence[PlainText],
        headers: Mapping[str, str],
        media_type: str,
        code: int = 200,
        *,
        seconds: float = RESPONSE_SECONDS,
    ) -> None:
        with_length = {**headers, "content-length": str(sum(map(len, parts)))}
        super().__init__(_slices(parts), code, with_length, media_type)
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the body slice by slice. uvicorn awaits each until the send buffer has room."""
        # Unfinished on purpose: uvicorn closes the connection, so the client does not take the body for complete.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await super().__call__(scope, receive, send)


async def _slices(parts: Sequence[PlainText]) -> AsyncIterator[memoryview]:
    for part in parts:
        for text in (part,) if isinstance(part, bytes) else part:
            view = memoryview(text)
            for start in range(0, len(view), _SLICE):
                yield view[start : start + _SLICE]
                # Sending does not always yield to the loop, which must run other tasks and notice a disconnect.
                await asyncio.sleep(0)


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


THREADS: Final = 4
"""Concurrent renderings; others wait."""
KEPT_SECONDS: Final = 1.0
"""How long a finished rendering is reused. Ages in it are at most this much too low."""
_MOST_KEPT: Final = 16

_T = TypeVar("_T")


class SharedRenderings(Generic[_T]):
    """Renders on few threads, and shares one rendering between concurrent requests for the same key.

    Rendering is CPU-bound: more threads do not make it faster, and each leaves its own heap behind. Results are kept
    only for a moment, so a flood of requests does not occupy memory afterwards. Used on one event loop.
    """

    def __init__(self, threads: int = THREADS, kept_seconds: float = KEPT_SECONDS) -> None:
        self._threads = asyncio.Semaphore(threads)
        self._kept_seconds = kept_seconds
        self._shared: dict[Hashable, asyncio.Future[_T]] = {}
        self._finished: list[Hashable] = []

    async def get(self, key: Hashable, render: Callable[[], _T]) -> _T:
        """Return the result of `render`, called on a worker thread, or that of a moment ago for the same key."""
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = asyncio.ensure_future(self._render(render))
            shared.add_done_callback(functools.partial(self._keep, key))
        # Shielded: the first client may disconnect while others wait for the same rendering.
        return await asyncio.shield(shared)

    async def _render(self, render: Callable[[], _T]) -> _T:
        async with self._threads:
            return await run_in_threadpool(render)

    def _keep(self, key: Hashable, done: asyncio.Future[_T]) -> None:
        """Keep a result for a moment, at most `_MOST_KEPT` at once; a failure is not kept."""
        self._finished.append(key)
        if done.cancelled() or done.exception() is not None:
            self._forget(key)
        elif len(self._finished) > _MOST_KEPT:
            self._forget(self._finished[0])
        asyncio.get_running_loop().call_later(self._kept_seconds, self._forget, key)

    def _forget(self, key: Hashable) -> None:
        if key in self._finished:
            self._finished.remove(key)
            del self._shared[key]


class _Rendered(NamedTuple):
    """A rendered response that can be sent to several clients."""

    body: bytes
    code: int
    media_type: str
    headers: Mapping[str, str] = NO_STORE


class RenderedResponses:
    """Sends JSON and pages. They take work, so they are rendered on worker threads (`SharedRenderings`)."""

    def __init__(self, on_failure: Callable[[str, Exception], None], cluster_name: str | None) -> None:
        """`on_failure` receives the path and the exception of a response that failed. Pages show `cluster_name`."""
        self._on_failure = on_failure
        self._cluster_name = cluster_name
        self._renderings = SharedRenderings[_Rendered]()

    async def json(self, request: Request, key: Hashable, answer: Callable[[], tuple[bytes, int]]) -> Response:
        """Send a response of the API. `answer` returns its body and status code."""

        def render() -> _Rendered:
            try:
                body, code = answer()
            except MembersHiddenError:
                body, code = encode({"error": MEMBERS_HIDDEN}), 403
            except Exception as error:  # noqa: BLE001 - an error in one response must not break the server
                self._on_failure(request.url.path, error)
                body, code = encode({"error": INTERNAL_ERROR, "group": requested_name(request)}), 500
            return _Rendered(body, code, JSON)

        return await self._send(request, ("json", key), render)

    async def page(self, request: Request, key: Hashable, view: Callable[[], Page]) -> Response:
        """Send the HTML document to a browser, and the view to the script of the page."""
        wants_view = VIEW_TYPE in request.headers.get("accept", "")

        def written(page: Page) -> _Rendered:
            page = dataclasses.replace(page, cluster=self._cluster_name)
            if wants_view:
                return _Rendered(page.view(), page.code, VIEW_TYPE)
            return _Rendered(page.html(), page.code, "text/html; charset=utf-8", _PAGE_HEADERS)

        def render() -> _Rendered:
            try:
                return written(view())
            except Exception as error:  # noqa: BLE001 - likewise
                self._on_failure(request.url.path, error)
                return written(failed_page(INTERNAL_ERROR, requested_name(request), root_of(request)))

        return await self._send(request, ("page", wants_view, key), render)

    async def _send(self, request: Request, key: Hashable, render: Callable[[], _Rendered]) -> Response:
        """Return the response of one client; a rendering, and its compression, are shared by equal keys."""
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))

        def compressed() -> _Rendered:
            rendered = render()
            return rendered._replace(body=b"".join(gzipped(rendered.body)))

        rendered = await self._renderings.get((zipped, key), compressed if zipped else render)
        coding = {"content-encoding": "gzip"} if zipped else {}
        headers = {**rendered.headers, "vary": "Accept, Accept-Encoding", **coding}
        return StreamedResponse([rendered.body], headers, rendered.media_type, rendered.code)


async def bad_request(_request: Request, error: Exception) -> Response:
    """Return the response for a request that is not valid."""
    return Response(encode({"error": str(error)}), 400, NO_STORE, JSON)


def requested_name(request: Request) -> str | None:
    """Return the group's name from the path or the query; None if neither has one."""
    return request.path_params.get("name", request.query_params.get("name"))


def root_of(request: Request) -> str:
    """Return the relative path from the request to the status page, so that a prefix added by a proxy is kept."""
    return "../" * (request.scope["raw_path"].count(b"/") - 1) or "./"
