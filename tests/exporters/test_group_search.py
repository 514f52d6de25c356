"""Which groups a query selects, in which order, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.group_query import GroupQuery, SortKey, SortOrder
from exporters.group_search import MembersHiddenError, SelectedGroups, has_topic, select_groups
from tests.exporters.snapshots import NOON, snapshot

if TYPE_CHECKING:
    from exporters.readmodel import Snapshot

ROWS: list[dict[str, Any]] = [
    {"group": "a-lost", "state": "Stable", "kind": "consumer", "verdict": "losing_data", "severity": "critical"},
    {
        "group": "b-late",
        "state": "Stable",
        "kind": "classic",
        "verdict": "stopped",
        "severity": "critical",
        "time_lag_max": 70.0,
        "lag_sum": 3,
        "members": 2,
        "team": "payments",
        "last_commit_time": NOON - 5,
    },
    {
        "group": "c-Fine",
        "state": "Empty",
        "kind": "classic",
        "verdict": "caught_up",
        "severity": "fine",
        "time_lag_max": 0.0,
        "lag_sum": 0,
        "members": 0,
        "last_commit_time": NOON,
    },
    {"group": "d-dead", "state": "Dead"},
    {"group": "e-new", "lag_sum": 900, "members": 9},
    {
        "group": "f-late",
        "state": "Stable",
        "kind": "classic",
        "verdict": "stopped",
        "severity": "critical",
        "time_lag_max": 70.0,
        "lag_sum": 40,
        "members": 2,
    },
]
TOPICS: list[dict[str, Any]] = [
    {"group": "b-late", "topic": "orders"},
    {"group": "c-Fine", "topic": "orders"},
    {"group": "c-Fine", "topic": "mails"},
]


def world() -> Snapshot:
    """Return a snapshot of these groups."""
    return snapshot(groups=ROWS, topics=TOPICS)


def names(selected: SelectedGroups) -> list[str]:
    """Return the names of the selected groups."""
    return selected.groups.column("group").to_pylist()


def letters(query: GroupQuery) -> str:
    """Return the first letters of the selected groups."""
    return "".join(name[0] for name in names(select_groups(world(), query)))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param(GroupQuery(), "abcdef", id="all"),
        pytest.param(GroupQuery(filter="FINE"), "c", id="part of a name in any case"),
        pytest.param(GroupQuery(filter=".*"), "", id="a part is not a pattern"),
        pytest.param(GroupQuery(topic="orders"), "bc", id="topic"),
        pytest.param(GroupQuery(topic="order"), "", id="part of a topic"),
        pytest.param(GroupQuery(owner="payments"), "b", id="owner"),
        pytest.param(GroupQuery(owner="unknown"), "acdef", id="without an owner"),
        pytest.param(GroupQuery(verdict=("stopped", "losing_data")), "abf", id="verdicts"),
        pytest.param(GroupQuery(verdict=("no_such",)), "", id="unknown verdict"),
        pytest.param(GroupQuery(severity=("unknown",)), "de", id="unknown severity"),
        pytest.param(GroupQuery(severity=("fine", "unknown")), "cde", id="severities"),
        pytest.param(GroupQuery(state=("Empty", "Dead")), "cd", id="states"),
        pytest.param(GroupQuery(state=("unknown",)), "e", id="unknown state"),
        pytest.param(GroupQuery(kind=("consumer",)), "a", id="kind"),
        pytest.param(GroupQuery(kind=("classic",), severity=("critical",), topic="orders"), "b", id="several filters"),
    ],
)
def test_filters(query: GroupQuery, found: str) -> None:
    """A group is selected if all filters match; null matches only the word `unknown`."""
    assert letters(query) == found


@pytest.mark.parametrize(
    ("sort", "order", "found"),
    [
        pytest.param(SortKey.NAME, None, "abcdef", id="name"),
        pytest.param(SortKey.NAME, SortOrder.DESCENDING, "fedcba", id="name, descending"),
        pytest.param(SortKey.WORST, None, "fbaecd", id="severity, time lag, lag; dead last"),
        pytest.param(SortKey.LAG, None, "efbcad", id="greatest lag first, unknown last by name"),
        pytest.param(SortKey.LAG, SortOrder.ASCENDING, "cbfead", id="least lag first, unknown still last"),
        pytest.param(SortKey.TIME_LAG, None, "bfcade", id="time lag, equal ones by name"),
        pytest.param(SortKey.MEMBERS, None, "ebfcad", id="members"),
        pytest.param(SortKey.LAST_COMMIT, None, "cbadef", id="newest commit first"),
    ],
)
def test_order(sort: SortKey, order: SortOrder | None, found: str) -> None:
    """The order is total: equal rows are in the order of their names."""
    assert letters(GroupQuery(sort=sort, order=order)) == found


@given(st.integers(1, 8), st.sampled_from(SortKey), st.sampled_from([None, *SortOrder]))
def test_the_pages_together_are_all_groups(limit: int, sort: SortKey, order: SortOrder | None) -> None:
    """Each page begins at `next` of the previous one; all pages have the number of all matching groups."""
    whole = names(select_groups(world(), GroupQuery(sort=sort, order=order)))
    found, start = list[str](), 0
    while start is not None:
        page = select_groups(world(), GroupQuery(sort=sort, order=order, start=start, limit=limit))
        assert page.total == len(ROWS)
        assert len(page.groups) <= limit
        found += names(page)
        start = page.next
    assert found == whole


def test_a_page_after_the_last_one_is_empty() -> None:
    """A page after the last one is empty, because groups may have disappeared since the previous page."""
    page = select_groups(world(), GroupQuery(start=6, limit=2))
    assert (len(page.groups), page.total, page.next) == (0, 6, None)


def test_members_are_searched_by_client_and_host() -> None:
    """The search returns groups; a group that is not in the snapshot is ignored."""
    asked = []

    def search(client: str | None, host: str | None) -> frozenset[str]:
        asked.append((client, host))
        return frozenset({"b-late", "e-new", "elsewhere"})

    assert names(select_groups(world(), GroupQuery(client="app", kind=("classic",)), search)) == ["b-late"]
    assert names(select_groups(world(), GroupQuery(host="10.0.0.1"), search)) == ["b-late", "e-new"]
    assert asked == [("app", None), (None, "10.0.0.1")]
    assert len(select_groups(world(), GroupQuery(client="app"), lambda *_: ()).groups) == 0


@pytest.mark.parametrize("query", [GroupQuery(client="app"), GroupQuery(host="x")], ids=["client", "host"])
def test_hidden_members_cannot_be_searched(query: GroupQuery) -> None:
    """A filter by hidden members is an error, because a filter that is ignored would return every group."""
    with pytest.raises(MembersHiddenError):
        select_groups(world(), query)


def test_a_snapshot_without_groups() -> None:
    """A snapshot without groups has an empty page, whatever the order."""
    for sort in SortKey:
        assert select_groups(snapshot(), GroupQuery(sort=sort, filter="x", topic="y")).total == 0


def test_a_topic_is_known_if_a_group_reads_it() -> None:
    """A topic that no group reads is not known."""
    assert has_topic(world(), "mails")
    assert not has_topic(world(), "other")
    assert not has_topic(snapshot(), "mails")
    assert isinstance(world().topics, pa.Table)
