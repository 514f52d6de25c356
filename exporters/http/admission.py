"""Limits of HTTP connections and of concurrent requests, in total and per client address, and eviction at the limit.

At a limit, a connection without a running request is closed for a newer one; so is one whose client has stopped
reading. A request that makes progress is never interrupted for another. All of it runs on the server's event loop.

Liveness and readiness are exempt: a flood of scrapes must not make Kubernetes restart the process.
"""

import collections
import contextlib
import dataclasses
import enum
import ipaddress
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import pyarrow as pa
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from exporters.catalogue.service import HTTP_REFUSALS
from exporters.http.event_stream.response import EVENTS_PATH
from exporters.readmodel import rows_table


class RefusalReason(enum.StrEnum):
    """The reason why a connection or a request was refused or closed."""

    CONNECTIONS = "connections"
    """Too many connections, none of which can be evicted: the new one gets 503 and is closed."""
    IDLE = "idle"
    """Evicted for a newer connection: it had no running request, or its client had stopped reading."""
    REQUEST_TIMEOUT = "request_timeout"
    """The request did not arrive completely in time."""
    SLOW_READER = "slow_reader"
    """The client read the response too slowly."""
    BAD_REQUEST = "bad_request"
    """The bytes are not an HTTP request: the connection gets 400 and is closed."""
    TLS = "tls"
    """The TLS handshake failed or did not end in time."""
    LOGIN = "login"
    """The request had no valid credentials: it gets 401."""
    HOST = "host"
    """The request names another host: it gets 421."""
    REQUESTS = "requests"
    """Too many concurrent requests: the request gets 503."""


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of open connections: in total, and from one client address."""

    total: int = 512
    per_address: int = 128


class ManagedConnection(Protocol):
    """The interface of a connection to `Admission`."""

    address: str
    """The client's address as `address_key` returns it."""

    def expendable_since(self) -> float | None:
        """Return since when (loop time) it can be closed without interrupting a request; None if it cannot."""

    def evict(self) -> None:
        """Close the connection at once."""


class Admission:
    """Keeps the open connections within the limits and counts refusals. One per server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.open = 0
        """The number of open connections."""
        self._by_address: dict[str, dict[ManagedConnection, None]] = {}
        self._refused = collections.Counter[RefusalReason]()

    def admit(self, client: ManagedConnection) -> bool:
        """Add a new connection, and evict another one at a limit. Return False if the new one must be refused."""
        same_address = self._by_address.get(client.address, {})
        if len(same_address) >= self.limits.per_address:
            has_room = self._evict_one(same_address)
        elif self.open >= self.limits.total:
            # Evicts from the address with the most connections, so that a client with few is admitted.
            largest = max(self._by_address, key=lambda address: len(self._by_address[address]))
            everywhere = itertools.chain.from_iterable(self._by_address.values())
            has_room = self._evict_one(self._by_address[largest]) or self._evict_one(everywhere)
        else:
            has_room = True
        if not has_room:
            self.count(RefusalReason.CONNECTIONS)
            return False
        self._by_address.setdefault(client.address, {})[client] = None
        self.open += 1
        return True

    def remove(self, client: ManagedConnection) -> None:
        """Remove a connection that was closed. Idempotent."""
        same_address = self._by_address.get(client.address, {})
        if client in same_address:
            del same_address[client]
            self.open -= 1
            if not same_address:
                del self._by_address[client.address]

    def count(self, reason: RefusalReason) -> None:
        """Count a refusal."""
        self._refused[reason] += 1

    def table(self) -> pa.Table:
        """Return the refusals by reason (schema HTTP_REFUSALS), with a row for every reason."""
        rows = sorted((reason.value, self._refused[reason]) for reason in RefusalReason)
        return rows_table(rows, HTTP_REFUSALS.schema)

    def _evict_one(self, among: Iterable[ManagedConnection]) -> bool:
        """Close the connection that has been expendable for the longest time. Return False if there is none."""
        since = {client: at for client in among if (at := client.expendable_since()) is not None}
        if not since:
            return False
        oldest = min(since, key=since.__getitem__)
        self.remove(oldest)
        self.count(RefusalReason.IDLE)
        oldest.evict()
        return True


def address_key(host: str | None) -> str:
    """Return the key under which the limits count a client: an IPv4 address, or the /64 network of an IPv6 address.

    A single IPv6 host commonly has all addresses of a /64.
    """
    if host is None:
        return "unknown"
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


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
        of_address, total = self._running[address], self._running.total()
        most = self._limits.total if of_address else self._limits.total + self._limits.reserve
        if total >= most or of_address >= self._limits.per_address:
            yield False
            return
        self._running[address] += 1
        try:
            yield True
        finally:
            self._running[address] -= 1
            if not self._running[address]:
                del self._running[address]


class RequestLimiter:
    """ASGI middleware that refuses requests beyond the limits with 503, instead of queueing them."""

    def __init__(
        self, app: ASGIApp, streams: RequestLimits, others: RequestLimits, on_refusal: Callable[[], None] = lambda: None
    ) -> None:
        """`streams` are the limits of event streams, which stay open. `on_refusal` is called for each refusal."""
        self._app = app
        self._streams = RunningRequests(streams)
        self._others = RunningRequests(others)
        self._on_refusal = on_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run or refuse a request."""
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        is_stream = scope["path"] == EVENTS_PATH
        with (self._streams if is_stream else self._others).admitted(scope) as is_admitted:
            if is_admitted:
                await self._app(scope, receive, send)
                return
        self._on_refusal()
        error = f"too many concurrent {'event streams' if is_stream else 'requests'}"
        await JSONResponse({"error": error}, 503, {"retry-after": "1"})(scope, receive, send)
