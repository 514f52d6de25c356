"""A connection whose client must send whole requests and accept answers at a minimum pace, or is cut off.

It takes part in the bounds on connections (`exporters.http.admission`). uvicorn has no such limits of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from exporters.http.admission import RefusalReason, address_key

if TYPE_CHECKING:
    import asyncio

    from exporters.http.admission import Admission

REQUEST_SECONDS: Final = 30.0
"""How long a request may take to arrive, from when the connection was made, or from its first byte on a used one."""
PROGRESS_SECONDS: Final = 5.0
"""The window in which a client that is being sent an answer must accept `PROGRESS_BYTES`."""
PROGRESS_BYTES: Final = 64 * 1024
STALLED_SECONDS: Final = 1.0
"""A client that has not made room for the next bytes for so long may be cut off when others need its place."""

_REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 21\r\n\r\ntoo many connections\n"
)


class LimitedConnection(H11Protocol):
    """uvicorn's protocol with a place among the bounded connections and limits on slow clients."""

    def __init__(self, *args: Any, admission: Admission, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._admission = admission
        self._deadline: asyncio.TimerHandle | None = None
        self._progress: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._paused_at: float | None = None
        self._idle_since = 0.0
        self._refused = False
        self.address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin to wait for the first request, or refuse the connection."""
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
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of a request that is not whole yet do not move its deadline."""
        if self._refused:
            return
        super().data_received(data)
        if self._is_answering():
            self._stop_awaiting_request()
        else:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers and give the place back."""
        self._stop_awaiting_request()
        self._stop_measuring()
        self._admission.remove(self)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._admission.count(RefusalReason.BAD_REQUEST)
        super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """Note when the connection became idle."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    # --- the place among the connections ---

    def expendable_since(self) -> float | None:
        """Return since when closing it would interrupt nobody; None while an answer is on its way."""
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

    # --- requests must arrive ---

    def _await_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._cut_off, RefusalReason.REQUEST_TIMEOUT)

    def _stop_awaiting_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # --- answers must be accepted ---

    def pause_writing(self) -> None:
        """Begin to measure how fast the client makes room; called when the send buffer is full."""
        super().pause_writing()
        self._paused_at = self.loop.time()
        self._measure()

    def resume_writing(self) -> None:
        """Stop measuring: the client has made room."""
        self._stop_measuring()
        super().resume_writing()

    def _measure(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._progress = self.loop.call_later(PROGRESS_SECONDS, self._check_progress)

    def _check_progress(self) -> None:
        if self._unsent - self.transport.get_write_buffer_size() < PROGRESS_BYTES:
            self._cut_off(RefusalReason.SLOW_READER)
        else:
            self._measure()

    def _stop_measuring(self) -> None:
        self._paused_at = None
        if self._progress is not None:
            self._progress.cancel()
            self._progress = None

    def _cut_off(self, reason: RefusalReason) -> None:
        self._admission.count(reason)
        self.transport.abort()
