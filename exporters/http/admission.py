"""Which HTTP connections stay open: bounds in total and per client address, and the choice of what to close for room.

A connection on which no request is being answered may be closed for a newer one; so may one whose reader has stopped
to read. A request that makes progress is never cut off for another. All of it runs on the server's event loop.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import ipaddress
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from exporters.readmodel import HTTP_REFUSALS

if TYPE_CHECKING:
    from collections.abc import Iterable


class RefusalReason(enum.StrEnum):
    """Why a connection or a request was refused or cut off."""

    CONNECTIONS = "connections"
    """Too many connections, none of which could be closed: answered with 503 and closed."""
    IDLE = "idle"
    """Closed to make room for a newer connection: no request was being answered on it, or its reader had stopped."""
    REQUEST_TIMEOUT = "request_timeout"
    """The request did not arrive in time."""
    SLOW_READER = "slow_reader"
    """The client accepted the answer too slowly."""
    BAD_REQUEST = "bad_request"
    """What was sent is no HTTP request: answered with 400 and closed."""
    REQUESTS = "requests"
    """Too many requests at once: answered with 503."""


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections may be open at once: in total, and from one client address."""

    total: int = 512
    per_address: int = 128


class ManagedConnection(Protocol):
    """A connection as the bounds see it."""

    address: str
    """Of the client, as `address_key` gives it."""

    def expendable_since(self) -> float | None:
        """Return since when closing it would interrupt nobody; None while an answer is on its way."""

    def evict(self) -> None:
        """Close the connection at once."""


class Admission:
    """The open connections, and how often clients were refused. One per server."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self._bounds = bounds
        self._by_address: dict[str, dict[ManagedConnection, None]] = {}
        self._open = 0
        self._refused = collections.Counter[RefusalReason]()

    @property
    def open(self) -> int:
        """The number of open connections."""
        return self._open

    def admit(self, client: ManagedConnection) -> bool:
        """Register a new connection; closes another one where there is no room. False: it must be refused."""
        mine = self._by_address.get(client.address, {})
        if len(mine) >= self._bounds.per_address:
            has_room = self._evict_one(mine)
        elif self._open >= self._bounds.total:
            # The address with the most connections pays, so that a client with few is let in.
            largest = max(self._by_address, key=lambda address: len(self._by_address[address]))
            has_room = self._evict_one(self._by_address[largest]) or self._evict_one(self._all())
        else:
            has_room = True
        if not has_room:
            self.count(RefusalReason.CONNECTIONS)
            return False
        self._by_address.setdefault(client.address, {})[client] = None
        self._open += 1
        return True

    def remove(self, client: ManagedConnection) -> None:
        """Forget a connection that was closed. Repeatable."""
        mine = self._by_address.get(client.address, {})
        if client in mine:
            del mine[client]
            self._open -= 1
            if not mine:
                del self._by_address[client.address]

    def count(self, reason: RefusalReason) -> None:
        """Count a refusal."""
        self._refused[reason] += 1

    def table(self) -> pa.Table:
        """Return the refusals by reason, each reason with a row from the start."""
        rows = sorted((reason.value, self._refused[reason]) for reason in RefusalReason)
        reasons = pa.array([reason for reason, _ in rows]).dictionary_encode()
        return pa.table([reasons, pa.array([count for _, count in rows], pa.int64())], schema=HTTP_REFUSALS)

    def _all(self) -> Iterable[ManagedConnection]:
        return (client for mine in self._by_address.values() for client in mine)

    def _evict_one(self, among: Iterable[ManagedConnection]) -> bool:
        """Close the connection that has been expendable for the longest time; False if there is none."""
        since = [(at, client) for client in among if (at := client.expendable_since()) is not None]
        if not since:
            return False
        _, worst = min(since, key=lambda pair: pair[0])
        self.remove(worst)
        self.count(RefusalReason.IDLE)
        worst.evict()
        return True


_UNKNOWN: Final = "unknown"
_IPV6_NETWORK_BITS: Final = 64


def address_key(host: str | None) -> str:
    """Return what the bounds count as one client: an IPv4 address, or the /64 network of an IPv6 address.

    A single IPv6 host commonly has all addresses of a /64.
    """
    if host is None:
        return _UNKNOWN
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK_BITS), strict=False))
