"""The findings of an evaluation, and what is shown and stored of share groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from stream.health.evidence import Value
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
    about_owner: str = ""
    """The end of the sentence that names the owner and the last rebalance."""


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
