"""One tick is four values, each complete when it is made: facts, derived state, evaluation, publication.

End offsets are requested after the driver state is copied, so that an end offset is never older than a commit.
"""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
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
from stream.tick.unchanged import MOST_SHOWN_AGAIN, LastTick, evaluated_sources, read_sources
from stream.tick.verdicts.columns import unreadable_tails
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.evaluated_tick import EvaluatedTick, TickDetails

_SEARCHES: Final = 3
"""Maximum number of times one tick is run again without the groups that made it fail."""


@dataclasses.dataclass(frozen=True, slots=True)
class TickResult:
    """The result of one tick. Immutable; any thread may read it."""

    facts: TickFacts
    evaluated: EvaluatedTick | None
    """None if nothing has changed: all but the facts and the status is that of the last tick."""
    published: PublishedSnapshot
    details: TickDetails
    unanswered: tuple[UnansweredPartition, ...]
    status: TickStatus


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

    def evaluate_next(self) -> None:
        """Evaluate the next ticks, whatever they read, and show what the next one finds."""
        if self.last is not None:
            self.last = dataclasses.replace(self.last, read=None)


def run_tick(parts: TickParts, facts: TickFacts, searches: int = _SEARCHES) -> TickResult:
    """Evaluate all groups once, if anything has changed.

    If single groups make the evaluation fail, they go to quarantine; any other failure is raised.
    """
    if parts.last is not None and parts.last.need_not_evaluate(facts, parts.policies):
        return show_again(parts, parts.last, facts)

    def evaluate_some(state: GroupColumns) -> None:
        try_groups(parts, dataclasses.replace(facts, state=state))

    lookups = parts.lookups
    logged = parts.quarantine.admit(facts.state, evaluate_some, facts.taken_at)
    hidden = nothing_hidden(logged) if lookups is None else lookups.hidden.apply(logged, facts)
    try:
        derived = derive_state(parts, facts, logged, hidden)
        backfill = None if lookups is None else functools.partial(lookups.backfill_ends, facts.ends)
        evaluated = parts.evaluator.evaluate(derived, backfill)
        return publish(parts, evaluated)
    except Exception:
        if searches and parts.quarantine.search(hidden.state, evaluate_some, time.time()):
            return run_tick(parts, facts, searches - 1)
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

    `copy_state` returns a copy of the driver state with the membership records of the given groups. `positions` were
    the reader's before, so the copy has all records below them. Records that were hidden at the last tick are read
    before the end offsets, for the same reason. `current`: see TickFacts. Raises ClusterError if no broker answers.
    """
    lookups = parts.lookups
    state = copy_state(frozenset() if lookups is None else lookups.hidden.groups_with_records)
    topics = {NAME, *state.topic.dictionary.to_pylist(), *subscribed_topics(state.memberships)}
    if lookups is not None:
        lookups.hidden.read()
        topics |= lookups.hidden.topics
    try:
        ends = EndsIndex(read_ends(cluster, topics))
    except ClusterError:
        parts.evaluator.record_missed_tick()
        parts.evaluate_next()
        raise
    taken_at = time.time()
    parts.evaluator.record_ends(ends, positions, taken_at)
    with ThreadPoolExecutor() as pool:
        looked_up = None if lookups is None else pool.submit(lookups.look_up, ends, taken_at)
        context = UNKNOWN_CLUSTER
        if poller is not None:
            context = poller.poll(state, topics | parts.terminations.topics_in_question(state), taken_at)
    results = LookupResults() if looked_up is None else looked_up.result()
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


def show_again(parts: TickParts, last: LastTick, facts: TickFacts) -> TickResult:
    """Return the result of a tick at which nothing has changed since the last one."""
    parts.evaluator.end_history.observe_again(facts.now)
    offsets_partitions = parts.offsets_topic.update(facts.ends, facts.positions, facts.taken_at)
    status = dataclasses.replace(last.status, taken_at=facts.taken_at, offsets_partitions=offsets_partitions)
    published = last.published.at(facts.taken_at)
    parts.last = dataclasses.replace(last, published=published, status=status, shown_again=last.shown_again + 1)
    return TickResult(facts, None, published, last.details, (), status)


def publish(parts: TickParts, evaluated: EvaluatedTick) -> TickResult:
    """Return the snapshot of an evaluated tick as it is published, and choose the lookups of the next tick."""
    facts, window, details = evaluated.derived.facts, evaluated.evaluation.window, evaluated.details
    retention = facts.cluster.retention
    if parts.lookups is not None:
        parts.lookups.schedule(window)
    offsets_partitions = parts.offsets_topic.update(facts.ends, facts.positions, facts.taken_at)
    unanswered = parts.offsets_topic.unanswered
    common_causes = parts.common_causes.update(evaluated)
    is_whole = evaluated.derived.hidden.state is facts.state and evaluated.burrow is None and not len(parts.quarantine)
    read = read_sources(facts, parts.policies) if is_whole else None
    found, last, shown_again = evaluated_sources(evaluated, common_causes), parts.last, 0
    is_same = last is not None and read is not None and (read, found) == (last.read, last.evaluated)
    alike = last.alike + 1 if last is not None and is_same else 0
    if last is not None and alike and last.shown_again < MOST_SHOWN_AGAIN:
        details, published, shown_again = last.details, last.published.at(facts.taken_at), last.shown_again + 1
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
    times = retention.retention_ms, retention.check_interval_ms
    seconds, check_seconds = (None if each is None else each / 1000 for each in times)
    status = TickStatus(
        taken_at=facts.taken_at,
        offsets_retention_seconds=seconds,
        offsets_retention_check_seconds=check_seconds,
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
    parts.last = LastTick(published, details, status, read, found, shown_again, alike)
    return TickResult(facts, evaluated, published, details, unanswered, status)


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
