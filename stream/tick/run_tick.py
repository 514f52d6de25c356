"""One tick is four values, each complete when it is made: facts, derived state, evaluation, publication.

End offsets are requested after the driver state is copied, so that an end offset is never older than a commit.
"""

import dataclasses
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import Final

from exporters.compatibility.selection import OtherSelection
from exporters.readmodel import Snapshot, TickStatus
from exporters.selection.series import EVERYTHING, SeriesSelector
from exporters.text.exposition import PublishedSnapshot
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.config.ownership import GroupPolicies
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.predict import predict
from stream.groups.membership.unassigned import UnassignedTracker, subscribed_topics
from stream.health.common_cause.search import CommonCause
from stream.tick.common_cause import CommonCauseAnalysis, common_causes_table, covered_groups_table
from stream.tick.context import UNKNOWN_CLUSTER, DerivedState, LookupResults, TickFacts, count_unassigned, derive
from stream.tick.context_poller import ContextPoller
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import HiddenCommits, blocked_partitions_table, nothing_hidden
from stream.tick.inputs.polled_cluster import NOT_POLLED, PolledCluster
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.offsets_topic_lag import (
    OffsetsTopicLag,
    UnansweredPartition,
    unavailable_groups_table,
    unavailable_table,
)
from stream.tick.quarantine import Quarantine
from stream.tick.snapshot.additions import compatibility_table, with_policies, with_quarantined
from stream.tick.snapshot.build import build_evaluated
from stream.tick.terminations import Terminations
from stream.tick.verdicts.columns import unreadable_tails
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.evaluated_tick import EvaluatedTick, TickDetails

_MOST_KEPT: Final = 2
"""Ticks in a row that show the last snapshot again, so that its ages are at most so many ticks too low."""


class EndsUnavailableError(Exception):
    """The cluster did not answer the request for end offsets; the text is the cause."""


class FaultyGroupsError(Exception):
    """Groups that made the evaluation fail went to quarantine; the others can be evaluated."""


@dataclasses.dataclass(frozen=True, slots=True)
class TickResult:
    """The result of one tick. Immutable; any thread may read it."""

    evaluated: EvaluatedTick
    details: TickDetails
    published: PublishedSnapshot
    unanswered: tuple[UnansweredPartition, ...]
    status: TickStatus


@dataclasses.dataclass(frozen=True, slots=True)
class LastTick:
    """What the last tick published, and what that was made from."""

    published: PublishedSnapshot
    details: TickDetails
    sources: tuple[object, ...] | None
    """All that the snapshot shows but ages: equal sources give the same one. None: they are not compared."""
    kept: int = 0
    """For how many ticks it has been the same."""


@dataclasses.dataclass(slots=True)
class TickParts:
    """The parts of a tick that keep data from one tick to the next. Used by the tick thread."""

    lookups: LookupScheduler | None = None
    evaluator: VerdictEvaluator = dataclasses.field(default_factory=VerdictEvaluator)
    selector: SeriesSelector = dataclasses.field(default_factory=lambda: SeriesSelector(EVERYTHING))
    policies: GroupPolicies = dataclasses.field(default_factory=GroupPolicies)
    terminations: Terminations = dataclasses.field(default_factory=Terminations)
    unassigned: UnassignedTracker = dataclasses.field(default_factory=UnassignedTracker)
    offsets_topic: OffsetsTopicLag = dataclasses.field(default_factory=OffsetsTopicLag)
    quarantine: Quarantine = dataclasses.field(default_factory=Quarantine)
    common_causes: CommonCauseAnalysis = dataclasses.field(default_factory=CommonCauseAnalysis)
    last: LastTick | None = None
    polled: Callable[[], PolledCluster] = lambda: NOT_POLLED
    """Returns the content of the last poll of the cluster."""
    hide_hosts: bool = False
    """Sentences about common causes do not name the hosts of members."""


