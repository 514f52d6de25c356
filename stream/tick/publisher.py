"""The tick: read the fleet, then ask for the ends, judge, build a snapshot, render it, swap one reference.

In this order, so that an end is never older than a commit. While Kafka is away the last snapshot stays.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import TYPE_CHECKING, Final

import structlog

from exporters.selection.series import EVERYTHING, SeriesSelection, SeriesSelector
from exporters.text.exposition import PublishedSnapshot
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import ENDS, read_ends
from stream.cluster.transport.errors import ClusterError
from stream.groups.driver_state import DriverState
from stream.groups.expiry.predict import predict
from stream.groups.membership.unassigned import UnassignedTracker, subscribed_topics
from stream.service.status import CATCHING_UP
from stream.tick.context import NOWHERE, SnapshotContext
from stream.tick.ends_index import EndsIndex
from stream.tick.heap_trim import give_back
from stream.tick.hidden_commits.model import holders, nothing_held_back
from stream.tick.offsets_topic_lag import OffsetsTopicLag
from stream.tick.quarantine import Quarantine
from stream.tick.snapshot import build as snapshot
from stream.tick.snapshot.group_detail import group_detail
from stream.tick.snapshot.quarantined import with_quarantined
from stream.tick.terminations import Terminations
from stream.tick.verdicts.columns import unreadable_tails
from stream.tick.verdicts.evaluate import VerdictEvaluator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.readmodel import GroupDetail
    from stream.cluster.transport.client import Cluster
    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.memberships import Member, Memberships
    from stream.groups.shard import ShardChange, ShardState
    from stream.service.status import ServiceStatus
    from stream.tick.context import ClusterContext
    from stream.tick.context_poller import ContextPoller
    from stream.tick.verdicts.evaluate import VerdictResult

_log = structlog.get_logger(__name__)
_NO_ENDS: Final = EndsIndex(ENDS.empty_table())
_SEARCHES: Final = 3
"""How often one tick is evaluated again without the groups that made it fail."""


@dataclasses.dataclass(frozen=True, slots=True)
class TickResult:
    """What a tick was made with."""

    ends: EndsIndex
    positions: Mapping[int, int]
    """How far the log had been read before the ends were asked for, by offsets partition: never beyond them."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Inputs:
    """What a tick evaluates, as far as it has got; `ends` and `around` are empty before they have been asked for."""

    fleet: GroupColumns
    ends: EndsIndex
    around: ClusterContext
    taken_at: float

    @property
    def values(self) -> tuple[GroupColumns, EndsIndex, ClusterContext, float]:
        """All of it."""
        return self.fleet, self.ends, self.around, self.taken_at


