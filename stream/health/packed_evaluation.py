"""An evaluation in few bytes, from which the findings of single groups are read until the next tick."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np

from stream.groups.commits.runs import Spans
from stream.health.evaluator import EvaluationResult
from stream.health.features.control_records import TailState
from stream.health.features.lag import OffsetDistances
from stream.health.features.memory.columns import Memory
from stream.health.features.time_lag import Rates, TimeLag
from stream.health.features.window import Window
from stream.health.inputs import HealthInputs, OffsetsOutage
from stream.health.packed_columns import PackedColumn, PackedTable

_OF_GROUPS: Final = ("group_verdict", "group_row", "group_rows", "group_since", "group_skipped", "share")
_TABLES: Final[Mapping[type, Collection[str]]] = {
    EvaluationResult: _OF_GROUPS,
    Window: (),
    HealthInputs: ("recreated",),
    Spans: (),
    OffsetsOutage: (),
    Memory: (),
    TailState: (),
    OffsetDistances: (),
    TimeLag: (),
    Rates: (),
}
"""The dataclasses of an evaluation with one element per row, and their fields that have not."""


def _packed_already(window: Window) -> dict[int, PackedColumn]:
    """Return what is remembered of the rows where it is the same as a column of the tick, by the id of that array."""
    spans, packed = window.inputs.spans, {}
    arrays = {"known_committed": spans.last_offset, "last_commit_time": spans.last_time, "reached": spans.reached_time}
    for name, array in (arrays | {"known_end": window.ends.high_watermark}).items():
        column = getattr(window.memory, name)
        if isinstance(column, PackedColumn) and np.array_equal(column[:], array):
            packed[id(array)] = column
    return packed


class PackedEvaluation:
    """The packed evaluation of one tick. Immutable; any thread may read it."""

    def __init__(self, evaluation: EvaluationResult) -> None:
        """Pack an evaluation."""
        groups = len(evaluation.window.inputs.groups.names)
        self._first = np.searchsorted(evaluation.window.inputs.group, np.arange(groups + 1))
        known = _packed_already(evaluation.window)
        self._table: PackedTable[EvaluationResult] = PackedTable.pack(evaluation, _TABLES, known)

    @property
    def nbytes(self) -> int:
        """Size of the packed columns in bytes."""
        return self._table.nbytes

    def of_group(self, group: int, more: int = 0) -> EvaluationResult:
        """Return the evaluation with the rows of this group and `more` after it; groups keep their numbers.

        Rows are counted from 0. The other groups have no rows in it.
        """
        groups = slice(group, min(group + 1 + more, len(self._first) - 1))
        first, last = int(self._first[group]), int(self._first[groups.stop])
        evaluation = self._table.rows(first, last)
        inputs, group_row = evaluation.window.inputs, np.full(len(evaluation.group_row), -1, np.int64)
        group_row[groups] = np.maximum(evaluation.group_row[groups] - first, -1)
        by_row: dict[str, Any] = {
            name: {row - first: value for row, value in getattr(inputs, name).items() if first <= row < last}
            for name in ("aborts", "failed_replicas")
        }
        window = dataclasses.replace(evaluation.window, inputs=dataclasses.replace(inputs, **by_row))
        return dataclasses.replace(evaluation, window=window, group_row=group_row)
