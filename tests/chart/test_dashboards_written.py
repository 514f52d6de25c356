"""The files of the dashboards: the rules of Grafana's linter, and queries of existing series."""

import re
from collections.abc import Iterator
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

EVERY_PANEL: Final = [panel for name in BOARDS for panel in panels(name)]
FILLED: Final = {query: filled(query.expression, SAMPLE) for query in (*queries(), *annotation_queries())}
"""Every query of a panel or a mark, with the expression that Prometheus would get."""
OF_PANELS: Final = {query: FILLED[query] for query in queries()}
OF_MARKS: Final = {query: FILLED[query] for query in annotation_queries()}


# By default the builders make the newer form, which only Grafana 12 and later read.
@pytest.mark.filterwarnings("ignore:Prefer using dashboardv2:DeprecationWarning")
def test_the_files_are_those_of_the_code() -> None:
    """The dashboard files are current. `python -m deploy.dashboards` writes them."""
    pytest.importorskip("grafana_foundation_sdk", reason="grafana-foundation-sdk is not installed (dev extra)")
    from deploy.dashboards.__main__ import files

    assert {path: path.read_text() for path in sorted((CHART / "dashboards").glob("*.json"))} == files()


def test_dashboards_are_linked_and_have_the_linters_variables() -> None:
    """They are read-only; a change of the time range queries the values again, and "All" clusters is the default."""
    for name, made in BOARDS.items():
        assert made["editable"] is False
        assert made["uid"] == f"lagwarden-{name}"
        assert made["title"] == f"lagwarden / {name.title()}"
        assert made["description"].endswith(".")
        assert {link["url"] for link in made["links"]} == {f"/d/lagwarden-{other}" for other in BOARDS if other != name}
        assert all(link["includeVars"] and link["keepTime"] for link in made["links"])
    assert {name: [each["name"] for each in BOARDS[name]["templating"]["list"]] for name in BOARDS} == VARIABLES
    for source, *others in (made["templating"]["list"] for made in BOARDS.values()):
        assert (source["type"], source["query"], source["label"]) == ("datasource", "prometheus", "Data source")
        for each in others:
            assert (each["type"], each["refresh"], each["datasource"]["uid"]) == ("query", 2, "${datasource}")
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", each["query"]["query"]).groups()  # type: ignore[union-attr]
            assert faults(filled(series, SAMPLE), SERIES) == []
            assert label in SERIES[asked(filled(series, SAMPLE))[0].metric]
            assert each["multi"] == each["includeAll"] == (each["name"] != "group")
        (cluster,) = (each for each in others if each["name"] == "cluster")
        assert (cluster["allValue"], cluster["current"]["value"]) == (".*", ["$__all"])


def test_panels_have_a_title_a_description_and_a_place() -> None:
    """Each has a unit, the chosen source, named lines, a unique id, and a place that no other one has."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    for panel in EVERY_PANEL:
        targets, title = panel["targets"], panel["title"]
        assert title
        assert panel["description"].endswith("."), title
        assert panel["fieldConfig"]["defaults"]["unit"], title
        assert [each["datasource"] for each in (panel, *targets)] == [source] * (len(targets) + 1), title
        assert len({target["refId"] for target in targets}) == len(targets) > 0, title
        assert len(targets) == 1 or panel["type"] == "table" or all(each["legendFormat"] for each in targets), title
    for made in BOARDS.values():
        every = made["panels"]
        assert len({panel["id"] for panel in every}) == len({panel["title"] for panel in every}) == len(every)
        places = [
            (x, y)
            for at in (panel["gridPos"] for panel in every)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ]
        assert len(set(places)) == len(places)
        assert max(x for x, _ in places) < 24


def is_time(expression: str) -> bool:
    """Return whether the result is in seconds. A lag divided by its rate of decrease is a time, too."""
    metric = asked(filled(expression, SAMPLE))[0].metric
    return (metric.endswith("_seconds") and "rate(" not in expression) or "/ (0 - deriv(" in expression


def units_of(panel: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the expression and the unit of each query of a panel."""
    first = {each["matcher"]["options"]: each["properties"][0] for each in panel["fieldConfig"].get("overrides", [])}
    units = {name: each["value"] for name, each in first.items() if each["id"] == "unit"}
    organized = [each["options"] for each in panel.get("transformations", []) if each["id"] == "organize"]
    for target in panel["targets"]:
        ref = target["refId"]
        heading = organized[0].get("renameByName", {})[f"Value #{ref}"] if organized else ref
        yield target["expr"], units.get(heading, panel["fieldConfig"]["defaults"]["unit"])


