"""The evaluated tick: inputs, verdicts and findings of all groups at one tick."""

from __future__ import annotations

import bisect
import dataclasses
from typing import TYPE_CHECKING

from stream.tick.verdicts.messages import finding, partition_findings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exporters.readmodel import FindingDetail
    from stream.health.burrow.status_tracker import BurrowStatuses
    from stream.health.columns import Flags
    from stream.health.evaluation import ShownVerdict
    from stream.health.evaluator import EvaluationResult
    from stream.tick.hidden_commits.model import HiddenCommits
    from stream.tick.inputs.builder import TickInputs


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluatedTick:
    """The inputs and the verdicts of one tick. Immutable; any thread may read it."""

    inputs: TickInputs
    hidden: HiddenCommits
    """The evaluated driver state, and which of its commits come from a coordinator."""
    evaluation: EvaluationResult
    alive: Flags
    """Per group: False for a dead one, which has no verdict."""
    unpaged: frozenset[str] = frozenset()
    """Groups whose faults raise no alert (`stream.health.day_one`)."""
    burrow: BurrowStatuses | None = None
    """The statuses by Burrow's rules; None if they are not wanted."""

    def finding(self, group: str) -> FindingDetail | None:
        """Return the verdict of a group in words; None for a group that is unknown or dead."""
        at = position_of(group, self.inputs.rows.groups, self.alive)
        return None if at is None else finding(self.evaluation.group_finding(at))

    def partition_findings(self, group: str) -> tuple[tuple[str, int, FindingDetail], ...]:
        """Return topic, partition and finding of the group's partitions that are not fine, worst first."""
        at = position_of(group, self.inputs.rows.groups, self.alive)
        return () if at is None else partition_findings(self.evaluation, at)

    def share_partition_verdicts(self, group: str) -> Mapping[tuple[str, int], ShownVerdict]:
        """Return the verdict of each partition of a share group by topic and partition; empty if none is known."""
        at = position_of(group, self.inputs.rows.groups, self.alive)
        return {} if at is None else self.evaluation.share_partition_verdicts(at)


def position_of(group: str, groups: Sequence[str], alive: Flags) -> int | None:
    """Return the position of a group in the sorted `groups`; None for one that is unknown or dead."""
    at = bisect.bisect_left(groups, group)
    return at if at < len(groups) and groups[at] == group and alive[at] else None
