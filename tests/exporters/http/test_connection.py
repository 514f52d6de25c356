"""Too many clients, slow clients and incomplete requests on real sockets; other clients are served meanwhile."""

import contextlib
import functools
import http.client
import socket
import threading
import time

import pytest

from exporters.http import server as http_server
from exporters.http.admission import ConnectionLimits
from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.serving import get, many_groups, serving, wait_for
from tests.exporters.snapshots import snapshot
from tests.support.scrape import Metrics

ABUSER, SCRAPER = "127.0.0.1", "127.0.0.2"
LIMITS = ConnectionLimits(total=60, per_address=40)
METRICS = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
serve = functools.partial(serving, limits=LIMITS)


@pytest.fixture(scope="module")
def large() -> PublishedSnapshot:
    """Return a snapshot whose `/metrics` is many times larger than all buffers of a connection."""
    return many_groups()


def connect(server: HttpServer, sends: bytes = b"") -> socket.socket:
    line = socket.create_connection(("127.0.0.1", server.port), timeout=30, source_address=(ABUSER, 0))
    line.sendall(sends)
    return line


def metric(server: HttpServer, name: str) -> Metrics:
    """Scrape one metric from a well-behaved address."""
    answer, text = get(server, f"/metrics?name[]={name}", source=SCRAPER)
    assert answer.status == 200
    return Metrics(text.decode())


def refusals(server: HttpServer) -> dict[str, int]:
    """Return the refusals above zero by reason, from the metrics."""
    rows = metric(server, "lagwarden_http_refusals_total").rows("lagwarden_http_refusals_total")
    return {labels["reason"]: int(value) for labels, value in rows if value}


def connections(server: HttpServer) -> int:
    """Return the number of open connections, from the metrics."""
    return int(metric(server, "lagwarden_http_connections").total("lagwarden_http_connections"))


def keep_alive(server: HttpServer, stack: contextlib.ExitStack) -> http.client.HTTPConnection:
    """Open a connection of a well-behaved address that is not opened again."""
    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(SCRAPER, 0))
    stack.callback(kept.close)
    assert is_alive(kept)
    kept.auto_open = False
    return kept


def is_alive(client: http.client.HTTPConnection) -> bool:
    """Return whether a request on an open connection is answered."""
    client.request("GET", "/livez")
    return client.getresponse().read() == b"alive\n"


def is_closed(line: socket.socket, sends: bytes) -> bool:
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


def test_the_oldest_idle_connections_of_an_address_are_evicted() -> None:
    """A flood from one address closes its own oldest connections; a connection of another address stays open."""
    with serve() as server, contextlib.ExitStack() as stack:
        kept = keep_alive(server, stack)
        flood = [stack.enter_context(connect(server)) for _ in range(200)]
        wait_for(lambda: refusals(server).get("idle", 0) >= 160, "evicted connections")
        assert connections(server) == LIMITS.per_address + 2, "the share of the flood, the kept connection and this one"
        assert flood[0].recv(1) == b"", "the oldest was closed"
        assert is_alive(kept), "the connection of another address is open"
        flood[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert flood[-1].recv(64).startswith(b"HTTP/1.1 200"), "the newest connection of the flood is open"
        for line in flood:
            line.close()
        wait_for(lambda: connections(server) == 2, "the end of the flood")


def test_a_client_that_reads_nothing_is_closed(large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that send requests and do not read are closed after the period; other clients are served meanwhile.

    The address is that of the connection, whatever `X-Forwarded-For` contains.
    """
    monkeypatch.setattr(http_server, "PROGRESS_SECONDS", 1.0)
    with serve(large) as server, contextlib.ExitStack() as stack:
        for number in range(40):
            forged = f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.{number}\r\n\r\n"
            stack.enter_context(connect(server, forged.encode()))
        assert metric(server, "lagwarden_ready")
        wait_for(lambda: refusals(server).get("slow_reader", 0) >= 16, "closed connections")
        # The share of one address in the concurrent requests is 16.
        assert refusals(server) == {"slow_reader": 16, "requests": 24}
        assert get(server, "/metrics?name[]=lagwarden_ready")[0].status == 200, "its places are released"


def test_a_client_that_reads_slowly_gets_the_whole_response(
    large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server limits the pace of reading, not its total time."""
    monkeypatch.setattr(http_server, "PROGRESS_SECONDS", 0.5)
    with (
        serve(large) as server,
        connect(server, METRICS.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as line,
    ):
        received = 0
        while got := line.recv(1 << 20):
            received += len(got)
            time.sleep(0.03)
        assert received > 30_000_000
        assert "slow_reader" not in refusals(server)


def test_a_connection_is_refused_if_none_can_be_evicted(
    large: PublishedSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new connection gets 503 and a `Retry-After` header if no connection can be evicted."""
    for limit in ("STALLED_SECONDS", "PROGRESS_SECONDS"):
        monkeypatch.setattr(http_server, limit, 3600.0)
    bounds = ConnectionLimits(total=60, per_address=10)
    with serving(large, limits=bounds) as server, contextlib.ExitStack() as stack:
        for _ in range(bounds.per_address):
            assert stack.enter_context(connect(server, METRICS)).recv(15) == b"HTTP/1.1 200 OK"
        with connect(server) as late:
            refusal = b"".join(iter(lambda: late.recv(4096), b""))
        assert refusal.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in refusal
        assert refusals(server) == {"connections": 1}


def test_incomplete_requests_are_closed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose request stays incomplete is closed, also if bytes arrive; one with complete requests stays."""
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.5)
    with serve() as server, contextlib.ExitStack() as stack:
        kept = keep_alive(server, stack)
        silent, slow = (stack.enter_context(connect(server, sends)) for sends in (b"GET /li", b""))
        assert is_closed(silent, sends=b"")
        assert is_closed(slow, sends=b"X")
        assert is_alive(kept)
        assert refusals(server) == {"request_timeout": 2}


def test_a_flood_of_pages_leaves_few_threads() -> None:
    """Three hundred requests for different pages leave no more threads than the limit of renderings."""
    with serve(PublishedSnapshot.build(snapshot(groups=[{"group": "g", "lag_sum": 1}]))) as server:
        before = threading.active_count()

        def flood(source: str) -> None:
            for number in range(30):
                assert get(server, f"/?filter={source}{number}", source=source)[0].status in {200, 503}

        threads = [threading.Thread(target=flood, args=(f"127.0.0.{number}",)) for number in range(10, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert threading.active_count() - before <= 4