def test_seconds_are_shown_as_seconds() -> None:
    """Only times have the unit of seconds, also beside counts, so that a time is not a flat line."""
    shown = [pair for panel in EVERY_PANEL for pair in units_of(panel)]
    assert [expression for expression, unit in shown if (unit == "s") != is_time(expression)] == []


def test_queries_select_existing_series() -> None:
    """Series, labels and legends exist with `metrics.preset: standard`, also of marks; only counters have rates."""
    assert [(query.name, found) for query, text in FILLED.items() if (found := faults(text, SERIES))] == []
    labels = {
        query: set[str]().union(*(SERIES[each.metric] for each in asked(text)), named_labels(text))
        for query, text in FILLED.items()
    }
    assert [each.name for each, there in labels.items() if set(re.findall(r"{{(\w+)}}", each.legend)) - there] == []
    assert [query.name for query, text in FILLED.items() if metrics_of(text, RECORDED) - STANDARD] == []


def test_windows_follow_the_rate_interval() -> None:
    """A counter has a rate or an increase over `$__rate_interval`.

    The windows of marks are fixed: with an interval of Grafana, a mark would be longer in a longer range.
    """
    counters = [(query, each) for query, text in OF_PANELS.items() for each in asked(text) if "_total" in each.metric]
    assert [query.name for query, each in counters if not {"rate", "increase"} & set(each.inside)] == []
    wanted = {query: r"\d+[smh]" if query in OF_MARKS else r"\$__rate_interval" for query in FILLED}
    windows = [(query, window) for query in FILLED for window in re.findall(r"\[([^\]]*)\]", query.expression)]
    assert [query.name for query, window in windows if not re.fullmatch(wanted[query], window)] == []


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
    """The address in an alert has an existing dashboard and variables of it. The panels in a runbook exist."""
    titles = {panel["title"] for panel in EVERY_PANEL}
    for alert, rule in alerts().items():
        name, _, rest = rule["annotations"]["dashboard_url"].removeprefix("/d/lagwarden-").partition("?")
        assert set(re.findall(r"var-(\w+)=", rest)) <= set(VARIABLES[name]), alert
        text = (ROOT / "docs" / "runbooks" / f"{alert}.md").read_text().partition("## Diagnosis")[2]
        named = {" ".join(words.split()) for words in re.findall(r"(?<![*\w])\*([A-Z_][^*]*)\*(?![*\w])", text)}
        assert named - WORDS <= titles, alert


def test_the_default_preset_has_no_unused_metric() -> None:
    """Every metric in `standard` is in a dashboard or a rule, except those with a reason."""
    shown = set[str]().union(*(metrics_of(text, RECORDED) for text in OF_PANELS.values()))
    for alert in alerts().values():
        texts = [query for text in alert["annotations"].values() for query in template_queries(text)]
        shown = shown.union(*(metrics_of(each, RECORDED) for each in (alert["expr"], *texts)))
    own = {metric.name for metric in METRICS if metric.name in STANDARD}
    assert own - shown == set(WITHOUT_PANEL)


def is_unambiguous(query: PanelQuery, expression: str) -> bool:
    """Return whether the series of a query have different names if several instances share the groups of a cluster.

    A group, an offsets partition and facts about brokers belong to one instance. Other values are aggregated over the
    instances, or their legend or row names the instance.
    """
    aggregated = re.match(r"(?:topk\(\d+, )?(?:sum|min|max|count)(?: by (\([^)]*\)) )?\(", expression)
    is_aggregated = aggregated is not None and "instance" not in (aggregated[1] or "")
    of_one = {"group", "offsets_partition", "broker"}
    has_one_owner = any(of_one & SERIES[each.metric] or each.metric in ABOUT_CLUSTER for each in asked(expression))
    return is_aggregated or has_one_owner or "{{instance}}" in query.legend


def test_several_instances_are_unambiguous_and_add_up() -> None:
    """Each series of a panel has its own name. End offsets, equal on all instances of a topic, are not added up."""
    assert [query.name for query, text in OF_PANELS.items() if not is_unambiguous(query, text)] == []
    rules = [*RECORDED.values(), *(alert["expr"] for alert in alerts().values())]
    for expression in [*OF_PANELS.values(), *rules]:
        for each in asked(expression):
            assert not (each.metric in OF_TOPICS and {"sum", "count", "avg"} & set(each.inside)), expression
