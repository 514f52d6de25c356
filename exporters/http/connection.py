"""An HTTP connection that is closed if its client sends incomplete requests or reads responses too slowly.

It takes part in the limits on connections (`exporters.http.admission`). uvicorn has no such limits, so this module
subclasses its protocol, which is not a public interface: `pyproject.toml` has an upper bound for uvicorn, and
`tests/exporters/http/test_uvicorn_internals.py` checks the parts that are used here.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from exporters.http.admission import Admission, RefusalReason, address_key

REQUEST_SECONDS: Final = 30.0
"""Time limit for a request to arrive completely: from the connect, or from its first byte on a reused connection."""
PROGRESS_SECONDS: Final = 5.0
"""The period in which a client must read `PROGRESS_BYTES` of a response while the send buffer is full."""
PROGRESS_BYTES: Final = 64 * 1024
STALLED_SECONDS: Final = 1.0
"""A client that has not read for this long can be evicted for a new connection."""

_REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 21\r\n\r\ntoo many connections\n"
)


class LimitedConnection(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with admission control and limits on slow clients."""

    def __init__(self, *args: Any, admission: Admission, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._admission = admission
        self._deadline: asyncio.TimerHandle | None = None
        self._progress_check: asyncio.TimerHandle | None = None
        self._unsent_bytes = 0
        self._paused_at: float | None = None
        self._idle_since = 0.0
        self._refused = False
        self.address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's signature
        """Start the time limit of the first request, or refuse the connection."""
        peer = get_remote_addr(transport)
        self.address = address_key(peer[0] if peer else None)
        self._idle_since = self.loop.time()
        self._refused = not self._admission.admit(self)
        if self._refused:
            self.transport = transport
            transport.write(_REFUSAL)
            transport.close()
            return
        super().connection_made(transport)
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Process received bytes. Bytes of an incomplete request do not extend its deadline."""
        if self._refused:
            return
        super().data_received(data)
        if self._is_answering():
            self._stop_deadline()
        else:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers and release the place of the connection."""
        self._stop_deadline()
        self._stop_measuring()
        self._admission.remove(self)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Count and refuse bytes that are not an HTTP request."""
        self._admission.count(RefusalReason.BAD_REQUEST)
        super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """Record when the connection became idle."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    # --- admission ---

    def expendable_since(self) -> float | None:
        """Return since when (loop time) it can be closed without interrupting a request; None if it cannot."""
        if not self._is_answering():
            return self._idle_since
        if self._paused_at is not None and self.loop.time() - self._paused_at >= STALLED_SECONDS:
            return self._paused_at
        return None

    def evict(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def shutdown(self) -> None:
        """Close the connection after its response; at once if its client has stopped reading."""
        if self._paused_at is not None and self.loop.time() - self._paused_at >= STALLED_SECONDS:
            self.transport.abort()
        else:
            super().shutdown()

    # --- time limit of requests ---

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._close_because, RefusalReason.REQUEST_TIMEOUT)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # --- minimum pace of reading responses ---

    def pause_writing(self) -> None:
        """Start to measure the pace of the client. asyncio calls it when the send buffer is full."""
        super().pause_writing()
        self._paused_at = self.loop.time()
        self._measure_pace()

    def resume_writing(self) -> None:
        """Stop measuring: the send buffer has room again."""
        self._stop_measuring()
        super().resume_writing()

    def _measure_pace(self) -> None:
        self._unsent_bytes = self.transport.get_write_buffer_size()
        self._progress_check = self.loop.call_later(PROGRESS_SECONDS, self._check_progress)

    def _check_progress(self) -> None:
        if self._unsent_bytes - self.transport.get_write_buffer_size() < PROGRESS_BYTES:
            self._close_because(RefusalReason.SLOW_READER)
        else:
            self._measure_pace()

    def _stop_measuring(self) -> None:
        self._paused_at = None
        if self._progress_check is not None:
            self._progress_check.cancel()
            self._progress_check = None

    def _close_because(self, reason: RefusalReason) -> None:
        self._admission.count(reason)
        self.transport.abort()
