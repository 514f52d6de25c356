"""The files of the alerts: their series exist, and each alert has stories and a runbook. These tests need no tool."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from exporters.catalogue.metric import Preset
from exporters.catalogue.metrics import METRICS
from stream.health.verdict import SEVERITY, Severity
from tests.chart.alerts.case import FILES, Kind, alerts
from tests.chart.alerts.cases import CASES
from tests.chart.promql import OTHERS, asked, clusters_mixed, faults, known, metrics_of, selects, template_queries

ROOT: Final = Path(__file__).resolve().parents[2]
RUNBOOKS: Final = ROOT / "docs" / "runbooks"
RULES: Final = [
    rule for file in FILES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]
]
RECORDED: Final = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
ALERTS: Final = alerts()


def of_preset(preset: Preset) -> set[str]:
    """Return the names of the series that a preset has at any granularity, and those that are not lagwarden's own."""
    return {metric.name for metric in METRICS if preset.includes(metric.smallest_preset)} | set(OTHERS)


STANDARD: Final = of_preset(Preset.STANDARD)

ABOUT_CLUSTER: Final = frozenset(
    {
        "LagwardenCommonCause",
        "LagwardenClusterUnhealthy",
        "LagwardenOffsetsPartitionDown",
        "LagwardenQuorumVoterBehind",
        "LagwardenQuorumAtRisk",
        "LagwardenQuorumNoLeader",
    }
)
"""The alerts about neither one group nor the monitor."""

IN_TEXTS: Final = {
    "LagwardenGroupStuck": {"lagwarden_group_time_lag_seconds", "lagwarden_group_verdict"},
    "LagwardenGroupNoMembers": {"lagwarden_group_time_lag_seconds"},
    "LagwardenGroupRebalanceStorm": {"lagwarden_group_rebalances_total"},
    "LagwardenGroupLosingData": {"lagwarden_group_lost_offsets"},
    "LagwardenShareGroupStuck": {"lagwarden_group_verdict", "lagwarden_share_group_lag"},
    "LagwardenShareGroupRejecting": {"lagwarden_share_partition_archived_total"},
    "LagwardenGroupFallingBehind": {"lagwarden_group_time_lag_seconds"},
    "LagwardenGroupOffsetsExpireSoon": {"lagwarden_group_first_offset_expiry_timestamp_seconds"},
    "LagwardenGroupUneven": {"lagwarden_group_verdict"},
    "LagwardenCommonCause": {"lagwarden_cluster_info", "lagwarden_common_cause_timestamp_seconds"},
    "LagwardenClusterUnhealthy": {
        "lagwarden:groups_critical:ratio",
        "lagwarden:groups_critical:sum",
        "lagwarden:partitions_leaderless:sum",
    },
    "LagwardenInstanceMissing": {"lagwarden_cluster_info", "lagwarden_instance_info"},
    "LagwardenMonitorDown": {"lagwarden_cluster_info"},
    "LagwardenMonitorStale": {"lagwarden_kafka_reachable"},
    "LagwardenMonitorNotReady": {"lagwarden_phase_info"},
    "LagwardenReaderBehind": {"lagwarden:offsets_distance:sum"},
    "LagwardenOffsetsHeldBack": {"lagwarden_groups_held_back"},
    "LagwardenOffsetsPartitionDown": {
        "lagwarden_cluster_info",
        "lagwarden_offsets_partition_hidden_group_info",
        "lagwarden_offsets_partition_hidden_groups",
    },
    "LagwardenQuorumAtRisk": {"lagwarden_cluster_info", "lagwarden_quorum_voters"},
    "LagwardenDescriptorsLow": {"lagwarden_descriptor_limit"},
    "LagwardenWebhookFailing": {"lagwarden_webhook_events_queued"},
    "LagwardenGroupTargetFastBurn": {"lagwarden_group_target_seconds", "lagwarden_group_time_lag_seconds"},
    "LagwardenGroupTargetSlowBurn": {"lagwarden_group_target_seconds"},
}
"""The series that the texts of an alert query. A site may have switched them off (`metrics.omit`)."""

