"""The server on a real loopback socket."""

import gzip
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from exporters.http import connection
from exporters.http.server import AddressUnavailableError, HttpServer
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.serving import SMALL, get, serving
from tests.exporters.snapshots import snapshot, status


@pytest.fixture(scope="module")
def small() -> Iterator[HttpServer]:
    with serving(SMALL) as server:
        yield server


def test_scrape_over_a_socket(small: HttpServer) -> None:
    """A scraper that accepts gzip gets all metrics as one gzip body with the right content length."""
    answer, body = get(small, "/metrics", {"Accept-Encoding": "gzip"})
    assert answer.status == 200
    assert answer.getheader("Content-Length") == str(len(body))
    assert gzip.decompress(body).startswith(b"".join(SMALL.exposition.plain(ExpositionFormat.TEXT)))
    plain_answer, plain = get(small, "/metrics")
    assert plain_answer.getheader("Content-Encoding") is None
    assert b"lagwarden_ready 1\n" in plain


def test_head_has_only_headers(small: HttpServer) -> None:
    """The response to HEAD is that to GET without the body."""
    for path in ("/", "/metrics", "/api/v1/groups"):
        with socket.create_connection(("127.0.0.1", small.port), timeout=30) as line:
            line.sendall(f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            received = b"".join(iter(lambda line=line: line.recv(65536), b""))
        assert received.startswith(b"HTTP/1.1 200 ")
        assert received.endswith(b"\r\n\r\n")


def test_an_encoded_name_reaches_its_group() -> None:
    """Percent-encoding in a request line is decoded once, with all special characters."""
    with serving(PublishedSnapshot.build(snapshot(groups=[{"group": "a/b c%2F?\n#"}]))) as server:
        answer, body = get(server, "/api/v1/groups/a%2Fb%20c%252F%3F%0A%23")
    assert answer.status == 200
    assert b'"group":"a/b c%2F?\\n#"' in body


def test_an_unavailable_address_is_an_error() -> None:
    """`start` raises an error with the address, the reason and advice; no thread is left running."""
    threads = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for host, number, reason in (
            ("127.0.0.1", port, "another process is listening there"),
            ("203.0.113.7", 0, ".+"),
            ("no-such-host.invalid", 0, ".+"),
        ):
            with pytest.raises(AddressUnavailableError) as caught:
                HttpServer(host, number, lambda: None, status).start()
            error = f"cannot listen on {host} port {number}: {reason}; choose another host or port"
            assert re.fullmatch(error, str(caught.value))
    assert threading.active_count() == threads


def test_bytes_that_are_not_http_are_refused() -> None:
    """Bytes that are not HTTP get 400 and are counted; the next request is served."""
    with serving() as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
            line.sendall(b"\x00\xff\x16\x03 not http\r\n\r\n")
            assert line.recv(64).startswith(b"HTTP/1.1 400")
        assert get(server, "/livez")[0].status == 200
        assert b'lagwarden_http_refusals_total{reason="bad_request"} 1\n' in get(server, "/metrics")[1]


def test_stop_releases_the_port_and_is_idempotent() -> None:
    """After a stop the port is free, the thread has ended, and a second stop has no effect."""
    before = set(threading.enumerate())
    with serving() as server:
        port = server.port
        assert get(server, "/livez")[0].status == 200
        assert [thread.name for thread in set(threading.enumerate()) - before] == ["http"]
        with pytest.raises(RuntimeError, match="only once"):
            server.start()
    server.stop()
    assert set(threading.enumerate()) <= before
    again = HttpServer("127.0.0.1", port, lambda: None, status)
    again.start()
    again.stop()


def test_a_failing_status_affects_one_response() -> None:
    """If the status raises, that response is 500 and the server continues."""
    calls: list[int] = []

    def failing() -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise LookupError
        return status()

    with serving(status=failing) as server:
        assert [get(server, "/readyz")[0].status for _ in range(2)] == [500, 200]


def test_the_end_of_a_response_is_sent_at_once(small: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections have TCP_NODELAY; without it the last bytes may wait for the client's acknowledgement."""
    seen: list[int] = []
    made = connection.LimitedConnection.connection_made

    def record(self: connection.LimitedConnection, transport: Any) -> None:
        accepted = transport.get_extra_info("socket")
        seen.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(connection.LimitedConnection, "connection_made", record)
    assert get(small, "/livez")[0].status == 200
    assert seen == [1]
