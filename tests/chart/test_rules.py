"""The alerts, evaluated by promtool: which ones fire, which do not, and their texts."""

import dataclasses
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.chart.alerts.case import (
    FILES,
    MONITOR,
    alerts,
    in_clusters,
    of,
    promtool_complaints,
    rules_of,
    run_promtool,
)
from tests.chart.alerts.cases import CASES
from tests.chart.alerts.groups import ANOTHER, GROUP
from tests.chart.rendering import case, merged, render

pytestmark = pytest.mark.chart


def test_the_files_pass_every_check(promtool: str) -> None:
    """The linter has no complaint, and finds no duplicate rule."""
    command = [promtool, "check", "rules", "--lint=all", "--lint-fatal", *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", alerts())
def test_an_alert_fires_when_it_should_and_only_then(alert: str, promtool: str, tmp_path: Path) -> None:
    """Every story of the alert has exactly the alerts and texts of the table.

    Only the rules that the alert needs are evaluated. The next test evaluates all rules together.
    """
    cases = [case for case in CASES if case.alert == alert]
    output = promtool_complaints(promtool, cases, tmp_path, rules_of(alert))
    assert output is None, output


@pytest.mark.usefixtures("helm")
def test_a_command_of_an_alert_quotes_the_group(promtool: str, tmp_path: Path) -> None:
    """A shell that runs the command of the chart's alert gets the name of the group as one word, whatever is in it."""
    name = "it's; $(id) `id` \\"
    labels = {**MONITOR, "group": name}
    rules = render(merged(case("minimal"), {"rules": {"enabled": True}})).of_kind("PrometheusRule")
    groups = [group for each in rules for group in each["spec"]["groups"] if group["name"] == "lagwarden-groups"]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": groups}))
    series = of("lagwarden_group_verdict", labels, verdict="stopped", severity="critical")
    asked = {"eval_time": "5m", "alertname": "LagwardenGroupStuck", "exp_alerts": []}
    test = {"interval": "30s", "input_series": [{"series": series, "values": "1x20"}], "alert_rule_test": [asked]}
    output = run_promtool(promtool, [test], tmp_path, [file]) or ""
    (command,) = re.findall(r'explain (.*?)", ', output)
    assert shlex.split(json.loads(f'"{command}"')) == [name]


ABOUT_GROUPS = [name for name, rule in alerts().items() if "finding_info" in rule["annotations"]["description"]]


@pytest.mark.parametrize("alert", ABOUT_GROUPS)
def test_an_alert_says_where_the_fault_is_and_what_to_do(alert: str, promtool: str, tmp_path: Path) -> None:
    """Partition, client, committed offset and next step stand before the text; a finding of another group does not."""
    case = next(case for case in CASES if case.alert == alert and case.text and case.fires)
    assert case.text is not None
    text = alerts()[alert]["annotations"]["description"]
    verdict = (re.findall(r'finding_info{[^}]*verdict=~?\\"(\w+)', text) or ["stopped"])[0]
    place = {"verdict": verdict, "topic": "orders", "partition": "3"}
    series = {
        of("lagwarden_group_finding_info", GROUP, **place, client_id="worker-1"): "1x800",
        of("lagwarden_group_finding_info", ANOTHER, **place): "1x800",
        of("lagwarden_group_finding_offset", GROUP): "1200054x800",
        of("lagwarden_verdict_info", MONITOR, verdict=verdict, next_step="Skip it."): "1x800",
    }
    where = "Partition 3 of topic orders, client worker-1, at offset 1200054. Next step: Skip it."
    says = dataclasses.replace(case.text, description=f"{where} {case.text.description}")
    found = dataclasses.replace(case, series={**case.series, **series}, text=says)
    output = promtool_complaints(promtool, [found], tmp_path, rules_of(alert))
    assert output is None, output


@pytest.mark.parametrize("alert", [name for name in alerts() if name != "LagwardenMonitorDown"])
def test_two_clusters_with_the_same_story_do_not_mix(alert: str, promtool: str, tmp_path: Path) -> None:
    """Each of two clusters with the same job and instance has the alerts of its story, and no others.

    Sums over both would fire too early or have too many entries, and joins across both would fail. A monitor that is
    down has only the series of the scrape.
    """
    doubled = [in_clusters(case, "east", "west") for case in CASES if case.alert == alert]
    output = promtool_complaints(promtool, doubled, tmp_path)
    assert output is None, output
