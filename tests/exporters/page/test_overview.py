"""The overview page."""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest

from exporters.group_query import SortKey, SortOrder
from exporters.page.group_filter import GroupFilter
from exporters.page.live_groups import ROWS
from exporters.page.overview import overview_page
from exporters.page.overview_tables import ATTENTION_ROWS, CAUSE_GROUPS
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import SEVERITIES
from tests.exporters.cluster_facts import facts
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import (
    CATCHING_UP,
    COMMON_CAUSE,
    CONNECTING,
    HOSTILE_NAMES,
    NOON,
    small_snapshot,
    snapshot,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporters.page.document import Page

NOW = NOON / 1000 + 5
DASH = "\u2013"


def page(published: PublishedSnapshot | None = None, group_filter: GroupFilter | None = None, **changes: Any) -> Page:
    """Return the page five seconds after NOON."""
    chosen = GroupFilter() if group_filter is None else group_filter
    return overview_page(published, status(**changes), NOW, chosen, search=clients, trends=trends)


def clients(client: str | None, host: str | None) -> set[str]:
    """Return the groups of the only client."""
    return {"billing"} if client in {None, "app"} and host in {None, "10.0.0.1"} else set()


def trends(groups: Sequence[str]) -> dict[str, list[tuple[float, int | None]]]:
    """Return a lag that grows, for one group."""
    return {name: [(0.0, 1), (60.0, 3)] for name in groups if name == "billing"}


def read(published: PublishedSnapshot | None = None, group_filter: GroupFilter | None = None, **changes: Any) -> Reader:
    """Return the parsed page."""
    return Reader(page(published, group_filter, **changes).html())


def attention(name: str, severity: str, **columns: Any) -> dict[str, Any]:
    """Return a group with a verdict of this severity."""
    verdict = {"verdict": "stalled", "sentence": f"{name} is stalled.", "verdict_since": NOON, "state": "Stable"}
    return {"group": name, "severity": severity, **verdict, **columns}


def names(reader: Reader) -> list[str]:
    """Return the groups of the table in order."""
    return [row[0] for row in reader.tables["Groups"][1:]]


def test_groups_are_sorted_by_severity() -> None:
    """The worst verdict is first; unknown values are shown as unknown."""
    rows = read(PublishedSnapshot.build(small_snapshot())).tables["Groups"]
    huge = f"{2**62:,}"
    state = "Stable\xa0described for 1 min 35 s"
    hi = 'say "hi"\\\\nthere'
    least = "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s"
    time = "5.0 s ago"
    assert rows[1:] == [
        ["billing", "stopped", huge, "", least, "120/s", "0/s", "3", state, time, "2", DASH, "1", "classic"],
        ["plain", "unknown", "unknown", DASH, *["unknown"] * 6, "0", DASH, "", "simple"],
        [
            hi,
            "caught up",
            "0",
            DASH,
            "0",
            "unknown",
            "unknown",
            "0",
            "Empty",
            time,
            "1",
            "in 59 min 55 s",
            "",
            "consumer",
        ],
    ]


def test_groups_of_one_severity_are_sorted_by_time_lag() -> None:
    """Groups of one severity are sorted by time lag, then by lag, then by name; unknown values are last."""
    groups = [
        attention("a", "warning", time_lag_max=5.0, lag_sum=9),
        attention("b", "warning", time_lag_max=60.0, lag_sum=1),
        attention("c", "warning", time_lag_max=5.0, lag_sum=10),
        attention("d", "warning"),
        attention("e", "critical"),
        attention("f", "warning", time_lag_max=5.0, lag_sum=9),
    ]
    assert names(read(PublishedSnapshot.build(snapshot(groups=groups)))) == ["e", "b", "c", "a", "f", "d"]


def test_groups_that_need_attention_have_their_sentence() -> None:
    """Groups of severity warning and critical are listed, the worst first; those of notice and unknown are not."""
    groups = [attention(name, name) for name in sorted(SEVERITIES)]
    text = read(PublishedSnapshot.build(snapshot(groups=groups))).text
    section = text.partition("Need attention")[2].partition("Groups")[0]
    assert "critical is stalled." in section
    assert section.index("critical is stalled.") < section.index("warning is stalled.")
    assert "notice" not in section
    assert "unknown is stalled." not in section


@pytest.mark.parametrize(
    ("severities", "headline", "title"),
    [
        pytest.param(["fine"], "No group needs attention", "all fine", id="all fine"),
        pytest.param(["notice", "unknown"], "No group needs attention", "all fine", id="notice and unknown"),
        pytest.param(["critical"], "1 group needs attention", "1 critical", id="one group"),
        pytest.param(
            ["warning", "critical", "critical"], "3 groups need attention", "2 critical, 1 warning", id="several groups"
        ),
        pytest.param([None], "No verdicts yet", "all fine", id="no verdicts"),
    ],
)
def test_headline_and_title_summarize_the_severities(severities: list[str | None], headline: str, title: str) -> None:
    """The heading counts the groups that need attention, and the title of the tab names their severities."""
    groups = [{"group": str(at), "severity": severity} for at, severity in enumerate(severities)]
    shown = page(PublishedSnapshot.build(snapshot(groups=groups)))
    assert headline in Reader(shown.html()).text
    assert shown.title == f"{title} · lagwarden"


def test_counts_link_to_their_groups() -> None:
    """Severities, verdicts and states have counts that link to their groups; an active count links to all groups."""
    reader = read(PublishedSnapshot.build(small_snapshot()))
    assert "1 critical0 warning0 notice1 unknown1 fine" in reader.text
    assert "1 stopped" in reader.text
    assert "1 Dead1 Empty1 Stable1 unknown" in reader.text
    assert "./?severity=critical" in reader.links
    filtered = read(PublishedSnapshot.build(small_snapshot()), GroupFilter(severity="critical"))
    assert "./?severity=critical" not in filtered.links
    assert "./?severity=critical&verdict=stopped" in filtered.links


@pytest.mark.parametrize(
    ("group_filter", "shown"),
    [
        pytest.param(GroupFilter(filter="BILL"), ["billing"], id="part of the name, ignoring case"),
        pytest.param(GroupFilter(filter="i"), ["billing", "plain", 'say "hi"\\\\nthere'], id="several groups"),
        pytest.param(GroupFilter(severity="fine"), ['say "hi"\\\\nthere'], id="severity"),
        pytest.param(GroupFilter(verdict="unknown"), ["plain"], id="verdict"),
        pytest.param(GroupFilter(state="unknown"), ["plain"], id="unknown state"),
        pytest.param(GroupFilter(filter="i", state="Stable"), ["billing"], id="name and state"),
        pytest.param(GroupFilter(filter=".*"), [], id="regular expression as plain text"),
        pytest.param(GroupFilter(severity="worse"), [], id="unknown severity"),
    ],
)
def test_the_filter_selects_groups(group_filter: GroupFilter, shown: list[str]) -> None:
    """Only matching groups are shown; if there are none, a sentence says so."""
    reader = read(PublishedSnapshot.build(small_snapshot()), group_filter)
    assert names(reader) == shown
    assert ("No live group matches the filter: " in reader.text) == (not shown)


@pytest.mark.parametrize("start", ["-1", "x", "", "1e3", "\u0663", "9" * 400], ids=ascii)
def test_invalid_parameters_are_ignored(start: str) -> None:
    """An invalid `start` and an unknown parameter do not change the filter."""
    assert GroupFilter.from_query({"start": start, "filter": "a", "x": "y"}) == GroupFilter(filter="a")


def test_a_filter_round_trips_through_its_url() -> None:
    """Law: parsing the URL of a filter returns the filter, whatever its values."""
    for words in HOSTILE_NAMES:
        group_filter = GroupFilter(words, words, words, words, words, "critical", words, words, SortKey.LAG)
        query = dict(urllib.parse.parse_qsl(group_filter.url_with().partition("?")[2]))
        assert GroupFilter.from_query(query) == group_filter


def test_many_groups_are_divided_into_pages() -> None:
    """A page has the total and a link to the next page; a start after the end shows the last page."""
    data = PublishedSnapshot.build(
        snapshot(groups=[{"group": f"{at:05}", "lag_sum": at} for at in range(ROWS * 2 + 7)])
    )
    first = read(data)
    assert names(first)[0] == f"{ROWS * 2 + 6:05}"
    assert len(names(first)) == ROWS
    assert "1 to 100 of 207" in first.text
    assert f"./?start={ROWS}" in first.links
    last = read(data, GroupFilter(start=10**8))
    assert len(names(last)) == 7
    assert "201 to 207 of 207" in last.text
    assert f"./?start={ROWS}" in last.links


def test_the_groups_that_need_attention_are_limited() -> None:
    """Only the worst groups are shown, with the total."""
    groups = [attention(f"g{at:03}", "critical", lag_sum=at) for at in range(ATTENTION_ROWS + 3)]
    text = read(PublishedSnapshot.build(snapshot(groups=groups))).text
    assert f"the worst {ATTENTION_ROWS} of {ATTENTION_ROWS + 3}" in text
    assert "g052 is stalled." in text
    assert "g001 is stalled." not in text


def test_dead_groups_have_their_own_table() -> None:
    """The table has cause and time of death, the latest first; live groups have another table."""
    dead = [
        {"group": f"d{at}", "state": "Dead", "died_time": NOON - at * 60_000, "death_cause": "expired"} for at in (2, 1)
    ]
    reader = read(PublishedSnapshot.build(snapshot(groups=[{"group": "alive"}, *dead])))
    assert names(reader) == ["alive"]
    assert reader.tables["Recently died"][1:] == [
        ["d1", "expired", "1 min 5 s ago", "unknown"],
        ["d2", "expired", "2 min 5 s ago", "unknown"],
    ]
    assert "Recently died" not in read(PublishedSnapshot.build(snapshot(groups=[{"group": "alive"}]))).tables


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_name_is_only_text(name: str) -> None:
    """A name creates no element and no attribute, is printable, and its link has the exact name."""
    words = dict.fromkeys(("group", "kind", "state", "death_cause", "verdict", "severity", "sentence"), name)
    hostile = snapshot(groups=[words, attention(f"{name}!", "critical", sentence=name)])
    reader = read(PublishedSnapshot.build(hostile), GroupFilter(filter=name))
    harmless = snapshot(groups=[attention("a", "critical"), attention("b", "critical")])
    clean = read(PublishedSnapshot.build(harmless), GroupFilter(filter="a"))
    assert reader.tags.keys() <= clean.tags.keys() | {"small"}
    assert reader.attributes <= clean.attributes
    assert reader.tags["script"] == 1
    shown = names(reader)
    assert all(each and each.isprintable() for each in shown)
    linked = {link for link in reader.links if link.startswith("group?name=")}
    queries = [urllib.parse.parse_qs(link.partition("?")[2], keep_blank_values=True) for link in linked]
    assert sorted(query["name"][0] for query in queries) == sorted([name, f"{name}!"])


def test_there_is_no_table_before_the_first_snapshot() -> None:
    """During the catch-up the page shows the reason, the progress and the remaining time."""
    reader = read(**CATCHING_UP)
    assert reader.rows == []
    assert "Not ready" in reader.text
    assert "Reading what groups have committed so far." in reader.text
    assert "Catching up: 42 % read, 912,346 records/s, 1 min 15 s left" in reader.text


def test_reasons_of_the_status_are_escaped() -> None:
    """An address in angle brackets does not become an element."""
    reader = read(**CONNECTING)
    assert "Kafka does not answer at <broker>:9092." in reader.text
    assert "broker" not in reader.tags
    assert "not reachable" in reader.text


def test_the_card_of_the_monitor_is_first_if_it_has_a_problem() -> None:
    """The age of the snapshot is always shown; an old snapshot is reported before the groups."""
    fresh = read(PublishedSnapshot.build(small_snapshot())).text
    assert "Snapshot taken 5.0 s ago." in fresh
    assert fresh.index("needs attention") < fresh.index("Cluster")
    assert "Decode errors3" in fresh
    old = PublishedSnapshot.build(dataclasses.replace(small_snapshot(), taken_at=NOW - 300))
    for text in (
        read(old).text,
        read(PublishedSnapshot.build(small_snapshot()), **(CATCHING_UP | {"catch_up_ratio": None})).text,
    ):
        assert text.index("Cluster") < text.index("needs attention")
    assert "The snapshot is 5 min old." in read(old).text


def test_a_ready_monitor_has_no_progress_bar() -> None:
    """The bar is shown only during the catch-up."""
    assert "progress" not in read(PublishedSnapshot.build(small_snapshot())).tags


def test_a_cluster_without_groups_has_a_sentence() -> None:
    """The page says that no group has committed an offset or has members, and has no empty table."""
    assert "No group has committed an offset or has members." in read(PublishedSnapshot.build(snapshot())).text


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"cluster_name": "eu-1", "cluster_id": "MkU3"}, "Cluster eu-1 (MkU3)"),
        ({"cluster_name": "eu-1", "cluster_id": None}, "Cluster eu-1"),
        ({"cluster_id": "MkU3"}, "Cluster MkU3"),
    ],
    ids=["name and id", "no broker has answered", "no name"],
)
def test_the_cluster_is_named(known: dict[str, Any], words: str) -> None:
    """The configured name is before the id, in the line at the top and in the card."""
    text = read(PublishedSnapshot.build(small_snapshot()), **known).text
    assert f"{words} \N{MIDDLE DOT} Snapshot taken" in text
    assert words.replace("Cluster ", "Cluster").replace(" ", "") in text.replace(" ", "").replace("\n", "")


