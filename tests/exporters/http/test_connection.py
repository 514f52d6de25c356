"""Clients on real sockets that are too many, too slow or send half requests; others are answered all the while."""

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
BOUNDS = ConnectionLimits(total=60, per_address=40)


@pytest.fixture(scope="module")
def large() -> PublishedSnapshot:
    """Give a snapshot whose `/metrics` is many times larger than all the buffers of a connection."""
    return PublishedSnapshot.build(
        snapshot(groups=[{"group": f"{at:0249}", "lag_sum": 1, "lag_max": 1} for at in range(40_000)])
    )


@contextlib.contextmanager
def serving(published: PublishedSnapshot | None = None) -> Iterator[HttpServer]:
    """Serve with small bounds on a free port."""
    server = HttpServer("127.0.0.1", 0, lambda: published, status, limits=BOUNDS)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def connect(server: HttpServer, source: str = ABUSER) -> socket.socket:
    """Open a connection from one of the loopback's addresses."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=30, source_address=(source, 0))


def ask(server: HttpServer, path: str, source: str = SCRAPER) -> tuple[int, str]:
    """Ask on a connection of its own, by default from an address that does nothing wrong."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(source, 0))
    with contextlib.closing(client):
        client.request("GET", path)
        answer = client.getresponse()
        return answer.status, answer.read().decode()


def told(server: HttpServer, name: str) -> Metrics:
    """Scrape one metric."""
    code, text = ask(server, f"/metrics?name[]={name}")
    assert code == 200
    return Metrics(text)


def refusals(server: HttpServer) -> dict[str, int]:
    """Give what the server says it refused, by reason."""
    rows = told(server, "lagwarden_http_refusals_total").rows("lagwarden_http_refusals_total")
    return {labels["reason"]: int(value) for labels, value in rows if value}


def connections(server: HttpServer) -> int:
    """Give how many connections the server says are open."""
    return int(told(server, "lagwarden_http_connections").total("lagwarden_http_connections"))


def wait_until(fact: Callable[[], bool]) -> None:
    """Wait for a fact, up to the limit of the test."""
    while not fact():
        time.sleep(0.02)


def test_idle_connections_are_bounded_and_the_oldest_make_room() -> None:
    """A flood from one address closes that address' own oldest connections; another keeps its line."""
    with serving() as server, contextlib.ExitStack() as stack:
        kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(SCRAPER, 0))
        stack.callback(kept.close)
        kept.request("GET", "/livez")
        assert kept.getresponse().read() == b"alive\n"
        kept.auto_open = False
        flood = [stack.enter_context(connect(server)) for _ in range(200)]
        wait_until(lambda: refusals(server).get("idle", 0) >= 160)
        assert connections(server) == BOUNDS.per_address + 2, "the flood's share, the kept one and this one"
        assert flood[0].recv(1) == b"", "the oldest was closed"
        kept.request("GET", "/livez")
        assert kept.getresponse().read() == b"alive\n", "the line of another address was kept"
        flood[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert flood[-1].recv(64).startswith(b"HTTP/1.1 200"), "the newest of the flood is open"
        for line in flood:
            line.close()
        wait_until(lambda: connections(server) == 2)


def test_many_addresses_share_the_total() -> None:
    """Beyond the total the address with the most connections pays, and a new address gets in."""
    with serving() as server, contextlib.ExitStack() as stack:
        for source in ("127.0.0.11", "127.0.0.12"):
            for _ in range(40):
                stack.enter_context(connect(server, source))
        wait_until(lambda: refusals(server).get("idle", 0) >= 20)
        assert connections(server) <= BOUNDS.total
        assert ask(server, "/readyz")[0] == 200


def test_a_client_that_reads_nothing_is_cut_off(large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty clients that ask and do not read are all gone after the window; meanwhile others are answered."""
    monkeypatch.setattr(connection, "PROGRESS_SECONDS", 1.0)
    with serving(large) as server, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connect(server)) for _ in range(40)]
        for line in lines:
            line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert ask(server, "/metrics?name[]=lagwarden_ready")[0] == 200
        wait_until(lambda: refusals(server).get("slow_reader", 0) >= 16)
        found = refusals(server)
        assert found["slow_reader"] == 16, "the share of one address in the requests"
        assert found["requests"] == 24
        assert ask(server, "/metrics?name[]=lagwarden_ready", ABUSER)[0] == 200, "its places are free again"


def test_a_client_that_reads_slowly_but_steadily_gets_all(
    large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress counts, not the time that an answer takes in all."""
    monkeypatch.setattr(connection, "PROGRESS_SECONDS", 0.5)
    with serving(large) as server, connect(server) as line:
        line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = 0
        while got := line.recv(1 << 20):
            received += len(got)
            time.sleep(0.03)
        assert received > 30_000_000
        assert "slow_reader" not in refusals(server)


def test_requests_that_are_sent_and_never_read_hold_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipelined requests whose answers nobody reads are cut off too, although no single answer is large."""
    monkeypatch.setattr(connection, "PROGRESS_SECONDS", 0.5)
    with serving() as server, connect(server) as line:
        line.settimeout(0.2)
        with contextlib.suppress(OSError):  # the server stops to read, and in the end resets the connection
            while True:
                line.sendall(b"GET /style.css HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        wait_until(lambda: refusals(server).get("slow_reader", 0) == 1)
        wait_until(lambda: connections(server) == 1)


def test_where_nothing_can_be_closed_a_connection_is_refused_with_503(
    large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal says when to come back."""
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


def test_half_requests_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that does not arrive in time is closed, and stands in the metrics."""
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.2)
    with serving() as server, connect(server) as line:
        line.sendall(b"GET /met")
        assert line.recv(1) == b""
        assert refusals(server) == {"request_timeout": 1}


def test_a_header_does_not_make_another_address(large: PublishedSnapshot) -> None:
    """The share of an address is that of the connection, whatever a client writes about itself."""
    with serving(large) as server, contextlib.ExitStack() as stack:
        for number in range(20):
            line = stack.enter_context(connect(server))
            forged = f"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.0.0.{number}\r\n\r\n"
            line.sendall(forged.encode())
        wait_until(lambda: refusals(server).get("requests", 0) == 4)


def test_a_flood_of_pages_leaves_few_threads() -> None:
    """Three hundred requests for pages, each another one, leave no more threads than render at once."""
    with serving(PublishedSnapshot.build(snapshot(groups=[{"group": "g", "lag_sum": 1}]))) as server:
        before = threading.active_count()

        def flood(source: str) -> None:
            for number in range(30):
                assert ask(server, f"/?filter={source}{number}", source)[0] in {200, 503}

        threads = [threading.Thread(target=flood, args=(f"127.0.0.{number}",)) for number in range(10, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert threading.active_count() - before <= 4
