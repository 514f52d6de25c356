"""Abusive HTTP clients of a running monitor: other scrapers are answered during and after the attack."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topics
from tests.integration.traffic import commit
from tests.support.monitor import Monitor
from tests.support.processes import patience, wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(420))]

ABUSERS: Final = ("127.0.0.1", "127.0.0.3", "127.0.0.4", "127.0.0.5")
SCRAPER: Final = "127.0.0.2"
GROUPS, PARTITIONS = 200, 20
DESCRIPTORS: Final = 1024
"""A usual limit of descriptors, which this monitor cannot raise."""
_LIMITED: Final = (
    f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))\n"
    "import sys; from stream.cli.app import main; sys.exit(main())"
)
REQUEST: Final = "GET {} HTTP/1.1\r\nHost: monitor\r\n\r\n"
RETURNED_BYTES: Final = 64 << 20
"""The allowed growth of resident memory after an attack."""
RENDERING_THREADS: Final = 4


@pytest.fixture(scope="module")
def monitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    """Return a ready monitor whose `/metrics` is larger than the buffers of a connection."""
    with Broker() as broker:
        create_topics(broker.bootstrap, {"t": PARTITIONS})
        for number in range(GROUPS):
            commit(broker.bootstrap, f"group-{number:04}-{'x' * 100}", "t", dict.fromkeys(range(PARTITIONS), 0))
        with Monitor(broker.bootstrap, tmp_path_factory.mktemp("monitor"), program=("-c", _LIMITED)) as running:
            running.wait_ready().wait_ticks(2)
            yield running


@pytest.fixture(autouse=True)
def _many_descriptors() -> Iterator[None]:
    """Raise the descriptor limit of the attacker above that of the monitor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(monitor: Monitor, source: str, receive_buffer: int | None = None) -> socket.socket:
    """Open a connection from one of the loopback addresses."""
    line = socket.socket()
    if receive_buffer is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    line.settimeout(patience(10))
    line.bind((source, 0))
    line.connect(("127.0.0.1", monitor.port))
    return line


def get(monitor: Monitor, path: str, source: str = SCRAPER) -> tuple[int, bytes]:
    """Send a GET request on a new connection; return status and body."""
    client = http.client.HTTPConnection("127.0.0.1", monitor.port, timeout=patience(20), source_address=(source, 0))
    with contextlib.closing(client):
        client.request("GET", path)
        answer = client.getresponse()
        return answer.status, answer.read()


def assert_scraped(monitor: Monitor) -> bytes:
    """Assert that a scraper and a kubelet, from another address, are answered; return the metrics."""
    assert get(monitor, "/livez")[0] == 200
    code, body = get(monitor, "/metrics")
    assert code == 200
    return body


def value(metrics: bytes, series: str) -> float:
    """Return the value of a series; 0 without it. To parse all other series takes seconds."""
    lines = (line for line in metrics.decode().splitlines() if line.startswith(f"{series} "))
    return float(next(lines, "0").rpartition(" ")[2])


def refused(monitor: Monitor, reason: str) -> float:
    """Return the number of clients refused for this reason."""
    return value(assert_scraped(monitor), f'lagwarden_http_refusals_total{{reason="{reason}"}}')


class ProcessUsage:
    """Threads, descriptors and resident bytes of a process."""

    def __init__(self, process: int) -> None:
        folder = Path("/proc") / str(process)
        status = (folder / "status").read_text(encoding="ascii", errors="replace")
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        self.threads = int(fields["Threads"])
        self.resident = int(fields["VmRSS"].split()[0]) << 10
        self.descriptors = len(list((folder / "fd").iterdir()))

    def has_returned_to(self, before: ProcessUsage) -> bool:
        """Return whether all resources of an attack are released."""
        return (
            self.threads <= before.threads + RENDERING_THREADS
            and self.descriptors <= before.descriptors + 8
            and self.resident <= before.resident + RETURNED_BYTES
        )

    def __str__(self) -> str:
        return f"{self.threads} threads, {self.descriptors} descriptors, {self.resident >> 20} MiB"


@pytest.fixture
def connections() -> contextlib.ExitStack:
    """Return a stack of the attacker's connections; it is closed before the final check."""
    return contextlib.ExitStack()


@pytest.fixture
def attacked(
    monitor: Monitor, connections: contextlib.ExitStack, report: Callable[[str], None], request: pytest.FixtureRequest
) -> Iterator[Monitor]:
    """Return the monitor; after the attack it still ticks and has released the resources."""
    for path in ("/", "/metrics"):
        assert get(monitor, path)[0] == 200
    before, process, began = ProcessUsage(monitor.pid), monitor.pid, time.monotonic()
    with connections:
        yield monitor
        during = ProcessUsage(process)
    try:
        wait_until(lambda: ProcessUsage(process).has_returned_to(before), "the resources to be released", limit=30)
    finally:
        took = f"{time.monotonic() - began:.0f} s"
        report(f"{request.node.name}: before {before}; during {during}; after {ProcessUsage(process)}; {took}")
    monitor.wait_ticks(1)
    assert (monitor.running, monitor.pid) == (True, process)
    assert monitor.get("/readyz").status == 200


def test_more_idle_connections_than_descriptors(attacked: Monitor, connections: contextlib.ExitStack) -> None:
    """Four addresses open twelve hundred connections without requests. The monitor closes the excess."""
    for number in range(1200):
        connections.enter_context(connect(attacked, ABUSERS[number % len(ABUSERS)]))
        if number % 400 == 399:
            assert_scraped(attacked)
    attacked.wait_ticks(1)
    metrics = assert_scraped(attacked)
    assert 0 < value(metrics, "lagwarden_http_connections") <= 512
    assert value(metrics, 'lagwarden_http_refusals_total{reason="idle"}') >= 1200 - 512


def test_clients_that_read_nothing(attacked: Monitor, connections: contextlib.ExitStack) -> None:
    """At least ten of forty clients that read no response are refused, and other clients are answered."""
    before = refused(attacked, "slow_reader")
    for _ in range(40):
        line = connections.enter_context(connect(attacked, ABUSERS[0], receive_buffer=4096))
        line.sendall(REQUEST.format("/metrics").encode())
    wait_until(lambda: refused(attacked, "slow_reader") - before >= 10, "slow readers to be closed", pause=0.5)
    assert get(attacked, "/metrics", ABUSERS[0])[0] == 200, "connections of that address are available again"