def test_all_links_are_relative() -> None:
    """No link is absolute, so that the page works behind any path prefix and without internet access."""
    reader = read(PublishedSnapshot.build(small_snapshot()))
    assert [link for link in reader.links if re.match(r"/|\w+:(?!image/svg)", link)] == []


def test_the_view_has_the_content_of_the_document() -> None:
    """The script receives the same content as JSON."""

    def text(node: Any) -> str:
        return node if isinstance(node, str) else "".join(map(text, node[2]))

    shown = page(PublishedSnapshot.build(small_snapshot()))
    view = json.loads(shown.view())
    assert view["title"] == shown.title
    document = Reader(shown.html()).text
    assert "".join(map(text, view["main"])) in document


def test_common_causes_come_before_the_groups() -> None:
    """A common cause has its sentence, its next step and links to its groups; without one there is no section."""
    world = snapshot(groups=[attention("billing", "critical")], common_causes=[COMMON_CAUSE])
    text = page(PublishedSnapshot.build(world)).html().decode()
    sentence = "17 of 18 groups coordinated by broker 3 stopped within 20 s; 2 are still &lt;unhealthy&gt;."
    assert sentence in text
    assert text.index("Look at this broker.") < text.index("billing is stalled.")
    assert 'href="group?name=a%2Fb"' in text
    assert "Common cause" not in page(PublishedSnapshot.build(small_snapshot())).html().decode()


