"""Tables of groups as text: alignment, escaping, and words that a script can split."""

import datetime as dt
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from stream.cli.group_source import no_such_group, unix_time
from stream.cli.render.group_tables import groups_table, transitions_table
from stream.cli.render.tables import TableColumn, TextTable, display_text, fit_columns, plain_lines
from stream.errors import ExitCode

words = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=12)


@given(
    st.integers(1, 5).flatmap(
        lambda size: st.tuples(
            st.lists(words, min_size=size, max_size=size),
            st.lists(st.booleans(), min_size=size, max_size=size),
            st.lists(st.lists(words, min_size=size, max_size=size)),
        )
    )
)
def test_columns_are_aligned_with_their_heads(drawn: tuple[list[str], list[bool], list[list[str]]]) -> None:
    """Law: a cell starts, or ends, where its head does; no line ends with a blank, and no cell changes."""
    heads, right, rows = drawn
    lines = list(plain_lines(TextTable([TableColumn(*each) for each in zip(heads, right, strict=True)], rows)))
    assert [line.split() for line in lines] == [heads, *rows]
    assert all(line == line.rstrip() for line in lines)
    for edges in zip(*(_edges(line, right) for line in lines), strict=True):
        assert len(set(edges)) == 1


def test_pipe_gets_no_folded_line() -> None:
    """A row is one line for any width of a name. rich would fold the name at the width of its console."""
    table = TextTable([TableColumn("NAME"), TableColumn("LAG", right=True)], [["n" * 300, "12"]])
    assert list(plain_lines(table)) == [f"{'NAME':300}  LAG", f"{'n' * 300}   12"]
    console = Console(width=240, file=io.StringIO())
    assert len(console.render_lines(table)) == 3


@pytest.mark.parametrize(
    ("width", "heads"),
    [(200, "NAME LAG SURE AGE"), (40, "NAME LAG SURE AGE"), (39, "NAME LAG SURE"), (33, "NAME SURE"), (5, "NAME SURE")],
)
def test_narrow_terminal_has_fewer_columns(width: int, heads: str) -> None:
    """Spare columns are dropped, the last first, until the others fit; a long name folds."""
    columns = [
        TableColumn("NAME"),
        TableColumn("LAG", True, True),
        TableColumn("SURE", True),
        TableColumn("AGE", True, True),
    ]
    table = fit_columns(TextTable(columns, [["n" * 90, "12", "5", "17s"]]), width)
    assert " ".join(column.head for column in table.columns) == heads
    every = {"NAME": "n" * 90, "LAG": "12", "SURE": "5", "AGE": "17s"}
    assert table.rows == [[every[column.head] for column in table.columns]]


def _edges(line: str, right: list[bool]) -> list[int]:
    """Return where each word starts, or ends if its column is right-aligned."""
    edges, at = [], 0
    for word, flush in zip(line.split(), right, strict=True):
        at = line.index(word, at)
        edges.append(at + len(word) if flush else at)
        at += len(word)
    return edges


def test_name_is_one_line() -> None:
    """Unprintable characters are escaped, and an empty name is visible."""
    names = {"plain": "plain", "": "''", "two\nlines": "two\\nlines", "\u202egnp": "\\u202egnp", "größe": "größe"}
    assert {name: display_text(name) for name in names} == names


def test_times_of_the_api_are_exact() -> None:
    """A time in the format of RFC 3339 is parsed to the millisecond. Null stays null."""
    assert unix_time("2023-11-14T22:13:20.500Z") == 1_700_000_000.5
    assert unix_time(None) is None


def test_unknown_group_comes_with_the_nearest_names() -> None:
    """The advice has names that are similar or contain the given one."""
    for name, names, advice in (
        ("biling", ["billing", "mail"], "did you mean billing?"),
        ("pay", ["eu-payments-worker", "x"], "did you mean eu-payments-worker?"),
        ("zzz", ["a"], "`lagwarden groups` lists all groups"),
        ("zzz", [], "there are no groups"),
    ):
        refusal = no_such_group(name, names)
        assert (refusal.advice, refusal.code) == (advice, ExitCode.NO_SUCH_GROUP)


LISTED = ("kind", "state", "members", "partitions", "partitions_lag_unknown", "last_commit_time")


def test_expiry_is_the_remaining_time() -> None:
    """An expired offset is due until the next check of the broker. An offset that does not expire has a dash."""
    for left, cell in ((-1, "due"), (0, "due"), (61, "1m1s"), (None, "-")):
        moment = None if left is None else dt.datetime.fromtimestamp(1000 + left, dt.UTC).isoformat()
        group = {**dict.fromkeys(LISTED), "group": "g", "lag_sum": None, "first_offset_expiry_time": moment}
        table = groups_table([group], 1000.0)
        assert table.rows[0][-1] == cell
        assert len(table.rows[0]) == len(table.columns)


def test_transition_is_one_line() -> None:
    """A line feed in the name of a topic is escaped."""
    happened = {"time": "2023-11-14T22:13:20.500Z", "transition": "dead", "cause": "topic deleted", "live": True}
    (row,) = transitions_table([{**happened, "text": "a\nb"}]).rows
    assert row == ["2023-11-14 22:13:20.500", "dead", "topic-deleted", "live", "a\\nb"]


def test_narrow_terminal_keeps_the_most_important_columns() -> None:
    """The table in 80 cells has the verdict, lag and time lag, and no cell of them is folded."""
    judged = {
        **dict.fromkeys((*LISTED, "death_cause", "first_offset_expiry_time")),
        "group": "payments-billing-worker",
        "severity": "critical",
        "verdict": "losing_data",
        "lag_sum": 6_234_421,
        "time_lag_max": 75_000.0,
        "time_lag_max_exact": False,
    }
    table = fit_columns(groups_table([judged], 0.0), 80)
    heads = [column.head for column in table.columns]
    assert {"GROUP", "SEVERITY", "VERDICT", "LAG", "TIME-LAG"} <= set(heads)
    assert "KIND" not in heads
    assert sum(max(len(head), len(cell)) + 2 for head, cell in zip(heads, table.rows[0], strict=True)) - 2 <= 80
