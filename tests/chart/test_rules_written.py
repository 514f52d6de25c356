"""The files of the alerts: their series exist, and each alert has stories and a runbook. These tests need no tool."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

from exporters.catalogue.metric import Preset
from exporters.catalogue.metrics import METRICS
from stream.health.verdict import SEVERITY, Severity
from tests.chart.alerts.case import FILES, Kind, alerts
from tests.chart.alerts.cases import CASES
from tests.chart.promql import OTHERS, asked, clusters_mixed, faults, known, metrics_of, selects, template_queries

ROOT: Final = Path(__file__).resolve().parents[2]
RUNBOOKS: Final = ROOT / "exporters" / "page" / "runbooks"
RULES: Final = [
    rule for file in FILES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]
]
RECORDED: Final = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
ALERTS: Final = alerts()


def of_preset(preset: Preset) -> set[str]:
    """Return the names of the series that a preset has at any granularity, and those that are not lagwarden's own."""
    return {metric.name for metric in METRICS if preset.includes(metric.smallest_preset)} | set(OTHERS)


STANDARD: Final = of_preset(Preset.STANDARD)

ABOUT_CLUSTER: Final = re.compile(r"Lagwarden(CommonCause|ClusterUnhealthy|OffsetsPartitionDown|Quorum[A-Za-z]+)")
"""The alerts about neither one group nor the monitor."""


def texts_of(rule: dict[str, Any]) -> list[str]:
    """Return the texts of an alert; none of a recording rule."""
    return list(rule.get("annotations", {}).values())


def expressions_of(rule: dict[str, Any]) -> list[str]:
    return [rule["expr"], *(query for text in texts_of(rule) for query in template_queries(text))]


def lacking(found: dict[str, dict[str, bool]]) -> list[str]:
    """Return the properties that do not hold, each with its owner."""
    return [
        f"{owner}: {name}" for owner, properties in found.items() for name, holds in properties.items() if not holds
    ]


def test_every_rule_selects_existing_series() -> None:
    """Every series and label is one of lagwarden or Prometheus, and only counters have rates."""
    series = known(RECORDED)
    assert [(rule, found) for rule in RULES if (found := faults(rule["expr"], series))] == []


def test_no_rule_needs_more_than_the_default_preset() -> None:
    """Expressions and the queries in texts use only metrics of `standard`."""
    assert sum(text.count("| query") for rule in RULES for text in texts_of(rule)) == sum(
        len(expressions_of(rule)) - 1 for rule in RULES
    )
    used = [(each, metrics_of(each, RECORDED) - STANDARD) for rule in RULES for each in expressions_of(rule)]
    assert [(expression, more) for expression, more in used if more] == []


def test_alerts_that_the_smallest_preset_cannot_give_are_documented() -> None:
    """docs/alerting.md names the alerts whose expressions use metrics that `lean` does not have."""
    missing = {name for name, alert in ALERTS.items() if metrics_of(alert["expr"], RECORDED) - of_preset(Preset.LEAN)}
    section = (ROOT / "docs" / "alerting.md").read_text().partition("## Presets")[2].partition("\n## ")[0]
    assert missing == set(re.findall(r"Lagwarden\w+", section))
    assert missing


def form(name: str, alert: dict[str, Any]) -> dict[str, bool]:
    subject = "group" if re.match("Lagwarden(Share)?Group", name) else "monitor"
    texts = alert["annotations"]
    shown = r"\{\{ (?:(?:with|or) \$labels\.cluster|with \(first \.\)\.Labels\.cluster) "
    return {
        "name": bool(re.fullmatch(r"Lagwarden([A-Z][a-z]+)+", name)),
        "severity": alert["labels"]["severity"] in {"critical", "warning", "info"},
        "subject": alert["labels"]["about"] == ("cluster" if ABOUT_CLUSTER.fullmatch(name) else subject),
        "texts, and no links": texts.keys() == {"summary", "description"},
        "name of the cluster in the summary": len(re.findall(shown, texts["summary"])) == 1,
    }