every_alert = pytest.mark.parametrize("alert", ALERTS.values(), ids=ALERTS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule.get("record"))
def test_a_rule_selects_existing_series(rule: dict[str, Any]) -> None:
    """Every series and label is one of lagwarden or Prometheus, and only counters have rates."""
    assert faults(rule["expr"], known(RECORDED)) == []


def test_a_rule_with_an_unknown_series_is_found() -> None:
    """A wrong name or label, and a rate of a gauge, each have their message."""
    series = known(RECORDED)
    assert faults("lagwarden_group_lagg > 0", series) == ["no such series: lagwarden_group_lagg"]
    assert faults('lagwarden_group_lag{topic="a"}', series) == ["lagwarden_group_lag has no label topic"]
    assert faults("rate(lagwarden_group_lag[5m])", series) == [
        "lagwarden_group_lag is no counter, and stands in a rate"
    ]
    assert faults("sum by (zone) (lagwarden_group_lag)", series) == ["no series has the label zone"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule.get("record"))
def test_a_rule_needs_no_more_than_the_default_preset(rule: dict[str, Any]) -> None:
    """Expressions and the queries in texts use only metrics of `standard`."""
    texts = rule.get("annotations", {}).values()
    expressions = [rule["expr"], *(query for text in texts for query in template_queries(text))]
    assert sum(text.count("| query") for text in texts) == len(expressions) - 1
    used = set[str]().union(*(metrics_of(each, RECORDED) for each in expressions))
    assert used - STANDARD == set()


def test_alerts_that_the_smallest_preset_cannot_give_are_documented() -> None:
    """docs/alerting.md names the alerts whose expressions use metrics that `lean` does not have."""
    missing = {name for name, alert in ALERTS.items() if metrics_of(alert["expr"], RECORDED) - of_preset(Preset.LEAN)}
    section = (ROOT / "docs" / "alerting.md").read_text().partition("## Presets")[2].partition("\n## ")[0]
    assert missing == set(re.findall(r"Lagwarden\w+", section))
    assert missing


@every_alert
def test_an_alert_has_a_severity_and_a_subject(alert: dict[str, Any]) -> None:
    """Each alert has a severity, the subject of its name, two texts and two links."""
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    subject = "group" if re.match("Lagwarden(Share)?Group", alert["alert"]) else "monitor"
    assert alert["labels"]["about"] == ("cluster" if alert["alert"] in ABOUT_CLUSTER else subject)
    assert alert["annotations"].keys() == {"summary", "description", "runbook_url", "dashboard_url"}
    assert re.fullmatch(r"Lagwarden([A-Z][a-z]+)+", alert["alert"])


@every_alert
def test_a_text_is_true_without_the_metrics_that_it_queries(alert: dict[str, Any]) -> None:
    """The result of a query is used only inside its `with`, and an empty result has no text."""
    texts = alert["annotations"].values()
    queried = {each.metric for text in texts for query in template_queries(text) for each in asked(query)}
    assert queried == IN_TEXTS.get(alert["alert"], set())
    for text in texts:
        depth = 0
        for action in re.findall(r"\{\{ (.*?) \}\}", text):
            assert action != "else"
            depth += action.startswith(("with ", "range ")) - (action == "end")
            assert depth or not action.startswith(("first", "(first", ".Labels"))
        assert depth == 0


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule.get("record"))
def test_a_rule_never_mixes_clusters(rule: dict[str, Any]) -> None:
    """Every `by` and `on` over series of lagwarden has the cluster's label, also in texts. No `without` has it."""
    texts = rule.get("annotations", {}).values()
    for expression in (rule["expr"], *(query for text in texts for query in template_queries(text))):
        if {each.metric for each in asked(expression)} <= {"up", "lagwarden:monitors_up:sum"}:
            continue
        assert clusters_mixed(expression) == [], expression


