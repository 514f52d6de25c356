"""Groups hidden behind an open transaction: reads the log behind the last stable offsets and applies it.

What is read before the end offsets is shown with them: a commit is thus never newer than the end that it is compared
with. Bytes and time per tick are limited; the next tick continues where the last one stopped. What was read stays valid
until the job has read it, or until a time limit: the job reads the records only after the end offsets have shown that
they are readable.

Detects offsets partitions that are blocked by an open transaction, since when and by which producer, and logs it.

A partition is blocked when its last stable offset has not moved for longer than a grace period while it is below the
high watermark; a transaction that ends in time moves it. One line is logged when that starts and one when it ends.
"""

import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping

import numpy as np
import pyarrow as pa
import structlog

from exporters.timestamps import rfc3339
from stream.cluster.hidden_records import read_hidden
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.groups.commits.run_table import join_runs
from stream.groups.driver_state import GroupColumns
from stream.groups.placement import EVERY_GROUP, InstancePart, partition_for
from stream.groups.row_order import decode_names
from stream.tick.context import TickFacts
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.group_states import HiddenGroupStates
from stream.tick.hidden_commits.overlay import BlockedOffsetsPartition, HiddenCommits, Overlay, nothing_hidden
from stream.tick.hidden_commits.tail import HiddenTail
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup
from stream.tick.offsets_topic_lag import StableGaps

_log = structlog.get_logger(__name__)


class BlockedPartitions:
    """Tracks the offsets partitions from tick to tick. Used by the tick thread only."""

    def __init__(
        self, limits: LookupLimits, transactions: OpenTransactionLookup, part: InstancePart = EVERY_GROUP
    ) -> None:
        """Track the partitions of this instance."""
        self._grace_ms = int(limits.blocked_grace * 1000)
        self._transactions = transactions
        self._stable_gaps = StableGaps(part)
        self._blocked: dict[int, BlockedOffsetsPartition] = {}

    def update(self, ends: EndsIndex, now: int) -> Mapping[int, BlockedOffsetsPartition]:
        """Return the blocked partitions by number; `ends` were read at `now` (ms)."""
        gaps = self._stable_gaps.update(ends, now)
        lasting = {partition: gap for partition, gap in gaps.items() if now - gap.since >= self._grace_ms}
        tables = self._transactions.update({(NAME, number): gap.last_stable for number, gap in lasting.items()}, now)
        blocked = {
            partition: _blocked_partition(partition, gap.since, tables.get(NAME)) for partition, gap in lasting.items()
        }
        self._log_changes(blocked, now)
        self._blocked = blocked
        return blocked

    def _log_changes(self, blocked: Mapping[int, BlockedOffsetsPartition], now: int) -> None:
        for partition in sorted(blocked.keys() - self._blocked.keys()):
            new = blocked[partition]
            _log.warning(
                "offsets partition blocked by an open transaction; reading the records that it hides",
                offsets_partition=partition,
                since=rfc3339(new.since / 1000),
                producer_id=new.producer_id,
                transactional_id=new.transactional_id,
                hanging=new.hanging,
            )
        for partition in sorted(self._blocked.keys() - blocked.keys()):
            seconds = (now - self._blocked[partition].since) / 1000
            _log.info("offsets partition unblocked", offsets_partition=partition, seconds=seconds)


def _blocked_partition(partition: int, since: int, table: pa.Table | None) -> BlockedOffsetsPartition:
    """Return a partition blocked since a time (ms), with its oldest open transaction, if that is known."""
    rows = [] if table is None else [row for row in table.to_pylist() if row["partition"] == partition]
    row = next((row for row in rows if row["start_offset"] is not None), None)
    if row is None:
        return BlockedOffsetsPartition(partition, since)
    # For a hanging transaction, the coordinator may describe a later transaction of the same transactional id.
    started = row["last_write_time"] if row["hanging"] else row["start_time"]
    if started is not None:
        since = min(since, int(started.replace(tzinfo=dt.UTC).timestamp() * 1000))
    return BlockedOffsetsPartition(partition, since, row["producer_id"], row["transactional_id"], row["hanging"])


