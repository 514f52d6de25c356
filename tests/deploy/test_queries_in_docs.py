"""The PromQL of the documentation selects existing series, never mixes clusters, and has joins with a result."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from deploy.chart.values_schema import CHART
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool
from tests.chart.alerts.case import run_promtool
from tests.chart.promql import asked, clusters_mixed, faults, known, parsed
from tests.chart.test_rules_written import RECORDED

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(CHART.glob("*.md"))]
SERIES: Final = known(RECORDED)
EAST: Final = 'job="lagwarden",instance="collector:8889",cluster="east",group="billing"'
WEST: Final = EAST.replace("east", "west")


def queries(text: str) -> Iterator[str]:
    """Yield the PromQL of a page, except plain selectors: code spans, blocks, and fields of YAML blocks."""
    parts = re.split(r"^\s*```(.*)$", text, flags=re.MULTILINE)
    prose, blocks = parts[::4], zip(parts[1::4], parts[2::4], strict=True)
    found = [" ".join(span.split()) for part in prose for span in re.findall(r"`([^`]+)`", part)]
    for language, block in blocks:
        found += yaml_queries(yaml.safe_load(block)) if language.strip() == "yaml" else [block]
    for each in found:
        expression = each.replace("<<.LabelMatchers>>", 'group="x"')
        if re.search(r"\b(lagwarden[_:]|kafka_|kminion_|burrow_)", expression) and is_calculation(expression):
            yield expression


def yaml_queries(value: Any) -> list[str]:
    """Return the values of the fields that have PromQL, at any depth."""
    if isinstance(value, list):
        return [query for each in value for query in yaml_queries(each)]
    if not isinstance(value, dict):
        return []
    own = [text for name, text in value.items() if name in {"expr", "query", "metricsQuery"}]
    return own + [query for each in value.values() for query in yaml_queries(each)]


def is_calculation(text: str) -> bool:
    """Return whether a text is PromQL with an operator or a function."""
    try:
        return type(parsed(text)).__name__ != "VectorSelector"
    except ValueError:
        return False


QUERIES: Final = sorted({(page.name, query) for page in PAGES for query in queries(page.read_text("utf-8"))})


def test_queries_select_existing_series_and_never_mix_clusters() -> None:
    """Queries are found in code spans, in blocks, and in fields of YAML blocks.

    Each sum and each join is within a cluster, each series and label of lagwarden exists, and only counters have rates.
    """
    assert {page for page, _ in QUERIES} >= {"metrics.md", "kminion.md", "owners.md", "cluster.md", "autoscaling.md"}
    assert [(place, mixed) for place in QUERIES if (mixed := clusters_mixed(place[1]))] == []
    own = [place for place in QUERIES if all(each.metric.startswith("lagwarden") for each in asked(place[1]))]
    assert [(place, found) for place in own if (found := faults(place[1], SERIES))] == []


def test_a_query_that_mixes_clusters_is_noticed() -> None:
    """The check finds joins and sums across clusters, and accepts a sum by cluster."""
    assert clusters_mixed("lagwarden_group_lag * on (group) lagwarden_group_info") == ["on (group)"]
    assert clusters_mixed("sum by (group, topic) (lagwarden_partition_lag)") == ["by (group, topic)"]
    assert clusters_mixed("sum(lagwarden_group_lag)") == ["sum of everything"]
    assert clusters_mixed("sum without (cluster) (lagwarden_group_lag)") == ["without (cluster)"]
    assert clusters_mixed("sum by (cluster, group) (lagwarden_partition_lag)") == []


@pytest.mark.chart
def test_the_join_of_owners_uses_the_owner_of_the_same_cluster(tmp_path: Path) -> None:
    """Groups of the same name in two clusters behind one collector each get the owner of their own cluster."""
    try:
        promtool = find_tool("promtool", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))
    (query,) = (each for page, each in QUERIES if page == "owners.md")
    given = {
        f"lagwarden_group_time_lag_seconds{{{EAST}}}": "30x2",
        f"lagwarden_group_time_lag_seconds{{{WEST}}}": "70x2",
        f'lagwarden_group_owner_info{{{EAST},team="payments",tier="1",link="https://a"}}': "1x2",
        f'lagwarden_group_owner_info{{{WEST},team="search",max_severity="info",link="https://b"}}': "1x2",
    }
    wanted = [
        {"labels": f'{{{EAST},team="payments",tier="1"}}', "value": 30},
        {"labels": f'{{{WEST},team="search",max_severity="info"}}', "value": 70},
    ]
    test = {
        "interval": "30s",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [{"expr": query, "eval_time": "1m", "exp_samples": wanted}],
    }
    assert run_promtool(promtool, [test], tmp_path, []) is None
