"""The TLS handshake of an admitted connection, before the HTTP protocol gets it.

uvicorn would let asyncio do the handshakes, which the limits on connections do not see: any number of clients could
begin one and stop. Here a connection is admitted when it is accepted, and the handshake has a time limit.
"""

import asyncio
import contextlib
import ssl
from typing import Final

from exporters.http.admission import Admission, RefusalReason, address_key

HANDSHAKE_SECONDS: Final = 10.0


class TlsHandshake(asyncio.Protocol):
    """The protocol of a connection until its handshake is complete; `http` is the one after it."""

    def __init__(
        self, http: asyncio.Protocol, context: ssl.SSLContext, admission: Admission, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._http = http
        self._context = context
        self._admission = admission
        self._loop = loop
        self._since = 0.0
        self._early = bytearray()
        self._has_ended = False
        self._task: asyncio.Task[None] | None = None
        self.address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # the base class is wider
        """Begin the handshake, or close the connection if it is one too many: no refusal can be sent before it."""
        peer = transport.get_extra_info("peername")
        self.address = address_key(str(peer[0]) if peer else None)
        self._transport = transport
        self._since = self._loop.time()
        if not self._admission.admit(self):
            transport.abort()
            return
        transport.pause_reading()
        self._task = self._loop.create_task(self._hand_over())

    async def _hand_over(self) -> None:
        """Make the handshake, then let the HTTP protocol continue on the encrypted connection."""
        try:
            # This protocol receives what the client sends directly after its handshake.
            encrypted = await self._loop.start_tls(
                self._transport, self, self._context, server_side=True, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except OSError:  # ssl.SSLError and the time limit are among them
            self._admission.count(RefusalReason.TLS)
            self._transport.abort()
            return
        finally:
            self._admission.remove(self)
        if encrypted is None or self._has_ended:
            return
        encrypted.set_protocol(self._http)
        self._http.connection_made(encrypted)
        if self._early and not encrypted.is_closing():
            self._http.data_received(bytes(self._early))

    def data_received(self, data: bytes) -> None:
        """Keep what arrives before the HTTP protocol is in place."""
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- the signature of asyncio
        """Record that the client has gone during the handshake."""
        self._has_ended = True
        self._admission.remove(self)

    def expendable_since(self) -> float | None:
        """Return since when (loop time) it can be closed: no request has begun."""
        return self._since

    def evict(self) -> None:
        """Close the connection at once."""
        with contextlib.suppress(OSError):
            self._transport.abort()
