"""The page of one group as its reader finds it."""

from __future__ import annotations

import json
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest

from exporters.page.group import group_page
from exporters.page.group_tables import ROWS
from exporters.readmodel import FindingDetail, VerdictChange
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import HOSTILE_NAMES, NOON, detail, member, small_world, snapshot

if TYPE_CHECKING:
    from exporters.readmodel import GroupDetail, Snapshot

NOW = NOON / 1000 + 5
DASH = "\u2013"


def read(name: str = "billing", found: GroupDetail | None = None, world: Snapshot | None = None) -> Reader:
    """Render a group's page and read it."""
    published = PublishedSnapshot.build(small_world() if world is None else world)
    return Reader(group_page(published, name, found, NOW, root="./").html())


def test_facts_of_the_group() -> None:
    """State with how long it lasts and that it was asked, numbers, and only what its kind has."""
    page = read(found=detail())
    for said in (
        "Stable\xa0described for 1 min 35 s",
        "Members3 (1 idle)",
        "Generation12",
        "Assignorrange",
        "Time lag\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s",
    ):
        assert said in page.text
    assert "epoch" not in page.text.partition("Members3")[2].partition("Client")[0]
    assert "Group epoch9Assignment epoch8" in read('say "hi"\\\nthere').text


def test_members_with_what_is_theirs() -> None:
    """Each member with client, host and assignment; who is away or has nothing stands out."""
    assert read(found=detail()).tables["Members"][1:] == [
        ["app-1", "app", "/10.0.0.1rack eu-1", "Stable", "9", f"orders 0{DASH}2, 7", "orders"],
        ["app-2static pod-2", "app", "/10.0.0.1", "away", DASH, "orders 3", "orders"],
        ["app-3", "app", "/10.0.0.1", DASH, DASH, "nothing", "order.*"],
    ]


def test_what_is_the_matter_and_what_to_do() -> None:
    """Verdict with how long it holds, sentence, next step and the numbers behind it; angle brackets are text."""
    page = read(found=detail())
    assert "stopped for 35 s · critical1 of 2 partitions; orders-0: No commit for 30 s" in page.text
    assert "most to expect: <unread>." in page.text
    assert "unread" not in page.tags
    assert "What to do: See whether the consumer still runs" in page.text
    assert "last commit35 s agopatience20 slag400membersunknown" in page.text


def test_without_detail_the_verdict_is_that_of_the_snapshot() -> None:
    """Sentence and verdict are there; what to do is not known. Before there is a judgement there is no card."""
    assert "stopped for 35 s · critical1 of 2 partitions; orders-0: No commit for 30 s: 1 offset unread." in read().text
    assert "What to do" not in read().text
    assert "Verdict" not in read("gone").tables


def test_every_partition_that_is_not_fine_is_told() -> None:
    """Each with its own sentence; what to do only where it is something else than for the group."""
    told = read(found=detail()).tables["Partitions that are not fine"][1:]
    assert [row[:4] for row in told] == [["orders", "0", "stopped", "35 s"], ["orders", "1", "unknown", "unknown"]]
    assert "See whether the consumer" not in told[0][4]
    assert told[1][4] == "The lag is not known: the partition has no leader. See why."


def test_topics_are_summed_up_where_there_are_several() -> None:
    """One topic is what the group's own facts say; several have a row each."""
    assert "Topics" not in read(found=detail()).tables
    topics = [{"group": "g", "topic": name, "lag_sum": 5, "verdict": "ok"} for name in ("a", "b")]
    page = read("g", world=snapshot(groups=[{"group": "g"}], topics=topics))
    assert page.tables["Topics"][1:] == [
        ["a", "ok", "5", "unknown", "unknown", "unknown", "0"],
        ["b", "ok", "5", "unknown", "unknown", "unknown", "0"],
    ]


def test_partitions_with_their_owners() -> None:
    """Each partition with verdict, lag or the reason why not, rates, ages, expiry and whose it is."""
    huge, end = (f"{2**62 + more:_}".replace("_", "\u202f") for more in (0, 41))
    least = "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s"
    assert read(found=detail()).tables["Partitions"][1:] == [
        [
            *("orders", "0", "stopped", huge, least, "41", end, "120/s", "0/s", "6.5 s ago", "1 min 6 s ago"),
            *("in 6 d 23 h", "41", "app"),
        ],
        [
            *("orders", "1", "unknown", "no leader", "unknown", "7", "unknown", "unknown", "unknown", "5.0 s ago"),
            *("unknown", DASH, "unknown", "app"),
        ],
    ]


@pytest.mark.parametrize(("later", "said"), [(5, "ago."), (300, "ago: these numbers are old.")])
def test_old_numbers_do_not_pass_for_those_of_now(later: int, said: str) -> None:
    """Where the snapshot is old the group's page says so in words, as the fleet's does."""
    page = group_page(PublishedSnapshot.build(small_world()), "billing", detail(), NOON / 1000 + later, root="./")
    assert said in Reader(page.html()).text


def test_a_column_of_nothing_is_left_out() -> None:
    """Expiry and loss have their columns where some partition has them, and a heading only then."""
    plain = {"group": "g", "topic": "t", "partition": 0, "lost": 0}
    for row, heads in (
        (plain, []),
        (plain | {"partition": 1, "lost": 12}, ["Lost"]),
        (plain | {"partition": 1, "offset_expiry_time": NOON}, ["Expires"]),
    ):
        head, first, *_ = read("g", world=snapshot([plain, row], [{"group": "g"}])).tables["Partitions"]
        assert [word for word in head if word in {"Lost", "Expires"}] == heads
        assert len(head) == len(first)