def test_a_common_cause_names_some_of_its_groups() -> None:
    """A common cause links some of its groups and shows the number of the other groups."""
    cause = COMMON_CAUSE | {"groups": [f"g{number}" for number in range(CAUSE_GROUPS + 5)]}
    text = page(PublishedSnapshot.build(snapshot(groups=[attention("g0", "critical")], common_causes=[cause]))).html()
    assert text.count(b'href="group?name=g') == CAUSE_GROUPS + 2
    assert b"and 5 more" in text


def test_teams_are_shown_and_link_to_their_groups() -> None:
    """The team is a column of the table and a fact of groups that need attention; without owners it has no column."""
    owned = attention("a", "critical", team="payments & co", lag_sum=1)
    reader = read(PublishedSnapshot.build(snapshot(groups=[owned, attention("b", "warning", lag_sum=2)])))
    assert "payments & co" in reader.text
    assert "./?owner=payments+%26+co" in reader.links
    without = read(PublishedSnapshot.build(snapshot(groups=[attention("b", "warning", lag_sum=2)])))
    assert "Owner" not in without.tables["Groups"][0]


def test_the_filter_selects_the_groups_of_a_team() -> None:
    """The filter by owner selects the groups of a team; the page of another team does not have them."""
    published = PublishedSnapshot.build(
        snapshot(groups=[attention("a", "critical", team="x"), attention("b", "warning")])
    )
    assert names(read(published, GroupFilter(owner="x"))) == ["a"]
    none = read(published, GroupFilter(owner="y", severity="critcal"))
    assert "No live group matches the filter: owner y, severity critcal." in none.text


