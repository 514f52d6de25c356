"""The links from a group's page to Grafana and the runbooks."""

import urllib.parse

from exporters.page.links import PageLinks
from tests.exporters.snapshots import HOSTILE_NAMES

LINKS = PageLinks("https://grafana.example/team", "https://git.example/lagwarden/blob/main")


def test_the_dashboard_has_the_exact_group_and_cluster() -> None:
    """The names of the group and of the cluster are one encoded variable each, whatever their characters."""
    for name in HOSTILE_NAMES:
        url = urllib.parse.urlsplit(LINKS.dashboard(name) or "")
        assert (url.netloc, url.path) == ("grafana.example", "/team/d/lagwarden-group")
        assert urllib.parse.parse_qs(url.query, keep_blank_values=True) == {"var-group": [name]}
    links = PageLinks("https://grafana.example", cluster_name="eu & us")
    query = urllib.parse.urlsplit(links.dashboard("billing") or "").query
    assert urllib.parse.parse_qs(query) == {"var-group": ["billing"], "var-cluster": ["eu & us"]}


def test_the_runbook_is_that_of_the_alert() -> None:
    """Or of the severity, for an unhealthy verdict without one. Else, or not configured, there is no link."""
    runbooks = "https://git.example/lagwarden/blob/main/docs/runbooks"
    for verdict, severity, alert in (
        ("losing_data", "critical", "LagwardenGroupLosingData"),
        ("stopped", "critical", "LagwardenGroupStuck"),
        ("skewed", "warning", "LagwardenGroupUneven"),
        ("expiring", "warning", "LagwardenGroupOffsetsExpireSoon"),
    ):
        assert LINKS.runbook(verdict, severity) == f"{runbooks}/{alert}.md"
    assert [LINKS.runbook(*each) for each in ((None, None), ("ok", "fine"), ("reset", "notice"))] == [None] * 3
    assert (PageLinks().dashboard("a"), PageLinks().runbook("stopped", "critical")) == (None, None)
