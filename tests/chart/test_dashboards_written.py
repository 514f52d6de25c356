"""The files of the dashboards: the rules of Grafana's linter, and queries of existing series."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.chart.values_schema import CHART
from exporters.catalogue.metric import MetricSource
from exporters.catalogue.metrics import METRICS
from tests.chart.alerts.case import alerts
from tests.chart.boards import BOARDS, PanelQuery, annotation_queries, filled, panels, queries
from tests.chart.promql import asked, faults, keeps_clusters, known, metrics_of, named_labels, template_queries
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

WITHOUT_PANEL: Final = {
    "lagwarden_quorum_leader_epoch": "a number without a scale; LagwardenQuorumNoLeader and the API use the quorum",
    "lagwarden_cluster_feature_level": "changes with an upgrade only; the number of version sets has a panel",
    "lagwarden_controller": "an id; the API and the page name the controller",
    "lagwarden_cluster_facts_timestamp_seconds": "failed polls are logged; their series go",
    "lagwarden_cluster_facts_duration_seconds": "of interest only while a poll is examined",
    "lagwarden_topic_partitions": "a number that hardly changes; for joins",
    "lagwarden_group_topic_time_lag_seconds": "replaces the time lag per partition with metrics.granularity: topic",
    "lagwarden_group_folded_groups": "says how many groups stand behind a row of the others",
    "lagwarden_group_scalable_lag": "for autoscalers (docs/autoscaling.md)",
    "lagwarden_snapshot_age_seconds": "the timestamp has a panel; an age that is not scraped does not grow",
    "lagwarden_last_batch_timestamp_seconds": "the snapshot age shows the same fault",
    "lagwarden_offsets_partition_high_watermark": "the distance to the end has a panel",
    "lagwarden_offsets_partition_last_stable_offset": "the last stable offset gap has a panel",
    "lagwarden_offsets_partition_held_back_info": "names the producer; the runbook of the alert joins it",
    "lagwarden_offsets_retention_info": "a setting; for joins",
    "lagwarden_offsets_retention_seconds": "a setting",
    "lagwarden_offsets_retention_check_interval_seconds": "a setting",
    "lagwarden_expiry_error_seconds": "the outcomes of the predictions have a panel",
    "lagwarden_unreadable_tails": "a detail of verdicts about compacted topics",
    "lagwarden_processes": "their memory, CPU and descriptors have panels by role",
    "lagwarden_executors": "only with executors; docs/cluster.md has a rule",
    "lagwarden_executors_expected": "as lagwarden_executors",
    "lagwarden_checkpoint_files": "the size of the checkpoint has a panel",
    "lagwarden_state_snapshot_timestamp_seconds": "matters for the duration of the next start only",
    "lagwarden_state_repairs_total": "rare; for alerts of your own",
    "lagwarden_http_connections": "a detail of the server",
    "lagwarden_http_refusals_total": "a detail of the server",
    "lagwarden_file_failures_total": "rare, and logged",
    "lagwarden_webhook_failures_total": "has the reasons of an alert (docs/webhook.md)",
    "lagwarden_webhook_events_sent_total": "only with a webhook, whose faults have an alert",
    "lagwarden_otlp_points_sent_total": "only with OTLP",
    "lagwarden_otlp_failures_total": "only with OTLP, and logged",
    "lagwarden_otlp_export_timestamp_seconds": "only with OTLP",
}
"""Metrics of the default preset that neither a panel nor an alert uses, with the reason."""

ABOUT_CLUSTER: Final = {metric.name for metric in METRICS if metric.source.in_cluster}
"""Metrics that the first of several instances shows."""
OF_TOPICS: Final = {metric.name for metric in METRICS if metric.source is MetricSource.LOG_ENDS}
"""Metrics of topics that groups read, which each instance shows for the groups that it has."""

every_board = pytest.mark.parametrize("name", BOARDS)
every_query = pytest.mark.parametrize("query", queries(), ids=lambda query: query.name)
every_panel = pytest.mark.parametrize(
    "panel", [panel for name in BOARDS for panel in panels(name)], ids=lambda panel: panel["title"]
)


# By default the builders make the newer form, which only Grafana 12 and later read.
@pytest.mark.filterwarnings("ignore:Prefer using dashboardv2:DeprecationWarning")
def test_the_files_are_those_of_the_code() -> None:
    """The dashboard files are current. `python -m deploy.dashboards` writes them."""
    pytest.importorskip("grafana_foundation_sdk", reason="grafana-foundation-sdk is not installed (dev extra)")
    from deploy.dashboards.__main__ import files  # noqa: PLC0415 -- it needs what may be missing

    assert {path: path.read_text() for path in sorted((CHART / "dashboards").glob("*.json"))} == files()


@every_board
def test_a_dashboard_is_read_only_and_linked(name: str) -> None:
    """A dashboard is not editable, has the uid of alerts' links, a description, and links to the others."""
    made = BOARDS[name]
    assert made["editable"] is False
    assert made["uid"] == f"lagwarden-{name}"
    assert made["title"] == f"lagwarden / {name.title()}"
    assert made["description"].endswith(".")
    others = {f"/d/lagwarden-{other}" for other in BOARDS if other != name}
    assert {link["url"] for link in made["links"]} == others
    assert all(link["includeVars"] and link["keepTime"] for link in made["links"])


