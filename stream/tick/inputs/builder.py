"""Builds the inputs of one tick: the columns that health evaluates, and what the read model shows in addition. Pure.

Groups and topics are numbered in the order of the read model: row i is row i of its PARTITIONS table, group n is row n
of its GROUPS table. `stream.tick.inputs.rows` says which rows there are. What is not given stays not known.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders.columnar import decode_keys
from stream.cluster.transport.errors import ErrorReason
from stream.groups.commits.run_table import Runs
from stream.groups.commits.runs import TOPIC_ID, Spans
from stream.groups.commits.tombstones import AbortedCommits
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.broker_rules import LATEST
from stream.health.columns import NOT_KNOWN, Flags, Ints, replaced
from stream.health.features import lag as lags
from stream.health.features.lag import Commits, Lag, PartitionEnds
from stream.health.features.offset_out_of_range import CommitOrigins, topic_ids
from stream.health.inputs import (
    KEPT_FOREVER,
    NO_COMMIT,
    AbortStreak,
    FailedReplica,
    GroupInputs,
    HealthInputs,
    OpenTransaction,
    RemovedCommits,
)
from stream.health.limits import HealthLimits
from stream.tick.context import ClusterContext, CommitRemovals, DerivedState, LookupResults
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import HiddenCommits
from stream.tick.inputs.assignment import AssignmentInputs, PartitionAssignment
from stream.tick.inputs.group_state import GroupStates
from stream.tick.inputs.member_changes import FencedInstances, JoinedMembers, RebalanceCounter
from stream.tick.inputs.polled_cluster import Replicas
from stream.tick.inputs.rows import InputRows, RowFinder
from stream.tick.inputs.times import CommitTimes, ReadPositionTracker, plausible_slots


def lookup_columns(rows: InputRows, results: LookupResults) -> dict[str, Any]:
    """Return these columns by name."""
    topics, known = rows.topics, results.retention or {}
    columns = {
        "tails": None if results.tails is None else results.tails.numbered(topics),
        "transactions": _oldest_transactions(topics, results.transactions),
    }
    if results.retention is None:
        return columns
    kept = {name: KEPT_FOREVER if known[name] < 0 else known[name] for name in results.any_size & known.keys()}
    return columns | {
        "retention": _retention(topics, results.retention)[rows.topic],
        "kept": _retention(topics, kept)[rows.topic],
        "gapless": _among(topics, results.gapless)[rows.topic],
    }


def _retention(topics: Sequence[str], retention: Mapping[str, int]) -> Ints:
    return np.array([retention.get(name, NOT_KNOWN) for name in topics] or [NOT_KNOWN], np.int64)


def _among(topics: Sequence[str], chosen: Collection[str]) -> Flags:
    return np.array([name in chosen for name in topics] or [False], np.bool_)


def _oldest_transactions(
    topics: Sequence[str], tables: Mapping[str, pa.Table]
) -> dict[tuple[int, int], OpenTransaction]:
    """Return the first open transaction of each partition, which blocks its last stable offset."""
    oldest: dict[tuple[int, int], OpenTransaction] = {}
    for number, name in enumerate(topics):
        if name in tables:
            for partition, transaction in _open_transactions(tables[name]):
                oldest.setdefault((number, partition), transaction)
    return oldest


def _open_transactions(table: pa.Table) -> Iterator[tuple[int, OpenTransaction]]:
    """Yield (partition, open transaction); a row without a start offset only says that there was no answer."""
    started = table.filter(table.column("start_offset").is_valid())
    since = started.column("start_time").cast(pa.int64()).to_pylist()
    names = ("partition", "producer_id", "transactional_id", "hanging")
    columns = (started.column(name).to_pylist() for name in names)
    for partition, producer, name, hanging, time in zip(*columns, since, strict=True):
        yield partition, OpenTransaction(producer, name, time, hanging)


_NO_ID: Final = bytes(16)
_NO_EXPIRY: Final = -1


@dataclasses.dataclass(frozen=True, slots=True)
class TickInputs:
    """The rows of one tick, with what the read model shows of them in addition to `HealthInputs`, in the same order."""

    rows: InputRows
    end_row: Ints
    """The row of `TickFacts.ends` with the partition's end offsets, -1 if there is none."""
    odd_time: Flags
    """Rows with a commit whose stored time cannot be right (see `stream.tick.inputs.times`)."""
    assignment: PartitionAssignment
    offsets_partition: Ints
    """Per group: its partition of `__consumer_offsets`; -1: not known."""


