"""Large answers, slow readers and floods, on the bare protocol between server and application."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from exporters.bodies import BoundedRequests, SlicedResponse
from exporters.pieces import Inflated, Piece

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

PARTS = [b"a" * 700_000, b"", b"b" * 3, b"c" * 262_144]


def scope(path: str = "/metrics") -> dict[str, Any]:
    """Give what the server says about a request."""
    return {"type": "http", "method": "GET", "path": path, "headers": []}


async def nothing_more() -> Message:
    """Stand for a request without a body."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def sent_by(app: Any, path: str = "/metrics") -> list[Any]:
    """Run an application and collect what it sends."""
    messages: list[Any] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope(path), nothing_more, send)
    return messages


def response(seconds: float = 60.0) -> SlicedResponse:
    """Give a response over the parts."""
    return SlicedResponse(PARTS, headers={}, media_type="text/plain", seconds=seconds)


def test_a_body_goes_in_slices_of_the_shared_bytes() -> None:
    """All bytes arrive in order and under their announced length; no slice is large and none is a copy."""
    start, *bodies = asyncio.run(sent_by(response()))
    assert (b"content-length", b"962147") in start["headers"]
    assert b"".join(message["body"] for message in bodies) == b"".join(PARTS)
    assert max(len(message["body"]) for message in bodies) == 262_144
    assert bodies[0]["body"].obj is PARTS[0]
    assert [message["more_body"] for message in bodies] == [True] * (len(bodies) - 1) + [False]


def test_a_long_text_is_inflated_as_it_is_sent() -> None:
    """A text that is only kept compressed arrives whole, between others, under the length that was announced."""
    text = b"one of very many lines\n" * 100_000
    long = Inflated(Piece.of(text).deflated, len(text))
    start, *bodies = asyncio.run(
        sent_by(SlicedResponse([b"before", long, b"behind"], headers={}, media_type="text/plain", seconds=60))
    )
    assert (b"content-length", str(len(text) + 12).encode()) in start["headers"]
    assert b"".join(message["body"] for message in bodies) == b"before" + text + b"behind"
    assert max(len(message["body"]) for message in bodies) <= 262_144


def test_a_reader_who_takes_too_long_is_cut_off() -> None:
    """When time is up the body stays unfinished, which the server turns into a closed connection."""
    taken: list[Any] = []

    async def read_one_slice_and_stop(message: Message) -> None:
        taken.append(message)
        if len(taken) > 2:
            await asyncio.Event().wait()

    asyncio.run(response(seconds=0.01)(scope(), nothing_more, read_one_slice_and_stop))
    assert taken[-1]["more_body"] is True
    assert sum(len(message.get("body", b"")) for message in taken) < 962_147


def test_others_run_between_slices() -> None:
    """A long body does not keep the loop to itself, even if its reader takes everything at once."""

    async def both() -> list[str]:
        order: list[str] = []

        async def send(message: Message) -> None:
            order.append(message["type"])

        async def other() -> None:
            order.append("other")

        await asyncio.gather(response()(scope(), nothing_more, send), other())
        return order

    order = asyncio.run(both())
    assert order.index("other") < len(order) - 1


class Held:
    """An application whose requests all wait until they are let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Wait, then begin to answer."""
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.mark.parametrize(("path", "answer"), [("/metrics", 503), ("/livez", 200), ("/readyz", 200)])
def test_a_flood_is_refused_but_probes_are_not(path: str, answer: int) -> None:
    """Beyond the limit readers get 503 at once, while liveness and readiness still answer."""

    async def flood() -> tuple[int, list[int]]:
        held = Held()
        app = BoundedRequests(held, limit=2)
        waiting = [asyncio.create_task(sent_by(app)) for _ in range(2)]
        await asyncio.sleep(0)
        one_more = asyncio.create_task(sent_by(app, path))
        await asyncio.sleep(0)
        held.go.set()
        first = [messages[0]["status"] for messages in await asyncio.gather(*waiting)]
        return (await one_more)[0]["status"], first

    assert asyncio.run(flood()) == (answer, [200, 200])


def test_a_failed_request_gives_its_place_back() -> None:
    """An application that raises does not use up the limit."""

    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise LookupError

    async def twice() -> None:
        app = BoundedRequests(fail, limit=1)
        for _ in range(2):
            with pytest.raises(LookupError):
                await sent_by(app)

    asyncio.run(twice())
