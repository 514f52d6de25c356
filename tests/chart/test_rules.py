"""The alerts, judged by promtool: what fires, what stays quiet, and what a person reads."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.chart.alerts.case import FILES, alerts, in_clusters, promtool_offsets_and_lags
from tests.chart.alerts.cases import CASES
from tests.chart.alerts.clusters import CASES as OF_CLUSTERS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.chart


def test_the_files_pass_every_check(promtool: str) -> None:
    """The checker finds nothing to complain of, not even doubled rules."""
    command = [promtool, "check", "rules", "--lint=all", "--lint-fatal", *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", alerts())
def test_an_alert_fires_when_it_should_and_only_then(alert: str, promtool: str, tmp_path: Path) -> None:
    """Every story of the alert comes out as the table says, to the word."""
    cases = [case for case in CASES if case.alert == alert]
    output = promtool_offsets_and_lags(promtool, cases, tmp_path)
    assert output is None, output


@pytest.mark.parametrize("alert", [name for name in alerts() if name != "LagwardenMonitorDown"])
def test_two_clusters_with_the_same_story_do_not_mix(alert: str, promtool: str, tmp_path: Path) -> None:
    """Each story, at once in two clusters with the same job and instance, has its alerts in each, and no others.

    Sums over both would fire too early or say too much, and joins across both would fail. A monitor that is down has no
    series but those of the scrape.
    """
    doubled = [in_clusters(case, "east", "west") for case in CASES if case.alert == alert and case not in OF_CLUSTERS]
    output = promtool_offsets_and_lags(promtool, doubled, tmp_path)
    assert output is None, output


def test_a_wrong_story_is_noticed(promtool: str, tmp_path: Path) -> None:
    """The stories can fail: of a case that fires, one that says it does not is refused, and the other way round."""
    for case in [next(case for case in CASES if bool(case.fires) is fires) for fires in (True, False)]:
        wrong = type(case)(case.alert, case.kind, case.story, case.series, case.at, () if case.fires else [{"a": "b"}])
        assert promtool_offsets_and_lags(promtool, [wrong], tmp_path) is not None
