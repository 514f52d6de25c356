"""The routes of Burrow's read API: `/v3/kafka/…`, for programs that were written for Burrow.

They exist if `metrics.compatibility` has `burrow`. `exporters.compatibility.burrow_responses` has their JSON.
"""

import functools
import socket
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporters.compatibility import burrow_responses as burrow
from exporters.compatibility.burrow_responses import BodyAndStatus, BurrowCluster, BurrowRequest
from exporters.readmodel import Snapshot
from exporters.text.exposition import PublishedSnapshot

PREFIX: Final = "/v3"
_UNKNOWN_CLUSTER: Final = "cluster not found"
_OF_SNAPSHOT: Final[Mapping[str, tuple[Callable[[BurrowRequest, Snapshot], BodyAndStatus], str | None]]] = {
    "/topic": (burrow.topic_list, _UNKNOWN_CLUSTER),
    "/topic/{topic}": (burrow.topic_detail, "cluster or topic not found"),
    "/topic/{topic}/consumers": (burrow.topic_consumers, _UNKNOWN_CLUSTER),
    "/consumer": (burrow.consumer_list, _UNKNOWN_CLUSTER),
    "/consumer/{group}": (burrow.consumer_detail, "cluster or consumer not found"),
    "/consumer/{group}/status": (functools.partial(burrow.consumer_status, at_least=burrow.OK + 1), None),
    "/consumer/{group}/lag": (burrow.consumer_status, None),
}
"""What answers a path below a cluster, and the error for another cluster; None: a status."""


def burrow_routes(
    own: BurrowCluster,
    current: Callable[[], PublishedSnapshot | None],
    respond: Callable[[Request, Hashable, Callable[[], BodyAndStatus]], Awaitable[Response]],
) -> list[Route]:
    """Return the routes. `respond` renders and sends a body, once for concurrent equal keys."""

    def route(path: str, answer: Callable[[BurrowRequest, Snapshot | None], BodyAndStatus]) -> Route:
        async def endpoint(request: Request) -> Response:
            published = current()
            asked = BurrowRequest(request.scope["path"], socket.gethostname(), own, request.path_params)
            snapshot = None if published is None else published.snapshot
            return await respond(request, ("burrow", asked.path, published), lambda: answer(asked, snapshot))

        return Route(f"{PREFIX}/kafka{path}", endpoint)

    async def unknown(_request: Request) -> Response:
        return PlainTextResponse(burrow.UNKNOWN_PATH, 404, {"x-content-type-options": "nosniff"})

    return [
        route("", burrow.cluster_list),
        route("/{cluster}", burrow.cluster_detail),
        *(route(f"/{{cluster}}{path}", functools.partial(_answer, *row)) for path, row in _OF_SNAPSHOT.items()),
        Route(f"{PREFIX}/{{rest:path}}", unknown),
    ]


def _answer(
    answer: Callable[[BurrowRequest, Snapshot], BodyAndStatus],
    elsewhere: str | None,
    request: BurrowRequest,
    snapshot: Snapshot | None,
) -> BodyAndStatus:
    if request.names["cluster"] != request.own.name:
        return burrow.unknown_group(request) if elsewhere is None else request.error(elsewhere)
    return request.error("no snapshot yet", 503) if snapshot is None else answer(request, snapshot)
