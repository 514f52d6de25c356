"""One POST with a limit on its time, against servers that send a byte now and then."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from sandbox.certificates import Certificates
from stream.http_post import post_within

ANSWER = b"HTTP/1.1 307 Elsewhere\r\nLocation: /x\r\nContent-Length: 9\r\nConnection: close\r\n\r\n123456789"


@contextlib.contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def drip(connection: socket.socket, start: bytes) -> None:
    """Send `start`, and then a byte every 200 ms for two seconds or until the client has gone."""
    connection.sendall(start)
    for _ in range(10):
        connection.sendall(b"\0")
        time.sleep(0.2)


def post(url: str, certificates: Certificates | None = None, timeout: float = 5.0) -> tuple[int, str | None, bytes]:
    """Return status, Location and the first five bytes of the body."""
    ca_file = None if certificates is None else certificates.authority
    answer = post_within(timeout, url, b"{}", {}, ca_file=ca_file, most_read=5)
    return answer.status, answer.headers["Location"], answer.body


def over_tls(certificates: Certificates, serve: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    """Return a server that makes the TLS handshake first."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.both("broker"))

    def wrapped(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            serve(secured)

    return wrapped


def answering(connection: socket.socket) -> None:
    received = b""
    while not received.endswith(b"{}"):
        received += connection.recv(4096)
    assert received.startswith(b"POST /a?b=c HTTP/1.1\r\nHost: localhost:")
    connection.sendall(ANSWER)


def test_the_response_is_cut_and_no_redirect_is_followed(certificates: Certificates) -> None:
    """The response has status, headers and the first bytes of the body, by HTTP and by HTTPS."""
    with server(answering) as port:
        assert post(f"http://localhost:{port}/a?b=c") == (307, "/x", b"12345")
    with server(over_tls(certificates, answering)) as port:
        assert post(f"https://localhost:{port}/a?b=c", certificates) == (307, "/x", b"12345")


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: ", ANSWER[:-8]], ids=["headers", "body"])
def test_a_slow_response_ends_at_the_time_limit(certificates: Certificates, start: bytes) -> None:
    """The limit ends a response that sends a byte now and then.

    By HTTPS, the end of the connection without a close of TLS is a timeout, not a TLS error.
    """
    with server(lambda connection: drip(connection, start)) as port, pytest.raises(TimeoutError):
        post(f"http://localhost:{port}", timeout=0.3)
    dripping = over_tls(certificates, lambda connection: drip(connection, start))
    with server(dripping) as port, pytest.raises(TimeoutError):
        post(f"https://localhost:{port}", certificates, timeout=0.3)


def test_the_time_limit_leaves_the_tls_layer(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shutdown of ssl.SSLSocket removes the layer first, so that the other thread may read or write without TLS."""
    removed = []
    monkeypatch.setattr(ssl.SSLSocket, "shutdown", lambda sock, how: removed.append((sock, how)))
    dripping = over_tls(certificates, lambda connection: drip(connection, b"HTTP/1.1 200 OK\r\nX: "))
    with server(dripping) as port, pytest.raises(TimeoutError):
        post(f"https://localhost:{port}", certificates, timeout=0.3)
    assert removed == []
