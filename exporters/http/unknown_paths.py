"""The responses for a path that does not exist, and for a method other than GET: JSON below /api and /v3, else text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse, Response

from exporters.http.api import encode
from exporters.http.burrow_api import PREFIX as BURROW
from exporters.http.rendered_responses import JSON, NO_STORE

if TYPE_CHECKING:
    from starlette.requests import Request

_API: Final = "/api"
_NO_ROUTE: Final = "no such path; /api/v1/openapi.json lists the paths of the API"
_NO_BURROW: Final = "the API of Burrow is disabled; enable it with metrics.compatibility: [burrow]"
_NO_PAGE: Final = "There is no such page. All groups: /  JSON API: /api/v1/openapi.json  Prometheus: /metrics\n"
_ONLY_READS: Final = "no such method; every path only reads, by GET"


async def unknown_path(request: Request, _error: Exception) -> Response:
    """Respond with 404, and where the known paths are."""
    path = request.url.path
    if _is_below(path, BURROW):
        return Response(encode({"error": True, "message": _NO_BURROW}), 404, NO_STORE, JSON)
    if _is_below(path, _API):
        return Response(encode({"error": _NO_ROUTE}), 404, NO_STORE, JSON)
    return PlainTextResponse(_NO_PAGE, 404, NO_STORE)


async def unknown_method(request: Request, error: Exception) -> Response:
    """Respond with 405 and the header `Allow`."""
    headers = {**NO_STORE, **(getattr(error, "headers", None) or {})}
    if _is_below(request.url.path, _API):
        return Response(encode({"error": _ONLY_READS}), 405, headers, JSON)
    return PlainTextResponse(f"{_ONLY_READS}\n", 405, headers)


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")
