"""The evaluated tick: inputs and verdicts of all groups, and what of it answers questions about single groups."""

from __future__ import annotations

import bisect
import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.groups.commits.run_table import no_runs
from stream.health.packed_evaluation import PackedEvaluation
from stream.tick.context import LookupResults
from stream.tick.ends_index import NO_ENDS
from stream.tick.verdicts.messages import finding, partition_findings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exporters.readmodel import FindingDetail
    from stream.health.burrow.status_tracker import BurrowStatuses
    from stream.health.columns import Flags
    from stream.health.evaluation import ShownVerdict
    from stream.health.evaluator import EvaluationResult
    from stream.tick.context import DerivedState
    from stream.tick.inputs.builder import TickInputs


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluatedTick:
    """The inputs and the verdicts of one tick. Immutable; any thread may read it."""

    derived: DerivedState
    inputs: TickInputs
    evaluation: EvaluationResult
    alive: Flags
    """Per group: False for a dead one, which has no verdict."""
    unpaged: frozenset[str] = frozenset()
    """Groups whose faults raise no alert (`stream.health.day_one`)."""
    burrow: BurrowStatuses | None = None
    """The statuses by Burrow's rules; None if they are not wanted."""

    @property
    def details(self) -> TickDetails:
        """What details of single groups are answered from."""
        return TickDetails(self.derived, self.evaluation, self.inputs.rows.groups, self.alive)


@dataclasses.dataclass(frozen=True, slots=True)
class TickDetails:
    """The groups and findings of one tick. Immutable; any thread may read it."""

    derived: DerivedState
    evaluation: EvaluationResult | PackedEvaluation
    groups: Sequence[str]
    """Sorted."""
    alive: Flags
    """Per group: False for a dead one, which has no verdict."""

    def packed(self, evaluation: EvaluationResult) -> TickDetails:
        """Return the details with this evaluation packed, and without the columns that they do not need."""
        hidden = self.derived.hidden
        state = dataclasses.replace(hidden.state, runs=no_runs())
        facts = dataclasses.replace(self.derived.facts, state=state, ends=NO_ENDS, lookups=LookupResults())
        hidden = dataclasses.replace(hidden, state=state, is_hidden=np.empty(0, np.bool_))
        derived = dataclasses.replace(self.derived, facts=facts, hidden=hidden)
        return dataclasses.replace(self, derived=derived, evaluation=PackedEvaluation(evaluation))

    def finding(self, group: str) -> FindingDetail | None:
        """Return the verdict of a group in words; None for a group that is unknown or dead."""
        at = self._position(group)
        return None if at is None else finding(self.evaluation.of_group(at).group_finding(at))

    def partition_findings(self, group: str) -> tuple[tuple[str, int, FindingDetail], ...]:
        """Return topic, partition and finding of the group's partitions that are not fine, worst first."""
        at = self._position(group)
        return () if at is None else partition_findings(self.evaluation.of_group(at), at)

    def share_partition_verdicts(self, group: str) -> Mapping[tuple[str, int], ShownVerdict]:
        """Return the verdict of each partition of a share group by topic and partition; empty if none is known."""
        at = self._position(group)
        return {} if at is None else self.evaluation.of_group(at).share_partition_verdicts(at)

    def _position(self, group: str) -> int | None:
        """Return the position of a group; None for one that is unknown or dead."""
        at = bisect.bisect_left(self.groups, group)
        return at if at < len(self.groups) and self.groups[at] == group and self.alive[at] else None