def test_a_group_that_raises_no_alert_is_marked() -> None:
    """A group whose fault raises no alert has the mark, and another group does not."""
    documents = [
        page(PublishedSnapshot.build(snapshot(groups=[attention("a", "critical", unpaged=unpaged)]))).html().decode()
        for unpaged in (True, False)
    ]
    assert ["no alert" in each for each in documents] == [True, False]


def test_a_group_in_maintenance_is_marked() -> None:
    """The mark has the end of the window, and the verdict is still shown; a group without a window has no mark."""
    row = attention("a", "critical", maintenance_until=NOON + 60_000)
    document = page(PublishedSnapshot.build(snapshot(groups=[row]))).html().decode()
    assert "in maintenance" in document
    assert "a is stalled." in document
    assert "until 2023-11-14 22:14:20 UTC" in document
    assert (
        "in maintenance"
        not in page(PublishedSnapshot.build(snapshot(groups=[attention("a", "critical")]))).html().decode()
    )


def test_a_silenced_group_is_marked() -> None:
    """The mark has the reason of the silence, and the verdict is still shown; a group without one has no mark."""
    row = attention("a", "critical", silence_reason='"retired"')
    document = page(PublishedSnapshot.build(snapshot(groups=[row]))).html().decode()
    assert 'title="&quot;retired&quot;">silenced<' in document
    assert "a is stalled." in document
    plain = page(PublishedSnapshot.build(snapshot(groups=[attention("a", "critical")]))).html().decode()
    assert "silenced" not in plain