def run_tick(
    parts: TickParts,
    copy_state: Callable[[frozenset[str]], GroupColumns],
    cluster: Cluster,
    poller: ContextPoller | None,
    positions: Mapping[int, int],
    *,
    current: bool,
) -> TickResult:
    """Evaluate all groups once. Raises EndsUnavailableError, and FaultyGroupsError to be called again.

    `copy_state` returns a copy of the driver state with the membership records of the given groups. `positions` are the
    reader's before this call. `current`: all records are read that the log had at the last tick.
    """
    facts = read_facts(parts, copy_state, cluster, poller, positions, current=current)

    def evaluate_some(state: GroupColumns) -> None:
        try_groups(parts, dataclasses.replace(facts, state=state))

    lookups = parts.lookups
    logged = parts.quarantine.admit(facts.state, evaluate_some, facts.taken_at)
    hidden = nothing_hidden(logged) if lookups is None else lookups.hidden.apply(logged, facts)
    try:
        derived = derive_state(parts, facts, logged, hidden)
        evaluated = parts.evaluator.evaluate(derived, None if lookups is None else lookups.backfill_ends)
        return publish(parts, evaluated)
    except Exception as error:
        if parts.quarantine.search(hidden.state, evaluate_some, time.time()):
            raise FaultyGroupsError from error
        raise


def read_facts(
    parts: TickParts,
    copy_state: Callable[[frozenset[str]], GroupColumns],
    cluster: Cluster,
    poller: ContextPoller | None,
    positions: Mapping[int, int],
    *,
    current: bool,
) -> TickFacts:
    """Return what one tick reads: the driver state, the end offsets after it, and the cluster around them.

    The driver state is copied after `positions` were read, so it has all records below them. Records that were hidden
    at the last tick are read before the end offsets, for the same reason. Raises EndsUnavailableError.
    """
    lookups = parts.lookups
    state = copy_state(frozenset() if lookups is None else lookups.hidden.groups_with_records)
    topics = {NAME, *state.topic.dictionary.to_pylist(), *subscribed_topics(state.memberships)}
    if lookups is not None:
        lookups.hidden.read()
        topics |= lookups.hidden.topics
    try:
        ends = read_end_offsets(cluster, topics)
    except EndsUnavailableError:
        parts.evaluator.record_missed_tick()
        raise
    taken_at = time.time()
    parts.evaluator.record_ends(ends, positions, taken_at)
    context = UNKNOWN_CLUSTER
    if poller is not None:
        context = poller.poll(state, topics | parts.terminations.topics_in_question(state), taken_at)
    results = LookupResults() if lookups is None else lookups.look_up(ends, taken_at)
    return TickFacts(state, ends, taken_at, context, parts.polled(), results, positions, current)


def derive_state(parts: TickParts, facts: TickFacts, logged: GroupColumns, hidden: HiddenCommits) -> DerivedState:
    """Return what follows from the facts for the groups of this tick.

    Terminations follow from the log alone: `logged` are the groups without their `hidden` commits.
    """
    cluster, state = facts.cluster, hidden.state
    causes = parts.terminations.decide_causes(logged, cluster)
    log_expiry = predict(logged, cluster.retention)
    expiry = log_expiry if state is logged else predict(state, cluster.retention)
    unassigned = count_unassigned(parts.unassigned, state, cluster)
    parts.terminations.check_predictions(
        dataclasses.replace(logged, memberships=state.memberships),
        log_expiry,
        cluster.retention,
        facts.taken_at,
        current=facts.current,
        unread=hidden.hidden_groups,
    )
    removed = parts.terminations.removed_commits(cluster, facts.taken_at)
    return DerivedState(facts, hidden, expiry, unassigned, causes, removed)


