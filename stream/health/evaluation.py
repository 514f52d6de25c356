"""The evaluation of one tick, and the object that evaluates tick after tick, without the rules.

`stream.health.evaluator` has the rules. Callers need nothing else.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from stream.health.burrow.status_tracker import BurrowStatusTracker
from stream.health.features import window as windows
from stream.health.features.fixed_assignment import with_stages_of_commits
from stream.health.features.partition_history import PartitionHistory
from stream.health.limits import HealthLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.health.burrow.status_tracker import BurrowStatuses
    from stream.health.columns import Codes, Ints
    from stream.health.evidence import Value
    from stream.health.features.window import Window
    from stream.health.inputs import HealthInputs
    from stream.health.verdict import Severity


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its sentence, its evidence and the next step."""

    verdict: str
    severity: Severity
    since: int | None
    """Since when the verdict holds (ms)."""
    sentence: str
    evidence: dict[str, Value]
    next_step: str


StoredShareGroups = Sequence[Sequence[Any]]
"""What is remembered of share groups, a row of plain values per partition."""


class PartitionFinding(NamedTuple):
    """The finding of a partition that has no row: one of a share group."""

    topic: str
    partition: int
    finding: Finding


class ShownVerdict(NamedTuple):
    """The verdict that is shown of a partition of a share group, and since when it holds (ms)."""

    verdict: str
    since: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Evaluation(abc.ABC):
    """The verdicts of one tick. Columns of rows have one element per row, columns of groups one per group name."""

    verdict_names: ClassVar[Sequence[str]]
    """The verdicts by code."""
    severities: ClassVar[Codes]
    """The `Severity` of each verdict by code."""
    legend: ClassVar[Sequence[tuple[str, str]]]
    """The meaning and the next step of each verdict by code."""

    window: Window
    """The numbers behind the verdicts; the same for all sets of rules."""
    verdict: Codes
    """The verdict shown of each row."""
    since: Ints
    """Since when (ms)."""
    group_verdict: Codes
    """The verdict shown of each group."""
    group_row: Ints
    """The row that represents the group; -1 for a group without rows."""
    group_rows: Ints
    """Number of rows of the group that have its verdict."""
    group_since: Ints
    """Since when (ms); -1: not known, or a group without rows."""

    @abc.abstractmethod
    def worst_by_owner(self, owner: Ints, owners: int) -> Codes:
        """Return the verdict of each of `owners` owners, each of which has a row; `owner` is that of each row."""

    @abc.abstractmethod
    def row_finding(self, row: int) -> Finding:
        """Return the finding of one partition of a group."""

    @abc.abstractmethod
    def group_finding(self, group: int) -> Finding:
        """Return the finding of a group."""

    @abc.abstractmethod
    def group_sentence(self, group: int) -> str:
        """Return the sentence of that finding."""

    def share_partition_findings(self, group: int) -> Sequence[PartitionFinding]:  # noqa: ARG002 -- for subclasses
        """Return the findings of the partitions of a share group, which have no rows; these rules have none."""
        return ()

    def share_partition_verdicts(self, group: int) -> Mapping[tuple[str, int], ShownVerdict]:  # noqa: ARG002 -- for subclasses
        """Return the verdict of each partition of a share group by topic and partition; these rules have none."""
        return {}

    def share_topic_verdicts(self, group: int) -> Mapping[str, int]:  # noqa: ARG002 -- for subclasses
        """Return the code of the worst verdict in each topic of a share group; these rules have none."""
        return {}

    def unmoved_share_groups(self) -> Mapping[int, int]:
        """Return the first poll (ms) of share groups whose faults are older than that; these rules have none."""
        return {}

    def partition_name(self, row: int) -> str:
        """Return the "topic-partition" of a row."""
        inputs = self.window.inputs
        return f"{inputs.topics[int(inputs.topic[row])]}-{int(inputs.partition[row])}"


class EvaluationRules(abc.ABC):
    """A set of rules that evaluates one tick after another. Not thread-safe."""

    def __init__(self, limits: HealthLimits | None = None, *, points: int = 48, packed: bytes | None = None) -> None:
        """Keep at most `points` points of the history of each end offset; continue with the rows that are `packed`."""
        self.limits = limits or HealthLimits()
        self.history = PartitionHistory(points, tick=self.limits.tick, packed=packed)

        self.burrow_statuses: BurrowStatuses | None = None
        """Burrow's statuses of the last tick; None unless they are tracked."""
        self._burrow: BurrowStatusTracker | None = None

    def track_burrow_statuses(self) -> None:
        """Apply Burrow's rules too, at each tick from the next one on."""
        self._burrow = BurrowStatusTracker()

    def start(self, inputs: HealthInputs, past_ends: tuple[Ints, Ints] | None) -> None:
        """Record the first tick before its evaluation; prepend past ends if there are any.

        `past_ends` are times (ms) and the answers of ListOffsets for them, see `PartitionHistory.seed`.
        """
        self.history.observe(inputs)
        if past_ends is not None:
            self.history.seed(inputs, *past_ends)

    def record_missed_tick(self) -> None:
        """Record a tick at which the cluster did not answer."""
        self.history.record_missed_tick()

    @abc.abstractmethod
    def evaluate(self, inputs: HealthInputs) -> Evaluation:
        """Evaluate one tick. Ticks come in order, and each of them once."""

    @abc.abstractmethod
    def pack(self) -> bytes | None:
        """Return the state that must survive the process; None before the first tick."""

    def pack_share_groups(self) -> StoredShareGroups:
        """Return what is remembered of share groups for the next process; these rules remember nothing."""
        return []

    def _build_window(self, inputs: HealthInputs) -> Window:
        inputs = with_stages_of_commits(inputs, self.limits)
        observation = self.history.record(inputs, self.limits.first_commit_grace)
        window = windows.build(inputs, observation, self.history, self.limits)
        if self._burrow is not None:
            self.burrow_statuses = self._burrow.update(window, self.history, self.limits.tick)
        return window
