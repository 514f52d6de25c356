"""What is known around the groups at one tick: topics and their ids, retention, states the log hides. Values only.

`stream.tick.context_poller` asks the cluster for it. What could not be asked is not known, never guessed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from stream.groups.expiry.causes import RemovalCause, cause_of
from stream.groups.expiry.predict import ExpiryPrediction, OffsetsRetention, predict

if TYPE_CHECKING:
    from stream.groups.driver_state import GroupColumns
    from stream.groups.lifecycle.model import Transition
    from stream.groups.membership.unassigned import UnassignedCounts, UnassignedTracker


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterContext:
    """What is known of the cluster around the groups at one tick."""

    retention: OffsetsRetention
    partition_counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """By topic; a topic that does not exist has 0, one that is not known is not in it."""
    topic_names: Mapping[bytes, str] = dataclasses.field(default_factory=dict)
    """By topic id, also of topics that are gone but still referred to."""
    topic_ids: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    """By name, of the topics that are there."""
    asked: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """States that the cluster told, by group: only where they differ from what a log can tell."""

    made_anew: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """When (ms) a topic was first seen under a new id, by name: what ended before belonged to the one before it."""

    def topic_exists(self, topic: str, since: int | None = None) -> bool | None:
        """Say whether a topic is there, the one of that name at the time `since` (ms); None where it is not known."""
        count = self.partition_counts.get(topic)
        if count is None:
            return None
        return count > 0 and (since is None or since > self.made_anew.get(topic, since - 1))

    def cause_of(self, transition: Transition) -> RemovalCause:
        """Judge an ending by what is known now."""
        ending = transition.removal
        if ending is None:
            return RemovalCause.UNKNOWN
        return cause_of(ending, self.retention, lambda topic: self.topic_exists(topic, ending.time))

    @property
    def rebalancing(self) -> frozenset[str]:
        """The groups that the cluster says to be rebalancing."""
        return frozenset(group for group, state in self.asked.items() if state.endswith("Rebalance"))


NOWHERE: Final = ClusterContext(OffsetsRetention(None, None, "unknown"))
"""Where there is no cluster, or it has not been asked."""


Causes = Mapping[tuple[str, int], RemovalCause]
"""Why what ended did, by group and position of the transition, as it was judged at the time."""


@dataclasses.dataclass(frozen=True, slots=True)
class SnapshotContext:
    """What a snapshot is made with beside the fleet and the ends; `expiry` and `counts` are of that very fleet."""

    around: ClusterContext
    expiry: ExpiryPrediction
    counts: UnassignedCounts
    causes: Causes = dataclasses.field(default_factory=dict)

    def cause(self, group: str, transition: Transition) -> RemovalCause:
        """Give why something ended, as it was judged; where it was not, as it looks now."""
        return self.causes.get((group, transition.position)) or self.around.cause_of(transition)

    @classmethod
    def of(
        cls, fleet: GroupColumns, around: ClusterContext, ownerships: UnassignedTracker, causes: Causes | None = None
    ) -> SnapshotContext:
        """Judge a fleet in its surroundings; `ownerships` remembers what it judged before."""
        counts = ownerships.update(
            fleet.memberships,
            (fleet.group, fleet.topic),
            around.partition_counts,
            around.topic_names,
            around.rebalancing,
        )
        return cls(around, predict(fleet, around.retention), counts, causes or {})
