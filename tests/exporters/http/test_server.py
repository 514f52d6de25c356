"""The server on a real loopback socket."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from exporters.http import connection
from exporters.http.server import AddressUnavailableError, HttpServer
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.snapshots import small_snapshot, snapshot, status

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def serving(published: PublishedSnapshot | None) -> Iterator[HttpServer]:
    """Serve on a free port of the loopback interface until the end of the block."""
    server = HttpServer("127.0.0.1", 0, lambda: published, status)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def small() -> Iterator[tuple[PublishedSnapshot, HttpServer]]:
    """Serve the small snapshot; return it with its server."""
    published = PublishedSnapshot.build(small_snapshot())
    with serving(published) as server:
        yield published, server


def get(server: HttpServer, path: str, headers: dict[str, str] | None = None) -> tuple[http.client.HTTPResponse, bytes]:
    """Send a GET request on a new connection."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        client.request("GET", path, headers=headers or {})
        answer = client.getresponse()
        return answer, answer.read()
    finally:
        client.close()


def test_scrape_over_a_socket(small: tuple[PublishedSnapshot, HttpServer]) -> None:
    """A scraper that accepts gzip gets all metrics as one gzip body with the right content length."""
    published, server = small
    answer, body = get(server, "/metrics", {"Accept-Encoding": "gzip"})
    assert answer.status == 200
    assert answer.getheader("Content-Length") == str(len(body))
    assert gzip.decompress(body).startswith(b"".join(published.exposition.plain(ExpositionFormat.TEXT)))
    plain_answer, plain = get(server, "/metrics")
    assert plain_answer.getheader("Content-Encoding") is None
    assert b"lagwarden_ready 1\n" in plain


@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/groups"])
def test_head_has_only_headers(path: str, small: tuple[PublishedSnapshot, HttpServer]) -> None:
    """The response to HEAD is that to GET without the body."""
    with socket.create_connection(("127.0.0.1", small[1].port), timeout=30) as connection:
        connection.sendall(f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 200 ")
    assert received.endswith(b"\r\n\r\n")


def test_an_encoded_name_reaches_its_group() -> None:
    """Percent-encoding in a request line is decoded once, with all special characters."""
    name = "a/b c%2F?\n#"
    with serving(PublishedSnapshot.build(snapshot(groups=[{"group": name}]))) as server:
        answer, body = get(server, "/api/v1/groups/a%2Fb%20c%252F%3F%0A%23")
        assert answer.status == 200
        assert b'"group":"a/b c%2F?\\n#"' in body


def test_a_port_in_use_is_an_error() -> None:
    """`start` raises an error with the address and advice if the port is in use; no thread is left running."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        threads = threading.active_count()
        with pytest.raises(AddressUnavailableError) as caught:
            HttpServer("127.0.0.1", port, lambda: None, status).start()
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1 port {port}: another process is listening there; choose another host or port"
    )
    assert threading.active_count() == threads


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid"], ids=["not of this machine", "unknown host"])
def test_an_unavailable_address_is_an_error(host: str) -> None:
    """An address that is unavailable for another reason raises the same class with the message of the system."""
    with pytest.raises(AddressUnavailableError, match=f"cannot listen on {host} port 0: .+; choose another"):
        HttpServer(host, 0, lambda: None, status).start()


def test_a_stalled_client_does_not_delay_others() -> None:
    """A client that requests a large response and reads nothing delays neither other clients nor the stop."""
    names = [f"{at:0249}" for at in range(40_000)]
    published = PublishedSnapshot.build(
        snapshot(groups=[{"group": name, "lag_sum": 1, "lag_max": 1} for name in names])
    )
    with serving(published) as server, socket.create_connection(("127.0.0.1", server.port)) as stalled:
        stalled.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        stalled.recv(1)
        assert get(server, "/livez")[0].status == 200
        answer, body = get(server, "/metrics")
        assert answer.status == 200
        assert len(body) > 30_000_000


def _is_closed(line: socket.socket, sends: bytes) -> bool:
    """Return whether the server closes the connection within twenty seconds, while bytes are sent."""
    line.settimeout(0.05)
    for _ in range(400):
        try:
            line.sendall(sends)
            if not line.recv(1):
                return True
        except TimeoutError:
            continue
        except OSError:  # reset or broken pipe, as the bytes cross
            return True
    return False


def test_an_incomplete_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose request stays incomplete is closed, also if bytes arrive; one with complete requests stays."""
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.5)
    with serving(None) as server, contextlib.ExitStack() as stack:
        address = ("127.0.0.1", server.port)
        silent, slow = (stack.enter_context(socket.create_connection(address)) for _ in range(2))
        scraper = stack.enter_context(contextlib.closing(http.client.HTTPConnection(*address, timeout=30)))
        assert _alive(scraper)
        scraper.auto_open = False
        silent.sendall(b"GET /li")
        assert _is_closed(silent, sends=b"")
        assert _is_closed(slow, sends=b"X")
        assert _alive(scraper)


def _alive(client: http.client.HTTPConnection) -> bool:
    client.request("GET", "/livez")
    return client.getresponse().read() == b"alive\n"


def test_bytes_that_are_not_http_are_refused() -> None:
    """Bytes that are not HTTP get 400 and are counted; the next request is served."""
    with serving(None) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
            line.sendall(b"\x00\xff\x16\x03 not http\r\n\r\n")
            assert line.recv(64).startswith(b"HTTP/1.1 400")
        assert get(server, "/livez")[0].status == 200
        assert b'lagwarden_http_refusals_total{reason="bad_request"} 1\n' in get(server, "/metrics")[1]


def test_stop_releases_the_port_and_is_idempotent() -> None:
    """After a stop the port is free, the thread has ended, and a second stop has no effect."""
    before = set(threading.enumerate())
    with serving(None) as server:
        port = server.port
        assert get(server, "/livez")[0].status == 200
        assert [thread.name for thread in set(threading.enumerate()) - before] == ["http"]
    server.stop()
    assert set(threading.enumerate()) <= before
    again = HttpServer("127.0.0.1", port, lambda: None, status)
    again.start()
    again.stop()


def test_a_server_can_be_started_once() -> None:
    """A second start raises RuntimeError."""
    with serving(None) as server, pytest.raises(RuntimeError, match="only once"):
        server.start()


def test_a_failing_status_affects_one_response() -> None:
    """If the status raises, that response is 500 and the server continues."""
    calls: list[int] = []

    def failing() -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise LookupError
        return status()

    server = HttpServer("127.0.0.1", 0, lambda: None, failing)
    server.start()
    try:
        assert get(server, "/readyz")[0].status == 500
        assert get(server, "/readyz")[0].status == 200
    finally:
        server.stop()


def test_the_end_of_a_response_is_sent_at_once(
    small: tuple[PublishedSnapshot, HttpServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections have TCP_NODELAY; without it the last bytes may wait for the client's acknowledgement."""
    seen: list[int] = []
    made = connection.LimitedConnection.connection_made

    def record(self: connection.LimitedConnection, transport: Any) -> None:
        accepted = transport.get_extra_info("socket")
        seen.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(connection.LimitedConnection, "connection_made", record)
    client = http.client.HTTPConnection("127.0.0.1", small[1].port, timeout=5)
    client.request("GET", "/livez")
    assert client.getresponse().status == 200
    client.close()
    assert seen == [1]
