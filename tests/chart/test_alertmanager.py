"""The example for Alertmanager, checked by its own tool: it is valid, and every alert reaches its intended receiver."""

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from exporters.http.openapi.small_world import NOON
from exporters.page.links import PageLinks
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool
from sandbox.waiting import wait_until
from stream.config.options import WebhookOptions
from stream.webhook.alert_poster import AlertPoster
from tests.chart.alerts.case import alerts
from tests.exporters.snapshots import COMMON_CAUSE, snapshot

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLE: Final = ROOT / "deploy" / "alertmanager.example.yaml"
HERE: Final = {"job": "lagwarden", "instance": "watch-0:10848"}
THERE: Final = {"job": "lagwarden", "instance": "other-0:10848"}
EAST: Final = {"cluster": "east"}
WEST: Final = {"cluster": "west"}
STALE: Final = {"alertname": "LagwardenMonitorStale", "severity": "critical", "about": "monitor"}
DOWN: Final = {"alertname": "LagwardenMonitorDown", "severity": "critical", "about": "monitor"}
_GROUP: Final = {**HERE, "about": "group", "group": "billing"}
STUCK: Final = {**_GROUP, "alertname": "LagwardenGroupStuck", "severity": "critical"}
LATE: Final = {**_GROUP, "alertname": "LagwardenGroupTargetFastBurn", "severity": "critical"}
BEHIND: Final = {**_GROUP, "alertname": "LagwardenGroupFallingBehind", "severity": "warning"}
LOSING: Final = {**_GROUP, "alertname": "LagwardenGroupLosingData", "severity": "critical"}
ABORTING: Final = {**_GROUP, "alertname": "LagwardenGroupAborting", "severity": "critical"}
SHARE_STUCK: Final = {**_GROUP, "alertname": "LagwardenShareGroupStuck", "severity": "critical"}
COVERED: Final = {**_GROUP, "alertname": "LagwardenGroupInCommonCause", "severity": "info"}
UNHEALTHY: Final = {**_GROUP, "alertname": "LagwardenGroupInUnhealthyCluster", "severity": "info"}
COMMON: Final = {"alertname": "LagwardenCommonCause", "severity": "critical", "about": "cluster", "cluster_id": "north"}
MISSING: Final = {"alertname": "LagwardenInstanceMissing", "severity": "critical", "about": "monitor"}
CLUSTER: Final = {**COMMON, "alertname": "LagwardenClusterUnhealthy"}
RECEIVERS: Final = {"critical": "pager", "warning": "tickets", "info": "none"}


@pytest.fixture(scope="session")
def amtool() -> str:
    """Return the path of amtool; skip if it cannot be installed."""
    try:
        return find_tool("amtool", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))


