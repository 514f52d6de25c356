"""Offsets partitions blocked by an open transaction, the commits that it hides, and how a tick adds them. Pure.

A key that the log has keeps its row. A key that the log does not have (the group's first commit of a partition is
hidden) gets a row after the others, if the ends of its partition are known; without the row the partition would count
as never committed. Offsets that were deleted behind the transaction are removed afterwards
(`stream.tick.hidden_commits.group_states`).

Positions decide, as everywhere: a run whose last record the job has read adds nothing. When the job has read only a
part of a run, the counts of that part are in the run and in the driver state; the run is then joined to the row that
the driver state had before.
"""

import dataclasses
from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from exporters.readmodel import OFFSETS_HELD_BACK, rows_table
from stream.groups.commits.run_table import Runs, concat_runs, find_rows, join_runs, no_runs
from stream.groups.driver_state import GroupColumns
from stream.groups.membership.memberships import Memberships
from stream.groups.row_order import KeyLabels, RowLabels, RowOrder, decode_names
from stream.groups.short_cache import keep_last
from stream.health.columns import Flags, Ints
from stream.tick.ends_index import EndsIndex


@dataclasses.dataclass(frozen=True, slots=True)
class BlockedOffsetsPartition:
    """One blocked offsets partition and its oldest open transaction. None: not known."""

    offsets_partition: int
    since: int
    """Since when it is blocked (ms): the start of the transaction; if not known, when the gap was first seen."""
    producer_id: int | None = None
    transactional_id: str | None = None
    hanging: bool | None = None
    """True if no coordinator will end the transaction."""
    unread: int | None = None
    """The offsets behind the last stable offset that the last read did not reach."""


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenCommits:
    """The driver state of one tick with what open transactions hide in the log."""

    state: GroupColumns
    """The driver state with the hidden records; the same object if there are none."""
    is_hidden: Flags
    """Mask of the rows whose last commit is behind the last stable offset."""
    blocked_partitions: Mapping[int, BlockedOffsetsPartition] = dataclasses.field(default_factory=dict)
    """The blocked offsets partitions by number."""
    read_groups: frozenset[str] = frozenset()
    """Groups of the blocked partitions that were read to their ends, and groups with a hidden commit."""
    unread_groups: frozenset[str] = frozenset()
    """Groups of the other blocked partitions: their commits may be newer than known."""
    hidden_groups: frozenset[str] = frozenset()
    """Groups with records that the job may not have read: a tombstone that is missing may be among them."""
    memberships: Mapping[str, Memberships] = dataclasses.field(default_factory=dict)
    """The membership records of groups that have newer ones than the job has read, by group."""


def blocked_partitions_table(hidden: HiddenCommits) -> pa.Table:
    """Return the blocked offsets partitions (schema OFFSETS_HELD_BACK), sorted by partition."""
    rows = (dataclasses.astuple(blocked) for _, blocked in sorted(hidden.blocked_partitions.items()))
    return rows_table(rows, OFFSETS_HELD_BACK)


def nothing_hidden(state: GroupColumns) -> HiddenCommits:
    """Return the result where the log hides nothing."""
    return HiddenCommits(state, np.zeros(len(state.runs), np.bool_))


@dataclasses.dataclass(frozen=True, slots=True)
class LoggedRows:
    """The rows of some groups in the driver state, and their runs."""

    rows: Ints
    runs: Runs

    def find(self, keys: pa.BinaryArray) -> tuple[Ints, Ints]:
        """Return the index in `rows` of each key, and the log position of its last commit; -1 where it has none."""
        row = find_rows(self.runs.keys, keys)
        if not len(self.runs):
            return row, row
        return row, np.where(row >= 0, self.runs.spans.last_position[row], -1)


def logged_rows(state: GroupColumns, groups: Collection[str]) -> LoggedRows:
    """Return the rows of these groups."""
    names = state.group.dictionary.to_pylist()
    is_chosen = np.array([name in groups for name in names] or [False], np.bool_)
    rows = np.flatnonzero(is_chosen[state.group.indices.to_numpy(zero_copy_only=False)])
    return LoggedRows(rows, state.runs.take(rows) if len(rows) else no_runs())


class Overlay:
    """Adds commits tick after tick. The row order stays the same object until a row is added or removed."""

    def __init__(self, keep_slots: int) -> None:
        self._keep_slots = keep_slots
        self.clear()

    def clear(self) -> None:
        """Forget what was added at the last tick."""
        self._added = self._before = no_runs()

    def add(self, state: GroupColumns, hidden: Runs, ends: EndsIndex) -> tuple[GroupColumns, Flags]:
        """Return the driver state in which hidden runs follow those of the log, and a mask of the rows with one."""
        runs = hidden.take(hidden.spans.commits > 0)
        names = decode_names(runs.keys)
        logged = logged_rows(state, frozenset(names[0].dictionary.to_pylist()))
        row, position = logged.find(runs.keys)
        is_begun = (runs.spans.first_position <= position) & ~runs.spans.reset
        is_used = (runs.spans.last_position > position) & ((row >= 0) | _have_ends(ends, names))
        is_used &= ~is_begun | (find_rows(self._added.keys, runs.keys) >= 0)
        if not is_used.any():
            self.clear()
            return state, np.zeros(len(state.runs), np.bool_)
        before = find_rows(self._before.keys, runs.keys)
        follows = is_used & ~is_begun & (row >= 0)
        self._before = concat_runs(
            [logged.runs.take(row[follows]), self._before.take(before[is_used & is_begun & (before >= 0)])]
        )
        self._added = runs.take(is_used)
        joined = join_runs([self._before, self._added], self._keep_slots)
        rows = np.full(len(runs), -1, np.int64)
        rows[row >= 0] = logged.rows[row[row >= 0]]
        return _with_runs(state, joined.take(find_rows(joined.keys, self._added.keys)), rows[is_used])


def _with_runs(state: GroupColumns, runs: Runs, rows: Ints) -> tuple[GroupColumns, Flags]:
    """Return the driver state with these runs at these rows; those at row -1 become new rows."""
    is_new, count = rows < 0, len(state.runs)
    order = np.arange(count + int(is_new.sum()))
    order[rows[~is_new]] = count + np.flatnonzero(~is_new)
    order[count:] = count + np.flatnonzero(is_new)
    all_runs = concat_runs([state.runs, runs]).take(order)
    new_keys = tuple(all_runs.keys.slice(count).to_pylist())
    row_order = _longer_order(state.row_order, new_keys) if new_keys else state.row_order
    return with_rows(state, all_runs, row_order), order >= count


def with_rows(state: GroupColumns, runs: Runs, order: RowOrder) -> GroupColumns:
    """Return the driver state with other rows."""
    labels = order.labels
    return dataclasses.replace(
        state, runs=runs, group=labels.group, topic=labels.topic, partition=labels.partition, row_order=order
    )


@keep_last
def _longer_order(order: RowOrder, new_keys: tuple[bytes, ...]) -> RowOrder:
    """Return the order with rows of new keys after the others."""
    labels = order.labels
    new = decode_names(pa.array(new_keys, pa.binary()))
    return RowOrder(RowLabels([(labels.group, labels.topic, labels.partition), new]), frozenset(order.groups))


def _have_ends(ends: EndsIndex, names: KeyLabels) -> Flags:
    """Return for which keys the ends of their partition were requested."""
    _, topic, partition = names
    number = topic.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return ends.rows(topic.dictionary.to_pylist(), number, partition.astype(np.int64)) >= 0
