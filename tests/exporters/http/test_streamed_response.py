"""Large responses and slow clients, on the bare ASGI protocol."""

import asyncio
from typing import Any

from starlette.types import Message

from exporters.http.rendered_responses import StreamedResponse
from tests.exporters.http.asgi import nothing_more, scope, sent_by

PARTS = [b"a" * 700_000, b"", b"b" * 3, b"c" * 262_144]


def response(seconds: float = 60.0) -> StreamedResponse:
    """Return a response with PARTS as its body."""
    return StreamedResponse(PARTS, headers={}, media_type="text/plain", seconds=seconds)


def test_a_body_is_sent_in_slices_of_the_shared_bytes() -> None:
    """All bytes arrive in order with the right content length; no slice is large, and none is a copy."""
    start, *bodies = asyncio.run(sent_by(response()))
    assert (b"content-length", b"962147") in start["headers"]
    assert b"".join(message["body"] for message in bodies) == b"".join(PARTS)
    assert max(len(message["body"]) for message in bodies) == 262_144
    assert [message["body"].obj for message in bodies[:-1]] == [PARTS[0]] * 3 + PARTS[2:]
    assert {id(message["body"].obj) for message in bodies[:-1]} == {id(part) for part in PARTS if part}
    assert [message["more_body"] for message in bodies] == [True] * (len(bodies) - 1) + [False]


def test_a_response_is_aborted_if_the_client_reads_for_too_long() -> None:
    """After the time limit the body stays unfinished, so that uvicorn closes the connection."""
    messages: list[Any] = []

    async def read_one_slice_and_stop(message: Message) -> None:
        messages.append(message)
        if len(messages) > 2:
            await asyncio.Event().wait()

    asyncio.run(response(seconds=0.01)(scope(), nothing_more, read_one_slice_and_stop))
    assert messages[-1]["more_body"] is True
    assert sum(len(message.get("body", b"")) for message in messages) < 962_147
