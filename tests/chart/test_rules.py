"""The alerts, evaluated by promtool: which ones fire, which do not, and their texts."""

import subprocess
from pathlib import Path

import pytest

from tests.chart.alerts.case import FILES, alerts, in_clusters, promtool_complaints, rules_of
from tests.chart.alerts.cases import CASES

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


@pytest.mark.parametrize("alert", [name for name in alerts() if name != "LagwardenMonitorDown"])
def test_two_clusters_with_the_same_story_do_not_mix(alert: str, promtool: str, tmp_path: Path) -> None:
    """Each of two clusters with the same job and instance has the alerts of its story, and no others.

    Sums over both would fire too early or have too many entries, and joins across both would fail. A monitor that is
    down has only the series of the scrape.
    """
    doubled = [in_clusters(case, "east", "west") for case in CASES if case.alert == alert]
    output = promtool_complaints(promtool, doubled, tmp_path)
    assert output is None, output
