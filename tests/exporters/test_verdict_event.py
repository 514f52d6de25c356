"""Which events pass the filters of a query."""

from exporters.group_query import GroupQuery
from exporters.verdict_event import AnnouncedVerdict, VerdictEvent

OK = AnnouncedVerdict("ok", "fine")
STOPPED = AnnouncedVerdict("stopped", "critical")
BEGINNING = VerdictEvent("1", "eu.Billing", 0.0, b"{}", STOPPED, OK, "payments")
END = VerdictEvent("2", "eu.Billing", 0.0, b"{}", OK, STOPPED, "payments")
FIRST = VerdictEvent("3", "x", 0.0, b"{}", STOPPED)
DEATH = VerdictEvent("4", "x", 0.0, b"{}", None, STOPPED)

STORIES = [
    ("no filter", GroupQuery(), [True, True, True, True]),
    ("a part of the name in any case", GroupQuery(filter="bILL"), [True, True, False, False]),
    ("the team", GroupQuery(owner="payments"), [True, True, False, False]),
    ("no team", GroupQuery(owner="unknown"), [False, False, True, True]),
    ("the new or the previous severity", GroupQuery(severity=("critical",)), [True, True, True, True]),
    ("a severity of neither", GroupQuery(severity=("warning", "unknown")), [False, False, False, False]),
    ("the new or the previous verdict", GroupQuery(verdict=("ok",)), [True, True, False, False]),
    ("all filters must match", GroupQuery(filter="bill", verdict=("stalled",)), [False, False, False, False]),
]


def test_which_events_match() -> None:
    """The end of a fault passes every filter that its beginning has passed."""
    for story, query, passes in STORIES:
        assert [event.matches(query) for event in (BEGINNING, END, FIRST, DEATH)] == passes, story
