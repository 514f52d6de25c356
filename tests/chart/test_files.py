"""Rules and dashboards are plain files of the chart, and each of them is installed unchanged."""

import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from deploy.chart.values_schema import CHART
from tests.chart.alerts.case import alerts
from tests.chart.conftest import DASHBOARD, RULES
from tests.chart.rendering import Object, case, merged, refusal, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

EVERY_ALERT: Object = {"rules": {"enabled": True, "profile": "all", "inhibitions": True}}
ON: Object = merged(case("minimal"), {**EVERY_ALERT, "dashboards": {"enabled": True}})
KUBECTL: Final = "kubectl --namespace kafka exec watch-lagwarden-0 -- "
QUOTED: Final = """'{{ reReplaceAll "'" "'\\\\''" $labels.group }}'"""


def without_links(groups: list[Object]) -> list[Object]:
    """Return groups of rules without the links and the place of the commands of alerts, which depend on the values."""
    for rule in (rule for group in groups for rule in group["rules"]):
        annotations = rule.pop("annotations", {})
        if texts := {name: text for name, text in annotations.items() if name not in {"runbook_url", "dashboard_url"}}:
            rule["annotations"] = texts
            for name, text in texts.items():
                texts[name] = text.replace(KUBECTL, "")
    return groups


def alerts_of(values: Object, chart: Path = CHART) -> dict[str, Object]:
    """Return the rendered alerts by name."""
    groups = [group for one in render(values, chart).of_kind("PrometheusRule") for group in one["spec"]["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def test_the_charts_own_files_are_all_installed() -> None:
    """Each file of the chart is one object, and a Prometheus rule file keeps every group and rule."""
    rendered = render(ON)
    files = sorted((CHART / "rules").glob("*.yaml"))
    assert [without_links(one["spec"]["groups"]) for one in rendered.of_kind("PrometheusRule")] == [
        without_links(yaml.safe_load(file.read_text())["groups"]) for file in files
    ]
    boards = sorted(file.name for file in (CHART / "dashboards").glob("*.json"))
    shown = [one for one in rendered.of_kind("ConfigMap") if "grafana_dashboard" in one["metadata"]["labels"]]
    assert sorted(name for one in shown for name in one["data"]) == boards


def test_files_are_installed_unchanged(chart_with_files: Path) -> None:
    """Helm does not evaluate Prometheus' templates in a rule.

    The bytes of a dashboard are those of its file, also with text that Helm or YAML would interpret.
    """
    rendered = render(ON, chart_with_files)
    (one,) = rendered.of_kind("PrometheusRule")
    assert one["metadata"]["name"] == "watch-lagwarden-some"
    assert without_links(one["spec"]["groups"]) == without_links(yaml.safe_load(RULES)["groups"])
    (shown,) = [one for one in rendered.of_kind("ConfigMap") if "overview.json" in one["data"]]
    assert shown["data"]["overview.json"] == DASHBOARD
    assert shown["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_the_scrape_has_the_job_that_the_rules_name() -> None:
    """The ServiceMonitor of any release sets the job that the rules select."""
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
    """A disabled alert and a rule group without rules are removed. Other alerts get the labels and keep their own."""
    labels = {"team": "blue", "severity": "none"}
    values = merged(ON, {"rules": {"disabled": ["SecondAlert"], "alertLabels": labels}})
    (one,) = render(values, chart_with_files).of_kind("PrometheusRule")
    (group,) = one["spec"]["groups"]
    recording, alert = group["rules"]
    assert "labels" not in recording
    assert alert["labels"] == {"team": "blue", "severity": "critical", "about": "group"}


SERVICE: Final = "http://watch-lagwarden.kafka.svc:10848"


def links_of(values: Object) -> dict[str, tuple[str, str]]:
    """Return the links of the rendered alerts by name: of the dashboard, and of the runbook."""
    return {
        name: (alert["annotations"]["dashboard_url"], alert["annotations"]["runbook_url"])
        for name, alert in alerts_of(merged(ON, values)).items()
    }


def test_links_of_alerts_are_urls() -> None:
    """They lead to lagwarden's pages, wherever these are, or to Grafana and to a site's own runbooks."""
    page = "group?name={{ $labels.group | urlquery }}"
    changes: list[tuple[Object, str]] = [
        ({}, SERVICE),
        ({"rules": {"pageUrl": "https://lag.example/"}}, "https://lag.example"),
        ({"http": {"certificate": {"existingSecret": "tls"}}}, SERVICE.replace("http", "https")),
        ({"ingress": {"enabled": True, "host": "lag.example", "path": "/watch"}}, "http://lag.example/watch"),
        ({"ingress": {"enabled": True, "host": "lag.example", "path": "/watch(/|$)(.*)"}}, "http://lag.example/watch"),
    ]
    for values, base in changes:
        assert links_of(values)["LagwardenGroupStuck"] == (f"{base}/{page}", f"{base}/runbook/LagwardenGroupStuck")
    links = links_of({})
    assert {link for link, _ in links.values()} == {f"{SERVICE}/{page}", f"{SERVICE}/"}
    assert links["LagwardenCommonCause"] == (f"{SERVICE}/", f"{SERVICE}/runbook/LagwardenCommonCause")
    own = {"rules": {"grafanaUrl": "https://grafana.example/", "runbookUrl": "https://wiki.example/alerts/"}}
    job, group = "var-job={{ $labels.job | urlquery }}", "&var-group={{ $labels.group | urlquery }}"
    cluster = "{{ with $labels.cluster }}&var-cluster={{ . | urlquery }}{{ end }}"
    for name, board in {
        "LagwardenGroupStuck": f"group?{job}{group}",
        "LagwardenCommonCause": f"overview?{job}",
        "LagwardenQuorumNoLeader": f"monitor?{job}",
        "LagwardenGroupTargetFastBurn": f"group?{job}{group}",
    }.items():
        dashboard = f"https://grafana.example/d/lagwarden-{board}{cluster}"
        assert links_of(own)[name] == (dashboard, f"https://wiki.example/alerts/{name}")


def test_an_alert_can_be_changed(chart_with_files: Path) -> None:
    """The values of one alert override those of all alerts and the file. Everything else stays."""
    change = {
        "for": "20m",
        "keepFiringFor": "1h",
        "severity": "warning",
        "labels": {"team": "green"},
        "annotations": {"runbook_url": "https://wiki.example/first"},
    }
    values = {"rules": {"alertLabels": {"team": "blue", "site": "x"}, "alerts": {"FirstAlert": change}}}
    plain, changed = alerts_of(ON, chart_with_files), alerts_of(merged(ON, values), chart_with_files)
    first = changed["FirstAlert"]
    assert (first["for"], first["keep_firing_for"]) == ("20m", "1h")
    assert first["labels"] == {"severity": "warning", "about": "group", "team": "green", "site": "x"}
    assert first["annotations"] == plain["FirstAlert"]["annotations"] | change["annotations"]
    assert first["expr"] == plain["FirstAlert"]["expr"]
    assert changed["SecondAlert"] == plain["SecondAlert"] | {"labels": {"team": "blue", "site": "x"}}


def test_the_commands_of_alerts_run_in_the_pod() -> None:
    """Each one is run by kubectl in a pod, of several pods in the one that the alert is about."""
    for values, pod in (
        ({}, "watch-lagwarden-0"),
        ({"shards": 3}, '{{ reReplaceAll "^.*/" "" $labels.instance }}'),
        ({"shards": 3, "serviceMonitor": {"stableInstance": False}}, "watch-lagwarden-0"),
        ({"mode": "operator"}, "$(kubectl --namespace kafka get pod --selector "),
    ):
        texts = {name: one["annotations"]["description"] for name, one in alerts_of(merged(ON, values)).items()}
        commands = re.findall(r"(.{4})lagwarden (?:explain|groups)", str(texts))
        assert (set(commands), len(commands) > 20) == ({" -- "}, True)
        stuck = texts["LagwardenGroupStuck"]
        assert f"kubectl --namespace kafka exec {pod}" in stuck
        assert stuck.endswith(f" -- lagwarden explain {QUOTED}")


def severities_of(values: Object) -> dict[str, str]:
    """Return the severity of each alert with these values of `rules`."""
    found = alerts_of(merged(case("minimal"), {"rules": {"enabled": True, **values}}))
    return {name: alert["labels"]["severity"] for name, alert in found.items()}


def test_in_the_first_week_six_alerts_page() -> None:
    """The others are infos until `profile: all`, or the severity of one of them, switches them on.

    Alerts that mute others are installed with the inhibitions only, and only if the alert that pages instead does.
    """
    section = (CHART.parents[2] / "docs" / "alerting.md").read_text().partition("## The first week")[2]
    six = set(re.findall(r"Lagwarden\w+", section.partition("\n- ")[0]))
    muting = {"LagwardenGroupInCommonCause", "LagwardenGroupInUnhealthyCluster"}
    everything, start = {name: rule["labels"]["severity"] for name, rule in alerts().items()}, severities_of({})
    assert len(six) == 6
    assert start == {name: everything[name] if name in six else "info" for name in everything if name not in muting}
    assert severities_of({"profile": "all", "inhibitions": True}) == everything
    assert severities_of({"profile": "all"}).keys() == everything.keys() - muting
    assert severities_of({"inhibitions": True}) == start | {"LagwardenGroupInCommonCause": "info"}
    on = {"LagwardenClusterUnhealthy": {"severity": "critical"}}
    switched = dict.fromkeys(muting, "info") | {"LagwardenClusterUnhealthy": "critical"}
    assert severities_of({"inhibitions": True, "alerts": on}) == start | switched
    assert severities_of({"inhibitions": True, "disabled": ["LagwardenCommonCause"]}).keys() & muting == set()


def test_a_wrong_change_of_alerts_is_refused(chart_with_files: Path) -> None:
    """The error of the schema names the value. A misspelt name of an alert is refused, with the existing names.

    So is the change of a disabled alert, which would have no effect.
    """
    for change in ({"for": "soon"}, {"severity": "page"}, {"expr": "vector(1)"}):
        (path,) = change
        assert path in refusal(merged(ON, {"rules": {"alerts": {"LagwardenGroupStuck": change}}}))
    faults: list[tuple[Object, str]] = [
        (
            {"disabled": ["FirstAlrt"]},
            'rules.disabled: there is no alert "FirstAlrt"; there are FirstAlert, SecondAlert',
        ),
        ({"alerts": {"FirstAlrt": {"for": "1m"}}}, 'rules.alerts: there is no alert "FirstAlrt"'),
        (
            {"alerts": {"FirstAlert": {"for": "1m"}}, "disabled": ["FirstAlert"]},
            "rules.alerts.FirstAlert: has no effect",
        ),
    ]
    for rules, error in faults:
        assert error in refusal(merged(ON, {"rules": rules}), chart_with_files)
