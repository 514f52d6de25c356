"""Limits of concurrent HTTP requests, in total and per client address.

Liveness and readiness are exempt: a flood of scrapes must not make Kubernetes restart the process.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from starlette.responses import JSONResponse

from exporters.http.admission import address_key

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PROBES: Final = frozenset({"/livez", "/readyz"})
"""The paths that a kubelet requests: without limits and without a login."""


@dataclasses.dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of concurrent requests: in total, and from one client address.

    `reserve` more are admitted from addresses without another running request, so that one address with many slow
    clients does not block a scraper elsewhere.
    """

    total: int = 32
    per_address: int = 16
    reserve: int = 8


class RunningRequests:
    """The requests that run now, by client address. On the event loop, so the counters need no lock."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._running = collections.Counter[str]()

    @contextlib.contextmanager
    def admitted(self, scope: Scope) -> Iterator[bool]:
        """Count a request inside `with`; yield False, without counting it, if it is beyond the limits."""
        client = scope.get("client")
        address = address_key(client[0] if client else None)
        if not self._has_room(address):
            yield False
            return
        self._running[address] += 1
        try:
            yield True
        finally:
            self._running[address] -= 1
            if not self._running[address]:
                del self._running[address]

    def _has_room(self, address: str) -> bool:
        of_address, total = self._running[address], self._running.total()
        if of_address == 0:
            return total < self._limits.total + self._limits.reserve
        return of_address < self._limits.per_address and total < self._limits.total


class RequestLimiter:
    """ASGI middleware that refuses requests beyond the limits with 503, instead of queueing them."""

    def __init__(
        self,
        app: ASGIApp,
        limits: RequestLimits,
        on_refusal: Callable[[], None] = lambda: None,
        *,
        covers: Callable[[str], bool] = lambda path: path not in PROBES,
        requests: str = "requests",
    ) -> None:
        """`on_refusal` is called for each refused request; `covers` returns whether the limits are on this path.

        `requests` names the covered requests in the refusal.
        """
        self._app = app
        self._covers = covers
        self._refusal = {"error": f"too many concurrent {requests}"}
        self._running = RunningRequests(limits)
        self._on_refusal = on_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run or refuse a request."""
        if scope["type"] != "http" or not self._covers(scope["path"]):
            await self._app(scope, receive, send)
            return
        with self._running.admitted(scope) as is_admitted:
            if is_admitted:
                await self._app(scope, receive, send)
                return
        self._on_refusal()
        refusal = JSONResponse(self._refusal, 503, {"retry-after": "1"})
        await refusal(scope, receive, send)
