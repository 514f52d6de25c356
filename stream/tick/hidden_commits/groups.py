"""The groups that an open transaction hides: asks their coordinators for offsets, reads the rest from the hidden log.

Owns whom to ask when (so many groups per tick, oldest answer first), and for how long an answer stands. An answer is
used from the tick after it was given on, or at once if it was asked for before the ends were read: so that a commit is
never newer than the end that it is held against. When the gap closes, answers stand until the log has told of the same
keys, or for a while at most: the job reads what was hidden only after the ends have shown that it can.
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
from stream.tick.hidden_commits.commits import FetchedCommits, FetchedOffsets, key_of
from stream.tick.hidden_commits.group_states import HiddenGroupStates, OverlaidGroups
from stream.tick.hidden_commits.log_reader import HiddenLogReader
from stream.tick.hidden_commits.model import HiddenCommits, nothing_held_back
from stream.tick.hidden_commits.overlay import Overlay, names_of, rows_of_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from stream.cluster.transport.client import Cluster
    from stream.groups.driver_state import GroupColumns
    from stream.groups.row_order import RowNames
    from stream.health.columns import Flags
    from stream.tick.ends_index import EndsIndex
    from stream.tick.hidden_commits.model import BlockedOffsetsPartition
    from stream.tick.lookups.budget import LookupLimits

_NO_OFFSETS: Final = "share"
"""The kind of groups that keep their offsets elsewhere."""


class HiddenGroups:
    """Used by the thread of the ticks alone."""

    def __init__(self, cluster: Cluster, allowances: LookupLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._readings = HiddenLogReader(cluster, allowances, clock)
        self._states = HiddenGroupStates()
        self._positions: Mapping[int, int] = {}
        self._coordinators = Coordinators(cluster)
        self._settle_ms = int(allowances.settle * 1000)
        most, tick_ms = allowances.fetched_groups, int(allowances.tick * 1000)
        self._budget = RequestBudget(per_second=most / allowances.tick, most=most, again_ms=tick_ms // 2)
        self._commits = FetchedCommits(int(allowances.slot * 1000), allowances.keep_slots)
        self._overlay = Overlay(allowances.keep_slots)
        self._partition_of: dict[str, int] = {}
        self._count = 0
        self._low: dict[int, int] = {}
        self._held_at: dict[int, int] = {}
        self._before: frozenset[int] = frozenset()
        self._answered: set[str] = set()
        self._asked = False

    @property
    def topics(self) -> frozenset[str]:
        """The topics of commits that were asked for; some of them the log may not know."""
        return frozenset(names_of(self._commits.runs.keys)[1].dictionary.to_pylist()) if self._commits else frozenset()

    @property
    def touched(self) -> frozenset[str]:
        """The groups with hidden membership records; the fleet of the next tick must have those that the job read."""
        return self._readings.touched

    def follow(self, positions: Mapping[int, int]) -> None:
        """Note how far the job has read the offsets partitions that the next fleet is made of."""
        self._positions = positions

    def ask(self, fleet: GroupColumns, now: int) -> None:
        """Ask the groups of the partitions that were held back at the last tick, those whose turn it is (ms).

        Then read what is hidden in these partitions: it is newer than the answers.
        """
        self._asked = True
        hidden = self._hidden(fleet, self._low.keys())
        chosen = self._budget.choose(hidden, now) if hidden else []
        if chosen:
            self._take(chosen, fetch_offsets(self._cluster, self._coordinators, chosen), fleet, now)
        self._readings.read(self._low)

    def put(
        self, fleet: GroupColumns, ends: EndsIndex, held: Mapping[int, BlockedOffsetsPartition], now: int
    ) -> HiddenCommits:
        """Give the fleet with what was answered; asks for the next tick, unless that has been done for this one."""
        self._note(ends, held, now)
        shown = self._shown(fleet, ends, held)
        if not self._asked and held:
            self.ask(fleet, now)
        self._asked, self._before = False, frozenset(held)
        return shown

    def _note(self, ends: EndsIndex, held: Mapping[int, BlockedOffsetsPartition], now: int) -> None:
        rows = ends.rows_of_topic(NAME)
        if len(rows) and len(rows) != self._count:
            self._count, self._partition_of = len(rows), {}
        numbers = ends.partitions(rows).tolist()
        stable, end = (
            {number: offset for number, offset in zip(numbers, column[rows].tolist(), strict=True) if offset >= 0}
            for column in (ends.last_stable_offset, ends.high_watermark)
        )
        self._commits.bound(end)
        self._low = {partition: stable.get(partition, self._low.get(partition, 0)) for partition in held}
        self._held_at |= dict.fromkeys(held, now)
        self._held_at = {partition: at for partition, at in self._held_at.items() if now - at <= self._settle_ms}

    def _shown(
        self, fleet: GroupColumns, ends: EndsIndex, held: Mapping[int, BlockedOffsetsPartition]
    ) -> HiddenCommits:
        self._readings.forget(self._positions, held, self._held_at)
        logs = self._readings.logs
        if not held and not self._commits and not logs:
            self._answered = set()
            return nothing_held_back(fleet)
        commits = self._commits
        commits.drop(~np.isin(commits.offsets_partition, list(self._held_at)))
        deleted = [key for log in logs.values() if log.complete for key in log.deleted]
        commits.drop(find_rows(pa.array(deleted, pa.binary()), commits.runs.keys) >= 0)
        names = names_of(commits.runs.keys)
        known = rows_of_groups(fleet, frozenset(names[0].dictionary.to_pylist()))
        # What the ends show to be readable has not been read at the tick that sees it.
        used = commits.newer(known.log, np.isin(commits.offsets_partition, list(held.keys() | self._before)))
        outdated = commits.outdated(known.log)
        used &= ~outdated & ((known.log.of(commits.runs.keys)[0] >= 0) | _have_ends(ends, names))
        hidden = frozenset(self._hidden(fleet, held.keys()))
        groups = frozenset(names[0].filter(pa.array(used)).unique().to_pylist())
        self._answered &= hidden | groups
        overlaid, asked = fleet, np.zeros(len(fleet.runs), np.bool_)
        if used.any():
            overlaid, asked = self._overlay.put(fleet, known, commits.after(known.log, used))
        commits.drop(outdated)
        told = self._states.put(overlaid, asked, logs.values()) if logs else OverlaidGroups(overlaid, asked)
        return HiddenCommits(
            told.fleet,
            told.asked,
            dict(held),
            frozenset(self._answered),
            hidden - self._answered,
            frozenset(self._hidden(fleet, held.keys() | logs.keys())),
            told.members,
        )

    def _hidden(self, fleet: GroupColumns, partitions: Collection[int]) -> list[str]:
        """Give the groups whose coordinator keeps its records in these offsets partitions."""
        if not self._count or not partitions:
            return []
        groups = {*fleet.group.dictionary.to_pylist(), *fleet.memberships, *self._readings.touched}
        known = self._partition_of
        self._partition_of = {
            group: known[group] if group in known else partition_for(group, self._count) for group in groups
        }
        return [
            group
            for group, partition in self._partition_of.items()
            if partition in partitions and not _keeps_no_offsets(fleet, group)
        ]

    def _take(self, chosen: Sequence[str], table: pa.Table, fleet: GroupColumns, now: int) -> None:
        """Take answers. A group that was not answered this time keeps the answer that it had."""
        groups, errors = table.column("group").to_pylist(), table.column("error").to_pylist()
        refused = {group for group, error in zip(groups, errors, strict=True) if error is not None}
        self._answered.update(group for group in chosen if group not in refused)
        known = table.filter(pc.is_null(table.column("error")))
        names, topics, partitions, offsets, epochs = (
            known.column(name).to_pylist() for name in known.column_names if name != "error"
        )
        if not names:
            return
        keys = [key_of(*place) for place in zip(names, topics, partitions, strict=True)]
        held_in = np.array([self._partition_of[name] for name in names], np.int64)
        answers = FetchedOffsets(
            time=now,
            keys=pa.array(keys, pa.binary()),
            offset=np.array(offsets, np.int64),
            leader_epoch=np.array([-1 if epoch is None else epoch for epoch in epochs], np.int32),
            offsets_partition=held_in,
            low=np.array([self._low[partition] for partition in held_in.tolist()], np.int64),
        )
        self._commits.take(answers, rows_of_groups(fleet, frozenset(names)).log)


def _keeps_no_offsets(fleet: GroupColumns, group: str) -> bool:
    known = fleet.memberships.get(group)
    return known is not None and known.kind == _NO_OFFSETS


def _have_ends(ends: EndsIndex, names: RowNames) -> Flags:
    """Tell for which keys the ends of their partition were asked for."""
    _, topic, partition = names
    number = topic.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return ends.rows(topic.dictionary.to_pylist(), number, partition.astype(np.int64)) >= 0
