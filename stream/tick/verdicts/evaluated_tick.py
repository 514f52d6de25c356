"""The evaluated tick: inputs and verdicts of all groups, and what of it answers questions about single groups."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import structlog

from exporters.readmodel import FindingDetail
from exporters.timestamps import rfc3339
from exporters.wording import SEVERITIES
from stream.groups.commits.run_table import no_runs
from stream.health.burrow import BurrowStatuses
from stream.health.columns import Flags
from stream.health.evaluator import EvaluationResult
from stream.health.evidence import Value
from stream.health.findings import Finding
from stream.health.packed_evaluation import PackedEvaluation
from stream.health.verdict import Severity
from stream.tick.context import DerivedState, LookupResults
from stream.tick.ends_index import NO_ENDS
from stream.tick.inputs.builder import TickInputs

_log = structlog.get_logger(__name__)
_BLOCK: Final = 64
"""Groups whose rows are unpacked together for their sentences."""
MAX_FINDINGS: Final = 200
"""Maximum number of partition findings of one group."""
_DURATIONS: Final = {
    "time_lag": "time_lag",
    "loss_in": "loss_in_seconds",
    "patience": "patience_seconds",
    "longest_pause": "longest_pause_seconds",
    "catch_up": "catch_up_seconds",
}
"""The name in the read model of evidence that health has in ms."""


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
        """The groups and findings, for questions about single groups."""
        return TickDetails(self.derived, self.evaluation, self.inputs.rows.groups, self.alive)


@dataclasses.dataclass(slots=True)
class TickDetails:
    """The groups and findings of one tick. Any thread may read it; to pack it changes no answer."""

    derived: DerivedState
    evaluation: EvaluationResult | PackedEvaluation
    groups: Sequence[str]
    """Sorted."""
    alive: Flags
    """Per group: False for a dead one, which has no verdict."""

    def pack(self) -> None:
        """Pack the evaluation unless it is packed, and drop the columns that no question needs."""
        if isinstance(self.evaluation, PackedEvaluation):
            return
        hidden = self.derived.hidden
        state = dataclasses.replace(hidden.state, runs=no_runs())
        facts = dataclasses.replace(self.derived.facts, state=state, ends=NO_ENDS, lookups=LookupResults())
        hidden = dataclasses.replace(hidden, state=state, is_hidden=np.empty(0, np.bool_))
        expiry = dataclasses.replace(self.derived.expiry, offset=np.empty(0, np.int64))
        self.derived = dataclasses.replace(self.derived, facts=facts, hidden=hidden, expiry=expiry)
        self.evaluation = PackedEvaluation(self.evaluation)

    def sentences(self, groups: Sequence[str]) -> list[str | None]:
        """Return the sentence of each group; None for a group that is unknown or dead."""
        positions, texts = [self._position(group) for group in groups], dict[int | None, str]()
        known = sorted({at for at in positions if at is not None})
        for block, of_block in itertools.groupby(known, key=lambda at: at // _BLOCK):
            evaluation = self.evaluation.of_group(block * _BLOCK, _BLOCK - 1)
            texts |= {at: _sentence(evaluation, at) for at in of_block}
        return [texts.get(at) for at in positions]

    def finding(self, group: str) -> FindingDetail | None:
        """Return the verdict of a group in words; None for a group that is unknown or dead."""
        at = self._position(group)
        return None if at is None else finding(self.evaluation.of_group(at).group_finding(at))

    def partition_findings(self, group: str) -> tuple[tuple[str, int, FindingDetail], ...]:
        """Return topic, partition and finding of the group's partitions that are not fine, worst first."""
        at = self._position(group)
        return () if at is None else partition_findings(self.evaluation.of_group(at), at)

    def share_partition_verdicts(self, group: str) -> Mapping[tuple[str, int], tuple[str, int]]:
        """Return verdict and begin (ms) of each partition of a share group by topic and partition; {}: not known."""
        at = self._position(group)
        share = None if at is None else self.evaluation.of_group(at).share
        number = None if share is None or at is None else share.number_of.get(at)
        return {} if share is None or number is None else share.verdicts_of(number)

    def _position(self, group: str) -> int | None:
        """Return the position of a group; None for one that is unknown or dead."""
        at = bisect.bisect_left(self.groups, group)
        return at if at < len(self.groups) and self.groups[at] == group and self.alive[at] else None


def _sentence(evaluation: EvaluationResult, group: int) -> str:
    try:
        return evaluation.group_sentence(group)
    except Exception as error:  # noqa: BLE001 - one group must not fail the response about all
        name = evaluation.window.inputs.groups.names[group]
        _log.exception("internal error in the sentence of a verdict", group=name)
        return f"lagwarden failed to explain this verdict (internal error: {type(error).__name__}); see its log."


def finding(found: Finding) -> FindingDetail:
    """Return a finding in the types of the read model."""
    return FindingDetail(
        verdict=str(found.verdict),
        severity=SEVERITIES[found.severity],
        since=None if found.since is None else found.since / 1000,
        sentence=found.sentence,
        evidence=dict(_evidence(name, value) for name, value in found.evidence.items()),
        next_step=found.next_step,
        about_owner=found.about_owner,
    )


def partition_findings(
    evaluation: EvaluationResult, group: int, limit: int = MAX_FINDINGS
) -> tuple[tuple[str, int, FindingDetail], ...]:
    """Return topic, partition and finding of the partitions of a group that are not fine, worst first."""
    found, number = evaluation.findings_of(group)
    window, inputs = found.window, found.window.inputs
    first, last = np.searchsorted(inputs.group, (number, number + 1))
    rows = np.arange(first, last)
    severity = evaluation.severities[found.verdict[rows]]
    order = np.lexsort((-window.lag[rows], -found.verdict[rows].astype(np.int64), -severity.astype(np.int64)))
    chosen = rows[order][severity[order] > Severity.FINE][:limit]
    return tuple(
        (inputs.topics[int(inputs.topic[row])], int(inputs.partition[row]), finding(found.row_finding(row)))
        for row in chosen.tolist()
    )


def _evidence(name: str, value: Value) -> tuple[str, Value]:
    if name in _DURATIONS:
        return _DURATIONS[name], value / 1000 if isinstance(value, int) else value
    if name.endswith(("_time", "_since")) and isinstance(value, int):
        return name, rfc3339(value / 1000)
    return name, value