def test_the_other_instances_are_linked() -> None:
    """Each other instance is linked by its part; this instance is in the footer, and a single one is not mentioned."""
    urls = ("http://a:1", "http://b:1", "http://c:1")
    shared = read(PublishedSnapshot.build(small_snapshot()), part="1/3", instances=3, siblings=urls)
    assert {"http://a:1/", "http://c:1/"} <= set(shared.links)
    assert "http://b:1/" not in shared.links
    assert "instance 0/3" in shared.text
    assert "instance 1/3" in shared.text
    assert "instance" not in read(PublishedSnapshot.build(small_snapshot())).text


@pytest.mark.parametrize(
    ("group_filter", "shown"),
    [
        pytest.param(GroupFilter(topic="orders"), ["billing"], id="topic"),
        pytest.param(GroupFilter(topic="order"), [], id="a part of a topic"),
        pytest.param(GroupFilter(client="app"), ["billing"], id="client"),
        pytest.param(GroupFilter(client="app", host="10.0.0.2"), [], id="client and host"),
        pytest.param(GroupFilter(owner="unknown"), ["billing", "plain", 'say "hi"\\\\nthere'], id="no owner"),
    ],
)
def test_groups_are_filtered_by_topic_client_host_and_owner(group_filter: GroupFilter, shown: list[str]) -> None:
    """A filter matches only its exact text, and all filters must match."""
    assert names(read(PublishedSnapshot.build(small_snapshot()), group_filter)) == shown


def test_hidden_members_cannot_be_searched() -> None:
    """A page without a search has no inputs for client and host, and a filter by one of them shows no group."""
    published = PublishedSnapshot.build(small_snapshot())
    hidden = Reader(overview_page(published, status(), NOW, GroupFilter()).html())
    assert "Topic" in hidden.text
    assert "Client id" not in hidden.text
    refused = Reader(overview_page(published, status(), NOW, GroupFilter(client="app")).html())
    assert "Members are hidden" in refused.text
    assert refused.rows == []


def current_order(group_filter: GroupFilter) -> str:
    """Return the direction that the page gives to the only sorted column."""
    document = page(PublishedSnapshot.build(snapshot(groups=[{"group": "a"}])), group_filter).html().decode()
    (order,) = re.findall('aria-sort="([a-z]+)"', document)
    return str(order)


