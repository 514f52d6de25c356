"""Limits of concurrent requests, on the bare ASGI protocol."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from exporters.http.admission import RequestLimiter, RequestLimits
from tests.exporters.http.asgi import sent_by


class BlockedApp:
    """An application whose requests wait until `go` is set."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})


def test_probes_are_exempt_from_the_limits() -> None:
    """A request beyond the limit gets 503 at once; liveness and readiness are still served."""

    async def flood(path: str) -> tuple[int, list[int]]:
        blocked = BlockedApp()
        app = RequestLimiter(blocked, RequestLimits(), RequestLimits(total=2, per_address=2, reserve=0))
        waiting = [asyncio.create_task(sent_by(app)) for _ in range(2)]
        await asyncio.sleep(0)
        one_more = asyncio.create_task(sent_by(app, path))
        await asyncio.sleep(0)
        blocked.go.set()
        first = [messages[0]["status"] for messages in await asyncio.gather(*waiting)]
        return (await one_more)[0]["status"], first

    for path, answer in (("/metrics", 503), ("/livez", 200), ("/readyz", 200)):
        assert asyncio.run(flood(path)) == (answer, [200, 200])


def test_a_failed_request_releases_its_place() -> None:
    """An application that raises does not exhaust the limit."""

    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise LookupError

    async def twice() -> None:
        app = RequestLimiter(fail, RequestLimits(), RequestLimits(total=1, per_address=1, reserve=0))
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
        app = RequestLimiter(blocked, RequestLimits(), limits, lambda: refused.append(1))
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
