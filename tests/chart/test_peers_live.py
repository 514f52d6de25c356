"""The published queries and alert rules of other exporters in a real Prometheus that scrapes lagwarden's metrics.

Each exporter has its own Prometheus, whose database begins with twenty minutes of history, for rules that look back. It
then scrapes the same rendered text, whose offsets move. No broker is needed; all servers listen on 127.0.0.1.
"""

import contextlib
import http.server
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox.ports import LOOPBACK
from sandbox.programs.prometheus import JOB, Prometheus
from sandbox.programs.prometheus_tools import find_tool
from sandbox.waiting import wait_until
from tests.exporters.compatibility.peer_world import NAMES, exposition_text, published
from tests.exporters.compatibility.published_queries import published_queries, results, write_rules

pytestmark = [pytest.mark.chart, pytest.mark.long, pytest.mark.timeout(300)]

SCRAPE: Final = 3
"""Seconds between two scrapes."""
HISTORY: Final = 20 * 60
STEP: Final = 60
"""Seconds of history before the first scrape, and between its samples."""
PACE: Final = 5
STEPS: Final = 30
"""Seconds per second of the world, and how many of its seconds are rendered; after those, it stands still."""


@contextlib.contextmanager
def served(texts: Sequence[bytes], begin: float) -> Iterator[str]:
    """Serve each text for `PACE` seconds, the first until `begin`; yields the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = texts[min(max(0, int(time.time() - begin) // PACE), len(texts) - 1)]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Write nothing to the test's output."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_history(peer: str, address: str, folder: Path, begin: float) -> None:
    """Write the history of the metrics as blocks of Prometheus' database, with the labels that a scrape adds."""
    lines, help_of = [], {}
    for at in range(int(begin) - HISTORY, int(begin) - STEP, STEP):
        for line in exposition_text(peer, (at - int(begin) + HISTORY) // PACE).splitlines():
            if line.startswith("#"):
                help_of[line] = None
                continue
            name, _, value = line.rpartition(" ")
            if "{" not in name:
                name += "{}"
            labels = f'{{instance="{address}",job="{JOB}",'
            lines.append(
                (re.split(r"[{]", name)[0], f"{name.replace('{', labels, 1).replace(',}', '}')} {value} {at}\n")
            )
    types = {line.split()[2]: line for line in help_of if line.startswith("# TYPE")}
    text = "".join(
        types[name] + "\n" + "".join(line for each, line in lines if each == name)
        for name in dict.fromkeys(name for name, _ in lines)
    )
    source = folder / "history.txt"
    source.write_text(f"{text}# EOF\n", "utf-8")
    command = [find_tool("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(source), str(folder / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("peer", NAMES)
def test_every_published_query_and_rule_has_a_result(peer: str, promtool: str, tmp_path: Path) -> None:
    """Prometheus accepts the scrape; each query of a dashboard returns rows, and each rule, loaded as one, fires."""
    assert promtool
    facts, begin = published(peer), time.time()
    quiet = write_rules(facts.get("rules", ()), tmp_path / "published", SCRAPE)
    assert facts.get("queries") or quiet
    texts = [exposition_text(peer, HISTORY // PACE + step).encode() for step in range(STEPS)]
    with served(texts, begin) as address:
        write_history(peer, address, tmp_path, begin)
        empty = published_queries(peer, address)
        with Prometheus(f"http://{address}", tmp_path, interval=SCRAPE, rules=tmp_path / "published") as prometheus:

            def all_had_results() -> bool:
                for each in [each for each, text in empty.items() if prometheus.query(text)]:
                    del empty[each]
                quiet.difference_update(results(prometheus))
                return not empty and not quiet

            # Differences over time need scrapes at two seconds of the world.
            with contextlib.suppress(TimeoutError):
                wait_until(all_had_results, "every query and rule to have a result", limit=60, pause=1)
    assert (list(empty), quiet) == ([], set())


@pytest.mark.parametrize("peer", NAMES)
def test_prometheus_has_every_value(peer: str, promtool: str, tmp_path: Path) -> None:
    """Each rendered series is in Prometheus with the labels of the exporter and the same value."""
    assert promtool
    text = exposition_text(peer)
    wanted = [line for line in text.splitlines() if not line.startswith("#")]
    with (
        served([text.encode()], time.time()) as address,
        Prometheus(f"http://{address}", tmp_path, interval=SCRAPE) as prometheus,
    ):
        wait_until(lambda: _has_scraped(prometheus), "Prometheus to have scraped", limit=90)
        for line in wanted:
            series, _, value = line.rpartition(" ")
            read = prometheus.query(f"last_over_time({series}[5m])")
            assert [number for _, number in read] == [float(value)], line


def _has_scraped(prometheus: Prometheus) -> bool:
    """Return whether a scrape has succeeded."""
    return [value for _, value in prometheus.query(f'max_over_time(up{{job="{JOB}"}}[5m])')] == [1.0]
