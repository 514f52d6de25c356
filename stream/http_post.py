"""One POST to a server that the configuration names, with a limit on the time of the whole request.

Connects directly: proxies of the environment are not used. Redirects are not followed, because a login belongs to the
configured address.
"""

import contextlib
import dataclasses
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit


@dataclasses.dataclass(frozen=True, slots=True)
class PostResponse:
    """The response to a POST: status, headers, and the first bytes of its body."""

    status: int
    headers: Message
    body: bytes


def post_within(
    timeout: float,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    ca_file: Path | None,
    most_read: int,
    client_certificate: tuple[Path, Path] | None = None,
) -> PostResponse:
    """Send `body` and return the response with at most `most_read` bytes of its body.

    `client_certificate` is a file and that of its key. `timeout` is in seconds. The resolution of the host name has no
    limit, and each address and the TLS handshake may take `timeout` before the request is ended. Raises TimeoutError
    when that time has passed, and before it OSError, also as ssl.SSLError, http.client.HTTPException or ValueError.
    """
    deadline = time.monotonic() + timeout
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with (
            _connected(timeout, url, ca_file, client_certificate) as connection,
            _shut_down_at(deadline, connection.sock),
        ):
            connection.request("POST", target, body, dict(headers))
            response = connection.getresponse()
            answer = PostResponse(response.status, response.headers, response.read(most_read))
    except (OSError, http.client.HTTPException, ValueError):
        if time.monotonic() >= deadline:
            raise TimeoutError from None
        raise
    if time.monotonic() >= deadline:  # reading ends without an error when the socket is shut down
        raise TimeoutError
    return answer


@contextlib.contextmanager
def _connected(
    timeout: float, url: str, ca_file: Path | None, client_certificate: tuple[Path, Path] | None
) -> Iterator[http.client.HTTPConnection]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        if ca_file is not None:
            context.load_verify_locations(ca_file)
        if client_certificate is not None:
            context.load_cert_chain(*client_certificate)
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, parts.port, timeout=timeout, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=timeout)
    with contextlib.closing(connection):
        connection.connect()
        yield connection


@contextlib.contextmanager
def _shut_down_at(deadline: float, sock: socket.socket) -> Iterator[None]:
    """Shut the socket down at the deadline: its own timeout starts again with each byte."""

    def shut_down() -> None:
        with contextlib.suppress(OSError):
            # Not the method of ssl.SSLSocket, which removes the TLS layer under the thread that reads and writes.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(max(deadline - time.monotonic(), 0.0), shut_down)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