class InputBuilder:
    """Builds the inputs tick after tick; columns whose sources did not change are reused."""

    def __init__(
        self,
        limits: HealthLimits | None = None,
        rebalances: RebalanceCounter | None = None,
        mirrored: Sequence[str] = (),
    ) -> None:
        """Start; `rebalances` may have the counts of an earlier process. See `GroupStates` for `mirrored`."""
        limits = limits or HealthLimits()
        self._storm = limits.storm_window
        self.rebalances = rebalances or RebalanceCounter(self._storm)
        self.read_positions = ReadPositionTracker(limits.tick)
        self._row_finder = RowFinder()
        self._commit_times = CommitTimes()
        self._group_states = GroupStates(mirrored)
        self._assignment = AssignmentInputs()
        self._joined = JoinedMembers()
        self._fenced = FencedInstances()
        self._partition_counts: Mapping[str, int] = {}

    def build(self, derived: DerivedState) -> tuple[TickInputs, HealthInputs]:
        """Return the inputs of a derived state."""
        facts, hidden, state = derived.facts, derived.hidden, derived.state
        now_ms, cluster = facts.now, facts.cluster
        # An outage removes no partition.
        self._partition_counts = cluster.partition_counts or self._partition_counts
        rows = self._row_finder.find(state, self._partition_counts, cluster.topic_names)
        spans, odd_time = self._commit_times.plausible(rows, _aligned_spans(state.runs.spans, rows), now_ms)
        partition_ends, lag, end_row, reasons = _compare_with_ends(rows, spans, facts.ends)
        read = self.read_positions.read_until(rows, spans.last_time, _with_hidden_records(rows, hidden), now_ms)
        assignment = self._assignment.build(rows, state.memberships, cluster.described_states, cluster.topic_names)
        expiry = rows.align(derived.expiry.offset, _NO_EXPIRY)
        inputs = HealthInputs(
            now=now_ms,
            groups=self._groups(rows, state, cluster, now_ms),
            topics=tuple(rows.topics),
            group=rows.group,
            topic=rows.topic,
            partition=rows.partition,
            spans=spans,
            slots=plausible_slots(rows.align_slots(state.runs.slots), now_ms),
            ends=partition_ends,
            lag=lag,
            reasons=reasons,
            origins=_origins(rows, state.runs, cluster),
            recreated=_recreated(rows.topics, cluster, now_ms),
            subscribed=assignment.subscribed,
            owner=assignment.owner,
            clients=assignment.clients,
            subscribers=assignment.subscribers,
            joined=self._joined.update(rows.groups, state.memberships),
            fenced=self._fenced.update(rows.groups, state.memberships, now_ms),
            expiry=replaced(expiry, expiry > LATEST, LATEST),
            removed=_removed(rows, derived.removed) if derived.removed else None,
            hidden=_of_groups(rows, hidden.unread_groups) if hidden.unread_groups else None,
            aborts=aborts_by_row(rows, state.aborts),
            read_until=read.read_until,
            answered_since=read.answered_since,
            offsets_outage=read.outage,
            share_progress=facts.polled.share_progress,
            failed_replicas=_failed_replicas(rows, reasons, facts.polled.replicas),
            checkpoint_topics=facts.polled.checkpoint_topics,
            **lookup_columns(rows, facts.lookups),
        )
        partitions = self.read_positions.offsets_partitions(rows.groups)
        return TickInputs(rows, end_row, odd_time, assignment, partitions), inputs

    def _groups(self, rows: InputRows, state: GroupColumns, context: ClusterContext, now: int) -> GroupInputs:
        rebalances = self.rebalances.update(state.histories, now)
        return self._group_states.build(rows.groups, state, context, now, storm=self._storm, rebalances=rebalances)


def _compare_with_ends(
    rows: InputRows, spans: Spans, ends: EndsIndex
) -> tuple[PartitionEnds, Lag, Ints, NDArray[np.object_]]:
    """Return the ends, the lag of the rows, their rows in `ends`, and why an end is not known."""
    partition_ends, index_row = ends.partition_ends(rows.topics)
    commits = Commits(lags.place(rows.topic, rows.partition), spans.last_offset, rows.committed)
    lag = lags.lag(commits, partition_ends)
    end_row = np.where(lag.row >= 0, index_row[lag.row], -1) if len(index_row) else lag.row
    unknown, reasons = ~lag.known & ~lag.beyond_end, np.broadcast_to(np.array(None, object), len(rows))
    if (unknown | commits.negative).any():
        reasons = ends.unknown_reasons(unknown, end_row, rows.topics, rows.topic)
        reasons[commits.negative] = lags.NEGATIVE_OFFSET
    return partition_ends, lag, end_row, reasons