class Publisher:
    """Holds the fleet and what is published of it; changes come from one thread, ticks from another."""

    def __init__(
        self,
        vitals: ServiceStatus,
        dead_grace: float = 3600.0,
        diagnostician: VerdictEvaluator | None = None,
        choice: SeriesSelection = EVERYTHING,
    ) -> None:
        self._vitals = vitals
        self._chooser = SeriesSelector(choice)
        self._dead_grace = dead_grace
        self._ledger = Terminations()
        self._ownerships = UnassignedTracker()
        self._offsets_partitions = OffsetsTopicLag()
        self._diagnostician = diagnostician or VerdictEvaluator()
        self._shown: tuple[GroupColumns, SnapshotContext, VerdictResult] | None = None
        self._members: Mapping[str, Memberships] = {}
        self._lock = threading.Lock()
        self._fleet = DriverState()
        self._inputs = _Inputs(self._fleet.columns(), _NO_ENDS, NOWHERE, 0.0)
        self._quarantine = Quarantine()
        self._published: PublishedSnapshot | None = None

    def current(self) -> PublishedSnapshot | None:
        """Give what readers see; None before the first snapshot."""
        return self._published

    def details(self, group: str) -> GroupDetail | None:
        """Give members, history and findings of a group as of the snapshot shown; None where it is not in that."""
        shown = self._shown
        if shown is None:
            return None
        fleet, context, diagnosis = shown
        found = fleet.memberships.get(group), fleet.histories.get(group)
        if found == (None, None):  # not there, or left out because it cannot be evaluated
            return None
        members = self._members_of(group, context.around.topic_names)
        detail = group_detail(group, found, members, fleet.topics_of(group), context)
        return dataclasses.replace(
            detail,
            finding=diagnosis.finding(group),
            partition_findings=diagnosis.partition_findings(group),
            verdicts=self._diagnostician.changes_of(group),
        )

    def _members_of(self, group: str, topic_names: Mapping[bytes, str]) -> tuple[Member, ...]:
        hidden = self._members.get(group)
        if hidden is not None:
            return hidden.members(group, topic_names)
        with self._lock:
            return self._fleet.members(group, topic_names)

    def judge_by(self, diagnostician: VerdictEvaluator) -> None:
        """Have the groups judged by this one from the next tick on."""
        self._diagnostician = diagnostician

    def keep(self) -> None:
        """Write what must survive a restart beside the state. To be called by the thread of the ticks, or after it."""
        self._diagnostician.keep()

    def seed(self, states: list[tuple[int, ShardState]]) -> None:
        """Begin with what the state store kept; nothing in it is news."""
        with self._lock:
            for shard, state in states:
                self._fleet.seed(shard, state)

    def apply(self, changes: list[tuple[int, ShardChange]]) -> None:
        """Take in what a batch changed, all of it at once."""
        catching_up = self._vitals.phase == CATCHING_UP
        with self._lock:
            for shard, change in changes:
                self._ledger.take(self._fleet.apply(shard, change), catching_up=catching_up)

    def start_over(self) -> None:
        """Forget all groups: the state that they came from cannot be used. Not to be called while ticks are made."""
        with self._lock:
            self._fleet, self._ledger = DriverState(), Terminations()
        self.clear()

    def clear(self) -> None:
        """Show nothing any more: what was shown turned out not to be true."""
        self._published = self._shown = None
        self._diagnostician.forget()

    def look_at_the_offsets_topic(self, cluster: Cluster) -> None:
        """Note which offsets partitions do not tell their ends; for the time in which there are no ticks yet."""
        try:
            ends = EndsIndex(read_ends(cluster, [NAME]))
        except ClusterError as error:
            self._note(str(error))
            return
        self._note(None)
        self._offsets_partitions.look(ends, time.time())
        self._vitals.unanswered = self._offsets_partitions.unanswered

    def tick(
        self, cluster: Cluster, survey: ContextPoller | None = None, *, current: bool = False
    ) -> TickResult | None:
        """Publish a new snapshot and give what it was made with; None if the cluster does not answer.

        Then the old snapshot stays. `current` says that all is read that was there at the tick before. If single groups
        make the evaluation fail, all others are published; what is not the fault of single groups is raised.
        """
        for _ in range(_SEARCHES):
            try:
                return self._tick(cluster, survey, current=current)
            except Exception:
                if not self._quarantine.search(self._inputs.fleet, self._try, time.time()):
                    raise
        return self._tick(cluster, survey, current=current)

    def _tick(self, cluster: Cluster, survey: ContextPoller | None, *, current: bool) -> TickResult | None:
        progress = self._vitals.progress
        positions = progress.positions if progress else {}  # before the fleet, which then holds all that is behind them
        with self._lock:
            now = int(time.time() * 1000)
            self._fleet.drop_dead(now - int(self._dead_grace * 1000), now)
            whole = self._fleet.columns(self._diagnostician.touched)
        self._inputs = _Inputs(whole, _NO_ENDS, NOWHERE, now / 1000)
        topics = {NAME, *whole.topic.dictionary.to_pylist(), *subscribed_topics(whole.memberships)}
        topics |= self._diagnostician.ask_first(whole, time.time())
        try:
            ends = EndsIndex(read_ends(cluster, topics))
        except ClusterError as error:
            self._note(str(error))
            self._diagnostician.miss()
            return None
        self._note(None)
        taken_at = time.time()
        self._diagnostician.follow(ends, positions, taken_at)
        self._vitals.offsets_partitions = self._offsets_partitions.table(ends, positions, taken_at)
        self._vitals.unanswered = self._offsets_partitions.unanswered
        asked = topics | self._ledger.topics_in_question(whole)
        around = NOWHERE if survey is None else survey.look(whole, asked, taken_at)
        self._vitals.retention = around.retention
        self._inputs = _Inputs(whole, ends, around, taken_at)
        fleet = self._quarantine.admit(whole, self._try, taken_at)
        self._inputs = dataclasses.replace(self._inputs, fleet=fleet)
        self._diagnostician.look_closer(self._judge(whole, current=current))
        give_back()
        return TickResult(ends, positions)

    def _judge(self, whole: GroupColumns, *, current: bool) -> VerdictResult:
        """Judge what ended and what is, and publish it. What ends is told by the log alone, whatever was asked.

        `whole` is the fleet with the groups that cannot be evaluated.
        """
        fleet, ends, around, taken_at = self._inputs.values
        causes = self._ledger.judge_endings(fleet, around)
        held = self._diagnostician.held_back(fleet, ends, around, taken_at)
        self._inputs = dataclasses.replace(self._inputs, fleet=held.fleet)
        self._vitals.offsets_held_back = holders(held)
        context = SnapshotContext.of(held.fleet, around, self._ownerships, causes)
        told = context if held.fleet is fleet else dataclasses.replace(context, expiry=predict(fleet, around.retention))
        self._vitals.accounts = self._ledger.judge_predictions(
            dataclasses.replace(fleet, memberships=held.fleet.memberships),
            told,
            taken_at,
            current=current,
            unread=held.unread,
        )
        diagnosis = self._diagnostician.look(held, ends, around, taken_at, context.expiry)
        self._vitals.verdict_changes = self._diagnostician.changes_table()
        self._vitals.unreadable_tails = unreadable_tails(diagnosis.moment.seen.tails)
        window, diagnosed = diagnosis.diagnosed.evaluation.window, diagnosis.diagnosed
        taken = snapshot.of(diagnosis.moment, window, taken_at, context, diagnosed)
        published = PublishedSnapshot.build(with_quarantined(taken, whole, self._quarantine.groups), self._chooser)
        self._published, self._shown, self._members = published, (held.fleet, context, diagnosis), held.members
        self._vitals.series, self._vitals.series_dropped = published.exposition.series, self._chooser.dropped
        self._vitals.snapshot_taken_at = taken_at
        self._vitals.groups_not_evaluated = len(self._quarantine)
        self._vitals.faults["group"], self._vitals.faults["ending"] = self._quarantine.faults, self._ledger.faults
        return diagnosis

    def _try(self, fleet: GroupColumns) -> None:
        """Evaluate and render some groups as the tick would; nothing is remembered, asked or published."""
        _, ends, around, taken_at = self._inputs.values
        context = SnapshotContext.of(fleet, around, UnassignedTracker())
        judge = self._diagnostician.rehearsal()
        found = judge.look(nothing_held_back(fleet), ends, around, taken_at, context.expiry)
        window, diagnosed = found.diagnosed.evaluation.window, found.diagnosed
        PublishedSnapshot.build(snapshot.of(found.moment, window, taken_at, context, diagnosed))

    def _note(self, trouble: str | None) -> None:
        """Say it once when Kafka goes away, and once when it is back."""
        if trouble is not None and self._vitals.trouble is None:
            _log.warning("kafka does not answer", cause=trouble)
        elif trouble is None and self._vitals.trouble is not None:
            _log.info("kafka answers again")
        self._vitals.trouble = trouble
