"""The status page as its reader finds it."""

from __future__ import annotations

import html.parser
import re
import urllib.parse
from typing import Any

import pytest

from exporters.exposition import Published
from exporters.page import ROWS, duration, render_page, stylesheet
from tests.exporters.worlds import CATCHING_UP, CONNECTING, HOSTILE_NAMES, NOON, small_world, snapshot, status

NOW = NOON / 1000 + 5
VOID = {"meta", "link", "input", "br"}


class Reader(html.parser.HTMLParser):
    """Reads a page as a browser does: every element closed in order, the table's rows, the links."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(page.decode())
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, its links, and where in the table it is."""
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last, and no other."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text, also by the cell it stands in."""
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def read(published: Published | None = None, **changes: Any) -> Reader:
    """Render a page and read it."""
    return Reader(render_page(published, status(**changes), NOW))


def test_groups_stand_by_lag_with_unknown_last() -> None:
    """The greatest lag comes first, a group without a known lag last, and unknown is said and not guessed."""
    rows = read(Published.of(small_world())).rows[1:]
    huge = f"{2**62:_}".replace("_", "\u202f")
    assert rows == [
        ["billing", huge, huge, "1", "5.0 s ago", "Stable", "3", "2", "classic"],
        ['say "hi"\\\\nthere', "0", "0", "", "5.0 s ago", "Empty", "0", "1", "consumer"],
        ["gone", "unknown", "unknown", "", "unknown", "Dead", "unknown", "0", "classic"],
        ["plain", "unknown", "unknown", "", "unknown", "unknown", "unknown", "0", "simple"],
    ]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_names_are_text_and_nothing_else(name: str) -> None:
    """A name opens no element and no attribute, shows what does not print, and its link leads to that very name."""
    page = read(Published.of(snapshot(groups=[{"group": name, "kind": name, "state": name}])))
    assert "script" not in page.tags
    shown = page.rows[1][0]
    assert shown.isprintable()
    assert shown
    (link,) = (link for link in page.links if link.startswith("api/v1/groups/"))
    escaped = link.removeprefix("api/v1/groups/")
    assert urllib.parse.unquote(escaped) == name
    # A browser would take apart a path with slashes, dots and all, before it asks.
    assert not set(escaped) & set("/?#")


def test_many_groups_are_cut_and_it_is_said() -> None:
    """Only the greatest lags are shown, with the count of all."""
    world = snapshot(groups=[{"group": f"{at:05}", "lag_sum": at} for at in range(ROWS + 700)])
    page = read(Published.of(world))
    assert len(page.rows) == 1 + ROWS
    assert page.rows[1][0] == f"{ROWS + 699:05}"
    assert "the 500 with the greatest lag of 1\u202f200" in page.text


def test_before_the_first_snapshot_there_are_no_numbers_of_groups() -> None:
    """While catching up the page says so, why, how far and how long, and has no table."""
    page = read(**CATCHING_UP)
    assert page.rows == []
    assert "Not ready" in page.text
    assert "Reading what groups have committed so far." in page.text
    assert "Catching up: 42 % read, 912\u202f346 records/s, 1 min 15 s left" in page.text


def test_what_the_status_says_is_escaped() -> None:
    """Reasons are text: an address in angle brackets does not become an element."""
    page = read(**CONNECTING)
    assert "Kafka does not answer at <broker>:9092." in page.text
    assert "broker" not in page.tags
    assert "not reachable" in page.text


def test_ready_page_shows_no_progress() -> None:
    """Once caught up, the bar is gone; decode errors are counted."""
    page = read(Published.of(small_world()))
    assert "progress" not in page.tags
    assert "Decode errors3" in page.text


def test_a_cluster_without_groups_is_said_in_words() -> None:
    """No empty table."""
    assert "No group has committed an offset or has members." in read(Published.of(snapshot())).text


def test_nothing_comes_from_outside() -> None:
    """Every link and asset is relative, so that the page works behind any prefix and without the internet."""
    page = read(Published.of(small_world()))
    assert [link for link in page.links if re.match(r"/|\w+:(?!,$)", link)] == []
    assert b"url(" not in stylesheet()
    assert b"prefers-color-scheme: dark" in stylesheet()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (9.96, "10.0 s"),
        (10.9, "10 s"),
        (59, "59 s"),
        (60, "1 min 0 s"),
        (3_725, "1 h 2 min"),
        (90_000, "1 d 1 h"),
        (86_400 * 400, "400 d 0 h"),
    ],
)
def test_durations_are_said_in_two_units(seconds: float, said: str) -> None:
    """Lengths of time read easily, whatever their size."""
    assert duration(seconds) == said