@pytest.mark.chart
def test_the_example_is_valid(amtool: str) -> None:
    """Alertmanager accepts the unchanged file."""
    done = subprocess.run([amtool, "check-config", str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def receivers_of(amtool: str, config: Path, labels: dict[str, str]) -> list[str]:
    given = [f"{name}={value}" for name, value in labels.items()]
    command = [amtool, "config", "routes", "test", f"--config.file={config}", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.chart
def test_an_alert_reaches_the_receiver_of_its_severity(amtool: str) -> None:
    """Critical alerts page, warnings create tickets, and infos have no receiver. An owner lowers the severity."""
    found = {name: receivers_of(amtool, EXAMPLE, rule["labels"]) for name, rule in alerts().items()}
    assert found == {name: [RECEIVERS[rule["labels"]["severity"]]] for name, rule in alerts().items()}
    for severity, highest, lower in (
        ("critical", "critical", "critical"),
        ("critical", "warning", "warning"),
        ("critical", "info", "info"),
        ("warning", "warning", "warning"),
        ("warning", "info", "info"),
        ("info", "critical", "info"),
    ):
        labels = {"severity": severity, "max_severity": highest, "about": "group", "group": "billing"}
        assert receivers_of(amtool, EXAMPLE, labels) == [RECEIVERS[lower]], (severity, highest)


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a real Alertmanager with the example; return the address of its alerts."""
    try:
        program = find_tool("prometheus-alertmanager", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))
    folder, address = tmp_path_factory.mktemp("alertmanager"), f"{LOOPBACK}:{free_port()}"
    command = [program, f"--config.file={EXAMPLE}", f"--storage.path={folder}", "--cluster.listen-address="]
    command = [*_at_home(program), *command, f"--web.listen-address={address}"]
    with GuardedProcess(command, folder / "log") as process:
        ready = f"http://{address}/-/ready"
        wait_until(lambda: not process.running or _answers(ready), "Alertmanager to be ready", limit=120)
        if not process.running:
            pytest.fail(f"Alertmanager does not start: {process.log.read_text()[-500:]}")
        yield f"http://{address}/api/v2/alerts"


INHIBITED: Final[dict[str, tuple[list[dict[str, str]], set[str]]]] = {
    "stuck group": ([STUCK], set()),
    "monitor of the group stale": ([STUCK, STALE | HERE], {"LagwardenGroupStuck"}),
    "monitor stale, which is an info": ([STUCK, STALE | HERE | {"severity": "info"}], set()),
    "late group that is stuck, which is an info": ([STUCK | {"severity": "info"}, LATE], set()),
    "another monitor stale": ([STUCK, STALE | THERE], set()),
    "monitor of the same cluster stale": ([STUCK | EAST, STALE | HERE | EAST], {"LagwardenGroupStuck"}),
    "monitor of another cluster with the same instance stale": ([STUCK | EAST, STALE | HERE | WEST], set()),
    "monitor of the group down": ([STUCK, DOWN | HERE], {"LagwardenGroupStuck"}),
    "collector of the cluster down": ([STUCK | EAST, DOWN | HERE], {"LagwardenGroupStuck"}),
    "all monitors of the job lost": ([STUCK, DOWN], {"LagwardenGroupStuck"}),
    "stuck group over its target": ([STUCK, LATE], {"LagwardenGroupTargetFastBurn"}),
    "aborting group over its target": ([ABORTING, LATE], {"LagwardenGroupTargetFastBurn"}),
    "warning and critical alert of one group": ([LATE, BEHIND], {"LagwardenGroupFallingBehind"}),
    "stuck group with a common cause": ([STUCK, COVERED, COMMON], {"LagwardenGroupStuck"}),
    "late group with a common cause": ([LATE, COVERED, COMMON], {"LagwardenGroupTargetFastBurn"}),
    "stuck group that the common cause does not explain": ([STUCK, COVERED | {"group": "other"}, COMMON], set()),
    "group that loses data with a common cause": ([LOSING, COVERED, COMMON], set()),
    "stuck group in an unhealthy cluster": ([STUCK, UNHEALTHY, CLUSTER], {"LagwardenGroupStuck"}),
    "aborting group in an unhealthy cluster": ([ABORTING, UNHEALTHY, CLUSTER], {"LagwardenGroupAborting"}),
    "share group in an unhealthy cluster": ([SHARE_STUCK, UNHEALTHY, CLUSTER], {"LagwardenShareGroupStuck"}),
    "group that loses data in an unhealthy cluster": ([LOSING, UNHEALTHY, CLUSTER], set()),
    "common cause and one stale monitor": ([COMMON, STALE | HERE], set()),
    "common cause and all monitors lost": ([COMMON, DOWN], {"LagwardenCommonCause"}),
    "stuck group and warning of another group": ([STUCK, BEHIND | {"group": "other"}], set()),
    "monitor down and stale": ([STALE | HERE, DOWN | HERE], {"LagwardenMonitorStale"}),
    "one monitor down, another stale": ([STALE | THERE, DOWN | HERE], set()),
    "instance missing and monitor down": ([MISSING, DOWN | HERE], {"LagwardenInstanceMissing"}),
    "one alert does not mute itself": ([DOWN | HERE], set()),
}
"""Alerts that fire together, and those of them that are suppressed."""


@pytest.mark.chart
def test_inhibited_alerts(alertmanager: str) -> None:
    """A real Alertmanager suppresses exactly the alerts that the example inhibits."""
    # Every row has its own job, so that rows do not inhibit each other.
    jobs = {row: f"lagwarden-{number}" for number, row in enumerate(INHIBITED)}
    _post(alertmanager, [each | {"job": jobs[row]} for row, (sources, _) in INHIBITED.items() for each in sources])
    # Alertmanager receives alerts and computes their inhibitions in two threads, in the same order: when a later alert
    # is suppressed, the inhibitions of the rows are complete.
    _post(alertmanager, [each | {"job": "later"} for each in (STUCK, STALE | HERE)])
    wait_until(
        lambda: _muted(alertmanager, "later") == {"LagwardenGroupStuck"}, "the later alert to be suppressed", limit=120
    )
    assert {row: _muted(alertmanager, jobs[row]) for row in INHIBITED} == {
        row: each[1] for row, each in INHIBITED.items()
    }


@pytest.mark.chart
def test_the_webhook_posts_alerts(alertmanager: str) -> None:
    """A real Alertmanager shows the labels, texts and start of an unhealthy group, and drops the alert when it is well.

    The receiver is that of the example: the owner makes the critical alert a ticket. Another Alertmanager is away.
    """
    away = f"http://{LOOPBACK}:{free_port()}/api/v2/alerts"
    options = WebhookOptions(url=(away, alertmanager), format="alertmanager")
    row = {"group": "billing", "verdict": "stopped", "severity": "critical", "verdict_since": NOON, "team": "payments"}
    row |= {"sentence": "orders-3: No commit for 30 s.", "max_severity": "warning", "state": "Stable"}
    legend = [{"verdict": "stopped", "severity": "critical", "next_step": "Restart it."}]
    links = PageLinks(runbook_url="https://docs.example", cluster_name="east", external_url="https://lag.example")
    with AlertPoster.running(options, "c-posted", links) as poster:
        assert poster is not None
        poster.update(snapshot(groups=[row], verdict_groups=legend, common_causes=[COMMON_CAUSE]))
        wait_until(lambda: len(_shown(alertmanager, 'cluster_id="c-posted"')) == 1, "the alert", limit=120)
        (alert,) = _shown(alertmanager, 'cluster_id="c-posted"')
        wait_until(lambda: poster.status().sent == 1, "the answer")
        poster.update(snapshot(groups=[row | {"verdict": "ok", "severity": "fine"}]))
        wait_until(lambda: _shown(alertmanager, 'cluster_id="c-posted"') == [], "the end of the alert", limit=120)
    own = {"cluster": "east", "cluster_id": "c-posted", "verdict": "stopped", "team": "payments"}
    of_rule = {name: text for name, text in STUCK.items() if name != "instance"}
    assert alert["labels"] == {**of_rule, **own, "max_severity": "warning"}
    assert alert["annotations"] == {
        "summary": "Group billing of cluster east: stopped",
        "description": "orders-3: No commit for 30 s.",
        "next_step": "Restart it.",
        "common_cause": COMMON_CAUSE["sentence"],
        "runbook_url": "https://docs.example/LagwardenGroupStuck",
        "dashboard_url": "https://lag.example/group?name=billing",
    }
    assert alert["generatorURL"] == "https://lag.example/group?name=billing"
    assert alert["startsAt"] == "2023-11-14T22:13:20.000Z"
    assert [each["name"] for each in alert["receivers"]] == ["tickets"]


def _muted(alertmanager: str, job: str) -> set[str]:
    shown = _shown(alertmanager, f'job="{job}"')
    return {one["labels"]["alertname"] for one in shown if one["status"]["state"] == "suppressed"}


def _shown(alertmanager: str, matcher: str) -> list[Any]:
    query = urllib.parse.urlencode({"filter": matcher})
    with urllib.request.urlopen(f"{alertmanager}?{query}", timeout=60) as answer:  # noqa: S310 - http on loopback
        return list(json.load(answer))


def _at_home(program: str) -> list[str]:
    """Return the start of a command that has the templates of Debian's Alertmanager at their expected path.

    A separate mount namespace has the unpacked files there. Nothing on the machine changes.
    """
    unpacked = Path(program).parents[1] / "share"
    if unpacked == Path("/usr/share"):
        return []
    inside = f'mount --bind "{unpacked}" /usr/share && exec "$@"'
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("Debian's Alertmanager is not installed, and no mount namespace can be had to run it unpacked")
    return ["unshare", "--mount", "sh", "-c", inside, "sh"]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - http on loopback
            return True
    except OSError:
        return False


def _post(url: str, labels: list[dict[str, str]]) -> None:
    body = json.dumps([{"labels": each} for each in labels]).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - http on loopback
    with urllib.request.urlopen(request, timeout=60):  # noqa: S310 - http on loopback
        pass
