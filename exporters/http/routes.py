"""Every address that answers, each a few lines: who asks, with what, gets which bytes. No number is made here.

A scrape only copies: the snapshot's bytes are ready (`text.exposition`), the monitor's own part is small. Before
the first snapshot `/metrics` has only that part and `/api/v1/groups` says 503: never a number that is not known.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporters.cluster.exposition import join_expositions
from exporters.http.admission import Admission, ConnectionLimits, RefusalReason
from exporters.http.api import encode, group_json, groups_json, readiness_json
from exporters.http.cluster_api import cluster_routes
from exporters.http.negotiation import accepts_gzip, preferred_format
from exporters.http.shared_renderings import SharedRenderings
from exporters.http.streamed_response import RequestLimiter, RequestLimits, StreamedResponse
from exporters.page.assets import ASSETS, asset
from exporters.page.document import VIEW_TYPE
from exporters.page.group import failed_page, group_page
from exporters.page.group_filter import GroupFilter
from exporters.page.lag_samples import LagSamples
from exporters.page.overview import overview_page
from exporters.text.exposition import EMPTY, gzipped
from exporters.text.self_metrics import render_self_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from starlette.requests import Request

    from exporters.cluster.exposition import PublishedCluster
    from exporters.page.document import Page
    from exporters.readmodel import GroupDetail, MonitorStatus
    from exporters.text.compressed_text import PlainText
    from exporters.text.exposition import PublishedSnapshot

# A scrape of a million series over a slow link; Prometheus itself gives up after its scrape timeout, 10 s by default.
READER_SECONDS: Final = 60.0

_JSON: Final = "application/json"
_FAULT: Final = "internal error: lagwarden failed to make this answer; its log names the fault"
_FRESH: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
# Scripts and styles from here alone, nothing inline, nobody's frame; and no script may turn text into HTML at all.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE_HEADERS: Final = {**_FRESH, "content-security-policy": _POLICY, "referrer-policy": "no-referrer"}


class _AnyName(Convertor[str]):
    """A group's name in a path: any characters. Starlette's own `path` stops at a line feed."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any_name", _AnyName())


def build_app(
    current: Callable[[], PublishedSnapshot | None],
    status: Callable[[], MonitorStatus],
    *,
    details: Callable[[str], GroupDetail | None] = lambda _: None,
    cluster: Callable[[], PublishedCluster | None] = lambda: None,
    clock: Callable[[], float] = time.time,
    admission: Admission | None = None,
    failed: Callable[[str, Exception], None] = lambda _what, _error: None,
) -> Starlette:
    """Build the application over what it reads: what is published, how the monitor is, and one group in detail.

    A name in a path may be any but `.` and `..`: those a client resolves before it asks. Hence each address of a group
    has a twin that takes the name from the query: `/api/v1/group?name=..` and `/group?name=..`.

    `failed` is told which answer could not be made because of a fault of lagwarden, and why; its client gets a 500.
    """
    admission = admission or Admission(ConnectionLimits())
    answers = _Answers(current, _with_http(status, admission), details, cluster, clock, failed=failed)
    refused = functools.partial(admission.count, RefusalReason.REQUESTS)
    routes = [
        Route("/", answers.overview_page),
        *(Route(f"/{name}", answers.asset) for name in ASSETS),
        Route("/livez", answers.livez),
        Route("/readyz", answers.readyz),
        Route("/metrics", answers.metrics),
        Route("/api/v1/groups", answers.groups),
        Route("/api/v1/groups/{name:any_name}", answers.group),
        Route("/api/v1/group", answers.group),
        *cluster_routes(cluster, answers.json),
        Route("/groups/{name:any_name}", answers.group_page),
        Route("/group", answers.group_page),
    ]
    return Starlette(routes=routes, middleware=[Middleware(RequestLimiter, bounds=RequestLimits(), refused=refused)])


def _with_http(status: Callable[[], MonitorStatus], admission: Admission) -> Callable[[], MonitorStatus]:
    """Return a status that also tells about the HTTP server itself."""

    def complete() -> MonitorStatus:
        return dataclasses.replace(status(), http_connections=admission.open, http_refusals=admission.table())

    return complete


@dataclasses.dataclass(frozen=True, slots=True)
class _Rendered:
    """An answer that was rendered: what several clients may be given."""

    parts: Sequence[PlainText]
    headers: Mapping[str, str]
    media_type: str
    code: int

    def response(self) -> Response:
        """Return a response to one client."""
        return StreamedResponse(
            self.parts, headers=self.headers, media_type=self.media_type, seconds=READER_SECONDS, code=self.code
        )


