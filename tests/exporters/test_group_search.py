"""Which groups a query selects, in which order, page by page."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.group_query import GroupQuery, SortKey, SortOrder
from exporters.group_search import MembersHiddenError, SelectedGroups, select_groups
from exporters.http.openapi.small_world import NOON, rows
from exporters.readmodel import Snapshot
from tests.exporters.snapshots import snapshot

ROWS: list[dict[str, Any]] = rows(
    "group lag_sum members state kind verdict severity time_lag_max last_commit_time team",
    ("a-lost", None, None, "Stable", "consumer", "losing_data", "critical"),
    ("b-late", 3, 2, "Stable", "classic", "stopped", "critical", 70.0, NOON - 5, "payments"),
    ("c-Fine", 0, 0, "Empty", "classic", "caught_up", "fine", 0.0, NOON),
    ("d-dead", None, None, "Dead"),
    ("e-new", 900, 9),
    ("f-late", 40, 2, "Stable", "classic", "stopped", "critical", 70.0),
)
TOPICS = rows("group topic", ("b-late", "orders"), ("c-Fine", "orders"), ("c-Fine", "mails"))


def world() -> Snapshot:
    return snapshot(groups=ROWS, topics=TOPICS)


def names(selected: SelectedGroups) -> list[str]:
    return selected.groups.column("group").to_pylist()


def letters(query: GroupQuery) -> str:
    """Return the first letters of the selected groups."""
    return "".join(name[0] for name in names(select_groups(world(), query)))


FILTERS = [
    (GroupQuery(), "abcdef"),
    # a part of a name in any case, which is no pattern; a whole topic
    (GroupQuery(filter="FINE"), "c"),
    (GroupQuery(filter=".*"), ""),
    (GroupQuery(topic="orders"), "bc"),
    (GroupQuery(topic="order"), ""),
    (GroupQuery(owner="payments"), "b"),
    (GroupQuery(owner="unknown"), "acdef"),
    (GroupQuery(verdict=("stopped", "losing_data")), "abf"),
    (GroupQuery(verdict=("no_such",)), ""),
    (GroupQuery(severity=("unknown",)), "de"),
    (GroupQuery(severity=("fine", "unknown")), "cde"),
    (GroupQuery(state=("Empty", "Dead")), "cd"),
    (GroupQuery(state=("unknown",)), "e"),
    (GroupQuery(kind=("consumer",)), "a"),
    (GroupQuery(kind=("classic",), severity=("critical",), topic="orders"), "b"),
]
ORDERS = [
    (SortKey.NAME, None, "abcdef"),
    (SortKey.NAME, SortOrder.DESCENDING, "fedcba"),
    # severity, time lag, lag; the dead are last
    (SortKey.WORST, None, "fbaecd"),
    # unknown values are last by name in either direction, and equal ones in the order of their names
    (SortKey.LAG, None, "efbcad"),
    (SortKey.LAG, SortOrder.ASCENDING, "cbfead"),
    (SortKey.TIME_LAG, None, "bfcade"),
    (SortKey.MEMBERS, None, "ebfcad"),
    (SortKey.LAST_COMMIT, None, "cbadef"),
]


def test_filters_and_order() -> None:
    """A group is selected if all filters match; null matches only the word `unknown`. The order is total."""
    assert [(query, letters(query)) for query, _ in FILTERS] == FILTERS
    assert [(sort, order, letters(GroupQuery(sort=sort, order=order))) for sort, order, _ in ORDERS] == ORDERS


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


def test_members_are_searched_by_client_and_host() -> None:
    """A group outside the snapshot is ignored. With hidden members it is an error, not a filter that is ignored."""
    asked = []

    def search(client: str | None, host: str | None) -> frozenset[str]:
        asked.append((client, host))
        return frozenset({"b-late", "e-new", "elsewhere"})

    assert names(select_groups(world(), GroupQuery(client="app", kind=("classic",)), search)) == ["b-late"]
    assert names(select_groups(world(), GroupQuery(host="10.0.0.1"), search)) == ["b-late", "e-new"]
    assert asked == [("app", None), (None, "10.0.0.1")]
    assert len(select_groups(world(), GroupQuery(client="app"), lambda *_: ()).groups) == 0
    for query in (GroupQuery(client="app"), GroupQuery(host="x")):
        with pytest.raises(MembersHiddenError):
            select_groups(world(), query)
