"""The links from a group's page to Grafana and the runbooks."""

from __future__ import annotations

import urllib.parse

import pytest

from exporters.page.links import PageLinks
from tests.exporters.snapshots import HOSTILE_NAMES

LINKS = PageLinks("https://grafana.example/team", "https://git.example/lagwarden/blob/main")


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_the_dashboard_has_the_exact_group(name: str) -> None:
    """The name of the group is one encoded parameter, whatever its characters."""
    url = urllib.parse.urlsplit(LINKS.dashboard(name) or "")
    assert (url.netloc, url.path) == ("grafana.example", "/team/d/lagwarden-group")
    assert urllib.parse.parse_qs(url.query, keep_blank_values=True) == {"var-group": [name]}


def test_the_dashboard_has_the_cluster() -> None:
    """The name of the cluster is another encoded variable."""
    links = PageLinks("https://grafana.example", cluster_name="eu & us")
    query = urllib.parse.urlsplit(links.dashboard("billing") or "").query
    assert urllib.parse.parse_qs(query) == {"var-group": ["billing"], "var-cluster": ["eu & us"]}


@pytest.mark.parametrize(
    ("verdict", "severity", "alert"),
    [
        ("losing_data", "critical", "LagwardenGroupLosingData"),
        ("stopped", "critical", "LagwardenGroupStuck"),
        ("skewed", "warning", "LagwardenGroupUneven"),
        ("expiring", "warning", "LagwardenGroupOffsetsExpireSoon"),
    ],
)
def test_the_runbook_is_that_of_the_alert(verdict: str, severity: str, alert: str) -> None:
    """The runbook is that of the verdict, or that of the severity for a verdict without an alert of its own."""
    assert LINKS.runbook(verdict, severity) == f"https://git.example/lagwarden/blob/main/docs/runbooks/{alert}.md"


@pytest.mark.parametrize(("verdict", "severity"), [(None, None), ("ok", "fine"), ("reset", "notice")])
def test_a_verdict_without_an_alert_has_no_runbook(verdict: str | None, severity: str | None) -> None:
    """A verdict without an alert has no runbook; neither has a group without a verdict."""
    assert LINKS.runbook(verdict, severity) is None


def test_services_that_are_not_configured_have_no_link() -> None:
    """A dashboard or runbook that is not configured has no link."""
    assert PageLinks().dashboard("a") is None
    assert PageLinks().runbook("stopped", "critical") is None
