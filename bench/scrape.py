"""Measures a scrape of many series: the time until a client on loopback has the rendered bytes.

Client and server share this process and its interpreter lock, so a real scrape is rather faster.
"""

import dataclasses
import http.client
import time
from typing import Final

import numpy as np
import pyarrow as pa

from exporters.http.api_endpoints import ServedData
from exporters.http.server import HttpServer
from exporters.readmodel import (
    GROUPS,
    PARTITIONS,
    TRANSITIONS,
    UNKNOWN_LAGS,
    MonitorStatus,
    Snapshot,
    TickStatus,
)
from exporters.text.exposition import PublishedSnapshot
from sandbox.ports import LOOPBACK

_GROUPS: Final = 1000
_PARTITIONS_EACH: Final = 24
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
    published = PublishedSnapshot.build(_snapshot())
    status = _status(published)
    server = HttpServer(LOOPBACK, 0, ServedData(lambda: published, lambda: status))
    server.start()
    try:
        return [_scrape(server.port, encoding, published.exposition.series) for encoding in ("identity", "gzip")]
    finally:
        server.stop()


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


def _snapshot() -> Snapshot:
    names = [f"payments-service-{number:05d}" for number in range(_GROUPS)]
    rows = _GROUPS * _PARTITIONS_EACH
    offset = np.arange(rows, dtype=np.int64) * 1_000_003 % 10_000_000_000
    moment = pa.array(1_767_225_600_000 + offset % 86_400_000).cast(pa.timestamp("ms"))
    lag = offset % 5000
    partitions = {
        "group": pa.array(np.repeat(np.array(names, object), _PARTITIONS_EACH)),
        "topic": pa.array(["orders"] * rows),
        "partition": pa.array(np.tile(np.arange(_PARTITIONS_EACH, dtype=np.int32), _GROUPS)),
        "committed_offset": offset,
        "commit_time": moment,
        "progress_time": moment,
        "high_watermark": offset + lag,
        "last_stable_offset": offset + lag,
        "log_start_offset": np.zeros(rows, np.int64),
        "lag": lag,
    }
    per_group = lag.reshape(_GROUPS, _PARTITIONS_EACH)
    groups = {
        "group": names,
        "kind": ["classic"] * _GROUPS,
        "state": ["Stable"] * _GROUPS,
        "protocol_type": ["consumer"] * _GROUPS,
        "protocol": ["range"] * _GROUPS,
        "generation": [7] * _GROUPS,
        "members": [2] * _GROUPS,
        "partitions": [_PARTITIONS_EACH] * _GROUPS,
        "lag_sum": per_group.sum(axis=1),
        "lag_max": per_group.max(axis=1),
        "partitions_lag_unknown": [0] * _GROUPS,
        "last_commit_time": moment[::_PARTITIONS_EACH],
        "state_described": [False] * _GROUPS,
        "state_since": moment[::_PARTITIONS_EACH],
        "created_time": moment[::_PARTITIONS_EACH],
        **{name: [0] * _GROUPS for name in ("members_idle", "partitions_unowned", "topics_unsubscribed")},
    }
    happened = ("created", "emptied", "rebalanced")
    transitions = {
        "group": np.repeat(np.array(names, object), len(happened)),
        "transition": list(happened) * _GROUPS,
        "count": np.arange(_GROUPS * len(happened)) % 100,
    }
    return Snapshot(
        time.time(),
        _table(PARTITIONS, partitions),
        _table(GROUPS, groups),
        UNKNOWN_LAGS.empty_table(),
        _table(TRANSITIONS, transitions),
    )


def _table(schema: pa.Schema, columns: dict[str, object]) -> pa.Table:
    """Return a table of a schema; missing columns are null, plain values get the type of the schema."""
    rows = len(next(iter(columns.values())))  # type: ignore[arg-type]
    arrays = [
        pa.array(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)


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