@every_board
def test_a_dashboard_has_the_linters_variables(name: str) -> None:
    """The first four variables are those of the linter. A change of the time range queries the values again."""
    variables = BOARDS[name]["templating"]["list"]
    assert [each["name"] for each in variables] == VARIABLES[name]
    source, *others = variables
    assert (source["type"], source["query"], source["label"]) == ("datasource", "prometheus", "Data source")
    for each in others:
        assert each["type"] == "query"
        assert each["refresh"] == 2
        assert each["datasource"]["uid"] == "${datasource}"
        series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", each["query"]["query"]).groups()  # type: ignore[union-attr]
        assert faults(filled(series, SAMPLE), SERIES) == []
        assert label in SERIES[asked(filled(series, SAMPLE))[0].metric]
        assert each["multi"] == each["includeAll"] == (each["name"] != "group")


@every_panel
def test_a_panel_has_a_title_and_a_description(panel: dict[str, Any]) -> None:
    """Each panel also has a unit, the chosen data source, and at least one query."""
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"]
    assert {json.dumps(target["datasource"]) for target in panel["targets"]} == {json.dumps(panel["datasource"])}
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    # Several lines of one panel need names.
    assert len(panel["targets"]) == 1 or panel["type"] == "table" or all(t["legendFormat"] for t in panel["targets"])


@every_panel
def test_seconds_are_shown_as_seconds(panel: dict[str, Any]) -> None:
    """Only times have the unit of seconds, also beside counts, so that a time is not a flat line."""
    defaults, overrides = panel["fieldConfig"]["defaults"], panel["fieldConfig"].get("overrides", [])
    units = {
        each["matcher"]["options"]: each["properties"][0]["value"]
        for each in overrides
        if each["properties"][0]["id"] == "unit"
    }
    headings = [
        option["options"].get("renameByName", {})
        for option in panel.get("transformations", [])
        if option["id"] == "organize"
    ]
    for target in panel["targets"]:
        heading = headings[0][f"Value #{target['refId']}"] if headings else target["refId"]
        metric = asked(filled(target["expr"], SAMPLE))[0].metric
        # A lag divided by its rate of decrease is a time, too.
        timed = (metric.endswith("_seconds") and "rate(" not in target["expr"]) or "/ (0 - deriv(" in target["expr"]
        assert (units.get(heading, defaults["unit"]) == "s") == timed, target["expr"]