class HiddenGroups:
    """Reads and applies what is hidden, tick after tick. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._limits = limits
        self._clock = clock
        self._overlay = Overlay(limits.keep_slots)
        self._states = HiddenGroupStates()
        self._tails: dict[int, HiddenTail] = {}
        self._read_to_end: set[int] = set()
        self._partition_of: dict[str, int] = {}
        self._partitions = 0
        self._last_stable: dict[int, int] = {}
        self._blocked_at: dict[int, int] = {}

    @property
    def topics(self) -> frozenset[str]:
        """The topics of hidden commits; the log may not have some of them."""
        names = (decode_names(tail.runs.keys)[1].dictionary.to_pylist() for tail in self._tails.values())
        return frozenset(topic for topics in names for topic in topics)

    @property
    def groups_with_records(self) -> frozenset[str]:
        """The groups with hidden membership records; the next driver state must have their records."""
        return frozenset(group for tail in self._tails.values() for group in tail.memberships)

    def read(self) -> None:
        """Continue reading the partitions that were blocked at the last tick; a new one from its last stable offset."""
        limits, self._read_to_end = self._limits, set()
        for partition, offset in self._last_stable.items():
            tail = self._tails.get(partition)
            if tail is None or tail.position < offset:  # records in between are no longer hidden, and are missing here
                self._tails[partition] = HiddenTail(offset, int(limits.slot * 1000), limits.keep_slots)
        positions = {partition: self._tails[partition].position for partition in self._last_stable}
        if not positions:
            return
        deadline = self._clock() + limits.request_seconds
        most = limits.hidden_bytes
        for part in read_hidden(self._cluster, NAME, positions, most_bytes=most, clock=self._clock, deadline=deadline):
            if part.position_lost:
                del self._tails[part.partition]
            else:
                self._tails[part.partition].add(part)
                if not part.unread:
                    self._read_to_end.add(part.partition)

    def apply(self, state: GroupColumns, facts: TickFacts) -> HiddenCommits:
        """Return the driver state with what is hidden; `state` are all groups of the facts, or some."""
        ends, blocked = facts.ends, facts.lookups.blocked
        self._update_blocked(ends, blocked, facts.now)
        self._drop_read(blocked, facts.positions)
        if not blocked and not self._tails:
            self._overlay.clear()
            return nothing_hidden(state)
        tails = [tail for tail in self._tails.values() if tail.complete]
        runs = join_runs([tail.runs for tail in tails], self._limits.keep_slots)
        overlaid, is_hidden = self._overlay.add(state, runs, ends)
        applied = self._states.apply(overlaid, is_hidden, tails)
        read = blocked.keys() & self._read_to_end
        shown = applied.state.group.filter(applied.is_hidden).unique().to_pylist()
        unread = {number: tail.unread for number, tail in self._tails.items()}
        return dataclasses.replace(
            applied,
            blocked_partitions={
                number: dataclasses.replace(each, unread=unread.get(number)) for number, each in blocked.items()
            },
            read_groups=frozenset([*shown, *self._groups_in(state, read)]),
            unread_groups=frozenset(self._groups_in(state, blocked.keys() - read)),
            hidden_groups=frozenset(self._groups_in(state, blocked.keys() | self._tails.keys())),
        )

    def _update_blocked(self, ends: EndsIndex, blocked: Mapping[int, BlockedOffsetsPartition], now: int) -> None:
        rows = ends.rows_of_topic(NAME)
        if len(rows) and len(rows) != self._partitions:
            self._partitions, self._partition_of = len(rows), {}
        columns = (ends.partitions(rows), ends.last_stable_offset[rows])
        known = {number: offset for number, offset in zip(*map(np.ndarray.tolist, columns), strict=True) if offset >= 0}
        self._last_stable = {number: known.get(number, self._last_stable.get(number, 0)) for number in blocked}
        settle_ms = int(self._limits.settle * 1000)
        self._blocked_at |= dict.fromkeys(blocked, now)
        self._blocked_at = {number: at for number, at in self._blocked_at.items() if now - at <= settle_ms}

    def _drop_read(self, blocked: Collection[int], positions: Mapping[int, int]) -> None:
        """Drop what the job has read (`positions`), and what has not been blocked for long."""
        for partition, tail in list(self._tails.items()):
            is_read = positions.get(partition, -1) >= tail.position
            if partition not in blocked and (is_read or partition not in self._blocked_at):
                del self._tails[partition]

    def _groups_in(self, state: GroupColumns, partitions: Collection[int]) -> list[str]:
        """Return the groups whose records are in these offsets partitions."""
        if not self._partitions or not partitions:
            return []
        tails = (tail.groups for tail in self._tails.values() if tail.complete)
        groups = {*state.group.dictionary.to_pylist(), *state.memberships}.union(*tails)
        known = self._partition_of
        self._partition_of = {
            group: known[group] if group in known else partition_for(group, self._partitions) for group in groups
        }
        # Share groups keep their offsets in another topic.
        share = {group for group, membership in state.memberships.items() if membership.kind == "share"}
        return [
            group for group, partition in self._partition_of.items() if partition in partitions and group not in share
        ]
