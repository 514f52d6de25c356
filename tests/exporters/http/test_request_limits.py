"""Limits of concurrent requests, on the bare ASGI protocol."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from exporters.http.request_limits import RequestLimiter, RequestLimits

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


def scope(path: str = "/metrics", client: str = "10.0.0.1") -> dict[str, Any]:
    """Return the ASGI scope of a request."""
    return {"type": "http", "method": "GET", "path": path, "headers": [], "client": (client, 1)}


async def nothing_more() -> Message:
    """Simulate a client that stays connected and sends nothing more."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


async def sent_by(app: Any, path: str = "/metrics", client: str = "10.0.0.1") -> list[Any]:
    """Run an application and return the messages that it sends."""
    messages: list[Any] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope(path, client), nothing_more, send)
    return messages


class BlockedApp:
    """An application whose requests wait until `go` is set."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Wait, then start the response."""
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.mark.parametrize(("path", "answer"), [("/metrics", 503), ("/livez", 200), ("/readyz", 200)])
def test_probes_are_exempt_from_the_limits(path: str, answer: int) -> None:
    """A request beyond the limit gets 503 at once; liveness and readiness are still served."""

    async def flood() -> tuple[int, list[int]]:
        blocked = BlockedApp()
        app = RequestLimiter(blocked, RequestLimits(total=2, per_address=2, reserve=0))
        waiting = [asyncio.create_task(sent_by(app)) for _ in range(2)]
        await asyncio.sleep(0)
        one_more = asyncio.create_task(sent_by(app, path))
        await asyncio.sleep(0)
        blocked.go.set()
        first = [messages[0]["status"] for messages in await asyncio.gather(*waiting)]
        return (await one_more)[0]["status"], first

    assert asyncio.run(flood()) == (answer, [200, 200])


def test_a_failed_request_releases_its_place() -> None:
    """An application that raises does not exhaust the limit."""

    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise LookupError

    async def twice() -> None:
        app = RequestLimiter(fail, RequestLimits(total=1, per_address=1, reserve=0))
        for _ in range(2):
            with pytest.raises(LookupError):
                await sent_by(app)

    asyncio.run(twice())


def test_one_address_cannot_use_all_places() -> None:
    """An address has a limited share, so others are served; the first request of an address may exceed the total."""

    async def crowd() -> tuple[list[int], int]:
        blocked = BlockedApp()
        refused: list[int] = []
        limits = RequestLimits(total=4, per_address=3, reserve=1)
        app = RequestLimiter(blocked, limits, lambda: refused.append(1))
        clients = ["a", "a", "a", "a", "b", "b", "c", "d"]
        tasks = []
        for client in clients:
            tasks.append(asyncio.create_task(sent_by(app, client=client)))
            await asyncio.sleep(0)
        blocked.go.set()
        responses = await asyncio.gather(*tasks)
        again = await sent_by(app, client="a")
        assert again[0]["status"] == 200, "places are released"
        return [messages[0]["status"] for messages in responses], len(refused)

    # a: its share of three; b: the fourth place, and none for its second; c: the reserve; d: no place left.
    assert asyncio.run(crowd()) == ([200, 200, 200, 503, 200, 503, 200, 503], 3)
