"""The cluster context of one tick: facts about the cluster in addition to end offsets, and what follows from them.

Values only. `stream.tick.context_poller` requests the facts, `stream.tick.lookups` adds its results, and the tick adds
what it derives for the groups. What the cluster did not answer is not known, never guessed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from stream.groups.expiry.causes import RemovalCause, cause_of
from stream.groups.expiry.predict import ExpiryPrediction, OffsetsRetention, predict
from stream.tick.inputs.polled_cluster import NOT_POLLED, PolledCluster

if TYPE_CHECKING:
    import pyarrow as pa

    from stream.groups.driver_state import GroupColumns
    from stream.groups.lifecycle.model import Transition
    from stream.groups.membership.unassigned import UnassignedCounts, UnassignedTracker
    from stream.health.features.control_records import LogTails

Causes = Mapping[tuple[str, int], RemovalCause]
"""The cause of each removal as decided when it happened, by group and log position of the transition."""


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
    tails: LogTails | None = None
    """The control records at the ends of partitions; topics are numbered by name order in the driver state."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterContext:
    """The facts that one tick knows of the cluster in addition to end offsets."""

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
    lookups: LookupResults = dataclasses.field(default_factory=LookupResults)
    polled: PolledCluster = NOT_POLLED
    """What the last poll of the cluster knows, which is less frequent than ticks."""

    expiry: ExpiryPrediction | None = None
    """The predicted expiry of the offsets and groups of the evaluated driver state; None before `for_groups`."""
    unassigned: UnassignedCounts | None = None
    """Partitions without an owner and topics without a subscriber in that state; None before `for_groups`."""
    causes: Causes = dataclasses.field(default_factory=dict)
    removed: CommitRemovals = dataclasses.field(default_factory=dict)
    """The offsets that were recently removed."""

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

    def decided_cause(self, group: str, transition: Transition) -> RemovalCause:
        """Return the cause as decided when the removal happened; without a decision, by what is known now."""
        return self.causes.get((group, transition.position)) or self.cause_of(transition)

    @property
    def rebalancing(self) -> frozenset[str]:
        """The groups that DescribeGroups reports as rebalancing."""
        return frozenset(group for group, state in self.described_states.items() if state.endswith("Rebalance"))

    def for_groups(
        self,
        state: GroupColumns,
        unassigned: UnassignedTracker,
        causes: Causes | None = None,
        expiry: ExpiryPrediction | None = None,
    ) -> ClusterContext:
        """Return the context with the expiry and the unassigned counts of a driver state.

        `unassigned` reuses what it counted for memberships that have not changed since its last call. `expiry` is the
        prediction for `state`, if there is one already.
        """
        counts = unassigned.update(
            state.memberships,
            (state.group, state.topic),
            self.partition_counts,
            self.topic_names,
            self.rebalancing,
        )
        expiry = expiry or predict(state, self.retention)
        return dataclasses.replace(self, expiry=expiry, unassigned=counts, causes=causes or {})


UNKNOWN_CLUSTER: Final = ClusterContext(OffsetsRetention(None, None, "unknown"))
"""The context without a cluster, or before it was polled."""