class _Answers:
    """The endpoints. What only copies answers at once; what takes work is rendered on worker threads."""

    def __init__(
        self,
        current: Callable[[], PublishedSnapshot | None],
        status: Callable[[], MonitorStatus],
        details: Callable[[str], GroupDetail | None],
        cluster: Callable[[], PublishedCluster | None],
        clock: Callable[[], float],
        *,
        failed: Callable[[str, Exception], None],
    ) -> None:
        self._failed = failed
        self._published = current
        self._trail = LagSamples()
        self._status = status
        self._details = details
        self._cluster = cluster
        self._clock = clock
        self._renderings = SharedRenderings[_Rendered]()

    def _current(self) -> PublishedSnapshot | None:
        """Give what is published now. Whoever reads it, the charts will know of it later."""
        published = self._published()
        if published is not None:
            self._trail.note(published.snapshot)
        return published

    async def livez(self, _request: Request) -> Response:
        """Say that the process answers. What else goes wrong heals by itself or ends the process: no restart helps."""
        return PlainTextResponse("alive\n", headers=_FRESH)

    async def readyz(self, _request: Request) -> Response:
        status = self._status()
        return Response(readiness_json(status), 200 if status.ready else 503, _FRESH, _JSON)

    async def metrics(self, request: Request) -> Response:
        form = preferred_format(request.headers.get("accept", ""))
        names = frozenset(request.query_params.getlist("name[]"))
        published = self._current()
        exposition = published.exposition if published else EMPTY
        cluster = self._cluster()
        if cluster is not None:
            exposition = join_expositions(exposition, cluster.exposition)
        live = render_self_metrics(self._status(), self._clock(), form, names)
        headers = {**_FRESH, "vary": "Accept, Accept-Encoding"}
        parts: Sequence[PlainText]
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            parts = exposition.gzipped(form, live, names)
            headers["content-encoding"] = "gzip"
        else:
            parts = [*exposition.plain(form, names), live]
        return StreamedResponse(parts, headers=headers, media_type=form.value, seconds=READER_SECONDS)

    async def groups(self, request: Request) -> Response:
        published = self._current()
        if not published:
            return self._no_snapshot()
        return await self.json(request, ("groups", published), lambda: (groups_json(published), 200))

    async def group(self, request: Request) -> Response:
        published = self._current()
        if not published:
            return self._no_snapshot()
        group = _name(request)
        if group is None:
            return Response(encode({"error": "name the group: /api/v1/group?name=NAME"}), 400, _FRESH, _JSON)

        def answer() -> tuple[bytes, int]:
            found = group_json(published.snapshot, group, self._details(group))
            return (encode({"error": "no such group", "group": group}), 404) if found is None else (found, 200)

        return await self.json(request, ("group", published, group), answer)

    async def overview_page(self, request: Request) -> Response:
        chosen = GroupFilter.from_query(request.query_params)
        published = self._current()

        def page() -> Page:
            return overview_page(published, self._status(), self._clock(), chosen)

        return await self._page(request, ("overview", published, chosen), page)

    async def group_page(self, request: Request) -> Response:
        name, published, root = _name(request), self._current(), _root(request)

        def page() -> Page:
            detail = self._details(name) if published and name is not None else None
            samples = self._trail.of(name) if name is not None else []
            return group_page(published, name or "", detail, self._clock(), root=root, samples=samples)

        return await self._page(request, ("group page", published, name, root), page)

    async def asset(self, request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        headers = {"cache-control": "max-age=60", "x-content-type-options": "nosniff"}
        return Response(asset(name), headers=headers, media_type=ASSETS[name])

    async def json(self, request: Request, key: Hashable, answer: Callable[[], tuple[bytes, int]]) -> Response:
        """Send an answer of the API, of which `answer` gives body and status code."""
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))

        def render() -> _Rendered:
            try:
                body, code = answer()
            except Exception as error:  # noqa: BLE001 - one answer must not look like a server that is broken
                self._failed(request.url.path, error)
                body, code = encode({"error": _FAULT, "group": _name(request)}), 500
            return _rendered(body, _FRESH, _JSON, code, zipped=zipped)

        return (await self._renderings.of(("json", zipped, key), render)).response()

    async def _page(self, request: Request, key: Hashable, page: Callable[[], Page]) -> Response:
        """Answer a browser with the document, and the page's own script with what changes in it."""
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))
        wants_view = VIEW_TYPE in request.headers.get("accept", "")

        def render() -> _Rendered:
            try:
                made = page()
                body = made.view() if wants_view else made.html()
            except Exception as error:  # noqa: BLE001 - likewise
                self._failed(request.url.path, error)
                made = failed_page(_FAULT, _name(request), _root(request))
                body = made.view() if wants_view else made.html()
            if wants_view:
                return _rendered(body, _FRESH, VIEW_TYPE, made.code, zipped=zipped)
            return _rendered(body, _PAGE_HEADERS, "text/html; charset=utf-8", made.code, zipped=zipped)

        return (await self._renderings.of(("page", zipped, wants_view, key), render)).response()

    def _no_snapshot(self) -> Response:
        status = self._status()
        answer = {"error": "no snapshot yet", "phase": status.phase, "reasons": status.not_ready_reasons}
        return Response(encode(answer), 503, {**_FRESH, "retry-after": "5"}, _JSON)


def _rendered(body: bytes, headers: Mapping[str, str], media_type: str, code: int, *, zipped: bool) -> _Rendered:
    headers = {**headers, "vary": "Accept, Accept-Encoding"}
    if zipped:
        return _Rendered(gzipped(body), {**headers, "content-encoding": "gzip"}, media_type, code)
    return _Rendered([body], headers, media_type, code)


def _name(request: Request) -> str | None:
    """Give the group's name, from the path or from the query; None where neither has one."""
    named: str | None = request.path_params.get("name", request.query_params.get("name"))
    return named


def _root(request: Request) -> str:
    """Give the way from the address as its reader knows it to the status page, so that any prefix is kept."""
    return "../" * (request.scope["raw_path"].count(b"/") - 1) or "./"
