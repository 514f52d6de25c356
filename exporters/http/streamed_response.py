"""Large responses that are sent in slices, as fast as the client reads.

The bytes of a snapshot are shared by all clients; a client costs one slice and the socket's buffer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from exporters.text.compressed_text import PlainText

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_SLICE: Final = 256 * 1024
"""Bytes per slice."""


class StreamedResponse(Response):
    """A response whose body is a sequence of shared bytes, never joined. Aborts if the client reads for too long."""

    def __init__(
        self,
        parts: Sequence[PlainText],
        *,
        headers: Mapping[str, str],
        media_type: str,
        seconds: float,
        code: int = 200,
    ) -> None:
        with_length = {**headers, "content-length": str(sum(map(len, parts)))}
        super().__init__(status_code=code, headers=with_length, media_type=media_type)
        self._parts = parts
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # ASGI's signature
        """Send the body slice by slice. uvicorn awaits each until the send buffer has room."""
        disconnected = asyncio.ensure_future(_disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with asyncio.timeout(self._seconds):
                for body in _slices(self._parts):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    # Sending does not always yield to the loop, which must run other tasks and notice a disconnect.
                    await asyncio.sleep(0)
                    if disconnected.done():
                        return
        except TimeoutError:
            # Unfinished on purpose: uvicorn closes the connection, so the client does not take the body for complete.
            return
        finally:
            disconnected.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":  # noqa: ASYNC110 -- `receive` is what waits
        await asyncio.sleep(0)


def _slices(parts: Sequence[PlainText]) -> Iterator[memoryview]:
    for part in parts:
        for text in (part,) if isinstance(part, bytes) else part:
            view = memoryview(text)
            for start in range(0, len(view), _SLICE):
                yield view[start : start + _SLICE]
