"""The page of the fleet as its reader finds it."""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest

from exporters.page.group_filter import GroupFilter
from exporters.page.overview import overview_page
from exporters.page.overview_tables import ROWS, STUCK
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import SEVERITIES
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import CATCHING_UP, CONNECTING, HOSTILE_NAMES, NOON, small_world, snapshot, status

if TYPE_CHECKING:
    from exporters.page.document import Page

NOW = NOON / 1000 + 5
DASH = "\u2013"
UNJUDGED = [DASH, "unknown", "unknown"]


def page(published: PublishedSnapshot | None = None, chosen: GroupFilter | None = None, **changes: Any) -> Page:
    """Give the page five seconds past noon."""
    return overview_page(published, status(**changes), NOW, GroupFilter() if chosen is None else chosen)


def read(published: PublishedSnapshot | None = None, chosen: GroupFilter | None = None, **changes: Any) -> Reader:
    """Write the page and read it."""
    return Reader(page(published, chosen, **changes).html())


def sick(name: str, severity: str, **columns: Any) -> dict[str, Any]:
    """Make a group with a verdict of this severity."""
    verdict = {"verdict": "stalled", "sentence": f"{name} stands still.", "verdict_since": NOON, "state": "Stable"}
    return {"group": name, "severity": severity, **verdict, **columns}


def names(reader: Reader) -> list[str]:
    """Give the groups of the table in their order."""
    return [row[0] for row in reader.tables["Groups"][1:]]


def test_groups_stand_by_severity_with_unknown_said() -> None:
    """The worst verdict comes first; what is not known is said and not guessed."""
    living = read(PublishedSnapshot.build(small_world())).tables["Groups"]
    huge = f"{2**62:_}".replace("_", "\u202f")
    state = "Stable\xa0described for 1 min 35 s"
    least = "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s"
    assert living[1:] == [
        [
            "billing",
            "stopped",
            huge,
            least,
            state,
            "5.0 s ago",
            DASH,
            "3",
            "2",
            "1",
            "classic",
        ],
        ["plain", "unknown", "unknown", "unknown", "unknown", "unknown", DASH, "unknown", "0", "", "simple"],
        ['say "hi"\\\\nthere', "caught up", "0", "0", "Empty", "5.0 s ago", "in 59 min 55 s", "0", "1", "", "consumer"],
    ]


def test_the_order_within_a_severity() -> None:
    """Whoever waits longest comes first, then the greatest lag, then the name; unknown is last."""
    groups = [
        sick("a", "warning", time_lag_max=5.0, lag_sum=9),
        sick("b", "warning", time_lag_max=60.0, lag_sum=1),
        sick("c", "warning", time_lag_max=5.0, lag_sum=10),
        sick("d", "warning"),
        sick("e", "critical"),
        sick("f", "warning", time_lag_max=5.0, lag_sum=9),
    ]
    assert names(read(PublishedSnapshot.build(snapshot(groups=groups)))) == ["e", "b", "c", "a", "f", "d"]


def test_the_stuck_are_told_with_their_sentence() -> None:
    """Whoever needs somebody is told in words, the worst first; notices and the unknown are not among them."""
    groups = [sick(name, name) for name in sorted(SEVERITIES)]
    text = read(PublishedSnapshot.build(snapshot(groups=groups))).text
    told = text.partition("Need attention")[2].partition("Groups")[0]
    assert "critical stands still." in told
    assert told.index("critical stands still.") < told.index("warning stands still.")
    assert "notice" not in told
    assert "unknown stands still." not in told


@pytest.mark.parametrize(
    ("severities", "says", "title"),
    [
        pytest.param(["fine"], "No group needs attention", "all fine", id="all is well"),
        pytest.param(["notice", "unknown"], "No group needs attention", "all fine", id="nothing urgent"),
        pytest.param(["critical"], "1 group needs attention", "1 critical", id="one"),
        pytest.param(
            ["warning", "critical", "critical"], "3 groups need attention", "2 critical, 1 warning", id="many"
        ),
        pytest.param([None], "Nothing is judged yet", "all fine", id="not judged"),
    ],
)
def test_the_headline_says_whether_anything_is_wrong(severities: list[str | None], says: str, title: str) -> None:
    """One look at the page, or at the browser's tab, is enough."""
    groups = [{"group": str(at), "severity": severity} for at, severity in enumerate(severities)]
    shown = page(PublishedSnapshot.build(snapshot(groups=groups)))
    assert says in Reader(shown.html()).text
    assert shown.title == f"{title} · lagwarden"


