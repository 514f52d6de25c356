"""Large answers that hurt nobody: bodies sent in slices as fast as each reader reads, and a bound on how many at once.

The bytes of a snapshot are shared by all who read them; what a reader costs is one slice and the socket's buffer.
Liveness and readiness do not pass through the bound: a flood of scrapes must not get the process restarted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from starlette.responses import JSONResponse, Response

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from exporters.pieces import Text

_SLICE: Final = 256 * 1024
_UNBOUNDED: Final = frozenset({"/livez", "/readyz"})


class SlicedResponse(Response):
    """An answer whose body is a sequence of shared bytes, never joined. A reader who takes too long is cut off."""

    def __init__(
        self, parts: Sequence[Text], *, headers: Mapping[str, str], media_type: str, seconds: float, code: int = 200
    ) -> None:
        sized = {**headers, "content-length": str(sum(map(len, parts)))}
        super().__init__(status_code=code, headers=sized, media_type=media_type)
        self._parts = parts
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # ASGI's signature
        """Send slice by slice; the server below waits with each until the reader has room for it."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async with asyncio.timeout(self._seconds):
                for piece in _slices(self._parts):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    # Sending alone need not let others run, nor let the loop notice that the reader has gone.
                    await asyncio.sleep(0)
        except TimeoutError:
            # Left unfinished on purpose: the server closes the connection, and a cut body is no whole body.
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class BoundedRequests:
    """Refuses (503) what goes beyond a number of requests at the same time, instead of letting them queue up."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or refuse it. Runs on the one event loop, so counting needs no lock."""
        if scope["type"] != "http" or scope["path"] in _UNBOUNDED:
            await self._app(scope, receive, send)
            return
        if self._running >= self._limit:
            refusal = JSONResponse({"error": "too many requests at once"}, 503, {"retry-after": "1"})
            await refusal(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1


def _slices(parts: Sequence[Text]) -> Iterator[memoryview]:
    for part in parts:
        for text in (part,) if isinstance(part, bytes) else part:
            view = memoryview(text)
            for start in range(0, len(view), _SLICE):
                yield view[start : start + _SLICE]
