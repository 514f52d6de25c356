"""Converts findings of health to the read model: words for codes, Unix seconds, RFC 3339 times in the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from exporters.readmodel import FindingDetail
from exporters.timestamps import rfc3339
from exporters.wording import SEVERITIES
from stream.health.verdict import Severity

if TYPE_CHECKING:
    from stream.health.evaluation import Finding
    from stream.health.evaluator import EvaluationResult
    from stream.health.evidence import Value

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
    window, inputs = evaluation.window, evaluation.window.inputs
    first, last = np.searchsorted(inputs.group, (group, group + 1))
    rows = np.arange(first, last)
    severity = evaluation.severities[evaluation.verdict[rows]]
    order = np.lexsort((-window.lag[rows], -evaluation.verdict[rows].astype(np.int64), -severity.astype(np.int64)))
    chosen = rows[order][severity[order] > Severity.FINE][:limit]
    of_share_group = evaluation.share_partition_findings(group)[:limit]
    return (*((each.topic, each.partition, finding(each.finding)) for each in of_share_group),) or tuple(
        (inputs.topics[int(inputs.topic[row])], int(inputs.partition[row]), finding(evaluation.row_finding(row)))
        for row in chosen.tolist()
    )


def _evidence(name: str, value: Value) -> tuple[str, Value]:
    if name in _DURATIONS:
        return _DURATIONS[name], value / 1000 if isinstance(value, int) else value
    if name.endswith(("_time", "_since")) and isinstance(value, int):
        return name, rfc3339(value / 1000)
    return name, value
