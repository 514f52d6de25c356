"""One tick, read from top to bottom: from the copy of the driver state to the rendered exposition.

End offsets are requested after the driver state is copied, so that an end offset is never older than a commit.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Final

from exporters.readmodel import (
    OFFSETS_HELD_BACK,
    OFFSETS_PARTITIONS,
    OFFSETS_UNAVAILABLE,
    OFFSETS_UNAVAILABLE_GROUPS,
    SERIES_DROPPED,
    UNREADABLE_TAILS,
    VERDICT_CHANGES,
)
from exporters.selection.series import EVERYTHING, SeriesSelector
from exporters.text.exposition import PublishedSnapshot
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import ENDS, read_ends
from stream.cluster.transport.errors import ClusterError
from stream.config.ownership import GroupPolicies
from stream.groups.expiry.predict import OffsetsRetention, predict
from stream.groups.membership.unassigned import UnassignedTracker, subscribed_topics
from stream.tick.common_cause.analysis import CommonCauseAnalysis
from stream.tick.common_cause.tables import common_causes_table, covered_groups_table
from stream.tick.context import UNKNOWN_CLUSTER, LookupResults
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.model import blocked_partitions_table, nothing_hidden
from stream.tick.inputs.polled_cluster import NOT_POLLED
from stream.tick.lookups.no_lookups import NoLookups
from stream.tick.offsets_topic_lag import OffsetsTopicLag, unavailable_groups_table, unavailable_table
from stream.tick.quarantine import Quarantine
from stream.tick.snapshot.build import build_evaluated
from stream.tick.snapshot.compatibility import compatibility_table
from stream.tick.snapshot.policies import with_policies
from stream.tick.snapshot.quarantined import with_quarantined
from stream.tick.terminations import NOTHING_COUNTED, TerminationCounts, Terminations
from stream.tick.verdicts.columns import unreadable_tails
from stream.tick.verdicts.evaluate import VerdictEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import pyarrow as pa

    from exporters.readmodel import Snapshot
    from stream.cluster.transport.client import Cluster
    from stream.groups.driver_state import GroupColumns
    from stream.tick.context import ClusterContext
    from stream.tick.context_poller import ContextPoller
    from stream.tick.inputs.polled_cluster import PolledCluster
    from stream.tick.lookups.scheduler import Lookups
    from stream.tick.offsets_topic_lag import UnansweredPartition
    from stream.tick.verdicts.evaluated_tick import EvaluatedTick


NO_ENDS: Final = EndsIndex(ENDS.empty_table())


class EndsUnavailableError(Exception):
    """The cluster did not answer the request for end offsets; the text is the cause."""


@dataclasses.dataclass(frozen=True, slots=True)
class TickStatus:
    """The part of a tick that the status and the self metrics show; the defaults are those before the first."""

    taken_at: float | None = None
    """When the end offsets were read (Unix seconds)."""
    retention: OffsetsRetention = UNKNOWN_CLUSTER.retention
    topic_partitions: int = 0
    """The number of partitions of the offsets topic, those of other instances included."""
    series: int = 0
    series_dropped: pa.Table = dataclasses.field(default_factory=SERIES_DROPPED.empty_table)
    offsets_partitions: pa.Table = dataclasses.field(default_factory=OFFSETS_PARTITIONS.empty_table)
    blocked_partitions: pa.Table = dataclasses.field(default_factory=OFFSETS_HELD_BACK.empty_table)
    """Offsets partitions with an open transaction, and its producer (schema OFFSETS_HELD_BACK)."""
    unreadable_tails: pa.Table = dataclasses.field(default_factory=UNREADABLE_TAILS.empty_table)
    offsets_unavailable: pa.Table = dataclasses.field(default_factory=OFFSETS_UNAVAILABLE.empty_table)
    offsets_unavailable_groups: pa.Table = dataclasses.field(default_factory=OFFSETS_UNAVAILABLE_GROUPS.empty_table)
    """Offsets partitions without a known end, with the number of groups that they hide."""
    terminations: TerminationCounts = NOTHING_COUNTED
    verdict_changes: pa.Table = dataclasses.field(default_factory=VERDICT_CHANGES.empty_table)
    groups_not_evaluated: int = 0
    faults: Mapping[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(("ending", "group"), 0))
    """Internal errors since the process started that were contained, by part."""


@dataclasses.dataclass(frozen=True, slots=True)
class TickResult:
    """The result of one tick. Immutable; any thread may read it."""

    ends: EndsIndex
    positions: Mapping[int, int]
    """The reader's position per offsets partition before the end offsets were read: never beyond them."""
    context: ClusterContext
    evaluated: EvaluatedTick
    published: PublishedSnapshot
    unanswered: tuple[UnansweredPartition, ...]
    status: TickStatus


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluationInputs:
    """The inputs of the evaluation that a tick has so far; the quarantine evaluates parts of them as a trial."""

    state: GroupColumns
    ends: EndsIndex
    context: ClusterContext
    taken_at: float


