"""The routes of the HTTP server: which request gets which response. No value is computed here.

A scrape copies the rendered metrics of the snapshot (`exporters.text.exposition`) and renders those of the monitor.
Before the first snapshot `/metrics` has only the latter, and `/api/v1/groups` returns 503.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporters.group_query import GroupQueryError
from exporters.http.access.require_login import AllowedHosts, RequireLogin
from exporters.http.access.web_access import Credentials
from exporters.http.admission import Admission, ConnectionLimits, RefusalReason, RequestLimiter, RequestLimits
from exporters.http.api import encode
from exporters.http.api_endpoints import ApiEndpoints, NoSnapshotError, PageEndpoints, ServedData
from exporters.http.burrow_api import PREFIX as BURROW
from exporters.http.burrow_api import burrow_routes
from exporters.http.cluster_api import cluster_routes
from exporters.http.event_stream.response import EVENTS_PATH
from exporters.http.rendered_responses import JSON, NO_STORE, RenderedResponses, bad_request
from exporters.page.document import ASSETS
from exporters.readmodel.monitor_status import HttpStatus, MonitorStatus

MOST_STREAMS: Final = 64
MOST_STREAMS_PER_ADDRESS: Final = 32
_API: Final = "/api"
_NO_ROUTE: Final = "no such path; /api/v1/openapi.json lists the paths of the API"
_NO_BURROW: Final = "the API of Burrow is disabled; enable it with metrics.compatibility: [burrow]"
_NO_PAGE: Final = "There is no such page. All groups: /  JSON API: /api/v1/openapi.json  Prometheus: /metrics\n"
_ONLY_READS: Final = "no such method; every path only reads, by GET"


class _AnyName(PathConvertor):
    """Matches a group's name in a path: any characters. Starlette's own convertor stops at a line feed."""

    regex = r"[\s\S]*"


register_url_convertor("any_name", _AnyName())


def build_app(
    served: ServedData,
    *,
    admission: Admission | None = None,
    credentials: Callable[[], Credentials] = Credentials,
    allowed_hosts: Sequence[str] = (),
) -> Starlette:
    """Return the application that answers with this data.

    A name in a path can be any but `.` and `..`, which a client resolves before it sends the request. Therefore each
    route of a group also exists with the name in the query: `/api/v1/group?name=..` and `/group?name=..`.

    `credentials` returns what a client must send for all paths but those of the probes. `allowed_hosts` are the names
    of the server besides those that it always has.
    """
    admission = admission or Admission(ConnectionLimits())
    served = dataclasses.replace(served, status=with_http(served.status, admission))
    responses = RenderedResponses(served.on_failure, served.links.cluster_name)
    api, pages = ApiEndpoints(served, responses), PageEndpoints(served, responses)
    # At most a quarter of the connections, because streams stay open.
    total, per_address = (max(most // 4, 1) for most in (admission.limits.total, admission.limits.per_address))
    streams = RequestLimits(min(MOST_STREAMS, total), min(MOST_STREAMS_PER_ADDRESS, per_address), reserve=0)
    middleware = [
        Middleware(
            RequestLimiter,
            streams=streams,
            others=RequestLimits(),
            on_refusal=functools.partial(admission.count, RefusalReason.REQUESTS),
        ),
        Middleware(
            AllowedHosts,
            names=allowed_hosts,
            credentials=credentials,
            on_refusal=functools.partial(admission.count, RefusalReason.HOST),
        ),
        Middleware(
            RequireLogin, credentials=credentials, on_refusal=functools.partial(admission.count, RefusalReason.LOGIN)
        ),
    ]
    routes = [
        Route("/", pages.overview),
        *(Route(f"/{name}", pages.asset) for name in ASSETS),
        Route("/livez", api.livez),
        Route("/readyz", api.readyz),
        Route("/metrics", api.metrics),
        Route("/api/v1/openapi.json", api.openapi),
        Route(EVENTS_PATH, api.events),
        Route("/api/v1/groups", api.groups),
        Route("/api/v1/groups/{name:any_name}", api.group),
        Route("/api/v1/group", api.group),
        Route("/api/v1/topics/{topic}/groups", api.topic_groups),
        *cluster_routes(served.cluster, responses.json),
        *(burrow_routes(served.burrow, served.published, responses.json) if served.burrow else ()),
        Route("/groups/{name:any_name}", pages.group),
        Route("/group", pages.group),
        Route("/topic", pages.topic),
        Route("/runbook/{name}", pages.runbook),
    ]
    return Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={
            HTTPStatus.NOT_FOUND: _unknown_path,
            HTTPStatus.METHOD_NOT_ALLOWED: _unknown_method,
            GroupQueryError: bad_request,
            NoSnapshotError: api.no_snapshot,
        },
    )


def with_http(status: Callable[[], MonitorStatus], admission: Admission) -> Callable[[], MonitorStatus]:
    """Return a function that adds the values of the HTTP server to the status."""
    return lambda: dataclasses.replace(status(), http=HttpStatus(admission.open, admission.table()))


async def _unknown_path(request: Request, _error: Exception) -> Response:
    """Respond with 404, and where the known paths are: JSON below /api and /v3, else text."""
    path = request.url.path
    if _is_below(path, BURROW):
        return Response(encode({"error": True, "message": _NO_BURROW}), 404, NO_STORE, JSON)
    if _is_below(path, _API):
        return Response(encode({"error": _NO_ROUTE}), 404, NO_STORE, JSON)
    return PlainTextResponse(_NO_PAGE, 404, NO_STORE)


async def _unknown_method(request: Request, error: Exception) -> Response:
    """Respond with 405 and the header `Allow`."""
    headers = {**NO_STORE, **(getattr(error, "headers", None) or {})}
    if _is_below(request.url.path, _API):
        return Response(encode({"error": _ONLY_READS}), 405, headers, JSON)
    return PlainTextResponse(f"{_ONLY_READS}\n", 405, headers)


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")
