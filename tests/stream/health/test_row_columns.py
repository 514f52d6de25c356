"""Tables of columns: they stay with their rows from tick to tick, and over a restart."""

import dataclasses
from typing import TypeVar

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.health import row_columns
from stream.health.features.memory.columns import Memory
from stream.health.hysteresis import ShownVerdicts
from stream.health.row_columns import KeptColumns, RowColumn, RowColumns
from stream.health.verdict import CODE, VERDICTS, Verdict
from tests.stream.health.panes import Row, pane
from tests.stream.health.simulator import MINUTE, Partition, Scene, evenly, look

Table = TypeVar("Table", bound=RowColumns)
UNKNOWN, STOPPED = CODE[Verdict.UNKNOWN], CODE[Verdict.STOPPED]


def rows(partitions: int) -> Scene:
    return Scene([Partition(evenly(1), []) for _ in range(partitions)])


def restored(columns: Table, partitions: int = 3, **stored: pa.Array) -> Table:
    """Return the columns of three rows as the next process reads them, which has this number of partitions."""
    packed = row_columns.pack(look(rows(3), MINUTE), columns.stored() | stored)
    return KeptColumns(type(columns), packed).aligned(look(rows(partitions), MINUTE), np.arange(partitions))


def test_columns_stay_with_their_row_when_one_group_replaces_another() -> None:
    """With as many rows as before, each row that is still there has its own memory, and a new row has none."""
    kept = KeptColumns(Memory, None)
    kept.keys = np.array([0, 1])
    memory = dataclasses.replace(Memory.empty(2), furthest=np.array([7, 8]))
    kept.keep(memory, pane(Row(group="a"), Row(group="b")).inputs)
    aligned = kept.aligned(pane(Row(group="b"), Row(group="c")).inputs, np.array([1, 2]))
    assert aligned.furthest.tolist() == [8, -1]


def _numbers(column: RowColumn) -> st.SearchStrategy[int]:
    return st.integers(0, len(column.words) - 1 if column.words else 1 << 40)


@given(st.data())
def test_stored_columns_continue_as_without_a_restart(data: st.DataObject) -> None:
    """All columns that are stored are restored; counts up to the greatest one that is stored."""
    for table in (Memory, ShownVerdicts):
        values = {
            name: np.array(data.draw(st.lists(_numbers(each), min_size=3, max_size=3)), each.dtype)
            for name, each in table.declared().items()
            if each.stored is not None
        }
        columns = dataclasses.replace(table.empty(3), **values)
        back = restored(columns)
        for name, each in table.declared().items():
            expected = getattr(columns, name).astype(np.int64)
            assert getattr(back, name).tolist() == np.minimum(expected, each.most or (1 << 62)).tolist(), name


def test_the_stored_row_of_a_removed_partition_is_dropped_and_a_new_one_begins_with_the_default() -> None:
    """So does a row whose verdict this version does not know."""
    columns = dataclasses.replace(ShownVerdicts.empty(3), verdict=np.full(3, STOPPED, np.int8))
    assert restored(columns, 2).verdict.tolist() == [STOPPED] * 2
    assert restored(columns, 4).verdict.tolist() == [STOPPED] * 3 + [UNKNOWN]
    later = restored(columns, shown=row_columns.dictionary(np.array([0, 1, 2]), ["ok", "a later word", "stopped"]))
    assert [VERDICTS[code] for code in later.verdict] == ["ok", "unknown", "stopped"]


def test_damaged_bytes_give_the_defaults() -> None:
    """Damaged bytes do not prevent the start; each row begins as `unknown`."""
    for packed in (b"", b"nonsense", bytes(64)):
        found = KeptColumns(ShownVerdicts, packed).aligned(look(rows(2), 0), np.arange(2))
        assert found.verdict.tolist() == [UNKNOWN] * 2
