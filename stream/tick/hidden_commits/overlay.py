"""Adds fetched commits to the driver state of one tick. Pure.

A key that the log has keeps its row. A key that the log does not have (the group's first commit of a partition is
hidden) gets a row after the others, if the ends of its partition are known; without the row the partition would count
as never committed. Offsets that were deleted behind the transaction are removed afterwards
(`stream.tick.hidden_commits.group_states`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from decoders.columnar import decode_keys
from stream.groups.commits.run_table import concat_runs, join_runs, no_runs
from stream.groups.row_order import RowLabels, RowOrder
from stream.tick.hidden_commits.commits import LoggedCommits

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa

    from stream.groups.commits.run_table import Runs
    from stream.groups.driver_state import GroupColumns
    from stream.groups.row_order import ShardLabels
    from stream.health.columns import Flags, Ints


@dataclasses.dataclass(frozen=True, slots=True)
class LoggedRows:
    """The rows of some groups in the driver state."""

    rows: Ints
    log: LoggedCommits


def logged_rows(state: GroupColumns, groups: Collection[str]) -> LoggedRows:
    """Return the rows of these groups."""
    names = state.group.dictionary.to_pylist()
    is_chosen = np.array([name in groups for name in names] or [False], np.bool_)
    rows = np.flatnonzero(is_chosen[state.group.indices.to_numpy(zero_copy_only=False)])
    return LoggedRows(rows, LoggedCommits(state.runs.take(rows) if len(rows) else no_runs()))


class Overlay:
    """Adds commits tick after tick. The row order stays the same object until a row is added or removed."""

    def __init__(self, keep_slots: int) -> None:
        self._keep_slots = keep_slots
        self._last: tuple[RowOrder, pa.BinaryArray, RowLabels, RowOrder] | None = None

    def add(self, state: GroupColumns, logged: LoggedRows, fetched: Runs) -> tuple[GroupColumns, Flags]:
        """Return the driver state in which these runs (one per key) follow those of the log, and which rows have one.

        `logged` must have the rows of all groups in `fetched`.
        """
        row, _, _ = logged.log.find(fetched.keys)
        is_logged = row >= 0
        logged_runs = logged.log.runs.take(row[is_logged])
        joined = join_runs([logged_runs, fetched.take(is_logged), fetched.take(~is_logged)], self._keep_slots)
        old, new = int(is_logged.sum()), int((~is_logged).sum())
        order = np.arange(len(state.runs) + new)
        order[logged.rows[row[is_logged]]] = len(state.runs) + np.arange(old)
        order[len(state.runs) :] = len(state.runs) + old + np.arange(new)
        runs = concat_runs([state.runs, joined]).take(order)
        is_fetched = order >= len(state.runs)
        if not new:
            return dataclasses.replace(state, runs=runs), is_fetched
        return self._with_labels(state, runs, joined.keys.slice(old)), is_fetched

    def _with_labels(self, state: GroupColumns, runs: Runs, new_keys: pa.BinaryArray) -> GroupColumns:
        last = self._last
        if last is None or last[0] is not state.row_order or not last[1].equals(new_keys):
            labels = RowLabels([(state.group, state.topic, state.partition), decode_names(new_keys)])
            row_order = RowOrder(labels, state.memberships.keys() | state.histories.keys())
            last = self._last = (state.row_order, new_keys, labels, row_order)
        _, _, labels, row_order = last
        return dataclasses.replace(
            state, runs=runs, group=labels.group, topic=labels.topic, partition=labels.partition, row_order=row_order
        )


def decode_names(keys: pa.BinaryArray) -> ShardLabels:
    """Return group, topic and partition of each key."""
    columns = decode_keys(keys)
    return columns.group.dictionary_encode(), columns.topic.dictionary_encode(), columns.partition