@every_alert
def test_an_alert_names_its_cluster(alert: dict[str, Any]) -> None:
    """The summary has the name of the cluster if there is one, and the link selects the cluster in the dashboard."""
    shown = r"\{\{ (?:(?:with|or) \$labels\.cluster|with \(first \.\)\.Labels\.cluster) "
    assert len(re.findall(shown, alert["annotations"]["summary"])) == 1
    chosen = "{{ with $labels.cluster }}&var-cluster={{ . | urlquery }}{{ end }}"
    assert alert["annotations"]["dashboard_url"].endswith(chosen)


@every_alert
def test_an_alert_has_its_runbook(alert: dict[str, Any]) -> None:
    """The page has the four headings, opens a dashboard and uses a command of lagwarden."""
    assert alert["annotations"]["runbook_url"] == f"docs/runbooks/{alert['alert']}.md"
    text = (ROOT / alert["annotations"]["runbook_url"]).read_text()
    assert re.findall(r"^#+ .*", text, re.MULTILINE) == [
        f"# {alert['alert']}",
        "## Meaning",
        "## Impact",
        "## Diagnosis",
        "## Mitigation",
    ]
    diagnosis = text.partition("## Diagnosis")[2].partition("## Mitigation")[0]
    diagnosis = " ".join(diagnosis.split())
    assert "lagwarden explain GROUP" in diagnosis
    board = re.fullmatch(r"/d/lagwarden-(group|monitor|overview)\?.*", alert["annotations"]["dashboard_url"])
    assert board is not None
    assert f"*lagwarden / {board[1].title()}*" in diagnosis


def test_every_runbook_has_its_alert() -> None:
    """No page is for an alert that was removed. The list in docs/alerting.md has every alert."""
    assert {page.stem for page in RUNBOOKS.glob("*.md")} == set(ALERTS)
    listed = re.findall(r"\(runbooks/(\w+)\.md\)", (ROOT / "docs" / "alerting.md").read_text())
    assert listed == list(ALERTS)


@every_alert
def test_a_runbook_names_alerts_that_exist(alert: dict[str, Any]) -> None:
    """Every alert that a page mentions exists."""
    text = (RUNBOOKS / f"{alert['alert']}.md").read_text()
    assert set(re.findall(r"Lagwarden\w+", text)) <= set(ALERTS)


@every_alert
def test_an_alert_has_stories_of_every_kind(alert: dict[str, Any]) -> None:
    """Each alert has a case of every kind. At least one fires, and the text of one is compared."""
    cases = [case for case in CASES if case.alert == alert["alert"]]
    assert {case.kind for case in cases} == set(Kind)
    assert [case.name for case in cases if case.fires] != []
    assert any(case.text for case in cases)
    assert len({case.name for case in cases}) == len(cases)


def test_every_story_is_of_an_alert() -> None:
    """No story is for an alert that was removed."""
    assert {case.alert for case in CASES} == set(ALERTS)


@pytest.mark.parametrize("verdict", [word for word, severity in SEVERITY.items() if severity >= Severity.WARNING])
def test_every_verdict_of_an_unhealthy_group_has_an_alert(verdict: str) -> None:
    """Each warning or critical verdict has exactly one alert of the same severity."""
    severity = SEVERITY[verdict].name.lower()
    asking = [
        alert["alert"]
        for alert in ALERTS.values()
        for each in asked(alert["expr"])
        if each.metric == "lagwarden:group_verdict:owned" and selects(each, {"verdict": verdict, "severity": severity})
    ]
    assert len(asking) == 1
    assert ALERTS[asking[0]]["labels"]["severity"] == severity


def test_no_alert_has_a_threshold_in_offsets() -> None:
    """No alert compares a number of offsets with a number other than 0, because thresholds depend on the topic."""
    in_offsets = ("_lag", "_lag_max", "_offsets", "_distance", "_stable_gap", "distance:sum")
    for alert in ALERTS.values():
        for name in (each.metric for each in asked(alert["expr"]) if each.metric.endswith(in_offsets)):
            limits = re.findall(rf"{name}(?:\{{[^}}]*\}})?\s*[<>]=?\s*([0-9.]+)", alert["expr"])
            assert set(limits) <= {"0"}, alert["alert"]
