"""A firing alert survives a reschedule, an upgrade and a gap in scraping: it pages once, and not again afterwards."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.chart.alerts.case import Case, Kind, alerts, run_promtool
from tests.chart.alerts.cases import CASES
from tests.chart.alerts.interruptions import SAMPLES_PER_MINUTE, Interruption, interrupted, samples
from tests.chart.rendering import case, merged, render

pytestmark = pytest.mark.chart

RESCHEDULE: Final = Interruption(4, marked=True)
"""A pod that stops, and is ready on another node four minutes later."""
LOST_SCRAPES: Final = Interruption(9, marked=False)
"""Prometheus cannot reach the target, or is being restarted: without marks, the last sample counts for five minutes."""
BEFORE: Final = 2
"""Minutes for which the alert fires before the interruption."""
AFTER: Final = 3
"""Minutes after the interruption until the alert is judged."""


def firing(alert: str) -> Case:
    """Return a story of an alert in which it begins to fire with the labels of one monitor."""
    return next(each for each in CASES if each.alert == alert and each.kind is Kind.AFTER and each.fires)


def minute(time: str) -> int:
    """Return the first full minute at or after a time such as `16m30s`."""
    found = re.fullmatch(r"(\d+)m(30s)?", time)
    return int(found[1]) + bool(found[2])


def lasting(series: Mapping[str, str], minutes: int) -> dict[str, str]:
    """Return the series with their last samples repeated, or counted on, until a minute."""
    found = {}
    for name, values in series.items():
        each = samples(values)
        missing = minutes * SAMPLES_PER_MINUTE + 1 - len(each)
        rising = all(one not in ("_", "stale") for one in each[-2:]) and len(each) > 1
        step = float(each[-1]) - float(each[-2]) if rising else 0.0
        more = [f"{float(each[-1]) + step * (n + 1):.17g}" for n in range(missing)] if each[-1] != "stale" else []
        found[name] = " ".join([*each, *more])
    return found


def continuous(alert: str, interruption: Interruption) -> dict[str, Any]:
    """Return the test that an alert fires without a gap from before an interruption until after it.

    It is one alert, or one per group in a story with several groups.
    """
    story = firing(alert)
    start = minute(story.at) + BEFORE
    end = start + interruption.minutes + AFTER
    series = interrupted(lasting(story.series, end), start, interruption)
    window = f"{end - minute(story.at)}m"
    selector = f'alertname="{alert}"'
    evaluations = (end - minute(story.at)) * SAMPLES_PER_MINUTE + 1
    fired = f'count_over_time(ALERTS{{{selector}, alertstate="firing"}}[{window}])'
    # The value is the time since which an alert is active: a second alert has another one.
    begun = f"changes(ALERTS_FOR_STATE{{{selector}}}[{window}])"
    return {
        "name": f"{alert}: {interruption}",
        "interval": "30s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": expr, "eval_time": f"{end}m", "exp_samples": [{"labels": "{}", "value": value}]}
            for expr, value in (
                (f"sum({fired})", evaluations * len(story.fires)),
                (f"count({fired})", len(story.fires)),
                (f"sum({begun})", 0),
            )
        ],
    }


@pytest.mark.parametrize("interruption", [RESCHEDULE, LOST_SCRAPES], ids=["reschedule", "lost scrapes"])
def test_an_interruption_causes_no_second_page(interruption: Interruption, promtool: str, tmp_path: Path) -> None:
    """Every alert fires at each evaluation from before the interruption until after it, as one alert."""
    output = run_promtool(promtool, [continuous(alert, interruption) for alert in alerts()], tmp_path)
    assert output is None, output


def prometheus_form(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a relabelling of a ServiceMonitor as Prometheus has it: in snake case."""
    return {re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name): value for name, value in rule.items()}


def target(address: str) -> dict[str, Any]:
    """Return the pod as Prometheus discovers it at an address, with the labels of role `endpointslice`."""
    found = {"namespace": "kafka", "pod_name": "watch-lagwarden-0", "service_name": "watch-lagwarden"}
    labels = {f"__meta_kubernetes_{name}": value for name, value in found.items()}
    return {"targets": [address], "labels": labels}


def relabelled(promtool: str, relabelings: list[dict[str, Any]], folder: Path) -> list[dict[str, str]]:
    """Return the labels that Prometheus gives to the pod before and after it has got another address."""
    targets = folder / "targets.json"
    targets.write_text(json.dumps([target("10.0.0.7:10848"), target("10.0.9.9:10848")]))
    job = {"job_name": "serviceMonitor/kafka/watch-lagwarden/0", "relabel_configs": relabelings}
    config = folder / "prometheus.yaml"
    config.write_text(yaml.safe_dump({"scrape_configs": [{**job, "file_sd_configs": [{"files": [str(targets)]}]}]}))
    command = [promtool, "check", "service-discovery", "--timeout=10s", str(config), job["job_name"]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [each["labels"] for each in json.loads(done.stdout[done.stdout.index("[") :])]
    return [{name: value for name, value in labels.items() if not name.startswith("__")} for labels in found]


@pytest.mark.usefixtures("helm")
def test_instance_is_independent_of_the_address(promtool: str, tmp_path: Path) -> None:
    """Prometheus relabels the two addresses of a pod to the same labels, unless the values disable the relabelling."""
    for stable in (True, False):
        monitor = {"serviceMonitor": {"enabled": True, "stableInstance": stable}}
        (endpoint,) = render(merged(case("minimal"), monitor)).one("ServiceMonitor")["spec"]["endpoints"]
        before, after = relabelled(promtool, [prometheus_form(rule) for rule in endpoint["relabelings"]], tmp_path)
        assert before["job"] == after["job"] == "lagwarden"
        assert (before == after) is stable
        assert not stable or before["instance"] == "kafka/watch-lagwarden-0"