def test_a_commit_that_was_asked_says_so() -> None:
    """What an open transaction hides from the log comes from the coordinator, and is marked."""
    page = read('say "hi"\\\nthere')
    assert page.tables["Partitions"][1][5] == "0\xa0fetched"
    assert "An open transaction holds back the log of this group's offsets" in page.text


def test_history_is_told_backwards() -> None:
    """Transitions and changes of the verdict in one list, the latest first; what was replayed at the start says so."""
    sentence = "1 of 2 partitions; orders-0: No commit for 30 s, where 20 s would be the most to expect: <unread>."
    assert read(found=detail()).tables["History"][1:] == [
        ["2023-11-14 22:12:50", "35 s ago", "verdict ok \N{RIGHTWARDS ARROW} stopped", sentence],
        ["2023-11-14 22:12:49", "35 s ago", "forgotten topic deleted", "1 offset"],
        ["2023-11-14 22:11:50", "1 min 35 s ago", "rebalanced", "3 members came"],
        ["2023-11-14 21:13:20", "1 h 0 min ago", "verdict ok", "orders-0: Keeps up: 3 offsets unread."],
        ["2023-11-13 22:13:20", "1 d 0 h ago", "created replayed", "first seen"],
    ]


def test_the_chart_gets_what_is_remembered_and_what_happened() -> None:
    """The view has samples and marks; the document has room for the drawing, but for a dead group."""
    samples = [(NOON / 1000 - 10, 5, 1.5, False), (NOON / 1000, None, None, None)]
    page = group_page(PublishedSnapshot.build(small_world()), "billing", detail(), NOW, root="./", samples=samples)
    view = json.loads(page.view())
    assert view["samples"] == [[NOON / 1000 - 10, 5, 1.5, False], [NOON / 1000, None, None, None]]
    assert [NOON / 1000 - 30, "stopped"] in view["marks"]
    assert "Over time" in Reader(page.html()).tables
    assert "Over time" not in read("gone").tables


def test_what_wants_a_look_is_said_in_words() -> None:
    """Partitions nobody owns, topics nobody reads any more, lags that are not known; and nothing where all is well."""
    text = read(found=detail()).text
    assert f"owned by no member: orders 4{DASH}6." in text
    assert "nobody in the group subscribes to: old." in text
    assert "The lag of 1 partition is not known" in text
    assert "owned by no member" not in read(found=detail(unowned=None, unsubscribed=None)).text


def test_a_dead_group_tells_its_cause() -> None:
    """Without detail and partitions the page still tells when and why."""
    text = read("gone").text
    assert "It died 35 s ago: topic deleted." in text
    assert "No offset is kept." in text
    assert "unknown" not in text


def test_without_detail_there_are_no_members_and_no_history() -> None:
    """What is not known is left out, not shown as nobody and nothing; what is known to be nobody is said."""
    assert not {"Members", "History"} & read().tables.keys()
    nobody = read(found=detail(members=(), transitions=(), verdicts=()))
    assert "Nobody is in the group." in nobody.text
    assert "Nothing has happened" in nobody.text


def test_a_group_that_is_not_there_offers_others() -> None:
    """The code says it is not there, and names that hold what was typed are linked."""
    page = group_page(PublishedSnapshot.build(small_world()), "BILL", None, NOW, root="../")
    assert page.code == 404
    assert "../group?name=billing" in Reader(page.html()).links
    assert group_page(None, "billing", None, NOW, root="./").code == 503


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_names_are_text_and_nothing_else(name: str) -> None:
    """Whatever a client calls itself, its topics and its group, the page has its own elements and no other."""
    mine: dict[str, Any] = dict.fromkeys(("instance_id", "client_id", "client_host", "rack", "state", "regex"), name)
    hostile = member(name, **mine, subscription=(name,), assignment=((name, (0,)),))
    row = {"group": name, "topic": name, "partition": 0, "lag_unknown_reason": name}
    world = snapshot([row], [{"group": name, "kind": name, "state": name, "protocol": name}])
    finding = FindingDetail(name, name, None, name, {name: name}, name)
    told: dict[str, Any] = {"finding": finding, "partition_findings": ((name, 0, finding),)}
    told["verdicts"] = (VerdictChange(1, name, name, name),)
    found = detail(name, members=(hostile,), unsubscribed=(name,), unowned=((name, (1,)),), **told)
    page = read(name, found, world)
    assert page.tags.keys() <= read(found=detail()).tags.keys()
    assert page.tags["script"] == 1
    assert all(cell.isprintable() for rows in page.tables.values() for row in rows for cell in row)
    (link,) = (link for link in page.links if link.startswith("./api/"))
    assert urllib.parse.parse_qs(link.partition("?")[2], keep_blank_values=True) == {"name": [name]}


def test_long_tables_are_cut_and_it_is_said() -> None:
    """A group with very many partitions stays a page; the count of all is there."""
    world = snapshot([{"group": "g", "topic": "t", "partition": at} for at in range(ROWS + 5)], [{"group": "g"}])
    page = read("g", world=world)
    assert len(page.tables["Partitions"]) == 1 + ROWS
    assert "1\u202f000 of 1\u202f005" in page.text
