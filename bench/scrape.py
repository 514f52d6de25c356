"""Measures a scrape of the default preset at 33,000 group partitions.

The time is that until a client on loopback has the rendered bytes. Client and server share this process and its
interpreter lock, so a real scrape is rather faster.
"""

import dataclasses
import http.client
import time
from collections.abc import Sequence
from typing import Final

from bench import report
from bench.job import Job, initial_records
from bench.tick import Ticking
from bench.traffic import Traffic
from exporters.catalogue.metric import Preset
from exporters.http.api_endpoints import ServedData
from exporters.http.server import HttpServer
from exporters.readmodel import MonitorStatus, TickStatus
from exporters.selection.series import SeriesSelection, SeriesSelector
from exporters.text.exposition import PublishedSnapshot
from sandbox.ports import LOOPBACK

_TRAFFIC: Final = Traffic(records=34_650, groups=1650)
_SHARDS: Final = 64
_REPEATS: Final = 21


@dataclasses.dataclass(frozen=True, slots=True)
class Scrape:
    """The median of several scrapes."""

    encoding: str
    series: int
    size: int
    """Bytes on the wire."""
    seconds: float


def scrapes() -> list[Scrape]:
    """Render a snapshot once, scrape it plain and compressed, and return both measurements."""
    job = Job(_TRAFFIC, _SHARDS)
    for chunk in initial_records(_TRAFFIC):
        for _ in job.read(chunk):
            pass
    ticking = Ticking(_TRAFFIC, SeriesSelector(SeriesSelection(Preset.STANDARD)))
    ticking.seed(job.states)
    published = ticking.tick([])
    status = _status(published)
    server = HttpServer(LOOPBACK, 0, ServedData(lambda: published, lambda: status))
    server.start()
    try:
        return [_scrape(server.port, encoding, published.exposition.series) for encoding in ("identity", "gzip")]
    finally:
        server.stop()


def scrape_table(rows: Sequence[Scrape]) -> str:
    """Return the table of scrapes of `/metrics`."""
    heads = ("scrape on loopback", "series", "bytes", "milliseconds")
    cells = [(row.encoding, f"{row.series:,}", f"{row.size:,}", f"{row.seconds * 1000:.1f}") for row in rows]
    return report.table(heads, cells)


def _scrape(port: int, encoding: str, series: int) -> Scrape:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
    seconds, size = [], 0
    for _ in range(_REPEATS):
        began = time.perf_counter()
        connection.request("GET", "/metrics", headers={"Accept-Encoding": encoding})
        response = connection.getresponse()
        size = len(response.read())
        seconds.append(time.perf_counter() - began)
        if response.status != http.client.OK:
            raise RuntimeError(f"a scrape was answered with {response.status}")
    connection.close()
    return Scrape(encoding, series, size, sorted(seconds)[_REPEATS // 2])


def _status(published: PublishedSnapshot) -> MonitorStatus:
    return MonitorStatus(
        version="0",
        cluster_id=None,
        phase="running",
        ready=True,
        not_ready_reasons=(),
        started_at=time.time(),
        kafka_reachable=True,
        tick=TickStatus(taken_at=time.time(), series=published.exposition.series),
    )
