"""Tables of slots equal lists of slots, whatever is replaced in them, and say where those of a row begin and end."""

import itertools

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from stream.groups.commits.slots import Slots, last_breaks, row_bounds, slot_counts

Rows = list[list[int]]
"""The offsets of the slots of each row."""

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=6)


def table(rows: Rows) -> Slots:
    """Return slots that have all of their numbers from their offset and their place in their row."""
    slots = [
        (row, at, offset, 100 * offset + at, offset + 1)
        for row, each in enumerate(rows)
        for at, offset in enumerate(each)
    ]
    return Slots(*np.array(slots, np.int64).reshape(-1, 5).T.copy())


@given(ROWS, st.lists(st.dictionaries(st.integers(0, 5), st.lists(st.integers(0, 9), max_size=3)), max_size=3))
@example([[], []], [{1: [3]}])
def test_replaced_rows_have_their_last_slots(rows: Rows, drawn: list[dict[int, list[int]]]) -> None:
    """In any order of the replaced rows, also from or to no slot at all, and of 32-bit columns."""
    parts = [{row: offsets for row, offsets in part.items() if row < len(rows)} for part in drawn]
    after = dict(enumerate(rows)) | {row: offsets for part in parts for row, offsets in part.items()}
    changes = [(np.array([*part], np.int64), table([*part.values()])) for part in parts]
    found = table(rows).narrow().replace(changes, len(rows))
    for name in Slots.columns():
        assert getattr(found, name).tolist() == getattr(table([*after.values()]), name).tolist()


@given(ROWS)
def test_rows_have_bounds_counts_and_a_last_break(rows: Rows) -> None:
    """A break between the slots of two rows does not count."""
    slots, ends = table(rows), list(itertools.accumulate(map(len, rows), initial=0))
    numbers = [row for row, offsets in enumerate(rows) if offsets]
    found = [column.tolist() for column in row_bounds(slots.row)]
    assert found == [numbers, [ends[row] for row in numbers], [ends[row + 1] - 1 for row in numbers]]
    assert slot_counts(slots.row, len(rows)).tolist() == list(map(len, rows))
    breaks = [
        max([0, *(at for at in range(1, len(rows[row])) if rows[row][at] < rows[row][at - 1])]) for row in numbers
    ]
    begins = last_breaks(slots, slots.offset[1:] < slots.offset[:-1]) if numbers else np.empty(0)
    assert begins.tolist() == [ends[row] + at for row, at in zip(numbers, breaks, strict=True)]
