"""What any set of rules gives of one moment: verdicts as codes, and words for those that somebody looks at.

`evaluator.Judged` is that of this monitor's own rules, `burrow.evaluator` that of Burrow's. Whoever
shows verdicts needs no more than this.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.health.columns import Codes, Ints
    from stream.health.evidence import Value
    from stream.health.features.partition_history import PartitionHistory
    from stream.health.features.window import Window
    from stream.health.inputs import HealthInputs
    from stream.health.verdict import Severity


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A verdict in words."""

    verdict: str
    severity: Severity
    since: int | None
    """Since when it holds (ms)."""
    sentence: str
    evidence: dict[str, Value]
    next_step: str


class Evaluation(Protocol):
    """Verdicts on one moment. Columns have one element per row, those of groups one per name of a group."""

    @property
    def window(self) -> Window:
        """The numbers, whichever rules are asked."""

    @property
    def verdict_names(self) -> Sequence[str]:
        """The verdicts by code."""

    @property
    def severities(self) -> Codes:
        """How bad each verdict is, by code (`Severity`)."""

    @property
    def verdict(self) -> Codes:
        """What is shown of each row, by code."""

    @property
    def since(self) -> Ints:
        """Since when (ms)."""

    @property
    def group_verdict(self) -> Codes:
        """What is shown of each group, by code."""

    @property
    def group_since(self) -> Ints:
        """Since when (ms); -1 for a group without rows."""

    @property
    def group_rows(self) -> Ints:
        """How many of the group's rows have its verdict."""

    def worst_by_owner(self, of: Ints, owners: int) -> Codes:
        """Add the verdicts of rows up to those of their owners; `of` says whose each row is, none is without any."""

    def row_finding(self, row: int) -> Finding:
        """Say what is the matter with one partition of a group."""

    def group_finding(self, group: int) -> Finding:
        """Say what is the matter with a group."""

    def group_sentence(self, group: int) -> str:
        """Give the sentence of that alone."""


class EvaluationRules(Protocol):
    """A set of rules at work, moment after moment."""

    history: PartitionHistory
    """What is remembered of the cluster."""

    def start(self, seen: HealthInputs, history: tuple[Ints, Ints] | None) -> None:
        """See the first moment before it is judged; put what offsets-for-times answered in front of the histories."""

    def record_missed_tick(self) -> None:
        """Note that the cluster did not answer at a tick."""

    def evaluate(self, seen: HealthInputs) -> Evaluation:
        """Judge one moment; moments come in order."""

    def pack(self) -> bytes | None:
        """Give what must outlive the process; None where nothing must."""