def test_every_alert_has_the_form() -> None:
    """An alert has a severity, the subject of its name, two texts, and the name of its cluster if any."""
    assert lacking({name: form(name, alert) for name, alert in ALERTS.items()}) == []


def open_parts(text: str) -> list[str]:
    """Return the actions of a template that use a query's result outside its `with`, or its absence."""
    depth, found = 0, []
    for action in re.findall(r"\{\{ (.*?) \}\}", text):
        depth += action.startswith(("with ", "range ")) - (action == "end")
        if action == "else" or (not depth and action.startswith(("first", "(first", ".Labels"))):
            found.append(action)
    return found + ["missing end"] * depth


def test_texts_are_true_without_the_metrics_that_they_query() -> None:
    """The result of a query is used only inside its `with`, and an empty result has no text."""
    assert [part for alert in ALERTS.values() for text in texts_of(alert) for part in open_parts(text)] == []


def test_no_rule_mixes_clusters() -> None:
    """Every `by` and `on` over series of lagwarden has the cluster's label, also in texts. No `without` has it."""
    scraped = {"up", "lagwarden:monitors_up:sum"}
    assert [
        (expression, mixed)
        for rule in RULES
        for expression in expressions_of(rule)
        if not {each.metric for each in asked(expression)} <= scraped and (mixed := clusters_mixed(expression))
    ] == []


def runbook(name: str, alert: dict[str, Any]) -> dict[str, bool]:
    text = (RUNBOOKS / f"{name}.md").read_text()
    headings = [f"# {name}", "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"]
    diagnosis = " ".join(text.partition("## Diagnosis")[2].partition("## Mitigation")[0].split())
    about_monitor = f"alert: {name}\n" in (FILES[0].parent / "monitor.yaml").read_text()
    board = "Monitor" if about_monitor else {"group": "Group", "cluster": "Overview"}[alert["labels"]["about"]]
    return {
        "headings": re.findall(r"^#+ .*", text, re.MULTILINE) == headings,
        "command": "lagwarden explain GROUP" in diagnosis,
        "dashboard": f"*lagwarden / {board}*" in diagnosis,
        "existing alerts": set(re.findall(r"Lagwarden\w+", text)) <= set(ALERTS),
    }


def test_alerts_and_runbooks_belong_together() -> None:
    """A page has headings, a dashboard, a command and existing alerts; no page and no line of the list is left."""
    assert lacking({name: runbook(name, alert) for name, alert in ALERTS.items()}) == []
    assert {page.stem for page in RUNBOOKS.glob("*.md")} == set(ALERTS)
    listed = re.findall(r"/runbooks/(\w+)\.md\)", (ROOT / "docs" / "alerting.md").read_text())
    assert listed == list(ALERTS)


def test_every_alert_has_stories_of_every_kind() -> None:
    """Each alert has a case of every kind. At least one that fires has its text compared."""
    assert {case.alert for case in CASES} == set(ALERTS)
    assert len({case.name for case in CASES}) == len(CASES)
    of_alert = {name: [case for case in CASES if case.alert == name] for name in ALERTS}
    assert [name for name, cases in of_alert.items() if {case.kind for case in cases} != set(Kind)] == []
    assert [name for name, cases in of_alert.items() if not any(case.text and case.fires for case in cases)] == []


def test_every_verdict_of_an_unhealthy_group_has_an_alert() -> None:
    """Each warning or critical verdict has exactly one alert of the same severity."""
    unhealthy = {word: each.name.lower() for word, each in SEVERITY.items() if each >= Severity.WARNING}
    found = {
        verdict: [
            alert["labels"]["severity"]
            for alert in ALERTS.values()
            for each in asked(alert["expr"])
            if each.metric == "lagwarden:group_verdict:owned"
            and selects(each, {"verdict": verdict, "severity": severity})
        ]
        for verdict, severity in unhealthy.items()
    }
    assert found == {verdict: [severity] for verdict, severity in unhealthy.items()}
