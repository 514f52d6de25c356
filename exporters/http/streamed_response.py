"""Large answers sent in slices as fast as each client reads, and bounds on the number of requests at once.

The bytes of a snapshot are shared by all who read them; what a reader costs is one slice and the socket's buffer.
Liveness and readiness do not pass through the bounds: a flood of scrapes must not get the process restarted.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
from typing import TYPE_CHECKING, Final

from starlette.responses import JSONResponse, Response

from exporters.http.admission import address_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from exporters.text.compressed_text import PlainText

_SLICE: Final = 256 * 1024
_UNBOUNDED: Final = frozenset({"/livez", "/readyz"})


class StreamedResponse(Response):
    """An answer whose body is a sequence of shared bytes, never joined. A reader who takes too long is cut off."""

    def __init__(
        self,
        parts: Sequence[PlainText],
        *,
        headers: Mapping[str, str],
        media_type: str,
        seconds: float,
        code: int = 200,
    ) -> None:
        sized = {**headers, "content-length": str(sum(map(len, parts)))}
        super().__init__(status_code=code, headers=sized, media_type=media_type)
        self._parts = parts
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # ASGI's signature
        """Send slice by slice; the server below waits with each until the reader has room for it."""
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with asyncio.timeout(self._seconds):
                for piece in _slices(self._parts):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    # Sending alone need not let others run, nor let the loop notice that the reader has gone.
                    await asyncio.sleep(0)
                    if gone.done():
                        return
        except TimeoutError:
            # Left unfinished on purpose: the server closes the connection, and a cut body is no whole body.
            return
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@dataclasses.dataclass(frozen=True, slots=True)
class RequestLimits:
    """How many requests may be answered at once.

    `reserve` more are let in from client addresses that have no other request running, so that one address with many
    slow clients does not shut out a scraper elsewhere.
    """

    total: int = 32
    per_address: int = 16
    reserve: int = 8


class RequestLimiter:
    """Refuses (503) what goes beyond a number of requests at the same time, instead of letting them queue up."""

    def __init__(self, app: ASGIApp, bounds: RequestLimits, refused: Callable[[], None] = lambda: None) -> None:
        """`refused` is called for each request that is refused."""
        self._app = app
        self._bounds = bounds
        self._refused = refused
        self._running = collections.Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or refuse it. Runs on the one event loop, so counting needs no lock."""
        if scope["type"] != "http" or scope["path"] in _UNBOUNDED:
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        address = address_key(client[0] if client else None)
        if not self._has_room(address):
            self._refused()
            refusal = JSONResponse({"error": "too many requests at once"}, 503, {"retry-after": "1"})
            await refusal(scope, receive, send)
            return
        self._running[address] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running[address] -= 1
            if not self._running[address]:
                del self._running[address]

    def _has_room(self, address: str) -> bool:
        mine, running = self._running[address], self._running.total()
        if mine == 0:
            return running < self._bounds.total + self._bounds.reserve
        return mine < self._bounds.per_address and running < self._bounds.total


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":  # noqa: ASYNC110 -- `receive` is what waits
        await asyncio.sleep(0)


def _slices(parts: Sequence[PlainText]) -> Iterator[memoryview]:
    for part in parts:
        for text in (part,) if isinstance(part, bytes) else part:
            view = memoryview(text)
            for start in range(0, len(view), _SLICE):
                yield view[start : start + _SLICE]