@dataclasses.dataclass(slots=True)
class TickParts:
    """The parts of a tick that keep data from one tick to the next. Used by the tick thread."""

    inputs: EvaluationInputs
    """Those of the running tick; no groups between a finished tick and the next one."""
    lookups: Lookups = dataclasses.field(default_factory=NoLookups)
    evaluator: VerdictEvaluator = dataclasses.field(default_factory=VerdictEvaluator)
    selector: SeriesSelector = dataclasses.field(default_factory=lambda: SeriesSelector(EVERYTHING))
    policies: GroupPolicies = dataclasses.field(default_factory=GroupPolicies)
    terminations: Terminations = dataclasses.field(default_factory=Terminations)
    unassigned: UnassignedTracker = dataclasses.field(default_factory=UnassignedTracker)
    offsets_topic: OffsetsTopicLag = dataclasses.field(default_factory=OffsetsTopicLag)
    quarantine: Quarantine = dataclasses.field(default_factory=Quarantine)
    common_causes: CommonCauseAnalysis = dataclasses.field(default_factory=CommonCauseAnalysis)
    polled: Callable[[], PolledCluster] = lambda: NOT_POLLED
    """Returns the content of the last poll of the cluster."""
    hide_hosts: bool = False
    """Sentences about common causes do not name the hosts of members."""
    lookup_results: LookupResults = dataclasses.field(default_factory=LookupResults)
    """Those of the last tick that made lookups."""

    def try_groups(self, state: GroupColumns) -> None:
        """Evaluate and render some groups as the tick does; nothing is recorded, requested or published."""
        # The tails are numbered by the topics of all groups.
        lookups = dataclasses.replace(self.lookup_results, tails=None)
        context = dataclasses.replace(self.inputs.context, lookups=lookups).for_groups(state, UnassignedTracker())
        taken_at = self.inputs.taken_at
        hidden = nothing_hidden(state)
        evaluated = self.evaluator.trial_copy().evaluate(hidden, self.inputs.ends, context, taken_at)
        PublishedSnapshot.build(self.build_snapshot(evaluated, context, taken_at))

    def build_snapshot(self, evaluated: EvaluatedTick, context: ClusterContext, taken_at: float) -> Snapshot:
        """Return the snapshot of an evaluated tick, with the table COMPATIBILITY only if it is needed."""
        snapshot = build_evaluated(evaluated, context, taken_at)
        others = self.selector.compatibility
        if not others.names:
            return snapshot
        table = compatibility_table(
            evaluated, context.partition_counts, hide_members=others.hide_members, with_windows=others.has_burrow_api
        )
        return dataclasses.replace(snapshot, compatibility=table)