def _aligned_spans(spans: Spans, rows: InputRows) -> Spans:
    """Return the spans in the order of the rows; a row without a commit has -1 everywhere, and counts of 0."""
    missing = {"reset": False, "commits": 0, "rewinds": 0}
    return Spans(
        **{
            field.name: rows.align(getattr(spans, field.name), missing.get(field.name, NO_COMMIT))
            for field in dataclasses.fields(Spans)
        }
    )


def _with_hidden_records(rows: InputRows, hidden: HiddenCommits) -> Flags:
    """Return the rows that were read behind the last stable offset, also those of groups without hidden commits."""
    is_hidden = rows.align(hidden.is_hidden, missing=False)
    return is_hidden | _of_groups(rows, hidden.read_groups) if hidden.read_groups else is_hidden


def _of_groups(rows: InputRows, groups: Collection[str]) -> Flags:
    """Return the rows of these groups."""
    return np.array([name in groups for name in rows.groups], np.bool_)[rows.group]


def _origins(rows: InputRows, runs: Runs, context: ClusterContext) -> CommitOrigins:
    ids = [context.topic_ids.get(name, _NO_ID) for name in rows.topics] or [_NO_ID]
    return CommitOrigins(
        leader_epoch=rows.align(runs.leader_epoch, -1),
        topic_id=rows.align(topic_ids(runs.topic_id), 0),
        current_topic_id=topic_ids(pa.array(ids, TOPIC_ID)),
        topic=rows.topic,
    )


def _recreated(topics: Sequence[str], context: ClusterContext, now: int) -> Ints:
    """Return the positions of the topics that were first seen with a new id at this tick."""
    recreated = [position for position, name in enumerate(topics) if context.recreated.get(name, -1) >= now]
    return np.array(recreated, np.int64)


def _failed_replicas(
    rows: InputRows, reasons: NDArray[np.object_], replicas: Replicas | None
) -> dict[int, tuple[FailedReplica, ...]]:
    """Return the failed replicas of the rows without a leader that have some."""
    if replicas is None:
        return {}
    leaderless = np.flatnonzero(reasons == ErrorReason.NO_LEADER)
    found = replicas.failed(rows.topics, rows.topic[leaderless], rows.partition[leaderless])
    return {int(leaderless[at]): failed for at, failed in found.items()}


def _removed(rows: InputRows, removals: CommitRemovals) -> RemovedCommits:
    """Return when and how the offset of each row was removed; -1 for most."""
    groups, topics = ({name: number for number, name in enumerate(names)} for names in (rows.groups, rows.topics))
    time, expired, forgotten = (np.full(len(rows), NOT_KNOWN, np.int64) for _ in range(3))
    for (group, topic, partition), each in removals.items():
        at = rows.position(groups.get(group), topics.get(topic), partition)
        if at is not None:
            time[at] = each.time
            expired[at] = NOT_KNOWN if each.expired is None else each.expired
            forgotten[at] = each.time if each.is_forgotten else NOT_KNOWN
    return RemovedCommits(time, expired, forgotten)


def aborts_by_row(rows: InputRows, aborts: AbortedCommits) -> dict[int, AbortStreak]:
    """Return the aborted commits of each row that has any; those of other groups and partitions are left out."""
    if not len(aborts):
        return {}
    labels = decode_keys(aborts.keys)
    groups, topics = ({name: number for number, name in enumerate(names)} for names in (rows.groups, rows.topics))
    columns = (labels.group.to_pylist(), labels.topic.to_pylist(), labels.partition.tolist())
    numbers = (aborts.count, aborts.first_time, aborts.last_time, aborts.producer_id)
    streaks: dict[int, AbortStreak] = {}
    for group, topic, partition, *values in zip(*columns, *(column.tolist() for column in numbers), strict=True):
        row = rows.position(groups.get(group), topics.get(topic), partition)
        streak = AbortStreak(*values)
        # A group whose coordinator moved may have rows in two shards.
        if row is not None and (row not in streaks or streaks[row].last_time < streak.last_time):
            streaks[row] = streak
    return streaks
