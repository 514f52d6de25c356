"""The HTTP server: a listening socket, and uvicorn on a daemon thread. `exporters.http.routes` has the endpoints.

HTTP clients must not delay or stop the job: they are served on a separate thread and event loop, and the job only
replaces the references that this thread reads.
"""

import asyncio
import errno
import functools
import socket
import threading
from collections.abc import Sequence
from typing import Any, Final

import uvicorn

from exporters.http.access.tls_handshake import TlsHandshake
from exporters.http.access.web_access import WebAccess
from exporters.http.admission import Admission, ConnectionLimits
from exporters.http.api_endpoints import ServedData
from exporters.http.connection import LimitedConnection
from exporters.http.routes import build_app, with_http

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


class AddressUnavailableError(OSError):
    """The address to listen on is in use, not of this machine, or not permitted."""

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        reason = cause.strerror or str(cause)
        if cause.errno == errno.EADDRINUSE:
            reason = "another process is listening there"
        super().__init__(cause.errno, f"cannot listen on {host} port {port}: {reason}; choose another host or port")
        self.host = host
        self.port = port

    def __str__(self) -> str:
        """Return the message without the error number."""
        return str(self.strerror)


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
        self._port = port
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
        self._uvicorn = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port. If 0 was requested, the port that the system chose, after `start`."""
        return self._port

    def start(self) -> None:
        """Bind the address and start to serve. When it returns, connections are accepted.

        Raises AddressUnavailableError, and then nothing has been started. A server can be started once.
        """
        if self._thread:
            raise RuntimeError("a server can be started only once")
        listener = _listen(self._host, self._port)
        self._port = listener.getsockname()[1]
        # A daemon thread does not keep the process alive after the job has ended.
        self._thread = threading.Thread(target=self._uvicorn.run, args=([listener],), name="http", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening, wait a few seconds for running requests, and return when the thread has ended. Idempotent.

        Event streams end at once.
        """
        self._events.close()
        self._uvicorn.should_exit = True
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
        raise AddressUnavailableError(host, port, error) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # Without it the end of a response may wait 40 ms for the client's acknowledgement. asyncio sets it only for sockets
    # that were created with the number of the protocol. Accepted connections inherit it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Linux has it, and accepted connections inherit it; elsewhere a stalled client keeps its connection for longer.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_READER_MILLISECONDS)
    return listener
