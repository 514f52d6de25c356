"""The HTTP server: a listening socket, uvicorn on a daemon thread, and connections that slow clients cannot hold.

HTTP clients must not delay or stop the job: they are served on a separate thread and event loop, and the job only
replaces the references that this thread reads.

uvicorn has no limits on connections, so this module subclasses its protocol, which is not a public interface:
`pyproject.toml` has an upper bound for uvicorn, and `tests/exporters/http/test_uvicorn_internals.py` checks the parts
that are used here.
"""

import asyncio
import contextlib
import errno
import functools
import socket
import threading
from collections.abc import Sequence
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from exporters.http.access.tls_handshake import TlsHandshake
from exporters.http.access.web_access import WebAccess
from exporters.http.admission import Admission, ConnectionLimits, RefusalReason, address_key
from exporters.http.api_endpoints import ServedData
from exporters.http.routes import build_app, with_http

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
        return self._paused_at if self._is_stalled() else None

    def _is_stalled(self) -> bool:
        return self._paused_at is not None and self.loop.time() - self._paused_at >= STALLED_SECONDS

    def evict(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def shutdown(self) -> None:
        """Close the connection after its response; at once if its client has stopped reading."""
        if self._is_stalled():
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


# Longer than the usual scrape intervals, so that a scraper keeps its connection.
_KEEP_ALIVE_SECONDS: Final = 75
# Time for running requests after a stop; the whole process has about 30 s.
_STOP_SECONDS: Final = 3
# The kernel drops a connection whose peer has acknowledged nothing for this long (TCP_USER_TIMEOUT).
_STALLED_READER_MILLISECONDS: Final = 60_000
# At most this many connections are accepted before any of them can be refused: each takes a file descriptor.
_BACKLOG: Final = 128
# The kernel doubles it. Its default grows to megabytes for each client that does not read.
_SEND_BUFFER: Final = 256 * 1024


class AddressUnavailableError(Exception):
    """The address to listen on is in use, not of this machine, or not permitted."""


class _QuietServer(uvicorn.Server):
    """Wakes once a second, for the Date of responses; uvicorn does ten times, to see whether it is to exit."""

    async def main_loop(self) -> None:
        """Return when the server is to exit; `wake` then."""
        loop, exits = asyncio.get_running_loop(), asyncio.Event()
        self.wake = functools.partial(loop.call_soon_threadsafe, exits.set)
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(exits.wait(), 1.0)


class HttpServer:
    """Serves `/metrics`, `/livez`, `/readyz`, `/api/v1` and the status page until stopped."""

    def __init__(
        self,
        host: str,
        port: int,
        served: ServedData,
        *,
        limits: ConnectionLimits | None = None,
        access: WebAccess | None = None,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        """`limits` are those on connections; `access` has TLS and logins, None: neither. `allowed_hosts` are names."""
        self._host = host
        self.port = port
        """The port. If 0 was requested, the port that the system chose, after `start`."""
        admission = Admission(limits or ConnectionLimits())
        self.status = with_http(served.status, admission)
        """Returns the status with the values of this server, as `/metrics` shows it."""
        access = access or WebAccess()
        self._events = served.events
        config = uvicorn.Config(
            build_app(served, admission=admission, credentials=access.credentials, allowed_hosts=allowed_hosts),
            lifespan="off",
            # The job configures logging; a line per scrape has no use.
            log_config=None,
            access_log=False,
            server_header=False,
            http=functools.partial(_connection, admission, access),  # type: ignore[arg-type]  # typed as a class, called as a function
            ws="none",
            # Clients are counted by the address of the connection: X-Forwarded-For can be forged.
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        self._uvicorn = _QuietServer(config)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Bind the address and start to serve. When it returns, connections are accepted.

        Raises AddressUnavailableError, and then nothing has been started. A server can be started once.
        """
        if self._thread:
            raise RuntimeError("a server can be started only once")
        listener = _listen(self._host, self.port)
        self.port = listener.getsockname()[1]
        # A daemon thread does not keep the process alive after the job has ended.
        self._thread = threading.Thread(target=self._uvicorn.run, args=([listener],), name="http", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening, wait a few seconds for running requests, and return when the thread has ended. Idempotent.

        Event streams end at once.
        """
        self._events.close()
        self._uvicorn.should_exit = True
        with contextlib.suppress(AttributeError, RuntimeError):  # it does not run yet, or not any more
            self._uvicorn.wake()
        if self._thread:
            self._thread.join(_STOP_SECONDS + 2)


def _connection(admission: Admission, access: WebAccess, **given: Any) -> asyncio.Protocol:
    """Return the protocol of a new connection. uvicorn passes its configuration and state as keywords."""
    http = LimitedConnection(**given, admission=admission)
    context = access.tls_context()
    return http if context is None else TlsHandshake(http, context, admission, http.loop)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. On the caller's thread: it gets the error; early connections wait."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            reason = "another process is listening there"
        raise AddressUnavailableError(
            f"cannot listen on {host} port {port}: {reason}; choose another host or port"
        ) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # Without it the end of a response may wait 40 ms for the client's acknowledgement. asyncio sets it only for sockets
    # that were created with the number of the protocol. Accepted connections inherit it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Linux has it, and accepted connections inherit it; elsewhere a stalled client keeps its connection for longer.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_READER_MILLISECONDS)
    return listener
