"""Large answers, slow readers and floods, on the bare protocol between server and application."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from exporters.http.streamed_response import RequestLimiter, RequestLimits, StreamedResponse
from exporters.text.compressed_text import CompressedText, InflatedText

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

PARTS = [b"a" * 700_000, b"", b"b" * 3, b"c" * 262_144]


def scope(path: str = "/metrics", client: str = "10.0.0.1") -> dict[str, Any]:
    """Give what the server says about a request."""
    return {"type": "http", "method": "GET", "path": path, "headers": [], "client": (client, 1)}


async def nothing_more() -> Message:
    """Stand for a client that sends nothing more and stays connected."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


async def sent_by(app: Any, path: str = "/metrics", client: str = "10.0.0.1") -> list[Any]:
    """Run an application and collect what it sends."""
    messages: list[Any] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope(path, client), nothing_more, send)
    return messages


def response(seconds: float = 60.0) -> StreamedResponse:
    """Give a response over the parts."""
    return StreamedResponse(PARTS, headers={}, media_type="text/plain", seconds=seconds)


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
    long = InflatedText(CompressedText.compress(text).deflated, len(text))
    start, *bodies = asyncio.run(
        sent_by(StreamedResponse([b"before", long, b"behind"], headers={}, media_type="text/plain", seconds=60))
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


def test_nothing_more_is_prepared_for_a_client_that_has_gone() -> None:
    """The rest of a long answer is not inflated and sliced for nobody."""
    taken: list[Any] = []

    async def send(message: Message) -> None:
        taken.append(message)

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    asyncio.run(response()(scope(), gone, send))
    assert len(taken) < 4
    assert taken[-1].get("more_body") is True


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
        app = RequestLimiter(held, RequestLimits(total=2, per_address=2, reserve=0))
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
        app = RequestLimiter(fail, RequestLimits(total=1, per_address=1, reserve=0))
        for _ in range(2):
            with pytest.raises(LookupError):
                await sent_by(app)

    asyncio.run(twice())


def test_one_address_does_not_take_all_requests() -> None:
    """An address has a share; others still get through, and the first request of an address even beyond the total."""

    async def crowd() -> tuple[list[int], int]:
        held = Held()
        refused: list[int] = []
        bounds = RequestLimits(total=4, per_address=3, reserve=1)
        app = RequestLimiter(held, bounds, lambda: refused.append(1))
        clients = ["a", "a", "a", "a", "b", "b", "c", "d"]
        asked = []
        for client in clients:
            asked.append(asyncio.create_task(sent_by(app, client=client)))
            await asyncio.sleep(0)
        held.go.set()
        answers = await asyncio.gather(*asked)
        again = await sent_by(app, client="a")
        assert again[0]["status"] == 200, "places are given back"
        return [messages[0]["status"] for messages in answers], len(refused)

    # a: three and no more; b: the fourth place, its second finds none; c: the reserve; d: nothing is left.
    assert asyncio.run(crowd()) == ([200, 200, 200, 503, 200, 503, 200, 503], 3)
