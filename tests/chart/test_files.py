"""Rules and dashboards: plain files of the chart, installed as they are, however many there are."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml

from deploy.chart.values_schema import CHART
from tests.chart.conftest import DASHBOARD, RULES
from tests.chart.rendering import Object, case, merged, refusal, render

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

ON: Object = merged(case("minimal"), {"rules": {"enabled": True}, "dashboards": {"enabled": True}})


def test_a_chart_without_files_installs(tmp_path: Path) -> None:
    """With no rule and no dashboard in its folders the chart still renders, and makes none of them."""
    copy = tmp_path / CHART.name
    shutil.copytree(CHART, copy, ignore=shutil.ignore_patterns("rules", "dashboards"))
    assert render(ON, copy).of_kind("PrometheusRule") == []


def test_the_charts_own_files_are_all_installed() -> None:
    """Each file of the chart is one object, and a Prometheus rule file keeps every group and rule."""
    rendered = render(ON)
    files = sorted((CHART / "rules").glob("*.yaml"))
    assert [one["spec"]["groups"] for one in rendered.of_kind("PrometheusRule")] == [
        yaml.safe_load(file.read_text())["groups"] for file in files
    ]
    boards = sorted(file.name for file in (CHART / "dashboards").glob("*.json"))
    shown = [one for one in rendered.of_kind("ConfigMap") if "grafana_dashboard" in one["metadata"]["labels"]]
    assert sorted(name for one in shown for name in one["data"]) == boards


def test_rules_come_through_unchanged(chart_with_files: Path) -> None:
    """Prometheus' own templates in a rule survive Helm's."""
    (one,) = render(ON, chart_with_files).of_kind("PrometheusRule")
    assert one["metadata"]["name"] == "watch-lagwarden-some"
    assert one["spec"]["groups"] == yaml.safe_load(RULES)["groups"]


def test_dashboards_come_through_unchanged(chart_with_files: Path) -> None:
    """A dashboard is byte for byte the file, whatever its text looks like to Helm or YAML."""
    shown = [one for one in render(ON, chart_with_files).of_kind("ConfigMap") if "overview.json" in one["data"]]
    assert [one["data"]["overview.json"] for one in shown] == [DASHBOARD]
    assert shown[0]["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_the_scrape_has_the_job_that_the_rules_name() -> None:
    """Whatever the release is called, its series carry the job by which the rules tell that it is down."""
    values = merged(ON, {"serviceMonitor": {"enabled": True}, "nameOverride": "another"})
    (endpoint,) = render(values).one("ServiceMonitor")["spec"]["endpoints"]
    job = {"targetLabel": "job", "replacement": "lagwarden"}
    assert endpoint["relabelings"][0] == job
    rules = [
        rule
        for one in render(values).of_kind("PrometheusRule")
        for group in one["spec"]["groups"]
        for rule in group["rules"]
    ]
    named = {word for rule in rules for word in re.findall(r'job="([^"]*)"', rule["expr"])}
    assert named == {job["replacement"]}


def test_an_alert_can_be_left_out_and_labelled(chart_with_files: Path) -> None:
    """A disabled alert is gone, with its group if nothing is left; alerts get the labels, their own win."""
    labels = {"team": "blue", "severity": "none"}
    values = merged(ON, {"rules": {"disabled": ["SecondAlert"], "alertLabels": labels}})
    (one,) = render(values, chart_with_files).of_kind("PrometheusRule")
    (group,) = one["spec"]["groups"]
    recording, alert = group["rules"]
    assert "labels" not in recording
    assert alert["labels"] == {"team": "blue", "severity": "critical"}


def test_an_alert_leads_to_the_sites_own_places(chart_with_files: Path) -> None:
    """Runbooks and dashboards are paths in the files; the values put a site's addresses before them, and only that."""
    bases = {"runbookBaseUrl": "https://git.example/watch/", "grafanaBaseUrl": "https://grafana.example"}
    (one,) = render(merged(ON, {"rules": bases}), chart_with_files).of_kind("PrometheusRule")
    wanted = yaml.safe_load(RULES)["groups"]
    wanted[0]["rules"][1]["annotations"] |= {
        "runbook_url": "https://git.example/watch/docs/runbooks/FirstAlert.md",
        "dashboard_url": "https://grafana.example/d/board?var-group={{ $labels.group | urlquery }}",
    }
    assert one["spec"]["groups"] == wanted


def test_an_alert_that_is_not_there_cannot_be_left_out(chart_with_files: Path) -> None:
    """A misspelt name in rules.disabled is refused, with the names that there are."""
    error = refusal(merged(ON, {"rules": {"disabled": ["FirstAlrt"]}}), chart_with_files)
    assert 'rules.disabled: there is no alert "FirstAlrt"; there are FirstAlert, SecondAlert' in error


def test_a_broken_rule_file_is_named(chart_with_files: Path) -> None:
    """A file that is no rule file stops the render, by its name."""
    (chart_with_files / "rules" / "broken.yaml").write_text("groups: [\n")
    assert "rules/broken.yaml" in refusal(ON, chart_with_files)
