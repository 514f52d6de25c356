"""Too many clients, slow clients and incomplete requests on real sockets; other clients are served meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from exporters.http import connection
from exporters.http.admission import ConnectionLimits
from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.snapshots import snapshot, status
from tests.support.scrape import Metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ABUSER, SCRAPER = "127.0.0.1", "127.0.0.2"
LIMITS = ConnectionLimits(total=60, per_address=40)


@pytest.fixture(scope="module")
def large() -> PublishedSnapshot:
    """Return a snapshot whose `/metrics` is many times larger than all buffers of a connection."""
    return PublishedSnapshot.build(
        snapshot(groups=[{"group": f"{at:0249}", "lag_sum": 1, "lag_max": 1} for at in range(40_000)])
    )


@contextlib.contextmanager
def serving(published: PublishedSnapshot | None = None) -> Iterator[HttpServer]:
    """Serve with small limits on a free port."""
    server = HttpServer("127.0.0.1", 0, lambda: published, status, limits=LIMITS)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def connect(server: HttpServer, source: str = ABUSER) -> socket.socket:
    """Open a connection from an address of the loopback network."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=30, source_address=(source, 0))


def get(server: HttpServer, path: str, source: str = SCRAPER) -> tuple[int, str]:
    """Send a GET request on a new connection, by default from a well-behaved address."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(source, 0))
    with contextlib.closing(client):
        client.request("GET", path)
        answer = client.getresponse()
        return answer.status, answer.read().decode()


def scrape(server: HttpServer, name: str) -> Metrics:
    """Scrape one metric."""
    code, text = get(server, f"/metrics?name[]={name}")
    assert code == 200
    return Metrics(text)


def refusals(server: HttpServer) -> dict[str, int]:
    """Return the refusals above zero by reason, from the metrics."""
    rows = scrape(server, "lagwarden_http_refusals_total").rows("lagwarden_http_refusals_total")
    return {labels["reason"]: int(value) for labels, value in rows if value}


def connections(server: HttpServer) -> int:
    """Return the number of open connections, from the metrics."""
    return int(scrape(server, "lagwarden_http_connections").total("lagwarden_http_connections"))


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true, up to the timeout of the test."""
    while not condition():
        time.sleep(0.02)


def test_the_oldest_idle_connections_of_an_address_are_evicted() -> None:
    """A flood from one address closes its own oldest connections; a connection of another address stays open."""
    with serving() as server, contextlib.ExitStack() as stack:
        kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(SCRAPER, 0))
        stack.callback(kept.close)
        kept.request("GET", "/livez")
        assert kept.getresponse().read() == b"alive\n"
        kept.auto_open = False
        flood = [stack.enter_context(connect(server)) for _ in range(200)]
        wait_until(lambda: refusals(server).get("idle", 0) >= 160)
        assert connections(server) == LIMITS.per_address + 2, "the share of the flood, the kept connection and this one"
        assert flood[0].recv(1) == b"", "the oldest was closed"
        kept.request("GET", "/livez")
        assert kept.getresponse().read() == b"alive\n", "the connection of another address is open"
        flood[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert flood[-1].recv(64).startswith(b"HTTP/1.1 200"), "the newest connection of the flood is open"
        for line in flood:
            line.close()
        wait_until(lambda: connections(server) == 2)


def test_many_addresses_share_the_total() -> None:
    """At the total limit the address with the most connections loses one, and a new address is admitted."""
    with serving() as server, contextlib.ExitStack() as stack:
        for source in ("127.0.0.11", "127.0.0.12"):
            for _ in range(40):
                stack.enter_context(connect(server, source))
        wait_until(lambda: refusals(server).get("idle", 0) >= 20)
        assert connections(server) <= LIMITS.total
        assert get(server, "/readyz")[0] == 200


def test_a_client_that_reads_nothing_is_closed(large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that send requests and do not read are closed after the period; other clients are served meanwhile."""
    monkeypatch.setattr(connection, "PROGRESS_SECONDS", 1.0)
    with serving(large) as server, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connect(server)) for _ in range(40)]
        for line in lines:
            line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert get(server, "/metrics?name[]=lagwarden_ready")[0] == 200
        wait_until(lambda: refusals(server).get("slow_reader", 0) >= 16)
        found = refusals(server)
        assert found["slow_reader"] == 16, "the share of one address in the concurrent requests"
        assert found["requests"] == 24
        assert get(server, "/metrics?name[]=lagwarden_ready", ABUSER)[0] == 200, "its places are released"


def test_a_client_that_reads_slowly_gets_the_whole_response(
    large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server limits the pace of reading, not its total time."""
    monkeypatch.setattr(connection, "PROGRESS_SECONDS", 0.5)
    with serving(large) as server, connect(server) as line:
        line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = 0
        while got := line.recv(1 << 20):
            received += len(got)
            time.sleep(0.03)
        assert received > 30_000_000
        assert "slow_reader" not in refusals(server)


def test_pipelined_requests_that_are_never_read_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that never reads is closed even if no single response to its pipelined requests is large."""
    monkeypatch.setattr(connection, "PROGRESS_SECONDS", 0.5)
    with serving() as server, connect(server) as line:
        line.settimeout(0.2)
        with contextlib.suppress(OSError):  # the server stops reading, and finally resets the connection
            while True:
                line.sendall(b"GET /style.css HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        wait_until(lambda: refusals(server).get("slow_reader", 0) == 1)
        wait_until(lambda: connections(server) == 1)


def test_a_connection_is_refused_if_none_can_be_evicted(
    large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new connection gets 503 and a `Retry-After` header if no connection can be evicted."""
    monkeypatch.setattr(connection, "STALLED_SECONDS", 3600.0)
    bounds = ConnectionLimits(total=60, per_address=10)
    server = HttpServer("127.0.0.1", 0, lambda: large, status, limits=bounds)
    server.start()
    with contextlib.ExitStack() as stack:
        stack.callback(server.stop)
        for _ in range(bounds.per_address):
            line = stack.enter_context(connect(server))
            line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            assert line.recv(15) == b"HTTP/1.1 200 OK"
        with connect(server) as late:
            refusal = b"".join(iter(lambda: late.recv(4096), b""))
        assert refusal.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in refusal
        assert refusals(server) == {"connections": 1}


def test_incomplete_requests_are_closed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose request does not arrive completely in time is closed and counted."""
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.2)
    with serving() as server, connect(server) as line:
        line.sendall(b"GET /met")
        assert line.recv(1) == b""
        assert refusals(server) == {"request_timeout": 1}


def test_a_forwarded_header_does_not_change_the_address(large: PublishedSnapshot) -> None:
    """The address is that of the connection, whatever `X-Forwarded-For` contains."""
    with serving(large) as server, contextlib.ExitStack() as stack:
        for number in range(20):
            line = stack.enter_context(connect(server))
            forged = f"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.0.0.{number}\r\n\r\n"
            line.sendall(forged.encode())
        wait_until(lambda: refusals(server).get("requests", 0) == 4)


def test_a_flood_of_pages_leaves_few_threads() -> None:
    """Three hundred requests for different pages leave no more threads than the limit of renderings."""
    with serving(PublishedSnapshot.build(snapshot(groups=[{"group": "g", "lag_sum": 1}]))) as server:
        before = threading.active_count()

        def flood(source: str) -> None:
            for number in range(30):
                assert get(server, f"/?filter={source}{number}", source)[0] in {200, 503}

        threads = [threading.Thread(target=flood, args=(f"127.0.0.{number}",)) for number in range(10, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert threading.active_count() - before <= 4