def test_the_fleet_at_a_glance() -> None:
    """Groups are counted by severity, verdict and state; each count leads to its groups, chosen it leads back."""
    reader = read(PublishedSnapshot.build(small_world()))
    assert "1 critical0 warning0 notice1 unknown1 fine" in reader.text
    assert "1 stopped" in reader.text
    assert "1 Dead1 Empty1 Stable1 unknown" in reader.text
    assert "./?severity=critical" in reader.links
    chosen = read(PublishedSnapshot.build(small_world()), GroupFilter(severity="critical"))
    assert "./?severity=critical" not in chosen.links
    assert "./?severity=critical&verdict=stopped" in chosen.links


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        pytest.param(GroupFilter(filter="BILL"), ["billing"], id="a part of the name, in whatever case"),
        pytest.param(GroupFilter(filter="i"), ["billing", "plain", 'say "hi"\\\\nthere'], id="several"),
        pytest.param(GroupFilter(severity="fine"), ['say "hi"\\\\nthere'], id="a severity"),
        pytest.param(GroupFilter(verdict="unknown"), ["plain"], id="a verdict"),
        pytest.param(GroupFilter(state="unknown"), ["plain"], id="what is not known"),
        pytest.param(GroupFilter(filter="i", state="Stable"), ["billing"], id="by both"),
        pytest.param(GroupFilter(filter=".*"), [], id="no pattern, only a part"),
        pytest.param(GroupFilter(severity="worse"), [], id="no such severity"),
    ],
)
def test_groups_can_be_chosen(chosen: GroupFilter, shown: list[str]) -> None:
    """Only those are shown that are so, and that none is so is said."""
    reader = read(PublishedSnapshot.build(small_world()), chosen)
    assert names(reader) == shown
    assert ("No living group is so." in reader.text) == (not shown)


@pytest.mark.parametrize("start", ["-1", "x", "", "1e3", "\u0663", "9" * 400], ids=ascii)
def test_an_address_that_makes_no_sense_is_read_as_none(start: str) -> None:
    """Whatever somebody writes into the address, there is a page."""
    assert GroupFilter.from_query({"start": start, "filter": "a", "x": "y"}) == GroupFilter(filter="a")


def test_a_choice_survives_its_address() -> None:
    """What an address says is what is read out of it, whatever was typed."""
    for words in HOSTILE_NAMES:
        chosen = GroupFilter(filter=words, severity="critical", state=words)
        query = dict(urllib.parse.parse_qsl(chosen.but().partition("?")[2]))
        assert GroupFilter.from_query(query) == chosen


def test_many_groups_come_in_pieces_and_it_is_said() -> None:
    """A piece at a time, with the count of all and a way to the next; beyond the end is the last piece."""
    world = PublishedSnapshot.build(
        snapshot(groups=[{"group": f"{at:05}", "lag_sum": at} for at in range(ROWS * 2 + 7)])
    )
    first = read(world)
    assert names(first)[0] == f"{ROWS * 2 + 6:05}"
    assert len(names(first)) == ROWS
    assert "1 to 200 of 407" in first.text
    assert f"./?start={ROWS}" in first.links
    last = read(world, GroupFilter(start=10**8))
    assert len(names(last)) == 7
    assert "401 to 407 of 407" in last.text
    assert f"./?start={ROWS}" in last.links


def test_many_stuck_groups_are_cut_and_it_is_said() -> None:
    """When everything is stuck, the worst are told, and of the others how many there are."""
    groups = [sick(f"g{at:03}", "critical", lag_sum=at) for at in range(STUCK + 3)]
    text = read(PublishedSnapshot.build(snapshot(groups=groups))).text
    assert f"the worst {STUCK} of {STUCK + 3}" in text
    assert "g052 stands still." in text
    assert "g001 stands still." not in text


