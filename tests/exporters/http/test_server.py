"""The server on a real loopback socket."""

import gzip
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from exporters.http.api_endpoints import ServedData
from exporters.http.server import AddressUnavailableError, HttpServer
from exporters.text.exposition import ExpositionFormat
from tests.exporters.serving import SMALL, get, serving
from tests.exporters.snapshots import status


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
                HttpServer(host, number, ServedData(lambda: None, status)).start()
            error = f"cannot listen on {host} port {number}: {reason}; choose another host or port"
            assert re.fullmatch(error, str(caught.value))
    assert threading.active_count() <= threads


def test_bytes_that_are_not_http_and_foreign_hosts_are_refused() -> None:
    """Bytes that are not HTTP get 400, a request for another host 421; both are counted, and others are served."""
    with serving() as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
            line.sendall(b"\x00\xff\x16\x03 not http\r\n\r\n")
            assert line.recv(64).startswith(b"HTTP/1.1 400")
        assert get(server, "/livez")[0].status == 200
        assert get(server, "/", {"Host": "rebound.example"})[0].status == 421
        metrics = get(server, "/metrics")[1]
        for reason in (b"bad_request", b"host"):
            assert b'lagwarden_http_refusals_total{reason="%b"} 1\n' % reason in metrics


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
    again = HttpServer("127.0.0.1", port, ServedData(lambda: None, status))
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
