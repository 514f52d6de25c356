"""Dashboards, rules and series in a real Prometheus that scrapes a real lagwarden under traffic."""

import dataclasses
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox.demo.workload import Workload
from sandbox.kafka.broker import Broker
from sandbox.ports import LOOPBACK
from sandbox.programs.prometheus import Prometheus
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool
from sandbox.waiting import wait_until
from tests.chart.boards import PanelQuery, annotation_queries, filled, queries
from tests.support.monitor import Monitor

pytestmark = [pytest.mark.chart, pytest.mark.long, pytest.mark.timeout(900)]

SCRAPE: Final = 1
"""Seconds between two scrapes. A rate is over four seconds."""
CLUSTER: Final = "north"
SETTINGS: Final = {
    "job.tick_interval": "4s",
    "job.freshness_limit": "60s",
    "metrics.preset": "standard",
    "metrics.cluster_name": CLUSTER,
    # Late at once, so that the panels and rules about targets have something to show.
    "metrics.targets": "stalled=1s,.*=1h",
    # The faults of the workload begin before the monitor starts.
    "health.day_one": "0s",
}
SICK: Final = "stalled"
"""A group of the workload that stands still on one partition, and is opened in the group's dashboard."""
MAY_BE_EMPTY: Final = {
    "monitor: Catch-up": "it is over",
    "monitor: Decode errors": "there are none",
    "monitor: Last stable offset gap": "no transaction stays open",
    "monitor: Left out by the budget": "nothing is left out",
    "monitor: Groups hidden by offsets partitions": "all partitions have their leader",
    "monitor: Growth of __consumer_offsets": "two polls of the cluster are needed",
    "overview: Common causes": "no groups became unhealthy together",
    "overview: Recently died": "no group is, after the retention period",
    "overview: Lag not known": "all lags are",
    "overview: Lag of share groups": "the workload has none",
    "overview: Archived by share groups": "the workload has none",
    "monitor: Reassignments": "no partition is being moved",
    "group: Unfinished records": "the group is no share group",
    "group: Finished and archived": "the group is no share group",
    "overview: Verdict changes": "they change only now and then",
    "group: Offsets expire in": "not while it has members",
    "group: Expiry": "not while it has members",
    "group: Hot partitions": "all partitions get about as many records",
    "group: Lag not known": "all lags are",
    "group: Time to catch up": "a partition that stands still never will",
}
"""Panels without data in a healthy run, and why."""


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """All running processes."""

    traffic: Workload
    monitor: Monitor
    prometheus: Prometheus

    def values(self) -> dict[str, str | list[str]]:
        """Return the values of the dashboards' variables."""
        topics = self.prometheus.label_values(f'lagwarden_partition_lag{{group="{SICK}"}}', "topic")
        scope: dict[str, str | list[str]] = {"job": ["lagwarden"], "instance": [f"{LOOPBACK}:{self.monitor.port}"]}
        return {**scope, "cluster": CLUSTER, "group": SICK, "topic": topics}

    def ask(self, query: PanelQuery) -> list[dict[str, str]]:
        """Query as Grafana does; return the labels of each series that has data."""
        text = filled(query.expression, self.values(), SCRAPE)
        if query.instant:
            return [labels for labels, _ in self.prometheus.query(text)]
        end = time.time()
        return [labels for labels, _ in self.prometheus.query_range(text, end - 60, end, 2)]

    def api(self, path: str) -> Any:
        """Request lagwarden itself."""
        return self.monitor.get(f"/api/v1/{path}").json


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Start everything, and wait until the sick group has its verdict."""
    try:
        find_tool("prometheus", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))
    folder: Path = tmp_path_factory.mktemp("world")
    with Broker() as broker, Workload(broker.bootstrap) as traffic:
        traffic.wait_until_settled()
        with Monitor(broker.bootstrap, folder, SETTINGS) as monitor:
            monitor.wait_ready()
            target = f"http://{LOOPBACK}:{monitor.port}"
            with Prometheus(target, folder / "prometheus", interval=SCRAPE, short_rules=True) as prometheus:
                sick = f'lagwarden_group_verdict{{group="{SICK}", severity=~"warning|critical"}}'
                wait_until(lambda: bool(prometheus.query(sick)), f"{SICK} to be seen as sick", limit=300)
                # Rates and panels over time need some history.
                time.sleep(15)
                yield World(traffic, monitor, prometheus)


def test_every_scrape_is_accepted(world: World) -> None:
    """Prometheus and its linter find no fault in the exposition of a real run, whose job is the one of the rules."""
    assert world.prometheus.scrape_error() is None
    assert [value for _, value in world.prometheus.query('up{job="lagwarden"}')] == [1.0]
    command = [find_tool("promtool", fetch=True), "check", "metrics"]
    text = world.monitor.get("/metrics").text
    own = "".join(line for line in text.splitlines(keepends=True) if "lagwarden_" in line)
    done = subprocess.run(command, input=own, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_rule_is_evaluated(world: World) -> None:
    """No rule fails on real series, texts have no empty placeholder, and no alert is about the healthy monitor."""
    rules = world.prometheus.rules()
    assert len(rules) > 20
    assert [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"] == []
    firing = [alert for rule in rules for alert in rule.get("alerts", [])]
    assert {alert["labels"]["alertname"] for alert in firing} >= {"LagwardenGroupStuck"}
    for alert in firing:
        for text in alert["annotations"].values():
            assert not re.search(r"error|<no value>|\{\{|  ", text), text
    alerts = [alert for rule in world.prometheus.rules() for alert in rule.get("alerts", [])]
    firing = [alert["labels"] for alert in alerts if alert["state"] == "firing"]
    assert [labels["alertname"] for labels in firing if labels["about"] == "monitor"] == []


def test_every_panel_shows_something(world: World) -> None:
    """No query is refused, required ones have data with the legend's labels, and marks have the verdict changes."""
    seen = {query: world.ask(query) for query in queries()}
    empty = {query.name for query in queries()} - {query.name for query, found in seen.items() if found}
    assert empty - set(MAY_BE_EMPTY) == set()
    for query, found in seen.items():
        wanted = set(re.findall(r"{{(\w+)}}", query.legend))
        assert all(wanted <= labels.keys() for labels in found), query.name
    seen = {mark.panel: world.ask(mark) for mark in annotation_queries()}
    assert seen.keys() == {"Rebalance", "Verdict"}
    assert [labels["verdict"] for labels in seen["Verdict"]] != []
