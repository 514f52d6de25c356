"""How pages say numbers and times, and the tree they are written from."""

from __future__ import annotations

import html as escaping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.page.formatting import badge, expiry, rate, time_lag
from exporters.page.html_tree import VOID, Content, Element, el, html, tree
from exporters.wording import duration, evidence_words, printable, ranges, utc
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import NOON

NOW = NOON / 1000 + 5
DASH = "\N{EN DASH}"


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


@pytest.mark.parametrize(
    ("partitions", "said"),
    [((), ""), ((3,), "3"), ((2, 1, 0), f"0{DASH}2"), ((0, 1, 3, 5, 6), f"0{DASH}1, 3, 5{DASH}6")],
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
    shown = html(expiry(int((NOW + left) * 1000), NOW))
    assert f">{said}<" in shown
    assert ('class="warn"' in shown) == alarming
    assert DASH in html(expiry(None, NOW))


def test_a_moment_beyond_the_calendar_is_a_number() -> None:
    """A damaged record's time does not break the page."""
    assert utc(9e18) == "9e+18"
    assert utc(1_700_000_000.5) == "2023-11-14 22:13:20"


@pytest.mark.parametrize(
    ("seconds", "exact", "said"),
    [
        pytest.param(None, True, "unknown", id="not known"),
        pytest.param(0.0, True, "0", id="nothing is unread"),
        pytest.param(61.5, True, "1 min 1 s", id="known"),
        pytest.param(61.5, False, "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s", id="at least"),
        pytest.param(61.5, None, "1 min 1 s", id="of a group, where it is not told"),
    ],
)
def test_time_lag(seconds: float | None, exact: bool | None, said: str) -> None:  # noqa: FBT001  # a table
    """A lower bound is marked as one; zero is exactly zero, and unknown is no number."""
    shown = time_lag(seconds, exact=exact)
    assert (shown if isinstance(shown, str) else "".join(map(str, shown.children))) == said


@pytest.mark.parametrize(
    ("per_second", "said"), [(0.0, "0/s"), (0.25, "0.25/s"), (9.96, "10/s"), (1234.5, "1\u202f234/s")]
)
def test_rates(per_second: float, said: str) -> None:
    """Slow groups have a rate too."""
    assert rate(per_second) == said


@pytest.mark.parametrize("severity", [None, "", "worse", '"><script>'])
def test_a_severity_that_is_not_known_is_shown_as_unknown(severity: str | None) -> None:
    """A word from a newer monitor brings no class of its own."""
    assert badge("odd", severity).attributes["class"] == "badge unknown"


def test_evidence_in_the_words_of_people() -> None:
    """Names tell the unit: moments become ages, seconds lengths, rates are per second; the exact value is kept."""
    evidence = {
        "commit_time": "2023-11-14T22:12:50.000Z",
        "offset_expiry_time": "2023-11-14T23:13:25.000Z",
        "time_lag": 61.5,
        "patience_seconds": 20.0,
        "loss_in_seconds": None,
        "consume_rate": 0.5,
        "committed_offset": 48_211,
        "transaction": "producer 7,\nx",
        "stable_since": "not a moment",
        "manned": True,
    }
    assert list(evidence_words(evidence, NOW, lambda number: f"{number:,}")) == [
        ("last commit", "35 s ago", "2023-11-14T22:12:50.000Z"),
        ("offset expires", "in 1 h 0 min", "2023-11-14T23:13:25.000Z"),
        ("time lag", "1 min 1 s", "61.5 s"),
        ("patience", "20 s", "20.0 s"),
        ("loss in", "unknown", ""),
        ("consume rate", "0.5/s", "0.5 per second"),
        ("committed offset", "48,211", ""),
        ("transaction", "producer 7,\\nx", ""),
        ("last stable offset since", "not a moment", ""),
        ("manned", "yes", ""),
    ]


TEXTS = st.text(max_size=8)
TREES = st.recursive(
    TEXTS,
    lambda inner: st.builds(
        lambda tag, content, title: el(tag, *content, title=title),
        st.sampled_from(["p", "b", "div", "tr", "bdi"]),
        st.lists(inner | st.none() | st.lists(inner, max_size=2), max_size=3),
        TEXTS | st.none(),
    ),
    max_leaves=12,
)


@given(TREES)
def test_what_is_text_is_read_as_text(content: Content) -> None:
    """Law: whatever is in it, HTML written from a tree has the tree's elements and no other, and its text."""

    def elements(nodes: list[Any]) -> list[tuple[str, dict[str, str]]]:
        mine = [node for node in nodes if not isinstance(node, str)]
        return [each for tag, attributes, inner in mine for each in ((tag, attributes), *elements(inner))]

    def text(nodes: list[Any]) -> str:
        return "".join(node if isinstance(node, str) else text(node[2]) for node in nodes)

    values = tree(content)
    reader = Reader(html(content).encode("utf-8", "surrogatepass"))
    assert sorted(reader.tags.elements()) == sorted(tag for tag, _ in elements(values))
    assert reader.text == escaping.unescape(escaping.escape(text(values)))
    assert all(child != "" for child in values)


def test_neighbouring_texts_are_one() -> None:
    """As they are once a browser has read the page: the script finds the tree that it expects."""
    assert tree(el("p", "a", None, ["", ["b"], "c"], el("br"), "d")) == [["p", {}, ["abc", ["br", {}, []], "d"]]]
    assert "br" in VOID


def test_attributes() -> None:
    """What a language reserves is spelled with a bar; True needs no value, False and None are not there."""
    made = el("a", class_="x", aria_label='"', hidden=True, href=None, tabindex=0, data_keep=False)
    assert isinstance(made, Element)
    assert html(made) == '<a class="x" aria-label="&quot;" hidden="" tabindex="0"></a>'


@given(st.text())
def test_what_is_printable_prints(text: str) -> None:
    """Law: no line feed, no direction override and no control character comes through."""
    assert printable(text).isprintable()