def test_the_dead_stand_apart_with_their_cause() -> None:
    """A dead group is not among the living; its cause and the time of its death are told, the latest first."""
    dead = [
        {"group": f"d{at}", "state": "Dead", "died_time": NOON - at * 60_000, "death_cause": "expired"} for at in (2, 1)
    ]
    reader = read(PublishedSnapshot.build(snapshot(groups=[{"group": "alive"}, *dead])))
    assert names(reader) == ["alive"]
    assert reader.tables["Died lately"][1:] == [
        ["d1", "expired", "1 min 5 s ago", "unknown"],
        ["d2", "expired", "2 min 5 s ago", "unknown"],
    ]
    assert "Died lately" not in read(PublishedSnapshot.build(snapshot(groups=[{"group": "alive"}]))).tables


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_names_are_text_and_nothing_else(name: str) -> None:
    """A name opens no element and no attribute, shows what does not print, and its link leads to that very name."""
    words = dict.fromkeys(("group", "kind", "state", "death_cause", "verdict", "severity", "sentence"), name)
    hostile = snapshot(groups=[words, sick(f"{name}!", "critical", sentence=name)])
    reader = read(PublishedSnapshot.build(hostile), GroupFilter(filter=name))
    tame = snapshot(groups=[sick("a", "critical"), sick("b", "critical")])
    clean = read(PublishedSnapshot.build(tame), GroupFilter(filter="a"))
    assert reader.tags.keys() <= clean.tags.keys() | {"small"}
    assert reader.attributes <= clean.attributes
    assert reader.tags["script"] == 1
    shown = names(reader)
    assert all(each and each.isprintable() for each in shown)
    linked = {link for link in reader.links if link.startswith("group?name=")}
    asked = [urllib.parse.parse_qs(link.partition("?")[2], keep_blank_values=True) for link in linked]
    assert sorted(query["name"][0] for query in asked) == sorted([name, f"{name}!"])


def test_before_the_first_snapshot_there_are_no_numbers_of_groups() -> None:
    """While catching up the page says so, why, how far and how long, and has no table."""
    reader = read(**CATCHING_UP)
    assert reader.rows == []
    assert "Not ready" in reader.text
    assert "Reading what groups have committed so far." in reader.text
    assert "Catching up: 42 % read, 912\u202f346 records/s, 1 min 15 s left" in reader.text


def test_what_the_status_says_is_escaped() -> None:
    """Reasons are text: an address in angle brackets does not become an element."""
    reader = read(**CONNECTING)
    assert "Kafka does not answer at <broker>:9092." in reader.text
    assert "broker" not in reader.tags
    assert "not reachable" in reader.text


def test_a_monitor_that_is_well_is_a_line_and_one_that_is_not_comes_first() -> None:
    """How fresh the numbers are is always said; old ones are said to be old before they are shown."""
    fresh = read(PublishedSnapshot.build(small_world())).text
    assert "Snapshot taken 5.0 s ago." in fresh
    assert fresh.index("needs attention") < fresh.index("Cluster")
    assert "Decode errors3" in fresh
    old = PublishedSnapshot.build(dataclasses.replace(small_world(), taken_at=NOW - 300))
    for text in (
        read(old).text,
        read(PublishedSnapshot.build(small_world()), **(CATCHING_UP | {"catch_up_ratio": None})).text,
    ):
        assert text.index("Cluster") < text.index("needs attention")
    assert "These numbers are 5 min 0 s old." in read(old).text


def test_ready_page_shows_no_progress() -> None:
    """Once caught up, the bar is gone."""
    assert "progress" not in read(PublishedSnapshot.build(small_world())).tags


def test_a_cluster_without_groups_is_said_in_words() -> None:
    """No empty table."""
    assert "No group has committed an offset or has members." in read(PublishedSnapshot.build(snapshot())).text


def test_nothing_comes_from_outside() -> None:
    """Every link and asset is relative, so that the page works behind any prefix and without the internet."""
    reader = read(PublishedSnapshot.build(small_world()))
    assert [link for link in reader.links if re.match(r"/|\w+:(?!,$)", link)] == []


def test_the_view_holds_what_the_document_shows() -> None:
    """The script gets the very content of the document, as values."""

    def text(node: Any) -> str:
        return node if isinstance(node, str) else "".join(map(text, node[2]))

    shown = page(PublishedSnapshot.build(small_world()))
    view = json.loads(shown.view())
    assert view["title"] == shown.title
    document = Reader(shown.html()).text
    assert "".join(map(text, view["main"])) in document
