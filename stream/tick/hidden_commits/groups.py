"""Groups hidden behind an open transaction: fetches their offsets from coordinators and reads the hidden log.

A limited number of groups is fetched per tick, oldest answer first. An answer is used from the tick after the fetch on,
or at once if it was fetched before the end offsets were read: a commit is thus never newer than the end that it is
compared with. When the partition is no longer blocked, answers stay valid until the log has newer records of the same
keys, or until a time limit: the job reads the records only after the end offsets have shown that they are readable.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.cluster.coordinators import Coordinators
from stream.cluster.fetch_offsets import fetch_offsets
from stream.cluster.offsets_topic import NAME
from stream.cluster.rate_limit import RequestBudget
from stream.groups.commits.run_table import find_rows
from stream.groups.placement import partition_for
from stream.tick.hidden_commits.commits import FetchedCommits, FetchedOffsets, offset_key
from stream.tick.hidden_commits.group_states import HiddenGroupStates, OverlaidGroups
from stream.tick.hidden_commits.log_reader import HiddenLogReader
from stream.tick.hidden_commits.model import HiddenCommits, nothing_hidden
from stream.tick.hidden_commits.overlay import Overlay, decode_names, logged_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from stream.cluster.transport.client import Cluster
    from stream.groups.driver_state import GroupColumns
    from stream.groups.row_order import ShardLabels
    from stream.health.columns import Flags
    from stream.tick.ends_index import EndsIndex
    from stream.tick.hidden_commits.model import BlockedOffsetsPartition
    from stream.tick.lookups.budget import LookupLimits

_NO_OFFSETS: Final = "share"
"""The type of groups that keep their offsets in another topic."""


class HiddenGroups:
    """Fetches, reads and applies what is hidden, tick after tick. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._reader = HiddenLogReader(cluster, limits, clock)
        self._states = HiddenGroupStates()
        self._read_positions: Mapping[int, int] = {}
        self._coordinators = Coordinators(cluster)
        self._settle_ms = int(limits.settle * 1000)
        most, tick_ms = limits.fetched_groups, int(limits.tick * 1000)
        self._budget = RequestBudget(per_second=most / limits.tick, most=most, again_ms=tick_ms // 2)
        self._commits = FetchedCommits(int(limits.slot * 1000), limits.keep_slots)
        self._overlay = Overlay(limits.keep_slots)
        self._partition_of: dict[str, int] = {}
        self._partitions = 0
        self._last_stable: dict[int, int] = {}
        self._blocked_at: dict[int, int] = {}
        self._previously_blocked: frozenset[int] = frozenset()
        self._answered: set[str] = set()
        self._has_fetched = False

    @property
    def topics(self) -> frozenset[str]:
        """The topics of fetched commits; the log may not have some of them."""
        if not self._commits:
            return frozenset()
        return frozenset(decode_names(self._commits.runs.keys)[1].dictionary.to_pylist())

    @property
    def groups_with_records(self) -> frozenset[str]:
        """The groups with hidden membership records; the next driver state must have their records."""
        return self._reader.groups

    def set_read_positions(self, positions: Mapping[int, int]) -> None:
        """Set how far the job has read the offsets partitions that the next driver state is built from."""
        self._read_positions = positions

    def fetch(self, state: GroupColumns, now: int) -> None:
        """Fetch the offsets of groups in partitions that were blocked at the last tick, as far as they are due (ms).

        Then read the hidden part of these partitions, which is newer than the answers.
        """
        self._has_fetched = True
        hidden = self._groups_in(state, self._last_stable.keys())
        chosen = self._budget.choose(hidden, now) if hidden else []
        if chosen:
            self._add(chosen, fetch_offsets(self._cluster, self._coordinators, chosen), state, now)
        self._reader.read(self._last_stable)

    def apply(
        self, state: GroupColumns, ends: EndsIndex, blocked: Mapping[int, BlockedOffsetsPartition], now: int
    ) -> HiddenCommits:
        """Return the driver state with what is hidden; fetch for the next tick if not done for this one."""
        self._update_ends(ends, blocked, now)
        applied = self._applied(state, ends, blocked)
        if not self._has_fetched and blocked:
            self.fetch(state, now)
        self._has_fetched, self._previously_blocked = False, frozenset(blocked)
        return applied

    def _update_ends(self, ends: EndsIndex, blocked: Mapping[int, BlockedOffsetsPartition], now: int) -> None:
        rows = ends.rows_of_topic(NAME)
        if len(rows) and len(rows) != self._partitions:
            self._partitions, self._partition_of = len(rows), {}
        numbers = ends.partitions(rows).tolist()
        last_stable, log_end = (
            {number: offset for number, offset in zip(numbers, column[rows].tolist(), strict=True) if offset >= 0}
            for column in (ends.last_stable_offset, ends.high_watermark)
        )
        self._commits.set_log_ends(log_end)
        self._last_stable = {
            partition: last_stable.get(partition, self._last_stable.get(partition, 0)) for partition in blocked
        }
        self._blocked_at |= dict.fromkeys(blocked, now)
        self._blocked_at = {partition: at for partition, at in self._blocked_at.items() if now - at <= self._settle_ms}

    def _applied(
        self, state: GroupColumns, ends: EndsIndex, blocked: Mapping[int, BlockedOffsetsPartition]
    ) -> HiddenCommits:
        self._reader.drop_read(self._read_positions, blocked, self._blocked_at)
        logs = self._reader.logs
        if not blocked and not self._commits and not logs:
            self._answered = set()
            return nothing_hidden(state)
        commits = self._commits
        commits.drop(~np.isin(commits.offsets_partition, list(self._blocked_at)))
        deleted = [key for log in logs.values() if log.complete for key in log.deleted]
        commits.drop(find_rows(pa.array(deleted, pa.binary()), commits.runs.keys) >= 0)
        names = decode_names(commits.runs.keys)
        logged = logged_rows(state, frozenset(names[0].dictionary.to_pylist()))
        # At the tick whose ends show records to be readable, the job has not read them yet.
        is_blocked = np.isin(commits.offsets_partition, list(blocked.keys() | self._previously_blocked))
        used = commits.newer(logged.log, is_blocked)
        outdated = commits.outdated(logged.log)
        used &= ~outdated & ((logged.log.find(commits.runs.keys)[0] >= 0) | _have_ends(ends, names))
        hidden = frozenset(self._groups_in(state, blocked.keys()))
        groups = frozenset(names[0].filter(pa.array(used)).unique().to_pylist())
        self._answered &= hidden | groups
        overlaid, fetched = state, np.zeros(len(state.runs), np.bool_)
        if used.any():
            overlaid, fetched = self._overlay.add(state, logged, commits.runs_after(logged.log, used))
        commits.drop(outdated)
        applied = self._states.apply(overlaid, fetched, logs.values()) if logs else OverlaidGroups(overlaid, fetched)
        return HiddenCommits(
            applied.state,
            applied.fetched,
            dict(blocked),
            frozenset(self._answered),
            hidden - self._answered,
            frozenset(self._groups_in(state, blocked.keys() | logs.keys())),
            applied.memberships,
        )

    def _groups_in(self, state: GroupColumns, partitions: Collection[int]) -> list[str]:
        """Return the groups whose records are in these offsets partitions."""
        if not self._partitions or not partitions:
            return []
        groups = {*state.group.dictionary.to_pylist(), *state.memberships, *self._reader.groups}
        known = self._partition_of
        self._partition_of = {
            group: known[group] if group in known else partition_for(group, self._partitions) for group in groups
        }
        return [
            group
            for group, partition in self._partition_of.items()
            if partition in partitions and not _keeps_no_offsets(state, group)
        ]

    def _add(self, chosen: Sequence[str], table: pa.Table, state: GroupColumns, now: int) -> None:
        """Add fetched offsets. A group without an answer this time keeps the last one."""
        groups, errors = table.column("group").to_pylist(), table.column("error").to_pylist()
        failed = {group for group, error in zip(groups, errors, strict=True) if error is not None}
        self._answered.update(group for group in chosen if group not in failed)
        rows = table.filter(pc.is_null(table.column("error")))
        names, topics, partitions, offsets, epochs = (
            rows.column(name).to_pylist() for name in rows.column_names if name != "error"
        )
        if not names:
            return
        keys = [offset_key(*key) for key in zip(names, topics, partitions, strict=True)]
        offsets_partition = np.array([self._partition_of[name] for name in names], np.int64)
        fetched = FetchedOffsets(
            time=now,
            keys=pa.array(keys, pa.binary()),
            offset=np.array(offsets, np.int64),
            leader_epoch=np.array([-1 if epoch is None else epoch for epoch in epochs], np.int32),
            offsets_partition=offsets_partition,
            low=np.array([self._last_stable[partition] for partition in offsets_partition.tolist()], np.int64),
        )
        self._commits.add(fetched, logged_rows(state, frozenset(names)).log)


def _keeps_no_offsets(state: GroupColumns, group: str) -> bool:
    membership = state.memberships.get(group)
    return membership is not None and membership.kind == _NO_OFFSETS


def _have_ends(ends: EndsIndex, names: ShardLabels) -> Flags:
    """Return for which keys the ends of their partition were requested."""
    _, topic, partition = names
    number = topic.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return ends.rows(topic.dictionary.to_pylist(), number, partition.astype(np.int64)) >= 0
