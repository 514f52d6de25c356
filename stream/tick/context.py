"""The values of one tick: what it reads (`TickFacts`), and what follows from that (`DerivedState`).

Values only; each is complete when it is made. `stream.tick.context_poller` and `stream.tick.lookups` request the facts.
What the cluster did not answer is not known, never guessed.
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.causes import RemovalCause, cause_of
from stream.groups.expiry.predict import ExpiryPrediction, predict
from stream.groups.lifecycle.model import Transition
from stream.groups.membership.unassigned import UnassignedCounts, UnassignedTracker
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import BlockedOffsetsPartition, HiddenCommits, nothing_hidden
from stream.tick.inputs.polled_cluster import NOT_POLLED, PolledCluster
from stream.tick.lookups.log_tails import KnownTails


@dataclasses.dataclass(frozen=True, slots=True)
class RemovedCommit:
    """The removal of a committed offset by a tombstone."""

    time: int
    """When (ms)."""
    expired: bool | None
    """None: not known; false: deleted before its time."""
    is_forgotten: bool
    """It was removed before its time while its group was alive."""


CommitRemovals = Mapping[tuple[str, str, int], RemovedCommit]
"""By group, topic and partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class LookupResults:
    """Results of the bounded lookups of one tick. None: not looked up; the rules that need it do not fire."""

    retention: Mapping[str, int] | None = None
    """retention.ms by topic; -1: compacted or unlimited. A topic without an entry is not known."""
    any_size: frozenset[str] = frozenset()
    """The topics of which retention is known not to limit the size."""
    gapless: frozenset[str] = frozenset()
    """The topics that are known not to be compacted."""
    transactions: Mapping[str, pa.Table] = dataclasses.field(default_factory=dict)
    """Open transactions by topic (schema `stream.cluster.open_transactions.OPEN_TRANSACTIONS`)."""
    tails: KnownTails | None = None
    """The control records at the ends of partitions."""
    blocked: Mapping[int, BlockedOffsetsPartition] = dataclasses.field(default_factory=dict)
    """The offsets partitions that an open transaction blocks, by number."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterContext:
    """The topics, settings and brokers of the cluster, and states of groups that the log does not show."""

    retention: OffsetsRetention
    partition_counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """By topic; 0 for a topic that does not exist. A topic without an entry is not known."""
    topic_names: Mapping[bytes, str] = dataclasses.field(default_factory=dict)
    """By topic id; includes deleted topics that a commit or an assignment still references."""
    topic_ids: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    """By name, of the topics that exist."""
    described_states: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Group states from DescribeGroups, by group; only those that the log cannot show."""
    rebalancing_since: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """When (ms) each rebalancing group was first described as such."""
    brokers: frozenset[int] | None = None
    """The ids of the brokers that the metadata of this tick has; None without an answer."""
    recreated: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """When (ms) a topic was first seen with a new id, by name: removals before that belong to the previous topic."""

    def topic_exists(self, topic: str, since: int | None = None) -> bool | None:
        """Return whether a topic exists, unchanged since time `since` (ms) if given; None if that is not known."""
        count = self.partition_counts.get(topic)
        if count is None:
            return None
        return count > 0 and (since is None or since > self.recreated.get(topic, since - 1))

    def cause_of(self, transition: Transition) -> RemovalCause:
        """Return the cause of a removal by what is known now; UNKNOWN for a transition that is none."""
        removal = transition.removal
        if removal is None:
            return RemovalCause.UNKNOWN
        return cause_of(removal, self.retention, lambda topic: self.topic_exists(topic, removal.time))

    @property
    def rebalancing(self) -> frozenset[str]:
        """The groups that DescribeGroups reports as rebalancing."""
        return frozenset(group for group, state in self.described_states.items() if state.endswith("Rebalance"))


UNKNOWN_CLUSTER: Final = ClusterContext(OffsetsRetention(None, None, "unknown"))
"""The context without a cluster, or before it was polled."""


@dataclasses.dataclass(frozen=True, slots=True)
class Causes:
    """The causes of removals, as decided when they happened."""

    decided: Mapping[tuple[str, int], RemovalCause] = dataclasses.field(default_factory=dict)
    """By group and log position of the transition."""
    at_first: ClusterContext | None = None
    """What was known at the first tick: it decides those before, when they are asked for."""
    before: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """The log position of the last transition of each group at the first tick."""

    def of(self, group: str, transition: Transition, cluster: ClusterContext) -> RemovalCause:
        """Return the cause of a removal; without a decision, by what is known now."""
        was_before = transition.position <= self.before.get(group, -1)
        known = self.at_first if was_before and self.at_first is not None else cluster
        return self.decided.get((group, transition.position)) or known.cause_of(transition)


@dataclasses.dataclass(frozen=True, slots=True)
class TickFacts:
    """What one tick has read."""

    state: GroupColumns
    """The driver state: all groups, as the log has them."""
    ends: EndsIndex
    """The end offsets, read after the state was copied."""
    taken_at: float
    """When they were read (Unix seconds)."""
    cluster: ClusterContext = UNKNOWN_CLUSTER
    polled: PolledCluster = NOT_POLLED
    """What the last poll of the cluster knows, which is less frequent than ticks."""
    lookups: LookupResults = dataclasses.field(default_factory=LookupResults)
    positions: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """The reader's position per offsets partition before the end offsets were read: never beyond them."""
    current: bool = False
    """All records are read that the log had at the last tick."""

    @property
    def now(self) -> int:
        """`taken_at` in ms."""
        return int(self.taken_at * 1000)


@dataclasses.dataclass(frozen=True, slots=True)
class DerivedState:
    """The groups that one tick evaluates, and what follows for them from its facts."""

    facts: TickFacts
    hidden: HiddenCommits
    """Their state with the commits that open transactions hide in the log."""
    expiry: ExpiryPrediction
    """The predicted expiry of their offsets, and of the groups."""
    unassigned: UnassignedCounts
    """Partitions without an owner and topics without a subscriber."""
    causes: Causes = Causes()
    removed: CommitRemovals = dataclasses.field(default_factory=dict)
    """The offsets that were recently removed."""

    @property
    def state(self) -> GroupColumns:
        """The evaluated driver state."""
        return self.hidden.state


def derive(facts: TickFacts) -> DerivedState:
    """Return what follows from the facts alone: nothing is hidden, and no removal was seen."""
    state, cluster = facts.state, facts.cluster
    unassigned = count_unassigned(UnassignedTracker(), state, cluster)
    return DerivedState(facts, nothing_hidden(state), predict(state, cluster.retention), unassigned)


def count_unassigned(tracker: UnassignedTracker, state: GroupColumns, cluster: ClusterContext) -> UnassignedCounts:
    """Return the unassigned partitions and topics of all groups; `tracker` counts only groups that have changed."""
    offsets, counts = (state.group, state.topic), cluster.partition_counts
    return tracker.update(state.memberships, offsets, counts, cluster.topic_names, cluster.rebalancing)
