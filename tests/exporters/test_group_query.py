"""Queries over groups: what is accepted, what is refused, and how a query becomes parameters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.group_query import (
    ALL_GROUPS,
    KINDS,
    MOST_ROWS,
    PARAMETERS,
    STATES,
    GroupQuery,
    GroupQueryError,
    QueryParameter,
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


def test_a_query_without_parameters_is_every_group_by_name() -> None:
    """A query without parameters filters nothing and has one page."""
    assert GroupQuery.parse([]) == ALL_GROUPS
    assert list(ALL_GROUPS.pairs()) == []


@pytest.mark.parametrize("text", ["stable,dead", " Stable , DEAD,", "STABLE,dead,stable"])
def test_words_are_separated_by_commas_in_any_case(text: str) -> None:
    """Words with commas between them become the words of Kafka's tools in any case, each once."""
    assert GroupQuery.parse([("state", text)]).state == ("Stable", "Dead")


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        pytest.param([("sevrity", "x")], "no parameter 'sevrity'; known are filter, topic,", id="misspelt parameter"),
        pytest.param([("severity", "critcal")], "severity critcal: did you mean critical?", id="misspelt word"),
        pytest.param([("kind", "zzz")], "kind zzz: must be one of simple, classic,", id="unknown word"),
        pytest.param([("start", "-1")], "start -1: must be a whole number from 0 to", id="negative start"),
        pytest.param(
            [("start", "\u0662")], "start \u0662: must be a whole number from 0 to", id="digits that are not ASCII"
        ),
        pytest.param([("limit", "0")], "limit 0: must be a whole number from 1 to", id="empty page"),
        pytest.param([("limit", "1000001")], "limit 1000001: must be a whole number", id="limit above the maximum"),
        pytest.param([("limit", "9" * 5000)], "must be a whole number", id="very long number"),
        pytest.param([("sort", "name"), ("sort", "lag")], "sort is given more than once", id="repeated parameter"),
        pytest.param([("topic", "a"), ("topic", "b")], "topic is given more than once", id="repeated topic"),
    ],
)
def test_an_invalid_query_is_refused(pairs: list[tuple[str, str]], error: str) -> None:
    """The error of an invalid query has the value and what is allowed."""
    with pytest.raises(GroupQueryError) as refusal:
        GroupQuery.parse(pairs)
    assert error in str(refusal.value)


def test_all_errors_are_reported_at_once() -> None:
    """The message has one error per parameter."""
    with pytest.raises(GroupQueryError, match=r"sort x: .*; limit y: .*; no parameter 'z'"):
        GroupQuery.parse([("sort", "x"), ("limit", "y"), ("z", "")])


def test_a_parameter_of_the_path_is_refused_in_the_query() -> None:
    """The groups of a topic cannot be filtered by another topic."""
    with pytest.raises(GroupQueryError, match="no parameter 'topic'; known are filter, client"):
        GroupQuery.parse([("topic", "orders")], without=("topic",))


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.name)
def test_every_parameter_has_a_valid_example(parameter: QueryParameter) -> None:
    """Each parameter has a valid example, which the documentation shows."""
    pairs = [(parameter.name, str(parameter.example))]
    assert parameter.description.endswith(".")
    assert getattr(GroupQuery.parse(pairs), parameter.name) in {
        parameter.example,
        str(parameter.example),
        (parameter.example,),
    }


@pytest.mark.parametrize(
    ("query", "descending"),
    [
        (GroupQuery(), False),
        (GroupQuery(sort=SortKey.LAG), True),
        (GroupQuery(order=SortOrder.DESCENDING), True),
        (GroupQuery(sort=SortKey.LAG, order=SortOrder.ASCENDING), False),
    ],
)
def test_the_greatest_comes_first_but_names_are_in_their_order(query: GroupQuery, descending: bool) -> None:  # noqa: FBT001  # a table
    """The greatest value is first and names are in their order, unless the direction is given."""
    assert query.descending is descending
