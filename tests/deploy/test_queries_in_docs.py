"""The PromQL of the documentation selects existing series and never mixes clusters."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.chart.values_schema import CHART
from tests.chart.promql import asked, clusters_mixed, faults, known, parsed
from tests.chart.test_rules_written import RECORDED

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = (ROOT / "docs", ROOT / "exporters" / "page" / "runbooks", CHART)
PAGES: Final = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted(folder.rglob("*.md")))]
SERIES: Final = known(RECORDED)


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
    assert {page for page, _ in QUERIES} >= {"metrics.md", "kminion.md", "alerting.md", "cluster.md", "autoscaling.md"}
    assert [(place, mixed) for place in QUERIES if (mixed := clusters_mixed(place[1]))] == []
    own = [place for place in QUERIES if all(each.metric.startswith("lagwarden") for each in asked(place[1]))]
    assert [(place, found) for place in own if (found := faults(place[1], SERIES))] == []
