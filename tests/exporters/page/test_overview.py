"""The overview page."""

import json
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any, Final

from exporters.group_query import SortKey
from exporters.http.openapi.small_world import NOON
from exporters.page.document import Page
from exporters.page.group_filter import GroupFilter
from exporters.page.live_groups import ROWS
from exporters.page.overview import overview_page
from exporters.page.overview_tables import ATTENTION_ROWS, CAUSE_GROUPS
from exporters.readmodel import Snapshot
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import SEVERITIES
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import (
    CATCHING_UP,
    COMMON_CAUSE,
    CONNECTING,
    HOSTILE_NAMES,
    small_snapshot,
    snapshot,
    status,
)

NOW: Final = NOON / 1000 + 5
DASH: Final = "\u2013"
HI: Final = 'say "hi"\\\\nthere'


def page(data: Snapshot | None = None, group_filter: GroupFilter | None = None, **changes: Any) -> Page:
    """Return the page of a snapshot five seconds after NOON."""
    chosen = GroupFilter() if group_filter is None else group_filter
    published = None if data is None else PublishedSnapshot.build(data)
    return overview_page(published, status(**changes), NOW, chosen, search=clients, trends=trends)


def clients(client: str | None, host: str | None) -> set[str]:
    """Return the groups of the only client."""
    return {"billing"} if client in {None, "app"} and host in {None, "10.0.0.1"} else set()


def trends(groups: Sequence[str]) -> dict[str, list[tuple[float, int | None]]]:
    return {name: [(0.0, 1), (60.0, 3)] for name in groups if name == "billing"}


def read(data: Snapshot | None = None, group_filter: GroupFilter | None = None, **changes: Any) -> Reader:
    return Reader(page(data, group_filter, **changes).html())


def page_of(*groups: dict[str, Any], group_filter: GroupFilter | None = None) -> Reader:
    return read(snapshot(groups=list(groups)), group_filter)


def attention(name: str, severity: str, **columns: Any) -> dict[str, Any]:
    verdict = {"verdict": "stalled", "sentence": f"{name} is stalled.", "verdict_since": NOON, "state": "Stable"}
    return {"group": name, "severity": severity, **verdict, **columns}


def names(reader: Reader) -> list[str]:
    """Return the groups of the table in order."""
    return [row[0] for row in reader.tables["Groups"][1:]]


def html_of(*groups: dict[str, Any]) -> str:
    return page(snapshot(groups=list(groups))).html().decode()


def test_groups_are_sorted_by_severity_and_time_lag() -> None:
    """The worst verdict is first, then time lag, lag and name decide; unknown values are last and named."""
    rows = read(small_snapshot()).tables["Groups"]
    huge = f"{2**62:,}"
    state = "Stable\xa0described for 1 min 35 s"
    least = "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s"
    time = "5 s ago"
    assert rows[1:] == [
        ["billing", "stopped", huge, least, "", "3", "120/s", "0/s", state, time, DASH, "2", "1", "classic"],
        ["plain", *["unknown"] * 3, DASH, *["unknown"] * 5, DASH, "0", "", "simple"],
        [
            *(HI, "caught up", "0", "0", DASH, "0", "unknown", "unknown", "Empty", time, "in 59 min 55 s", "1"),
            *("", "consumer"),
        ],
    ]
    reader = page_of(
        attention("a", "warning", time_lag_max=5.0, lag_sum=9),
        attention("b", "warning", time_lag_max=60.0, lag_sum=1),
        attention("c", "warning", time_lag_max=5.0, lag_sum=10),
        attention("d", "warning"),
        attention("e", "critical"),
        attention("f", "warning", time_lag_max=5.0, lag_sum=9),
    )
    assert names(reader) == ["e", "b", "c", "a", "f", "d"]


def test_groups_that_need_attention_have_their_sentence() -> None:
    """Those of severity warning and critical, the worst first; of many only the worst, with the total."""
    text = page_of(*(attention(name, name) for name in sorted(SEVERITIES))).text
    section = text.partition("Need attention")[2].partition("Groups")[0]
    assert re.findall("(critical|warning|notice|unknown) is stalled", section) == ["critical", "warning"]
    assert "notice" not in section
    text = page_of(*(attention(f"g{at:03}", "critical", lag_sum=at) for at in range(ATTENTION_ROWS + 3))).text
    assert f"the worst {ATTENTION_ROWS} of {ATTENTION_ROWS + 3}" in text
    assert "g052 is stalled." in text
    assert "g001 is stalled." not in text