def publish(parts: TickParts, evaluated: EvaluatedTick) -> TickResult:
    """Return the snapshot of an evaluated tick as it is published, and choose the lookups of the next tick."""
    facts, window, details = evaluated.derived.facts, evaluated.evaluation.window, evaluated.details
    retention = facts.cluster.retention
    if parts.lookups is not None:
        parts.lookups.schedule(window)
    offsets_partitions = parts.offsets_topic.update(facts.ends, facts.positions, facts.taken_at)
    unanswered = parts.offsets_topic.unanswered
    common_causes = parts.common_causes.update(evaluated)
    sources, last = _sources(parts, evaluated, common_causes), parts.last
    if last is not None and sources is not None and sources == last.sources and last.kept < _MOST_KEPT:
        details, published = last.details, last.published.at(facts.taken_at)
        parts.last = LastTick(published, details, sources, last.kept + 1)
    else:
        snapshot = dataclasses.replace(
            build_snapshot(evaluated, parts.selector.compatibility),
            common_causes=common_causes_table(common_causes, evaluated, hide_hosts=parts.hide_hosts),
            covered_groups=covered_groups_table(common_causes),
            sentences=details.sentences,
        )
        snapshot = with_policies(with_quarantined(snapshot, facts.state, parts.quarantine.groups), parts.policies)
        published = PublishedSnapshot.build(
            snapshot, parts.selector, None if last is None else last.published.exposition
        )
        parts.last = LastTick(published, details, sources)
    status = TickStatus(
        taken_at=facts.taken_at,
        offsets_retention_seconds=_seconds(retention.retention_ms),
        offsets_retention_check_seconds=_seconds(retention.check_interval_ms),
        offsets_retention_source=retention.source,
        topic_partitions=len(facts.ends.rows_of_topic(NAME)),
        series=published.exposition.series,
        series_dropped=parts.selector.dropped,
        offsets_partitions=offsets_partitions,
        offsets_held_back=blocked_partitions_table(evaluated.derived.hidden),
        unreadable_tails=unreadable_tails(window.inputs.tails),
        offsets_unavailable=unavailable_table(unanswered, evaluated),
        offsets_unavailable_groups=unavailable_groups_table(unanswered, evaluated),
        terminations=parts.terminations.counts(),
        verdict_changes=parts.evaluator.changes_table(),
        groups_not_evaluated=len(parts.quarantine),
        faults={"ending": parts.terminations.faults, "group": parts.quarantine.faults},
    )
    return TickResult(evaluated, details, published, unanswered, status)


def _sources(parts: TickParts, evaluated: EvaluatedTick, causes: tuple[CommonCause, ...]) -> tuple[object, ...] | None:
    """Return `LastTick.sources`: the facts, the verdicts with their begin, the lags, and the policies that hold now."""
    facts, hidden, evaluation = evaluated.derived.facts, evaluated.derived.hidden, evaluated.evaluation
    if hidden.blocked_partitions or hidden.state is not facts.state or len(parts.quarantine):
        return None
    window, ends, now, policies = evaluation.window, facts.ends, facts.taken_at, parts.policies
    columns = (
        *(ends.places, ends.high_watermark, ends.last_stable_offset, ends.log_start_offset, ends.leader),
        *(evaluation.verdict, evaluation.since, evaluation.group_verdict, evaluation.group_since),
        *(evaluation.group_skipped, window.known, window.lag, window.out_of_range, evaluated.inputs.odd_time),
        *(() if evaluated.burrow is None else (evaluated.burrow.status, evaluated.burrow.complete)),
    )
    reasons = window.inputs.reasons
    return (
        weakref.ref(facts.state),
        # Of bytes, Python's hash has 64 bits and a key of this process.
        tuple(hash(column.tobytes()) for column in columns),
        None if reasons is None else reasons[~window.known].tolist(),
        facts.cluster,
        facts.polled,
        evaluated.unpaged,
        causes,
        policies,
        [each.open_until(now) for _, each in policies.maintenance],
        [each.holds(now) for _, each in policies.silences],
    )


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def try_groups(parts: TickParts, facts: TickFacts) -> None:
    """Evaluate and render the groups of `facts` as the tick does; nothing is recorded, requested or published."""
    evaluated = parts.evaluator.trial_copy().evaluate(derive(facts))
    PublishedSnapshot.build(build_snapshot(evaluated, parts.selector.compatibility))


def build_snapshot(evaluated: EvaluatedTick, others: OtherSelection) -> Snapshot:
    """Return the snapshot of an evaluated tick, with the table COMPATIBILITY only if `others` need it."""
    snapshot = build_evaluated(evaluated)
    if not others.names:
        return snapshot
    table = compatibility_table(evaluated, hide_members=others.hide_members, with_windows=others.has_burrow_api)
    return dataclasses.replace(snapshot, compatibility=table)


def read_end_offsets(cluster: Cluster, topics: Collection[str]) -> EndsIndex:
    """Return the end offsets of all partitions of these topics. Raises EndsUnavailableError."""
    try:
        return EndsIndex(read_ends(cluster, topics))
    except ClusterError as error:
        raise EndsUnavailableError(str(error)) from error
