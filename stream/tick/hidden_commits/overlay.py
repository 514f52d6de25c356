"""(fleet, commits that were asked for) -> the fleet with these in it. Owns how the two are put together; asks nothing.

A key that the log has keeps its row. A key that it has not (the group's first commit of a partition is hidden) gets a
row behind the others, if the ends of its partition are known: without it a partition would pass for never committed.
Offsets that were deleted behind the transaction are left out afterwards (`stream.tick.hidden_commits.group_states`).
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
    from stream.groups.row_order import RowNames
    from stream.health.columns import Flags, Ints


@dataclasses.dataclass(frozen=True, slots=True)
class LogRows:
    """The rows that the log has of some groups."""

    rows: Ints
    """Of the fleet."""
    log: LoggedCommits


def rows_of_groups(fleet: GroupColumns, groups: Collection[str]) -> LogRows:
    """Find the rows of these groups."""
    names = fleet.group.dictionary.to_pylist()
    mine = np.array([name in groups for name in names] or [False], np.bool_)
    rows = np.flatnonzero(mine[fleet.group.indices.to_numpy(zero_copy_only=False)])
    return LogRows(rows, LoggedCommits(fleet.runs.take(rows) if len(rows) else no_runs()))


class Overlay:
    """Puts commits into fleets. While no row comes or goes, the ranks that it gives stay the same object too."""

    def __init__(self, keep_slots: int) -> None:
        self._keep_slots = keep_slots
        self._of: tuple[RowOrder, pa.BinaryArray, RowLabels, RowOrder] | None = None

    def put(self, fleet: GroupColumns, known: LogRows, asked: Runs) -> tuple[GroupColumns, Flags]:
        """Let these runs (one per key) follow those of the log; give the fleet, and which of its rows are such ones."""
        place, _, _ = known.log.of(asked.keys)
        met = place >= 0
        before = known.log.runs.take(place[met])
        joined = join_runs([before, asked.take(met), asked.take(~met)], self._keep_slots)
        old, new = int(met.sum()), int((~met).sum())
        order = np.arange(len(fleet.runs) + new)
        order[known.rows[place[met]]] = len(fleet.runs) + np.arange(old)
        order[len(fleet.runs) :] = len(fleet.runs) + old + np.arange(new)
        runs = concat_runs([fleet.runs, joined]).take(order)
        flags = order >= len(fleet.runs)
        if not new:
            return dataclasses.replace(fleet, runs=runs), flags
        return self._with_names(fleet, runs, joined.keys.slice(old)), flags

    def _with_names(self, fleet: GroupColumns, runs: Runs, keys: pa.BinaryArray) -> GroupColumns:
        known = self._of
        if known is None or known[0] is not fleet.ranks or not known[1].equals(keys):
            names = RowLabels([(fleet.group, fleet.topic, fleet.partition), names_of(keys)])
            ranks = RowOrder(names, fleet.memberships.keys() | fleet.lives.keys())
            known = self._of = (fleet.ranks, keys, names, ranks)
        _, _, names, ranks = known
        return dataclasses.replace(
            fleet, runs=runs, group=names.group, topic=names.topic, partition=names.partition, ranks=ranks
        )


def names_of(keys: pa.BinaryArray) -> RowNames:
    """Give group, topic and partition of each key."""
    read = decode_keys(keys)
    return read.group.dictionary_encode(), read.topic.dictionary_encode(), read.partition
