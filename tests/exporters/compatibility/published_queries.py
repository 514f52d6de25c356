"""What other exporters publish: the queries of their dashboards as Prometheus gets them, and their rules as files."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox.programs.prometheus import Prometheus
from tests.exporters.compatibility.peer_world import published

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


def published_queries(peer: str, address: str, cluster: str | None = None) -> dict[str, str]:
    """Return each query of an exporter's dashboards and documentation as Prometheus gets it, by source and query.

    `cluster` is the value of the variable of the cluster, by default the one that the queries name.
    """
    facts = published(peer)
    scope = {"instance": address, "cluster_name": cluster or facts.get("cluster", "kafka")}
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
