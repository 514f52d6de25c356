"""The part of an evaluated tick that details of single groups are answered from until the next tick."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.groups.commits.run_table import no_runs
from stream.health.packed_evaluation import PackedEvaluation
from stream.tick.verdicts.evaluated_tick import position_of
from stream.tick.verdicts.messages import finding, partition_findings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exporters.readmodel import FindingDetail
    from stream.health.columns import Flags
    from stream.health.evaluation import ShownVerdict
    from stream.tick.hidden_commits.model import HiddenCommits
    from stream.tick.verdicts.evaluated_tick import EvaluatedTick


@dataclasses.dataclass(frozen=True, slots=True)
class TickDetails:
    """Groups and findings of one tick, packed. Immutable; any thread may read it."""

    hidden: HiddenCommits
    """The evaluated driver state without its runs."""
    evaluation: PackedEvaluation
    groups: Sequence[str]
    """Sorted."""
    alive: Flags
    """Per group: False for a dead one, which has no verdict."""

    @classmethod
    def pack(cls, evaluated: EvaluatedTick) -> TickDetails:
        """Return what details need of an evaluated tick."""
        hidden = evaluated.hidden
        state = dataclasses.replace(hidden.state, runs=no_runs())
        return cls(
            dataclasses.replace(hidden, state=state, is_hidden=np.empty(0, np.bool_)),
            PackedEvaluation(evaluated.evaluation),
            evaluated.inputs.rows.groups,
            evaluated.alive,
        )

    def finding(self, group: str) -> FindingDetail | None:
        """Return the verdict of a group in words; None for a group that is unknown or dead."""
        at = position_of(group, self.groups, self.alive)
        return None if at is None else finding(self.evaluation.of_group(at).group_finding(at))

    def partition_findings(self, group: str) -> tuple[tuple[str, int, FindingDetail], ...]:
        """Return topic, partition and finding of the group's partitions that are not fine, worst first."""
        at = position_of(group, self.groups, self.alive)
        return () if at is None else partition_findings(self.evaluation.of_group(at), at)

    def share_partition_verdicts(self, group: str) -> Mapping[tuple[str, int], ShownVerdict]:
        """Return the verdict of each partition of a share group by topic and partition; empty if none is known."""
        at = position_of(group, self.groups, self.alive)
        return {} if at is None else self.evaluation.of_group(at).share_partition_verdicts(at)