def test_headline_title_and_icon_summarize_the_severities() -> None:
    """The heading counts the groups that need attention. The icon, also of the view, is red if one is critical."""
    for severities, headline, title in (
        (["fine"], "No group needs attention", "all fine"),
        (["notice", "unknown"], "No group needs attention", "all fine"),
        (["critical"], "1 group needs attention", "1 critical"),
        (["warning", "critical", "critical"], "3 groups need attention", "2 critical, 1 warning"),
        ([None], "No verdicts yet", "all fine"),
    ):
        shown = page(snapshot(groups=[{"group": str(at), "severity": each} for at, each in enumerate(severities)]))
        assert headline in Reader(shown.html()).text
        assert shown.title == f"{title} · lagwarden"
    red, calm = (page(snapshot(groups=[attention("a", severity)])) for severity in ("critical", "warning"))
    assert ["d32f2f" in shown.icon for shown in (red, calm)] == [True, False]
    assert json.loads(red.view())["icon"] == red.icon


SELECTED: Final = (
    # A part of the name, ignoring case; a regular expression is plain text.
    (GroupFilter(filter="BILL"), ["billing"]),
    (GroupFilter(filter="i"), ["billing", "plain", HI]),
    (GroupFilter(filter=".*"), []),
    # The exact word of everything else; all filters must match.
    (GroupFilter(severity="fine"), [HI]),
    (GroupFilter(severity="worse"), []),
    (GroupFilter(verdict="unknown"), ["plain"]),
    (GroupFilter(state="unknown"), ["plain"]),
    (GroupFilter(filter="i", state="Stable"), ["billing"]),
    (GroupFilter(topic="orders"), ["billing"]),
    (GroupFilter(topic="order"), []),
    (GroupFilter(client="app"), ["billing"]),
    (GroupFilter(client="app", host="10.0.0.2"), []),
    (GroupFilter(owner="unknown"), ["billing", "plain", HI]),
    (GroupFilter(owner="y", severity="critcal"), []),
)
"""Filters, and the groups of the small snapshot that they select."""


def test_the_filter_selects_groups() -> None:
    """Only matching groups are shown; if there are none, a sentence has the filter."""
    for group_filter, shown in SELECTED:
        reader = read(small_snapshot(), group_filter)
        assert names(reader) == shown, group_filter
        assert ("No live group matches the filter: " in reader.text) == (not shown)
    assert "No live group matches the filter: owner y, severity critcal." in reader.text
    owned = (attention("a", "critical", team="x"), attention("b", "warning"))
    assert names(page_of(*owned, group_filter=GroupFilter(owner="x"))) == ["a"]


def test_hidden_members_cannot_be_searched() -> None:
    """A page without a search has no inputs for client and host, and a filter by one of them shows no group."""
    published = PublishedSnapshot.build(small_snapshot())
    hidden = Reader(overview_page(published, status(), NOW, GroupFilter()).html())
    assert "Topic" in hidden.text
    assert "Client id" not in hidden.text
    refused = Reader(overview_page(published, status(), NOW, GroupFilter(client="app")).html())
    assert "Members are hidden" in refused.text
    assert refused.rows == []


def test_a_filter_round_trips_through_its_url() -> None:
    """Law: parsing the URL of a filter returns it, whatever its values. Invalid and unknown parameters are ignored."""
    for start in ("-1", "x", "", "1e3", "\u0663", "9" * 400):
        assert GroupFilter.from_query({"start": start, "filter": "a", "x": "y"}) == GroupFilter(filter="a"), start
    for words in HOSTILE_NAMES:
        group_filter = GroupFilter(words, words, words, words, words, "critical", words, words, SortKey.LAG)
        query = dict(urllib.parse.parse_qsl(group_filter.url_with().partition("?")[2]))
        assert GroupFilter.from_query(query) == group_filter


def test_many_groups_are_divided_into_pages() -> None:
    """A page has the total and a link to the next page; a start after the end shows the last page."""
    groups = [{"group": f"{at:05}", "lag_sum": at} for at in range(ROWS * 2 + 7)]
    first, last = page_of(*groups), page_of(*groups, group_filter=GroupFilter(start=10**8))
    assert names(first)[0] == f"{ROWS * 2 + 6:05}"
    assert (len(names(first)), len(names(last))) == (ROWS, 7)
    assert "1 to 100 of 207" in first.text
    assert "201 to 207 of 207" in last.text
    assert f"./?start={ROWS}" in first.links
    assert f"./?start={ROWS}" in last.links


