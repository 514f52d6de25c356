"""Servers of a snapshot for tests: on the loopback interface, and in process without a socket."""

import asyncio
import contextlib
import dataclasses
import functools
import http.client
from collections.abc import Iterator
from typing import Any

import httpx
from starlette.applications import Starlette

from exporters.http.api_endpoints import ServedData
from exporters.http.openapi.small_world import NOON
from exporters.http.routes import build_app
from exporters.http.server import HttpServer
from exporters.readmodel import GroupDetail, Snapshot
from exporters.text.exposition import PublishedSnapshot
from sandbox.waiting import wait_until
from tests.exporters.openapi_check import check_response
from tests.exporters.snapshots import detail, small_snapshot, snapshot, status

SMALL = PublishedSnapshot.build(small_snapshot())
LOOPBACK = "127.0.0.1"
wait_for = functools.partial(wait_until, limit=300, pause=0.02)
"""Waits for an effect on a server, as long as a busy machine may need."""


def details(name: str) -> GroupDetail | None:
    """Return the detail of billing, the only group that has one."""
    return detail() if name == "billing" else None


def published(world: Snapshot | None) -> PublishedSnapshot | None:
    """Return a snapshot as the server gets it."""
    return None if world is None else PublishedSnapshot.build(world)


def many_groups(number: int = 40_000) -> PublishedSnapshot:
    """Return a snapshot whose `/metrics` is many times larger than all buffers of a connection."""
    rows = [{"group": f"{at:0249}", "lag_sum": 1, "lag_max": 1} for at in range(number)]
    return PublishedSnapshot.build(snapshot(groups=rows))


@contextlib.contextmanager
def serving(shown: PublishedSnapshot | None = None, **arguments: Any) -> Iterator[HttpServer]:
    """Serve on a free port of the loopback interface until the end of the block.

    `arguments` are fields of ServedData, or arguments of HttpServer.
    """
    served, others = _divided({"published": lambda: shown, "status": status, **arguments})
    server = HttpServer(LOOPBACK, 0, served, **others)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def serving_url(world: Snapshot | None, known: GroupDetail | None = None, **changes: Any) -> Iterator[str]:
    """Serve a snapshot, one known detail (default: of billing), and a status with changes; yields the URL."""
    of_one = known or detail()
    arguments = {"details": lambda name: of_one if name == of_one.group else None, "status": lambda: status(**changes)}
    with serving(published(world), **arguments) as server:
        yield f"http://{LOOPBACK}:{server.port}"


def get(
    server: HttpServer, path: str, headers: dict[str, str] | None = None, source: str = LOOPBACK
) -> tuple[http.client.HTTPResponse, bytes]:
    """Send a GET request on a new connection from an address of the loopback network."""
    client = http.client.HTTPConnection(LOOPBACK, server.port, timeout=30, source_address=(source, 0))
    with contextlib.closing(client):
        client.request("GET", path, headers=headers or {})
        answer = client.getresponse()
        return answer, answer.read()


class Client:
    """Sends single requests to an application, and checks each JSON response of the API by the OpenAPI document.

    Starlette's own client needs another HTTP library.
    """

    def __init__(self, app: Starlette) -> None:
        self._app = app

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://lagwarden") as client:
                return await client.request(method, path, **arguments)

        response = asyncio.run(send())
        if method == "GET":
            check_response(response)
        return response

    def get(self, path: str, **arguments: Any) -> httpx.Response:
        return self.request("GET", path, **arguments)


def client(shown: PublishedSnapshot | None = SMALL, arguments: dict[str, Any] | None = None, **changes: Any) -> Client:
    """Return a client of an application with this snapshot and changes of the status, five seconds after NOON.

    `arguments` are those of `app_of`.
    """
    given = {"details": details, "clock": lambda: NOON / 1000 + 5, "status": lambda: status(**changes)}
    return Client(app_of(**{"published": lambda: shown, **given, **(arguments or {})}))


def app_of(**arguments: Any) -> Starlette:
    """Return an application. `arguments` are fields of ServedData, or arguments of build_app."""
    served, others = _divided(arguments)
    return build_app(served, **others)


def _divided(arguments: dict[str, Any]) -> tuple[ServedData, dict[str, Any]]:
    fields = {field.name for field in dataclasses.fields(ServedData)} & arguments.keys()
    others = {name: value for name, value in arguments.items() if name not in fields}
    return ServedData(**{name: arguments[name] for name in fields}), others
