"""The HTTP server: a socket bound first of all, and uvicorn on a daemon thread. The answers are `http.routes`.

Readers must never hold up the job nor bring it down: they have a thread and an event loop of their own, and the job
only swaps references that they read.
"""

from __future__ import annotations

import errno
import functools
import socket
import threading
from typing import TYPE_CHECKING, Final

import uvicorn

from exporters.http.admission import Admission, ConnectionLimits
from exporters.http.connection import LimitedConnection
from exporters.http.routes import build_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporters.cluster.exposition import PublishedCluster
    from exporters.readmodel import GroupDetail, MonitorStatus
    from exporters.text.exposition import PublishedSnapshot

# Longer than the usual scrape intervals, so that a scraper keeps its connection.
_KEEP_ALIVE_SECONDS: Final = 75
# How long open requests may go on after a stop; the whole process has about 30 s.
_STOP_SECONDS: Final = 3
# The kernel drops a connection whose other end has taken nothing for so long.
_STALLED_READER_MILLISECONDS: Final = 60_000
# As many connections are accepted in one go, before any of them can be refused: each takes a descriptor.
_BACKLOG: Final = 128
# Half of what the kernel then uses. Its own choice grows to megabytes for each client that does not read.
_SEND_BUFFER: Final = 256 * 1024


class AddressUnavailableError(OSError):
    """The address to listen on cannot be had: in use, not of this machine, or not permitted."""

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        reason = cause.strerror or str(cause)
        if cause.errno == errno.EADDRINUSE:
            reason = "another process is listening there"
        super().__init__(cause.errno, f"cannot listen on {host} port {port}: {reason}; choose another host or port")
        self.host = host
        self.port = port

    def __str__(self) -> str:
        """Give the sentence alone, without the number of the error."""
        return str(self.strerror)


class HttpServer:
    """Serves `/metrics`, `/livez`, `/readyz`, `/api/v1` and the status page until stopped.

    `current` gives what is published, or None before the first snapshot; `status` gives the monitor's own health;
    `details` gives one group's members and history, or None where nothing is known of it; `cluster` gives the facts
    about the cluster beside the groups, or None before they are known. All are called on the server's threads for each
    request, and must be quick and safe to call from there.
    """

    def __init__(
        self,
        host: str,
        port: int,
        current: Callable[[], PublishedSnapshot | None],
        status: Callable[[], MonitorStatus],
        details: Callable[[str], GroupDetail | None] = lambda _: None,
        *,
        cluster: Callable[[], PublishedCluster | None] = lambda: None,
        bounds: ConnectionLimits | None = None,
        failed: Callable[[str, Exception], None] = lambda _what, _error: None,
    ) -> None:
        """`bounds` are those on connections; `failed` is told of answers that could not be made, and why."""
        self._host = host
        self._port = port
        admission = Admission(bounds or ConnectionLimits())
        config = uvicorn.Config(
            build_app(current, status, details=details, cluster=cluster, admission=admission, failed=failed),
            lifespan="off",
            # The job owns logging; a line per scrape tells nobody anything.
            log_config=None,
            access_log=False,
            server_header=False,
            http=functools.partial(LimitedConnection, admission=admission),  # type: ignore[arg-type]  # wants a class, calls it
            ws="none",
            # Who asks is counted by the address of the connection; a header may say anything.
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        self._uvicorn = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port; when 0 was asked for, the one that the system chose, once started."""
        return self._port

    def start(self) -> None:
        """Bind and begin to answer; from the return of this call on, connections are accepted.

        Raises AddressUnavailableError, and then nothing has been started. A server is started once in its life.
        """
        if self._thread:
            raise RuntimeError("a server is started only once")
        listener = _listen(self._host, self._port)
        self._port = listener.getsockname()[1]
        # A daemon: whatever happens to the job, this thread does not keep the process alive.
        self._thread = threading.Thread(target=self._uvicorn.run, args=([listener],), name="http", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening, give open requests a few seconds, and return when the thread has ended. Repeatable."""
        self._uvicorn.should_exit = True
        if self._thread:
            self._thread.join(_STOP_SECONDS + 2)


def _listen(host: str, port: int) -> socket.socket:
    """Listen already here, on the caller's thread: an error has a caller, and early connections wait in the backlog."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise AddressUnavailableError(host, port, error) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # Linux has it and passes it on to accepted connections; elsewhere a stalled reader holds a slot for longer.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_READER_MILLISECONDS)
    return listener
