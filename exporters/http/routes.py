"""The routes of the HTTP server: which request gets which bytes. No value is computed here.

A scrape copies the rendered metrics of the snapshot (`exporters.text.exposition`) and renders those of the monitor.
Before the first snapshot `/metrics` has only the latter, and `/api/v1/groups` returns 503.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporters.cluster.exposition import join_expositions
from exporters.group_query import GroupQuery, GroupQueryError
from exporters.group_search import MembersHiddenError, has_topic
from exporters.http.access.require_login import RequireLogin
from exporters.http.access.web_access import Credentials
from exporters.http.admission import Admission, ConnectionLimits, RefusalReason
from exporters.http.api import encode, group_json, groups_json, no_such_group, readiness_json, topic_groups_json
from exporters.http.burrow_api import burrow_routes
from exporters.http.cluster_api import cluster_routes
from exporters.http.event_stream.recent_events import RecentEvents
from exporters.http.event_stream.response import EVENTS_PATH, EventStream
from exporters.http.negotiation import accepts_gzip, preferred_format
from exporters.http.openapi.document import openapi_json
from exporters.http.request_limits import PROBES, RequestLimiter, RequestLimits
from exporters.http.shared_renderings import SharedRenderings
from exporters.http.streamed_response import StreamedResponse
from exporters.page.assets import ASSETS, asset
from exporters.page.document import VIEW_TYPE
from exporters.page.group import failed_page, group_page
from exporters.page.group_filter import GroupFilter
from exporters.page.lag_samples import LagSamples
from exporters.page.overview import overview_page
from exporters.text.exposition import EMPTY, gzipped
from exporters.text.self_metrics import render_self_metrics
from exporters.verdict_event import NO_EVENT_FILTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from starlette.requests import Request

    from exporters.cluster.exposition import PublishedCluster
    from exporters.compatibility.burrow_responses import BurrowCluster
    from exporters.group_search import MemberSearch
    from exporters.page.document import Page
    from exporters.readmodel import GroupDetail, MonitorStatus, OtherInstance
    from exporters.text.compressed_text import PlainText
    from exporters.text.exposition import PublishedSnapshot

# Enough for a million series over a slow link. Prometheus aborts after its scrape timeout, 10 s by default.
RESPONSE_SECONDS: Final = 60.0
MOST_STREAMS: Final = 64
MOST_STREAMS_PER_ADDRESS: Final = 32

_JSON: Final = "application/json"
_INTERNAL_ERROR: Final = "internal error: lagwarden could not create this response; its log has the details"
_NO_STORE: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
# Scripts and styles from this server only, nothing inline, no frames; and no script may turn text into HTML.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE_HEADERS: Final = {**_NO_STORE, "content-security-policy": _POLICY, "referrer-policy": "no-referrer"}


class _AnyName(Convertor[str]):
    """Matches a group's name in a path: any characters. Starlette's `path` convertor stops at a line feed."""

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
    search: MemberSearch | None = None,
    events: RecentEvents | None = None,
    burrow: BurrowCluster | None = None,
    clock: Callable[[], float] = time.time,
    admission: Admission | None = None,
    credentials: Callable[[], Credentials] = Credentials,
    on_failure: Callable[[str, Exception], None] = lambda _path, _error: None,
    other_instance: Callable[[str], OtherInstance | None] = lambda _: None,
) -> Starlette:
    """Return the application. `exporters.http.server.HttpServer` describes the arguments.

    A name in a path can be any but `.` and `..`, which a client resolves before it sends the request. Therefore each
    route of a group also exists with the name in the query: `/api/v1/group?name=..` and `/group?name=..`.

    `credentials` returns what a client must send for all paths but those of the probes. `on_failure` receives the path
    and the exception of a response that failed with an internal error (500).
    """
    admission = admission or Admission(ConnectionLimits())
    endpoints = _Endpoints(
        current,
        _with_http(status, admission),
        details,
        cluster,
        clock,
        search=search,
        events=events or RecentEvents(),
        on_failure=on_failure,
        other_instance=other_instance,
    )
    on_refusal = functools.partial(admission.count, RefusalReason.REQUESTS)
    limiters = [
        Middleware(
            RequestLimiter,
            limits=RequestLimits(),
            on_refusal=on_refusal,
            covers=lambda path: path not in PROBES and path != EVENTS_PATH,
        ),
        Middleware(
            RequestLimiter,
            limits=_stream_limits(admission.limits),
            on_refusal=on_refusal,
            covers=lambda path: path == EVENTS_PATH,
            requests="event streams",
        ),
    ]
    on_login = functools.partial(admission.count, RefusalReason.LOGIN)
    login = Middleware(RequireLogin, credentials=credentials, on_refusal=on_login)
    routes = [
        Route("/", endpoints.overview_page),
        *(Route(f"/{name}", endpoints.asset) for name in ASSETS),
        Route("/livez", endpoints.livez),
        Route("/readyz", endpoints.readyz),
        Route("/metrics", endpoints.metrics),
        Route("/api/v1/openapi.json", endpoints.openapi),
        Route(EVENTS_PATH, endpoints.events),
        Route("/api/v1/groups", endpoints.groups),
        Route("/api/v1/groups/{name:any_name}", endpoints.group),
        Route("/api/v1/group", endpoints.group),
        Route("/api/v1/topics/{topic}/groups", endpoints.topic_groups),
        *cluster_routes(cluster, endpoints.json),
        *(burrow_routes(burrow, current, endpoints.json) if burrow else ()),
        Route("/groups/{name:any_name}", endpoints.group_page),
        Route("/group", endpoints.group_page),
    ]
    return Starlette(routes=routes, middleware=[*limiters, login])


def _stream_limits(connections: ConnectionLimits) -> RequestLimits:
    """Return the limits of event streams: at most a quarter of the connections, because streams stay open."""
    return RequestLimits(
        total=min(MOST_STREAMS, max(connections.total // 4, 1)),
        per_address=min(MOST_STREAMS_PER_ADDRESS, max(connections.per_address // 4, 1)),
        reserve=0,
    )


def _with_http(status: Callable[[], MonitorStatus], admission: Admission) -> Callable[[], MonitorStatus]:
    """Return a function that adds the values of the HTTP server to the status."""

    def complete() -> MonitorStatus:
        return dataclasses.replace(status(), http_connections=admission.open, http_refusals=admission.table())

    return complete


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


class _Endpoints:
    """The endpoints. Responses that take work are rendered on worker threads (`SharedRenderings`)."""

    def __init__(
        self,
        current: Callable[[], PublishedSnapshot | None],
        status: Callable[[], MonitorStatus],
        details: Callable[[str], GroupDetail | None],
        cluster: Callable[[], PublishedCluster | None],
        clock: Callable[[], float],
        *,
        search: MemberSearch | None,
        events: RecentEvents,
        on_failure: Callable[[str, Exception], None],
        other_instance: Callable[[str], OtherInstance | None],
    ) -> None:
        self._search = search
        self._other_instance = other_instance
        self._events = events
        self._on_failure = on_failure
        self._published = current
        self._lag_samples = LagSamples()
        self._status = status
        self._details = details
        self._cluster = cluster
        self._clock = clock
        self._renderings = SharedRenderings[_RenderedResponse]()

    def _current(self) -> PublishedSnapshot | None:
        """Return the published snapshot, and record its lags for the charts of the pages."""
        published = self._published()
        if published is not None:
            self._lag_samples.record(published.snapshot)
        return published

    async def livez(self, _request: Request) -> Response:
        """Respond that the process is alive. Other failures recover or end the process: a restart would not help."""
        return PlainTextResponse("alive\n", headers=_NO_STORE)

    async def readyz(self, _request: Request) -> Response:
        status = self._status()
        return Response(readiness_json(status), 200 if status.ready else 503, _NO_STORE, _JSON)

    async def metrics(self, request: Request) -> Response:
        form = preferred_format(request.headers.get("accept", ""))
        names = frozenset(request.query_params.getlist("name[]"))
        published = self._current()
        exposition = published.exposition if published else EMPTY
        cluster, status = self._cluster(), self._status()
        if cluster is not None:
            exposition = join_expositions(exposition, cluster.exposition)
            dropped = pa.concat_tables([status.series_dropped, cluster.series_dropped])
            status = dataclasses.replace(status, series_dropped=dropped)
        live = render_self_metrics(status, self._clock(), form, names)
        headers = {**_NO_STORE, "vary": "Accept, Accept-Encoding"}
        parts: Sequence[PlainText]
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            parts = exposition.gzipped(form, live, names)
            headers["content-encoding"] = "gzip"
        else:
            parts = [*exposition.plain(form, names), live]
        return StreamedResponse(parts, headers=headers, media_type=form.value, seconds=RESPONSE_SECONDS)

    async def openapi(self, request: Request) -> Response:
        return await self.json(request, "openapi", lambda: (openapi_json(), 200))

    async def events(self, request: Request) -> Response:
        try:
            query = GroupQuery.parse(request.query_params.multi_items(), without=NO_EVENT_FILTERS)
        except GroupQueryError as error:
            return _bad_request(str(error))
        last = request.headers.get("last-event-id")
        return EventStream(self._events, self._events.after(last) if last else self._events.end(), query)

    async def groups(self, request: Request) -> Response:
        published = self._current()
        if not published:
            return self._no_snapshot()
        try:
            query = GroupQuery.parse(request.query_params.multi_items())
        except GroupQueryError as error:
            return _bad_request(str(error))

        def answer() -> tuple[bytes, int]:
            try:
                return groups_json(published, query, self._search, self._status()), 200
            except MembersHiddenError:
                return _members_hidden()

        return await self.json(request, ("groups", published, query), answer)

    async def topic_groups(self, request: Request) -> Response:
        published, topic, facts = self._current(), request.path_params["topic"], self._cluster()
        if not published:
            return self._no_snapshot()
        try:
            query = GroupQuery.parse(request.query_params.multi_items(), without=("topic",))
        except GroupQueryError as error:
            return _bad_request(str(error))

        def answer() -> tuple[bytes, int]:
            known = facts is not None and pc.any(pc.equal(facts.facts.cluster_topics["topic"], topic)).as_py()
            if not known and not has_topic(published.snapshot, topic):
                return encode({"error": "no group reads a topic of this name", "topic": topic}), 404
            try:
                return topic_groups_json(published.snapshot, topic, query, self._search), 200
            except MembersHiddenError:
                return _members_hidden()

        return await self.json(request, ("topic groups", published, topic, query), answer)

    async def group(self, request: Request) -> Response:
        published = self._current()
        if not published:
            return self._no_snapshot()
        group = _requested_name(request)
        if group is None:
            return _bad_request("the name of the group is missing: /api/v1/group?name=NAME")

        def answer() -> tuple[bytes, int]:
            found = group_json(published.snapshot, group, self._details(group))
            return (no_such_group(group, self._other_instance(group)), 404) if found is None else (found, 200)

        return await self.json(request, ("group", published, group), answer)

    async def overview_page(self, request: Request) -> Response:
        group_filter = GroupFilter.from_query(request.query_params)
        published = self._current()

        def page() -> Page:
            return overview_page(published, self._status(), self._clock(), group_filter)

        return await self._page(request, ("overview", published, group_filter), page)

    async def group_page(self, request: Request) -> Response:
        name, published, root = _requested_name(request), self._current(), _root(request)

        def page() -> Page:
            detail = self._details(name) if published and name is not None else None
            samples = self._lag_samples.of_group(name) if name is not None else []
            other = self._other_instance(name) if name is not None else None
            return group_page(published, name or "", detail, self._clock(), root=root, samples=samples, other=other)

        return await self._page(request, ("group page", published, name, root), page)

    async def asset(self, request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        headers = {"cache-control": "max-age=60", "x-content-type-options": "nosniff"}
        return Response(asset(name), headers=headers, media_type=ASSETS[name])

    async def json(self, request: Request, key: Hashable, answer: Callable[[], tuple[bytes, int]]) -> Response:
        """Send a response of the API. `answer` returns its body and status code."""
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))

        def render() -> _RenderedResponse:
            try:
                body, code = answer()
            except Exception as error:  # noqa: BLE001 - an error in one response must not break the server
                self._on_failure(request.url.path, error)
                body, code = encode({"error": _INTERNAL_ERROR, "group": _requested_name(request)}), 500
            return _rendered(body, _NO_STORE, _JSON, code, zipped=zipped)

        return (await self._renderings.get(("json", zipped, key), render)).response()

    async def _page(self, request: Request, key: Hashable, page: Callable[[], Page]) -> Response:
        """Send the HTML document to a browser, and the view to the script of the page."""
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))
        wants_view = VIEW_TYPE in request.headers.get("accept", "")

        def render() -> _RenderedResponse:
            try:
                rendered = page()
                body = rendered.view() if wants_view else rendered.html()
            except Exception as error:  # noqa: BLE001 - likewise
                self._on_failure(request.url.path, error)
                rendered = failed_page(_INTERNAL_ERROR, _requested_name(request), _root(request))
                body = rendered.view() if wants_view else rendered.html()
            if wants_view:
                return _rendered(body, _NO_STORE, VIEW_TYPE, rendered.code, zipped=zipped)
            return _rendered(body, _PAGE_HEADERS, "text/html; charset=utf-8", rendered.code, zipped=zipped)

        return (await self._renderings.get(("page", zipped, wants_view, key), render)).response()

    def _no_snapshot(self) -> Response:
        status = self._status()
        answer = {"error": "no snapshot yet", "phase": status.phase, "reasons": status.not_ready_reasons}
        return Response(encode(answer), 503, {**_NO_STORE, "retry-after": "5"}, _JSON)


def _bad_request(error: str) -> Response:
    return Response(encode({"error": error}), 400, _NO_STORE, _JSON)


def _members_hidden() -> tuple[bytes, int]:
    return encode({"error": "members are hidden (http.hide_members): no filter by client or host"}), 403


def _rendered(
    body: bytes, headers: Mapping[str, str], media_type: str, code: int, *, zipped: bool
) -> _RenderedResponse:
    headers = {**headers, "vary": "Accept, Accept-Encoding"}
    if zipped:
        return _RenderedResponse(gzipped(body), {**headers, "content-encoding": "gzip"}, media_type, code)
    return _RenderedResponse([body], headers, media_type, code)


def _requested_name(request: Request) -> str | None:
    """Return the group's name from the path or the query; None if neither has one."""
    named: str | None = request.path_params.get("name", request.query_params.get("name"))
    return named


def _root(request: Request) -> str:
    """Return the relative path from the request to the status page, so that a prefix added by a proxy is kept."""
    return "../" * (request.scope["raw_path"].count(b"/") - 1) or "./"