def test_columns_sort_the_groups() -> None:
    """A table head links to the order by its column; the current head has a direction, and its link reverses it."""
    groups = [{"group": name, "lag_sum": lag} for name, lag in (("b", 5), ("a", 7), ("c", None))]
    published = PublishedSnapshot.build(snapshot(groups=groups))
    assert names(read(published, GroupFilter(sort=SortKey.LAG))) == ["a", "b", "c"]
    assert names(read(published, GroupFilter(sort=SortKey.LAG, order=SortOrder.ASCENDING))) == ["b", "a", "c"]
    reader = read(published, GroupFilter(sort=SortKey.LAG, filter="a"))
    assert {"./?filter=a&sort=lag&order=asc", "./?filter=a&sort=name", "./?filter=a"} <= set(reader.links)
    assert current_order(GroupFilter(sort=SortKey.LAG)) == "descending"
    assert current_order(GroupFilter(sort=SortKey.NAME)) == "ascending"
    reversed_once = read(published, GroupFilter(sort=SortKey.LAG, order=SortOrder.ASCENDING))
    assert "./?sort=lag" in reversed_once.links
    assert current_order(GroupFilter(sort=SortKey.LAG, order=SortOrder.ASCENDING)) == "ascending"


@pytest.mark.parametrize("order", [None, *SortOrder])
@pytest.mark.parametrize("sort", SortKey)
def test_a_group_that_needs_attention_keeps_its_place_in_every_order(sort: SortKey, order: SortOrder | None) -> None:
    """The list of groups that need attention is always the worst first."""
    groups = [
        attention("a", "warning", lag_sum=9, time_lag_max=9.0, members=9, last_commit_time=NOON - 9_000),
        attention("b", "critical", lag_sum=5, time_lag_max=5.0, members=5, last_commit_time=NOON - 5_000),
        attention("c", "warning", lag_sum=1, time_lag_max=1.0, members=1, last_commit_time=NOON - 1_000),
    ]
    text = read(PublishedSnapshot.build(snapshot(groups=groups)), GroupFilter(sort=sort, order=order)).text
    assert re.findall(r"([abc]) is stalled\.", text) == ["b", "a", "c"]


def test_rates_are_sums_over_the_partitions() -> None:
    """A rate is the sum over the partitions whose rate is known, and unknown if none is."""
    rows = [
        {"group": "a", "topic": "t", "partition": 0, "produce_rate": 20.0, "consume_rate": 11.0},
        {"group": "a", "topic": "t", "partition": 1, "produce_rate": 10.0, "consume_rate": None},
        {"group": "b", "topic": "t", "partition": 0, "produce_rate": 99.0, "consume_rate": None},
    ]
    table = read(PublishedSnapshot.build(snapshot(rows, [{"group": "a"}, {"group": "b"}]))).tables["Groups"]
    columns = [table[0].index(head) for head in ("Produced", "Consumed")]
    assert [[row[column] for column in columns] for row in table[1:]] == [["30/s", "11/s"], ["99/s", "unknown"]]


def test_the_icon_is_red_if_a_group_is_critical() -> None:
    """The icon is red only if a group is critical; the view has the same icon."""
    icons = [
        page(PublishedSnapshot.build(snapshot(groups=[attention("a", severity)]))).icon
        for severity in ("critical", "warning")
    ]
    assert ["d32f2f" in icon for icon in icons] == [True, False]
    shown = page(PublishedSnapshot.build(snapshot(groups=[attention("a", "critical")])))
    assert json.loads(shown.view())["icon"] == icons[0]


def test_mixed_versions_are_named() -> None:
    """Each set of brokers that differs has a line; there is none if all are equal, or if nothing is known of them."""
    published = PublishedSnapshot.build(small_snapshot())
    sentence = "broker 2 differs from broker 1: metadata.version 7 to 25 instead of 7 to 27"
    texts = [
        Reader(overview_page(published, status(), NOW, GroupFilter(), facts=known).html()).text
        for known in (facts(), facts(mixed_versions=()), None)
    ]
    assert f"Mixed versions: {sentence}." in texts[0]
    assert ["Mixed versions" in text for text in texts] == [True, False, False]
