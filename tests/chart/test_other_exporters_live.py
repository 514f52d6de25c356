"""The published queries and alert rules of other exporters in a real Prometheus that scrapes lagwarden's metrics."""

import contextlib
import http.server
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from sandbox.ports import LOOPBACK
from sandbox.programs.prometheus import JOB, Prometheus
from sandbox.programs.prometheus_tools import find_tool
from sandbox.waiting import wait_until
from tests.exporters.compatibility.other_world import NAMES, exposition_text, published

pytestmark = [pytest.mark.chart, pytest.mark.long, pytest.mark.timeout(300)]

SCRAPE: Final = 3
"""Seconds between two scrapes."""
HISTORY: Final = 20 * 60
STEP: Final = 60
"""Seconds of history before the first scrape, and between its samples."""
PACE: Final = 5
STEPS: Final = 30
"""Seconds per second of the world, and how many of its seconds are rendered; after those, it stands still."""


EVERYTHING: Final = dict.fromkeys(
    ("topic", "highThroughputTopics", "consumer_group", "consumergroup", "topOffsetCommitters"), ".*"
)
"""The variables of dashboards that may have all topics or groups as value."""


def filled(expression: str, values: Mapping[str, str]) -> str:
    """Replace the variables of a dashboard, `$name` or `${name}`, as Grafana does. Raises KeyError for an unknown one.

    Topics and groups are `All`, unless `values` has others; there is no namespace.
    """
    of_variable = EVERYTHING | {"__rate_interval": "1m", "__range_s": "600", "namespace": ""} | values
    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: of_variable[found[1] or found[2]], expression)


def published_queries(other: str, address: str) -> dict[str, str]:
    """Return each query of an exporter's dashboards and documentation as Prometheus gets it, by source and query."""
    facts = published(other)
    scope = {"instance": address, "cluster_name": facts.get("cluster", "kafka")}
    return {
        f"{group['source']}: {expression}": filled(expression, scope | group.get("variables", {}))
        for group in facts.get("queries", ())
        for expression in group["expressions"]
    }


def write_rules(groups: Sequence[dict[str, Any]], folder: Path, seconds: int) -> set[str]:
    """Write published rules as files of Prometheus, one group per source; returns the names of all rules.

    Prometheus evaluates the rules every `seconds`, without `for`, because a duration does not depend on metrics.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, group in enumerate(groups):
        content = {"groups": [{"name": group["source"], "interval": f"{seconds}s", "rules": group["rules"]}]}
        (folder / f"{number}.yaml").write_text(yaml.safe_dump(content))
    return {rule.get("alert") or rule["record"] for group in groups for rule in group["rules"]}


def results(prometheus: Prometheus) -> set[str]:
    """Return the names of the alerts that fire and of the recorded series that exist. Fails if a rule has an error."""
    rules = prometheus.rules()
    assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording" and prometheus.query(rule["name"])}
    return recorded | {rule["name"] for rule in rules if rule["type"] == "alerting" and rule["state"] == "firing"}


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


def write_history(other: str, address: str, folder: Path, begin: float, scraped: Mapping[str, str]) -> None:
    """Write the history of the metrics as blocks of Prometheus' database, with the labels that a scrape adds."""
    added = ",".join(f'{name}="{value}"' for name, value in ({"instance": address, "job": JOB} | scraped).items())
    lines, help_of = [], {}
    for at in range(int(begin) - HISTORY, int(begin) - STEP, STEP):
        for line in exposition_text(other, (at - int(begin) + HISTORY) // PACE).splitlines():
            if line.startswith("#"):
                help_of[line] = None
                continue
            name, _, value = line.rpartition(" ")
            if "{" not in name:
                name += "{}"
            labels = f"{{{added},"
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


@pytest.mark.parametrize("other", NAMES)
def test_every_published_query_and_rule_has_a_result(other: str, promtool: str, tmp_path: Path) -> None:
    """Prometheus accepts the scrape; each query of a dashboard returns rows, and each rule, loaded as one, fires."""
    assert promtool
    facts, begin = published(other), time.time()
    labels = facts.get("scrape_labels", {})
    quiet = write_rules(facts.get("rules", ()), tmp_path / "published", SCRAPE)
    assert facts.get("queries") or quiet
    texts = [exposition_text(other, HISTORY // PACE + step).encode() for step in range(STEPS)]
    with served(texts, begin) as address:
        write_history(other, address, tmp_path, begin, labels)
        empty = published_queries(other, address)
        folder = tmp_path / "published"
        with Prometheus(f"http://{address}", tmp_path, interval=SCRAPE, rules=folder, labels=labels) as prometheus:

            def all_had_results() -> bool:
                for each in [each for each, text in empty.items() if prometheus.query(text)]:
                    del empty[each]
                quiet.difference_update(results(prometheus))
                return not empty and not quiet

            # Differences over time need scrapes at two seconds of the world.
            with contextlib.suppress(TimeoutError):
                wait_until(all_had_results, "every query and rule to have a result", limit=60, pause=1)
    assert (list(empty), quiet) == ([], set())
