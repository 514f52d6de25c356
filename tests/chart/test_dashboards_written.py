"""The files of the dashboards: the rules of Grafana's linter, and queries of existing series."""

import re
from pathlib import Path
from typing import Final

import pytest

from deploy.chart.values_schema import CHART
from tests.chart.alerts.case import alerts
from tests.chart.boards import BOARDS, annotation_queries, filled, panels, queries
from tests.chart.promql import asked, faults, keeps_clusters, known, metrics_of, named_labels
from tests.chart.test_rules_written import RECORDED, STANDARD

ROOT: Final = Path(__file__).resolve().parents[2]
SERIES: Final = known(RECORDED)
# Values of the variables, so that the parser gets the query that Prometheus would get.
SAMPLE: Final[dict[str, str | list[str]]] = {
    "job": ["lagwarden"],
    "cluster": ["eu", "us"],
    "instance": ["a:1", "b:1"],
    "group": 'say "hi"',
    "topic": ["a.b", "c"],
}
VARIABLES: Final = {
    "overview": ["datasource", "job", "cluster", "instance"],
    "group": ["datasource", "job", "cluster", "instance", "group", "topic"],
    "monitor": ["datasource", "job", "cluster", "instance"],
}
# Removal causes and verdicts, which runbooks have in italics, like the titles of panels.
WORDS: Final = {"Stalled", "Poison record", "Expired", "Deleted", "Skewed", "Never committed"}

EVERY_PANEL: Final = [panel for name in BOARDS for panel in panels(name)]
FILLED: Final = {query: filled(query.expression, SAMPLE) for query in (*queries(), *annotation_queries())}
"""Every query of a panel or a mark, with the expression that Prometheus would get."""
OF_PANELS: Final = {query: FILLED[query] for query in queries()}


# By default the builders make the newer form, which only Grafana 12 and later read.
@pytest.mark.filterwarnings("ignore:Prefer using dashboardv2:DeprecationWarning")
def test_the_files_are_those_of_the_code() -> None:
    """The dashboard files are current. `python -m deploy.dashboards` writes them."""
    pytest.importorskip("grafana_foundation_sdk", reason="grafana-foundation-sdk is not installed (dev extra)")
    from deploy.dashboards.__main__ import files

    assert {path: path.read_text() for path in sorted((CHART / "dashboards").glob("*.json"))} == files()


def test_queries_select_existing_series() -> None:
    """Series, labels and legends exist with `metrics.preset: standard`, also of marks; only counters have rates."""
    assert [(query.name, found) for query, text in FILLED.items() if (found := faults(text, SERIES))] == []
    labels = {
        query: set[str]().union(*(SERIES[each.metric] for each in asked(text)), named_labels(text))
        for query, text in FILLED.items()
    }
    assert [each.name for each, there in labels.items() if set(re.findall(r"{{(\w+)}}", each.legend)) - there] == []
    assert [query.name for query, text in FILLED.items() if metrics_of(text, RECORDED) - STANDARD] == []


def test_queries_select_the_chosen_monitor_and_group() -> None:
    """Each selector has job, instance and cluster. A selector of the Group dashboard also has the group."""
    selectors = [(query, each) for query, text in OF_PANELS.items() for each in asked(text)]
    assert [query.name for query, each in selectors if not {"job", "instance"} <= each.labels] == []
    wrong = [
        query.name for query, each in selectors if ("cluster" in each.labels) != ("cluster" in SERIES[each.metric])
    ]
    assert wrong == []
    of_group = [(query, each) for query, each in selectors if query.board == "group" and "group" in SERIES[each.metric]]
    chosen = ("group", "MatchOp.Equal", 'say "hi"')
    assert [query.name for query, each in of_group if chosen not in each.matchers] == []


def test_clusters_are_not_mixed() -> None:
    """Joins, and sums by group, topic or the key of a common cause, are within a cluster.

    So is every maximum and minimum. A legend has the label of the cluster if a result has it. Without a legend Grafana
    shows all labels.
    """
    for query in queries():
        for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", query.expression):
            named = set(re.split(r"[ ,]+", labels))
            assert "cluster" in named or not named & {"group", "topic", "key"}, query.expression
        for labels in re.findall(r"\b(?:max|min)(?: by \(([^)]*)\))? ?\(", query.expression):
            assert "cluster" in re.split(r"[ ,]+", labels), query.expression
    legends = {query.legend for query, text in OF_PANELS.items() if keeps_clusters(text, SERIES)} - {""}
    assert [legend for legend in legends if "{{cluster}}" not in legend] == []


def test_alerts_and_runbooks_name_existing_dashboards_and_panels() -> None:
    """The addresses in alerts have existing dashboards and variables of them. The panels in a runbook exist."""
    assert {"job", "group", "cluster"} <= set(VARIABLES["group"])
    assert {"job", "cluster"} <= set(VARIABLES["monitor"]) & set(VARIABLES["overview"])
    titles = {panel["title"] for panel in EVERY_PANEL}
    for alert in alerts():
        text = (ROOT / "exporters" / "page" / "runbooks" / f"{alert}.md").read_text().partition("## Diagnosis")[2]
        named = {" ".join(words.split()) for words in re.findall(r"(?<![*\w])\*([A-Z_][^*]*)\*(?![*\w])", text)}
        assert named - WORDS <= titles, alert