@every_board
def test_panels_have_unique_ids_and_do_not_overlap(name: str) -> None:
    """Ids and titles are unique, and no two panels share a place."""
    every = BOARDS[name]["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    assert len({panel["title"] for panel in every}) == len(every)
    places = [
        (x, y)
        for panel in every
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < 24


@every_query
def test_a_query_selects_existing_series(query: PanelQuery) -> None:
    """Every series and label exists, only counters have rates, and legends use labels of the result."""
    text = filled(query.expression, SAMPLE)
    assert faults(text, SERIES) == []
    there = set[str]().union(*(SERIES[each.metric] for each in asked(text)), named_labels(text))
    assert set(re.findall(r"{{(\w+)}}", query.legend)) <= there


@every_query
def test_a_query_needs_no_more_than_the_default_preset(query: PanelQuery) -> None:
    """The dashboards have no panel that stays empty with `metrics.preset: standard`."""
    assert metrics_of(filled(query.expression, SAMPLE), RECORDED) - STANDARD == set()


@pytest.mark.parametrize("mark", annotation_queries(), ids=lambda mark: mark.name)
def test_a_mark_needs_no_more_than_the_default_preset(mark: PanelQuery) -> None:
    """The dashboards have no mark that is missing with `metrics.preset: standard`."""
    assert metrics_of(filled(mark.expression, SAMPLE), RECORDED) - STANDARD == set()


@every_query
def test_a_query_selects_the_chosen_monitor_and_group(query: PanelQuery) -> None:
    """Each selector has job, instance and cluster. A selector of the Group dashboard also has the group."""
    for each in asked(filled(query.expression, SAMPLE)):
        assert {"job", "instance"} <= each.labels
        assert ("cluster" in each.labels) == ("cluster" in SERIES[each.metric])
        if query.board == "group" and "group" in SERIES[each.metric]:
            assert ("group", "MatchOp.Equal", 'say "hi"') in each.matchers


@pytest.mark.parametrize("name", BOARDS)
def test_the_choice_of_all_clusters_includes_series_without_a_cluster(name: str) -> None:
    """The choice "All" of the variable is the default, and matches series without the label."""
    cluster = next(each for each in BOARDS[name]["templating"]["list"] if each["name"] == "cluster")
    assert cluster["allValue"] == ".*"
    assert cluster["current"]["value"] == ["$__all"]


@every_query
def test_equal_names_of_two_clusters_are_not_added_up(query: PanelQuery) -> None:
    """Joins, and sums by group, topic or the key of a common cause, are within a cluster."""
    for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", query.expression):
        named = set(re.split(r"[ ,]+", labels))
        if named & {"group", "topic", "key"}:
            assert "cluster" in named, query.expression


@every_query
def test_every_maximum_and_minimum_is_by_cluster(query: PanelQuery) -> None:
    """No query has a maximum or a minimum over several clusters."""
    for labels in re.findall(r"\b(?:max|min)(?: by \(([^)]*)\))? ?\(", query.expression):
        assert "cluster" in re.split(r"[ ,]+", labels), query.expression


@every_query
def test_a_series_of_each_cluster_has_its_own_name(query: PanelQuery) -> None:
    """A legend has the label of the cluster if a result has it. Without a legend Grafana shows all labels."""
    expression = filled(query.expression, SAMPLE)
    if query.legend and keeps_clusters(expression, SERIES):
        assert "{{cluster}}" in query.legend


def test_expressions_that_keep_clusters_are_found() -> None:
    """Selectors, rates, top values and sums by cluster keep the clusters; other sums do not."""
    for expression in (
        "lagwarden_group_lag",
        "time() - lagwarden_snapshot_timestamp_seconds",
        "topk(10, lagwarden_group_lag)",
        "max by (cluster) (lagwarden_ready) > 0",
        "rate(lagwarden_batches_total[5m])",
    ):
        assert keeps_clusters(expression, SERIES)
    for expression in ("sum(lagwarden_group_lag)", "sum by (kind) (lagwarden_group_info)", "scrape_duration_seconds"):
        assert not keeps_clusters(expression, SERIES)


@every_query
def test_counters_are_shown_as_rates_over_the_rate_interval(query: PanelQuery) -> None:
    """Every counter has a rate or an increase over `$__rate_interval`."""
    text = filled(query.expression, SAMPLE)
    for each in asked(text):
        if each.metric.endswith("_total"):
            assert {"rate", "increase"} & set(each.inside)
    assert all(window == "$__rate_interval" for window in re.findall(r"\[([^\]]*)\]", query.expression))


@pytest.mark.parametrize("mark", annotation_queries(), ids=lambda mark: mark.name)
def test_a_mark_selects_existing_series(mark: PanelQuery) -> None:
    """The series and labels in the queries of marks exist, and their texts use labels of these series.

    The windows of marks are fixed: with an interval of Grafana, a mark would be longer in a longer range.
    """
    text = filled(mark.expression, SAMPLE)
    assert faults(text, SERIES) == []
    assert set(re.findall(r"{{(\w+)}}", mark.legend)) <= set[str]().union(*(SERIES[e.metric] for e in asked(text)))
    assert all(re.fullmatch(r"\d+[smh]", window) for window in re.findall(r"\[([^\]]*)\]", mark.expression))


@pytest.mark.parametrize("alert", alerts().values(), ids=alerts())
def test_an_alert_links_to_an_existing_dashboard(alert: dict[str, Any]) -> None:
    """The address in an alert names an existing dashboard and variables of it."""
    name, _, rest = alert["annotations"]["dashboard_url"].removeprefix("/d/lagwarden-").partition("?")
    assert set(re.findall(r"var-(\w+)=", rest)) <= set(VARIABLES[name])


@pytest.mark.parametrize("alert", alerts())
def test_a_runbook_names_panels_that_exist(alert: str) -> None:
    """Each panel that a runbook names exists."""
    text = (ROOT / "docs" / "runbooks" / f"{alert}.md").read_text().partition("## Diagnosis")[2]
    named = {" ".join(words.split()) for words in re.findall(r"(?<![*\w])\*([A-Z_][^*]*)\*(?![*\w])", text)}
    assert named - WORDS <= {panel["title"] for name in BOARDS for panel in panels(name)}


def test_the_default_preset_has_no_unused_metric() -> None:
    """Every metric in `standard` is in a dashboard or a rule, except those with a reason."""
    shown = set[str]().union(*(metrics_of(filled(each.expression, SAMPLE), RECORDED) for each in queries()))
    for alert in alerts().values():
        texts = [query for text in alert["annotations"].values() for query in template_queries(text)]
        shown = shown.union(*(metrics_of(each, RECORDED) for each in (alert["expr"], *texts)))
    own = {metric.name for metric in METRICS if metric.name in STANDARD}
    assert own - shown == set(WITHOUT_PANEL)


@every_query
def test_a_query_is_unambiguous_over_several_instances(query: PanelQuery) -> None:
    """Each series of a panel has its own name if several instances share the groups of a cluster.

    A group, an offsets partition and facts about brokers belong to one instance. Other values are aggregated over the
    instances, or their legend or row names the instance.
    """
    expression = filled(query.expression, SAMPLE)
    aggregated = re.match(r"(?:topk\(\d+, )?(?:sum|min|max|count)(?: by (\([^)]*\)) )?\(", expression)
    is_aggregated = aggregated is not None and "instance" not in (aggregated[1] or "")
    of_one = {"group", "offsets_partition", "broker"}
    has_one_owner = any(of_one & SERIES[each.metric] or each.metric in ABOUT_CLUSTER for each in asked(expression))
    assert is_aggregated or has_one_owner or "{{instance}}" in query.legend


def test_sums_over_topics_count_each_topic_once() -> None:
    """Instances that read the same topic have equal end offsets, so no panel and no rule adds them up."""
    rules = [*RECORDED.values(), *(alert["expr"] for alert in alerts().values())]
    for expression in [*(filled(query.expression, SAMPLE) for query in queries()), *rules]:
        for each in asked(expression):
            assert not (each.metric in OF_TOPICS and {"sum", "count", "avg"} & set(each.inside)), expression
