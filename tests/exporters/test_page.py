"""The status page as its reader finds it."""

from __future__ import annotations

import re
import urllib.parse
from typing import Any

import pytest

from exporters.exposition import Published
from exporters.page import ROWS, render_page, stylesheet
from exporters.page.words import duration
from tests.exporters.pages import Reader
from tests.exporters.worlds import CATCHING_UP, CONNECTING, HOSTILE_NAMES, NOON, small_world, snapshot, status

NOW = NOON / 1000 + 5


def read(published: Published | None = None, **changes: Any) -> Reader:
    """Render the status page and read it."""
    return Reader(render_page(published, status(**changes), NOW))


def test_groups_stand_by_lag_with_unknown_last() -> None:
    """The greatest lag comes first, a group without a known lag last, and unknown is said and not guessed."""
    living = read(Published.of(small_world())).tables["Groups"]
    huge = f"{2**62:_}".replace("_", "\u202f")
    state = "Stable\xa0asked for 1 min 35 s"
    assert living[1:] == [
        ["billing", state, huge, huge, "1", "5.0 s ago", "\u2013", "3", "2", "classic"],
        ['say "hi"\\\\nthere', "Empty", "0", "0", "", "5.0 s ago", "in 59 min 55 s", "0", "1", "consumer"],
        ["plain", "unknown", "unknown", "unknown", "", "unknown", "\u2013", "unknown", "0", "simple"],
    ]


def test_the_dead_stand_apart_with_their_cause() -> None:
    """A dead group is not among the living; its cause and the time of its death are told, the latest first."""
    dead = [
        {"group": f"d{at}", "state": "Dead", "died_time": NOON - at * 60_000, "death_cause": "expired"} for at in (2, 1)
    ]
    page = read(Published.of(snapshot(groups=[{"group": "alive"}, *dead])))
    assert [row[0] for row in page.tables["Groups"][1:]] == ["alive"]
    assert page.tables["Died lately"][1:] == [
        ["d1", "expired", "1 min 5 s ago", "unknown"],
        ["d2", "expired", "2 min 5 s ago", "unknown"],
    ]
    assert "Died lately" not in read(Published.of(snapshot(groups=[{"group": "alive"}]))).tables


def test_the_fleet_at_a_glance() -> None:
    """Groups are counted by state, the most frequent first."""
    states = ["Stable", "Empty", "Stable", None, "Stable", "Empty"]
    page = read(Published.of(snapshot(groups=[{"group": f"{at}", "state": state} for at, state in enumerate(states)])))
    assert "3 Stable2 Empty1 unknown" in page.text


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_names_are_text_and_nothing_else(name: str) -> None:
    """A name opens no element and no attribute, shows what does not print, and its link leads to that very name."""
    page = read(Published.of(snapshot(groups=[{"group": name, "kind": name, "state": name, "death_cause": name}])))
    assert "script" not in page.tags
    shown = page.rows[1][0]
    assert shown.isprintable()
    assert shown
    (link,) = (link for link in page.links if link.startswith("group?name="))
    assert urllib.parse.parse_qs(link.partition("?")[2], keep_blank_values=True) == {"name": [name]}


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
