"""Tables of groups as text: alignment, escaping, and words that a script can split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.cli.render.tables import TableColumn, TextTable, display_text, fit_columns, plain_lines

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
