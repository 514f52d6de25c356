"""A server of the demo data on the loopback interface.

`python -m tests.page.served [GROUPS]` serves it with so many further groups, changing with the clock, for development.
"""

import contextlib
import functools
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from typing import Self

from exporters.cluster.exposition import PublishedCluster
from exporters.http.api_endpoints import ServedData
from exporters.http.server import HttpServer
from exporters.readmodel import GroupDetail, MonitorStatus, Snapshot
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.snapshots import status
from tests.page.demo_data import LINKS, demo_facts, demo_search, demo_snapshot, detail_of


class Served:
    """A server on the loopback interface. `show` replaces the snapshot; `live` changes it with the clock."""

    def __init__(
        self, snapshot: Snapshot, details: Callable[[str, float], GroupDetail | None] = detail_of, port: int = 0
    ) -> None:
        self._build: Callable[[], PublishedSnapshot] = functools.cache(lambda: PublishedSnapshot.build(snapshot))
        self._details = details
        cluster = PublishedCluster.build(demo_facts(snapshot.taken_at))
        served = ServedData(self._current, _status, self._detail, lambda: cluster, search=demo_search, links=LINKS)
        self._server = HttpServer("127.0.0.1", port, served)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def show(self, snapshot: Snapshot) -> None:
        self._build = functools.cache(lambda: PublishedSnapshot.build(snapshot))

    def record(self, snapshots: Iterable[Snapshot]) -> None:
        """Show snapshots one after the other, each to a client: only then the charts have them."""
        for snapshot in snapshots:
            self.show(snapshot)
            with urllib.request.urlopen(f"{self.url}api/v1/groups?limit=1") as answer:  # noqa: S310 -- this server
                answer.read()

    def live(self, snapshot: Callable[[float], Snapshot]) -> None:
        """Serve a new snapshot every second."""
        at = functools.lru_cache(1)(lambda second: PublishedSnapshot.build(snapshot(float(second))))
        self._build = lambda: at(int(time.time()))

    def _current(self) -> PublishedSnapshot:
        return self._build()

    def _detail(self, name: str) -> GroupDetail | None:
        return self._details(name, time.time())


def _status() -> MonitorStatus:
    now = time.time()
    return status(
        started_at=now - 7_200,
        tick={"taken_at": now, "series": 18_204},
        query={"last_at": now - 1.2},
        cluster_name=LINKS.cluster_name,
    )


def main(arguments: Sequence[str]) -> None:
    """Serve until Ctrl-C."""
    more = int(arguments[0]) if arguments else 0
    with Served(demo_snapshot(time.time())) as served, contextlib.suppress(KeyboardInterrupt):
        served.live(lambda now: demo_snapshot(now, more))
        print(served.url, flush=True)  # noqa: T201 -- for a person at a terminal
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
