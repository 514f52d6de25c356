"""What is known around the groups at one tick: topics and their ids, retention, states the log hides. Values only.

`stream.survey` asks the cluster for it. What could not be asked is not known, never guessed.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from stream.groups.expiry import Expiry, Retention, predict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.fleet import FleetColumns
    from stream.groups.ownership import Counts, Ownerships


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the cluster around the groups at one tick."""

    retention: Retention
    partition_counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """By topic; a topic that does not exist has 0, one that is not known is not in it."""
    topic_names: Mapping[bytes, str] = dataclasses.field(default_factory=dict)
    """By topic id, also of topics that are gone but still referred to."""
    topic_ids: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    """By name, of the topics that are there."""
    asked: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """States that the cluster told, by group: only where they differ from what a log can tell."""

    def topic_exists(self, topic: str) -> bool | None:
        """Say whether a topic is there; None where that is not known."""
        count = self.partition_counts.get(topic)
        return None if count is None else count > 0

    @property
    def rebalancing(self) -> frozenset[str]:
        """The groups that the cluster says to be rebalancing."""
        return frozenset(group for group, state in self.asked.items() if state.endswith("Rebalance"))


NOWHERE: Final = Surroundings(Retention(None, None, "unknown"))
"""Where there is no cluster, or it has not been asked."""


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """What a snapshot is made with beside the fleet and the ends; the last two are of that very fleet."""

    around: Surroundings
    expiry: Expiry
    counts: Counts

    @classmethod
    def of(cls, fleet: FleetColumns, around: Surroundings, ownerships: Ownerships) -> Context:
        """Judge a fleet in its surroundings; `ownerships` remembers what it judged before."""
        counts = ownerships.counts(
            fleet.memberships,
            (fleet.group, fleet.topic),
            around.partition_counts,
            around.topic_names,
            around.rebalancing,
        )
        return cls(around, predict(fleet, around.retention), counts)