def run_tick(
    parts: TickParts,
    copy_state: Callable[[frozenset[str]], GroupColumns],
    cluster: Cluster,
    poller: ContextPoller | None,
    positions: Mapping[int, int],
    *,
    current: bool,
) -> TickResult:
    """Evaluate all groups once. Raises EndsUnavailableError.

    `copy_state` returns a copy of the driver state with the membership records of the given groups. `positions` are the
    reader's before this call. `current`: all records are read that the log had at the last tick.
    """
    # 1. The driver state. It is copied after `positions` were read, so it includes all records below them.
    all_groups = copy_state(parts.lookups.groups_with_hidden_records)
    parts.inputs = EvaluationInputs(all_groups, NO_ENDS, UNKNOWN_CLUSTER, time.time())

    # 2. End offsets. Records hidden at the last tick are read first, for the same reason as the copy.
    parts.lookups.read_hidden_commits()
    topics = {NAME, *all_groups.topic.dictionary.to_pylist(), *subscribed_topics(all_groups.memberships)}
    topics |= parts.lookups.topics
    try:
        ends = read_end_offsets(cluster, topics)
    except EndsUnavailableError:
        parts.evaluator.record_missed_tick()
        raise
    taken_at = time.time()
    parts.evaluator.record_ends(ends, positions, taken_at)
    parts.lookups.set_read_positions(positions)
    offsets_partitions = parts.offsets_topic.update(ends, positions, taken_at)

    # 3. The cluster context. Groups in quarantine are left out from here on.
    context = UNKNOWN_CLUSTER
    if poller is not None:
        context = poller.poll(all_groups, topics | parts.terminations.topics_in_question(all_groups), taken_at)
    context = dataclasses.replace(context, polled=parts.polled())
    parts.inputs = EvaluationInputs(all_groups, ends, context, taken_at)
    log_state = parts.quarantine.admit(all_groups, parts.try_groups, taken_at)
    parts.inputs = dataclasses.replace(parts.inputs, state=log_state)
    causes = parts.terminations.decide_causes(log_state, context)

    # 4. Commits and memberships hidden behind open transactions. Terminations are evaluated by the log alone.
    hidden = parts.lookups.apply_hidden_commits(log_state, ends, taken_at)
    overlaid_state = hidden.state
    parts.inputs = dataclasses.replace(parts.inputs, state=overlaid_state)
    log_expiry = predict(log_state, context.retention)
    expiry = log_expiry if overlaid_state is log_state else None
    context = context.for_groups(overlaid_state, parts.unassigned, causes, expiry)
    terminations = parts.terminations.check_predictions(
        dataclasses.replace(log_state, memberships=overlaid_state.memberships),
        log_expiry,
        context.retention,
        taken_at,
        current=current,
        unread=hidden.hidden_groups,
    )

    context = dataclasses.replace(context, removed=parts.terminations.removed_commits(context, taken_at))

    # 5. Bounded lookups, inputs of health, rules, hysteresis, verdicts.
    parts.lookup_results = parts.lookups.look_up(overlaid_state, ends, taken_at)
    context = dataclasses.replace(context, lookups=parts.lookup_results)
    evaluated = parts.evaluator.evaluate(hidden, ends, context, taken_at, parts.lookups.backfill_ends)
    window = evaluated.evaluation.window
    parts.lookups.schedule(window)

    # 6. The common causes of unhealthy groups.
    common_causes = parts.common_causes.update(evaluated, ends, context, taken_at)

    # 7. The snapshot, with the groups in quarantine shown as unknown, owners and maintenance windows.
    snapshot = dataclasses.replace(
        parts.build_snapshot(evaluated, context, taken_at),
        common_causes=common_causes_table(common_causes, evaluated, taken_at, hide_hosts=parts.hide_hosts),
        covered_groups=covered_groups_table(common_causes),
    )
    snapshot = with_quarantined(snapshot, all_groups, parts.quarantine.groups)
    snapshot = with_policies(snapshot, parts.policies)

    # 8. The exposition.
    published = PublishedSnapshot.build(snapshot, parts.selector)

    # 9. The result.
    status = TickStatus(
        taken_at=taken_at,
        retention=context.retention,
        topic_partitions=len(ends.rows_of_topic(NAME)),
        series=published.exposition.series,
        series_dropped=parts.selector.dropped,
        offsets_partitions=offsets_partitions,
        blocked_partitions=blocked_partitions_table(hidden),
        unreadable_tails=unreadable_tails(window.inputs.tails),
        offsets_unavailable=unavailable_table(parts.offsets_topic.unanswered, evaluated),
        offsets_unavailable_groups=unavailable_groups_table(parts.offsets_topic.unanswered, evaluated),
        terminations=terminations,
        verdict_changes=parts.evaluator.changes_table(),
        groups_not_evaluated=len(parts.quarantine),
        faults={"ending": parts.terminations.faults, "group": parts.quarantine.faults},
    )
    return TickResult(ends, positions, context, evaluated, published, parts.offsets_topic.unanswered, status)


def read_end_offsets(cluster: Cluster, topics: Collection[str]) -> EndsIndex:
    """Return the end offsets of all partitions of these topics. Raises EndsUnavailableError."""
    try:
        return EndsIndex(read_ends(cluster, topics))
    except ClusterError as error:
        raise EndsUnavailableError(str(error)) from error
