"""Queries over groups: what is accepted, what is refused, and how a query becomes parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.group_query import (
    ALL_GROUPS,
    KINDS,
    MOST_ROWS,
    STATES,
    GroupQuery,
    GroupQueryError,
    SortKey,
    SortOrder,
)
from exporters.wording import SEVERITIES

QUERIES = st.builds(
    GroupQuery,
    filter=st.none() | st.text(),
    topic=st.none() | st.text(),
    client=st.none() | st.text(),
    host=st.none() | st.text(),
    owner=st.none() | st.text(),
    verdict=st.lists(st.from_regex(r"[a-z_]+", fullmatch=True), unique=True).map(tuple),
    severity=st.lists(st.sampled_from(SEVERITIES), unique=True).map(tuple),
    state=st.lists(st.sampled_from(STATES), unique=True).map(tuple),
    kind=st.lists(st.sampled_from(KINDS), unique=True).map(tuple),
    sort=st.sampled_from(SortKey),
    order=st.none() | st.sampled_from(SortOrder),
    start=st.integers(0, MOST_ROWS),
    limit=st.none() | st.integers(1, MOST_ROWS),
)


@given(QUERIES)
def test_a_query_round_trips_through_its_parameters(query: GroupQuery) -> None:
    """Parsing the parameters of a query returns the query."""
    assert GroupQuery.parse(query.pairs()) == query


def test_words_are_separated_by_commas_in_any_case() -> None:
    """Words become those of Kafka's tools, each once. Without parameters every group is on one page."""
    assert GroupQuery.parse([]) == ALL_GROUPS
    assert list(ALL_GROUPS.pairs()) == []
    for text in ("stable,dead", " Stable , DEAD,", "STABLE,dead,stable"):
        assert GroupQuery.parse([("state", text)]).state == ("Stable", "Dead")


INVALID = [
    ("no parameter 'sevrity'; known are filter, topic,", ("sevrity", "x")),
    ("severity critcal: did you mean critical?", ("severity", "critcal")),
    ("kind zzz: must be one of simple, classic,", ("kind", "zzz")),
    ("start -1: must be a whole number from 0 to", ("start", "-1")),
    ("start \u0662: must be a whole number from 0 to", ("start", "\u0662")),
    ("limit 0: must be a whole number from 1 to", ("limit", "0")),
    ("limit 1000001: must be a whole number", ("limit", "1000001")),
    ("must be a whole number", ("limit", "9" * 5000)),
    ("sort is given more than once", ("sort", "name"), ("sort", "lag")),
    ("topic is given more than once", ("topic", "a"), ("topic", "b")),
]


def test_an_invalid_query_is_refused() -> None:
    """The error has the value and what is allowed, one per parameter; a topic in path and query is one."""
    for error, *pairs in INVALID:
        with pytest.raises(GroupQueryError) as refusal:
            GroupQuery.parse(pairs)
        assert error in str(refusal.value)
    with pytest.raises(GroupQueryError, match=r"sort x: .*; limit y: .*; no parameter 'z'"):
        GroupQuery.parse([("sort", "x"), ("limit", "y"), ("z", "")])
    with pytest.raises(GroupQueryError, match="no parameter 'topic'; known are filter, client"):
        GroupQuery.parse([("topic", "orders")], without=("topic",))