def test_dead_groups_have_their_own_table() -> None:
    """The table has cause and time of death, the latest first; live groups have another table."""
    dead = [
        {"group": f"d{at}", "state": "Dead", "died_time": NOON - at * 60_000, "death_cause": "expired"} for at in (2, 1)
    ]
    reader = page_of({"group": "alive"}, *dead)
    assert names(reader) == ["alive"]
    assert reader.tables["Recently died"][1:] == [
        ["d1", "expired", "1 min 5 s ago", "unknown"],
        ["d2", "expired", "2 min 5 s ago", "unknown"],
    ]
    assert "Recently died" not in page_of({"group": "alive"}).tables


def test_a_name_is_only_text() -> None:
    """A name creates no element and no attribute, is printable, and its link has the exact name."""
    clean = page_of(attention("a", "critical"), attention("b", "critical"), group_filter=GroupFilter(filter="a"))
    for name in HOSTILE_NAMES:
        words = dict.fromkeys(("group", "kind", "state", "death_cause", "verdict", "severity", "sentence"), name)
        marked = attention(f"{name}!", "critical", sentence=name)
        reader = page_of(words, marked, group_filter=GroupFilter(filter=name))
        assert reader.tags.keys() <= clean.tags.keys() | {"small"}
        assert reader.attributes <= clean.attributes
        assert reader.tags["script"] == 1
        assert all(each and each.isprintable() for each in names(reader))
        linked = {link for link in reader.links if link.startswith("group?name=")}
        queries = [urllib.parse.parse_qs(link.partition("?")[2], keep_blank_values=True) for link in linked]
        assert sorted(query["name"][0] for query in queries) == sorted([name, f"{name}!"])


def test_there_is_no_table_before_the_first_snapshot() -> None:
    """The page has the escaped reason, progress and remaining time; a ready monitor has no bar."""
    reader = read(**CATCHING_UP)
    assert reader.rows == []
    for words in (
        "Not ready",
        "Reading what groups have committed so far.",
        "Catching up: 42 % read, 912,346 records/s, 1 min 15 s left",
    ):
        assert words in reader.text
    assert "progress" not in read(small_snapshot()).tags
    reader = read(**CONNECTING)
    assert "Kafka does not answer at <broker>:9092." in reader.text
    assert "broker" not in reader.tags
    assert "not reachable" in reader.text


def test_a_cluster_without_groups_has_a_sentence_and_all_links_are_relative() -> None:
    """No table is empty, and the page works behind any path prefix and without internet access."""
    assert "No group has committed an offset or has members." in read(snapshot()).text
    assert [link for link in read(small_snapshot()).links if re.match(r"/|\w+:(?!image/svg)", link)] == []


def test_common_causes_come_before_the_groups() -> None:
    """A common cause has its sentence, its next step and links to some of its groups, and the number of the others."""

    def text(cause: dict[str, Any]) -> str:
        return page(snapshot(groups=[attention("billing", "critical")], common_causes=[cause])).html().decode()

    shown = text(COMMON_CAUSE)
    assert "17 of 18 groups coordinated by broker 3 stopped within 20 s; 2 are still &lt;unhealthy&gt;." in shown
    assert shown.index("Look at this broker.") < shown.index("billing is stalled.")
    assert 'href="group?name=a%2Fb"' in shown
    assert "Common cause" not in page(small_snapshot()).html().decode()
    many = text(COMMON_CAUSE | {"groups": [f"g{number}" for number in range(CAUSE_GROUPS + 5)]})
    assert many.count('href="group?name=g') == CAUSE_GROUPS
    assert "and 5 more" in many


def test_groups_that_raise_no_alert_are_marked() -> None:
    """The mark has the end of the maintenance or the reason of the silence, and the verdict is still shown."""
    plain = html_of(attention("a", "critical", not_alerted=False))
    for columns, *marks in (
        ({"not_alerted": True}, "no alert"),
        ({"maintenance_until": NOON + 60_000}, "in maintenance", "until 2023-11-14 22:14:20 UTC"),
        ({"silence_reason": '"retired"'}, 'title="&quot;retired&quot;">silenced<'),
    ):
        document = html_of(attention("a", "critical", **columns))
        assert [mark for mark in (*marks, "a is stalled.") if mark not in document] == []
        assert [mark for mark in marks if mark in plain] == []
    assert "silenced" not in plain
