"""Every address that answers, each a few lines: who asks, with what, gets which bytes. No number is made here.

A scrape only copies: the snapshot's bytes are ready (`exporters.exposition`), the monitor's own part is small. Before
the first snapshot `/metrics` has only that part and `/api/v1/groups` says 503: never a number that is not known.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporters.api import encode, group_json, groups_json, readiness_json
from exporters.bodies import BoundedRequests, SlicedResponse
from exporters.cluster_api import cluster_routes
from exporters.cluster_exposition import joined
from exporters.exposition import EMPTY, gzipped
from exporters.live import render_live
from exporters.negotiation import accepts_gzip, preferred_format
from exporters.page import render_group_page, render_page, stylesheet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from exporters.cluster_exposition import PublishedCluster
    from exporters.exposition import Published
    from exporters.pieces import Text
    from exporters.readmodel import GroupDetail, MonitorStatus

REQUESTS_AT_ONCE: Final = 32
# A scrape of a million series over a slow link; Prometheus itself gives up after its scrape timeout, 10 s by default.
READER_SECONDS: Final = 60.0

_JSON: Final = "application/json"
_FRESH: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_PAGE_HEADERS: Final = {**_FRESH, "content-security-policy": "default-src 'none'; style-src 'self'; img-src data:"}


class _AnyName(Convertor[str]):
    """A group's name in a path: any characters. Starlette's own `path` stops at a line feed."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any_name", _AnyName())


def build_app(
    current: Callable[[], Published | None],
    status: Callable[[], MonitorStatus],
    *,
    details: Callable[[str], GroupDetail | None] = lambda _: None,
    cluster: Callable[[], PublishedCluster | None] = lambda: None,
    clock: Callable[[], float] = time.time,
) -> Starlette:
    """Build the application over what it reads: what is published, how the monitor is, and one group in detail.

    A name in a path may be any but `.` and `..`: those a client resolves before it asks. Hence each address of a group
    has a twin that takes the name from the query: `/api/v1/group?name=..` and `/group?name=..`.
    """
    answers = _Answers(current, status, details, cluster, clock)
    routes = [
        Route("/", answers.page),
        Route("/style.css", answers.style),
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
    return Starlette(routes=routes, middleware=[Middleware(BoundedRequests, limit=REQUESTS_AT_ONCE)])


class _Answers:
    """The endpoints. Those that are `async` only copy; the others may take a while and run on worker threads."""

    def __init__(
        self,
        current: Callable[[], Published | None],
        status: Callable[[], MonitorStatus],
        details: Callable[[str], GroupDetail | None],
        cluster: Callable[[], PublishedCluster | None],
        clock: Callable[[], float],
    ) -> None:
        self._current = current
        self._status = status
        self._details = details
        self._cluster = cluster
        self._clock = clock

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
            exposition = joined(exposition, cluster.exposition)
        live = render_live(self._status(), self._clock(), form, names)
        headers = {**_FRESH, "vary": "Accept, Accept-Encoding"}
        parts: Sequence[Text]
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            parts = exposition.gzipped(form, live, names)
            headers["content-encoding"] = "gzip"
        else:
            parts = [*exposition.plain(form, names), live]
        return SlicedResponse(parts, headers=headers, media_type=form.value, seconds=READER_SECONDS)

    def groups(self, request: Request) -> Response:
        published = self._current()
        return self.json(request, groups_json(published)) if published else self._no_snapshot()

    def group(self, request: Request) -> Response:
        published = self._current()
        if not published:
            return self._no_snapshot()
        group = _name(request)
        if group is None:
            return Response(encode({"error": "name the group: /api/v1/group?name=NAME"}), 400, _FRESH, _JSON)
        answer = group_json(published.snapshot, group, self._details(group))
        if answer is None:
            return Response(encode({"error": "no such group", "group": group}), 404, _FRESH, _JSON)
        return self.json(request, answer)

    def page(self, request: Request) -> Response:
        html = render_page(self._current(), self._status(), self._clock())
        return self._sliced(request, html, _PAGE_HEADERS, "text/html; charset=utf-8")

    def group_page(self, request: Request) -> Response:
        name, published = _name(request), self._current()
        detail = self._details(name) if published and name is not None else None
        page = render_group_page(published, name or "", detail, self._clock(), root=_root(request))
        return self._sliced(request, page.html, _PAGE_HEADERS, "text/html; charset=utf-8", page.code)

    async def style(self, _request: Request) -> Response:
        return Response(stylesheet(), headers={"cache-control": "max-age=60"}, media_type="text/css; charset=utf-8")

    def _no_snapshot(self) -> Response:
        status = self._status()
        answer = {"error": "no snapshot yet", "phase": status.phase, "reasons": status.not_ready_reasons}
        return Response(encode(answer), 503, {**_FRESH, "retry-after": "5"}, _JSON)

    def json(self, request: Request, answer: bytes, code: int = 200) -> Response:
        """Send an answer of the API."""
        return self._sliced(request, answer, _FRESH, _JSON, code)

    def _sliced(
        self, request: Request, body: bytes, headers: dict[str, str], media_type: str, code: int = 200
    ) -> Response:
        parts, headers = [body], {**headers, "vary": "Accept-Encoding"}
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            parts, headers = gzipped(body), {**headers, "content-encoding": "gzip"}
        return SlicedResponse(parts, headers=headers, media_type=media_type, seconds=READER_SECONDS, code=code)


def _name(request: Request) -> str | None:
    """Give the group's name, from the path or from the query; None where neither has one."""
    named: str | None = request.path_params.get("name", request.query_params.get("name"))
    return named


def _root(request: Request) -> str:
    """Give the way from the address as its reader knows it to the status page, so that any prefix is kept."""
    return "../" * (request.scope["raw_path"].count(b"/") - 1) or "./"
