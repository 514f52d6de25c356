"""The legend of the overview page."""

from typing import Any

from exporters.http.openapi.small_world import NOON
from exporters.page.document import Page
from exporters.page.group_filter import GroupFilter
from exporters.page.overview import overview_page
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import snapshot, status

VERDICTS = [
    {"verdict": "ok", "severity": "fine", "groups": 1, "meaning": "Keeps up.", "next_step": "Nothing."},
    {"verdict": "skewed", "severity": "warning", "groups": 0, "meaning": "One lags.", "next_step": "Look at it."},
    {"verdict": "no_leader", "severity": "critical", "groups": 0, "meaning": "No leader.", "next_step": "Bring it."},
    {"verdict": "losing_data", "severity": "critical", "groups": 2, "meaning": "<Lost>.", "next_step": "Retain."},
]
LEGEND = "Legend of the verdicts"


def page_of(verdicts: list[dict[str, Any]]) -> Page:
    published = PublishedSnapshot.build(snapshot([], verdict_groups=verdicts))
    return overview_page(published, status(), NOON, GroupFilter())


def test_the_legend_has_every_verdict_the_worst_first() -> None:
    """Each verdict has severity, meaning and what to do, also a verdict that no group has now.

    No verdicts are known before the first evaluation, so the page has no legend.
    """
    assert Reader(page_of(VERDICTS).html()).tables[LEGEND] == [
        ["Verdict", "Severity", "Meaning", "What to do"],
        ["losing data", "critical", "<Lost>.", "Retain."],
        ["no leader", "critical", "No leader.", "Bring it."],
        ["skewed", "warning", "One lags.", "Look at it."],
        ["ok", "fine", "Keeps up.", "Nothing."],
    ]
    assert LEGEND not in Reader(page_of([]).html()).tables
