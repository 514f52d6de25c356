"""What is remembered of each row from tick to tick."""

import dataclasses

import numpy as np

from stream.health.features.memory import row_memory
from stream.health.features.memory.row_memory import RowMemory
from stream.health.packed_columns import PackedTable
from tests.stream.health.panes import Row, pane


def test_memory_stays_with_its_row_when_one_group_replaces_another() -> None:
    """With as many rows as before, each row that is still there has its own memory, and a new row has none."""
    memory, parts = RowMemory(), row_memory._Parts.empty(2)
    parts = dataclasses.replace(parts, jump=dataclasses.replace(parts.jump, furthest=np.array([7, 8])))
    memory._parts, memory._keys = PackedTable.pack(parts, row_memory._TABLES), np.array([0, 1])
    aligned = memory._aligned(pane(Row(group="b"), Row(group="c")).inputs, np.array([1, 2]))
    assert aligned.jump.furthest.tolist() == [8, -1]
