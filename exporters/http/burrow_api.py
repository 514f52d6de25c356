"""The routes of Burrow's read API: `/v3/kafka/…`, for programs that were written for Burrow.

They exist if `metrics.compatibility` has `burrow`. `exporters.compatibility.burrow_responses` has their JSON.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse
from starlette.routing import Route

from exporters.compatibility import burrow_responses as burrow
from exporters.compatibility.burrow_responses import BodyAndStatus, BurrowCluster, BurrowRequest
from exporters.readmodel import Snapshot
from exporters.text.exposition import PublishedSnapshot

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    OfSnapshot = Callable[[BurrowRequest, Snapshot, Mapping[str, str]], BodyAndStatus]

PREFIX: Final = "/v3"
_UNKNOWN_CLUSTER: Final = "cluster not found"


def burrow_routes(
    own: BurrowCluster,
    current: Callable[[], PublishedSnapshot | None],
    respond: Callable[[Request, Hashable, Callable[[], BodyAndStatus]], Awaitable[Response]],
) -> list[Route]:
    """Return the routes. `respond` renders and sends a body, once for concurrent equal keys."""

    async def clusters(request: Request) -> Response:
        return await respond(request, _key(request), lambda: burrow.cluster_list(_info(request), own))

    async def cluster(request: Request) -> Response:
        name = request.path_params["cluster"]
        return await respond(request, _key(request), lambda: burrow.cluster_detail(_info(request), own, name))

    async def unknown(_request: Request) -> Response:
        return PlainTextResponse(burrow.UNKNOWN_PATH, 404, {"x-content-type-options": "nosniff"})

    def route(path: str, answer: OfSnapshot, elsewhere: str | None) -> Route:
        """Return a route about the cluster; `elsewhere` is the error for another cluster, None: a status."""

        async def endpoint(request: Request) -> Response:
            published = current()
            found = functools.partial(_answer, own, published, request, answer, elsewhere)
            return await respond(request, (*_key(request), published), found)

        return Route(f"{PREFIX}/kafka/{{cluster}}{path}", endpoint)

    def status(*, all_partitions: bool) -> OfSnapshot:
        return lambda info, snapshot, names: burrow.consumer_status(
            info, snapshot, own, names["group"], all_partitions=all_partitions
        )

    return [
        Route(f"{PREFIX}/kafka", clusters),
        Route(f"{PREFIX}/kafka/{{cluster}}", cluster),
        route("/topic", lambda info, shown, _: burrow.topic_list(info, shown), _UNKNOWN_CLUSTER),
        route(
            "/topic/{topic}",
            lambda info, shown, names: burrow.topic_detail(info, shown, names["topic"]),
            "cluster or topic not found",
        ),
        route(
            "/topic/{topic}/consumers",
            lambda info, shown, names: burrow.topic_consumers(info, shown, names["topic"]),
            _UNKNOWN_CLUSTER,
        ),
        route("/consumer", lambda info, shown, _: burrow.consumer_list(info, shown), _UNKNOWN_CLUSTER),
        route(
            "/consumer/{group}",
            lambda info, shown, names: burrow.consumer_detail(info, shown, names["group"]),
            "cluster or consumer not found",
        ),
        route("/consumer/{group}/status", status(all_partitions=False), None),
        route("/consumer/{group}/lag", status(all_partitions=True), None),
        Route(f"{PREFIX}/{{rest:path}}", unknown),
    ]


def _answer(
    own: BurrowCluster,
    published: PublishedSnapshot | None,
    request: Request,
    answer: OfSnapshot,
    elsewhere: str | None,
) -> BodyAndStatus:
    names, info = request.path_params, _info(request)
    if names["cluster"] != own.name:
        if elsewhere is not None:
            return info.error(elsewhere)
        status = burrow.not_found(names["cluster"], names["group"])
        return info.response("consumer status returned", {"status": status}, 404)
    if published is None:
        return info.error("no snapshot yet", 503)
    return answer(info, published.snapshot, names)


def _key(request: Request) -> tuple[str, str]:
    return ("burrow", request.scope["path"])


def _info(request: Request) -> BurrowRequest:
    return BurrowRequest(request.scope["path"], socket.gethostname())
