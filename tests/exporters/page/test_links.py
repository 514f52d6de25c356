"""The links from a group's page to Grafana and the runbooks."""

import urllib.parse

from exporters.page.links import PageLinks
from exporters.page.topic import runbook_names
from tests.exporters.snapshots import HOSTILE_NAMES

LINKS = PageLinks("https://grafana.example/team", "https://wiki.example/alerts")


def test_the_dashboard_has_the_exact_group_and_cluster() -> None:
    """The names of the group and of the cluster are one encoded variable each, whatever their characters."""
    for name in HOSTILE_NAMES:
        url = urllib.parse.urlsplit(LINKS.dashboard(name) or "")
        assert (url.netloc, url.path) == ("grafana.example", "/team/d/lagwarden-group")
        assert urllib.parse.parse_qs(url.query, keep_blank_values=True) == {"var-group": [name]}
    links = PageLinks("https://grafana.example", cluster_name="eu & us")
    query = urllib.parse.urlsplit(links.dashboard("billing") or "").query
    assert urllib.parse.parse_qs(query) == {"var-group": ["billing"], "var-cluster": ["eu & us"]}


def test_the_message_browser_opens_at_the_record() -> None:
    """A topic cannot add a path or a parameter; without an offset there is no link."""
    links = PageLinks(messages_url="https://m.example/{topic}?at={partition}:{offset}")
    assert links.message("a/b?c", 3, 54) == "https://m.example/a%2Fb%3Fc?at=3:54"
    assert (links.message("a", 3, None), PageLinks().message("a", 3, 54)) == (None, None)


def test_the_runbook_is_that_of_the_alert() -> None:
    """Or of the severity, for an unhealthy verdict without one. By default it is a page of lagwarden."""
    for verdict, severity, alert in (
        ("losing_data", "critical", "LagwardenGroupLosingData"),
        ("stopped", "critical", "LagwardenGroupStuck"),
        ("skewed", "warning", "LagwardenGroupUneven"),
        ("expiring", "warning", "LagwardenGroupOffsetsExpireSoon"),
    ):
        assert LINKS.runbook(verdict, severity, "./") == f"https://wiki.example/alerts/{alert}"
        assert PageLinks().runbook(verdict, severity, "../") == f"../runbook/{alert}"
        assert alert in runbook_names()
    for verdict, severity in ((None, None), ("ok", "fine"), ("reset", "notice")):
        assert LINKS.runbook(verdict, severity, "./") is None
    assert PageLinks().dashboard("a") is None
