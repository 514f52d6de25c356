"""The page of one group as its reader finds it."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest

from exporters.exposition import Published
from exporters.page import render_group_page
from exporters.page.group_tables import ROWS
from exporters.page.words import expiry, moment, ranges
from tests.exporters.pages import Reader
from tests.exporters.worlds import HOSTILE_NAMES, NOON, detail, member, small_world, snapshot

if TYPE_CHECKING:
    from exporters.readmodel import GroupDetail, Snapshot

NOW = NOON / 1000 + 5
DASH = "\u2013"


def read(name: str = "billing", found: GroupDetail | None = None, world: Snapshot | None = None) -> Reader:
    """Render a group's page and read it."""
    published = Published.of(small_world() if world is None else world)
    return Reader(render_group_page(published, name, found, NOW, root="./").html)


def test_facts_of_the_group() -> None:
    """State with how long it lasts and that it was asked, numbers, and only what its kind has."""
    page = read(found=detail())
    for said in ("Stable\xa0asked for 1 min 35 s", "Members3 (1 idle)", "Generation12", "Assignorrange"):
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


def test_partitions_with_their_owners() -> None:
    """Each partition with lag or the reason why not, ages, expiry and whose it is."""
    huge, end = (f"{2**62 + more:_}".replace("_", "\u202f") for more in (0, 41))
    assert read(found=detail()).tables["Partitions"][1:] == [
        ["orders", "0", huge, "41", end, "6.5 s ago", "1 min 6 s ago", "in 6 d 23 h", "app"],
        ["orders", "1", "no leader", "7", "unknown", "5.0 s ago", "unknown", DASH, "app"],
    ]


def test_history_is_told_backwards() -> None:
    """The latest comes first; a cause stands beside, and what was replayed at the start says so."""
    assert read(found=detail()).tables["History"][1:] == [
        ["2023-11-14 22:12:49", "35 s ago", "forgotten topic deleted", "1 offset"],
        ["2023-11-14 22:11:50", "1 min 35 s ago", "rebalanced", "3 members came"],
        ["2023-11-13 22:13:20", "1 d 0 h ago", "created replayed", "first seen"],
    ]


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
    nobody = read(found=detail(members=(), transitions=()))
    assert "Nobody is in the group." in nobody.text
    assert "Nothing has happened" in nobody.text


def test_a_group_that_is_not_there_offers_others() -> None:
    """The code says it is not there, and names that hold what was typed are linked."""
    page = render_group_page(Published.of(small_world()), "BILL", None, NOW, root="../")
    assert page.code == 404
    assert "../group?name=billing" in Reader(page.html).links
    assert render_group_page(None, "billing", None, NOW, root="./").code == 503


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_names_are_text_and_nothing_else(name: str) -> None:
    """Whatever a client calls itself, its topics and its group, the page has its own elements and no other."""
    mine: dict[str, Any] = dict.fromkeys(("instance_id", "client_id", "client_host", "rack", "state", "regex"), name)
    hostile = member(name, **mine, subscription=(name,), assignment=((name, (0,)),))
    row = {"group": name, "topic": name, "partition": 0, "lag_unknown_reason": name}
    world = snapshot([row], [{"group": name, "kind": name, "state": name, "protocol": name}])
    page = read(name, detail(name, members=(hostile,), unsubscribed=(name,), unowned=((name, (1,)),)), world)
    assert "script" not in page.tags
    assert all(cell.isprintable() for rows in page.tables.values() for row in rows for cell in row)
    (link,) = (link for link in page.links if link.startswith("./api/"))
    assert urllib.parse.parse_qs(link.partition("?")[2], keep_blank_values=True) == {"name": [name]}


def test_long_tables_are_cut_and_it_is_said() -> None:
    """A group with very many partitions stays a page; the count of all is there."""
    world = snapshot([{"group": "g", "topic": "t", "partition": at} for at in range(ROWS + 5)], [{"group": "g"}])
    page = read("g", world=world)
    assert len(page.tables["Partitions"]) == 1 + ROWS
    assert "1\u202f000 of 1\u202f005" in page.text


@pytest.mark.parametrize(
    ("partitions", "said"),
    [((), ""), ((3,), "3"), ((2, 1, 0), "0&ndash;2"), ((0, 1, 3, 5, 6), "0&ndash;1, 3, 5&ndash;6")],
)
def test_partitions_are_written_in_ranges(partitions: tuple[int, ...], said: str) -> None:
    """Neighbours are drawn together, in whatever order they come."""
    assert ranges(partitions) == said


@pytest.mark.parametrize(
    ("left", "said", "alarming"),
    [
        pytest.param(172_800, "in 2 d 0 h", False, id="far"),
        pytest.param(600, "in 10 min 0 s", True, id="within a day"),
        pytest.param(-60, "due 1 min 0 s ago", True, id="due: the broker looks only now and then"),
    ],
)
def test_expiry_is_said_from_now(left: int, said: str, alarming: bool) -> None:  # noqa: FBT001  # a table
    """How long is left, standing out when it is little; nothing foreseen is a dash."""
    shown = expiry(int((NOW + left) * 1000), NOW)
    assert f">{said}<" in shown
    assert ('class="warn"' in shown) == alarming
    assert "&ndash;" in expiry(None, NOW)


def test_a_moment_beyond_the_calendar_is_a_number() -> None:
    """A damaged record's time does not break the page."""
    assert moment(9e18) == "9e+18"
    assert moment(1_700_000_000.5) == "2023-11-14 22:13:20"
