"""What health says, in the read model's values: words for codes, Unix seconds, RFC 3339 and seconds in the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from exporters.readmodel import FindingDetail
from exporters.timestamps import rfc3339
from exporters.wording import SEVERITIES
from stream.health.verdict import Severity

if TYPE_CHECKING:
    from stream.health import evaluation as opinion
    from stream.health.evaluation import Evaluation
    from stream.health.evidence import Value

MOST_FINDINGS: Final = 200
"""Partitions of one group that are told of, the worst first."""
_DURATIONS: Final = {"time_lag": "time_lag", "loss_in": "loss_in_seconds", "patience": "patience_seconds"} | {
    "catch_up": "catch_up_seconds"
}
"""What readers call the evidence that health has in ms."""


def finding(found: opinion.Finding) -> FindingDetail:
    """Give a finding as readers have it."""
    return FindingDetail(
        verdict=str(found.verdict),
        severity=SEVERITIES[found.severity],
        since=None if found.since is None else found.since / 1000,
        sentence=found.sentence,
        evidence=dict(_told(name, value) for name, value in found.evidence.items()),
        next_step=found.next_step,
    )


def partition_findings(
    opinion: Evaluation, group: int, most: int = MOST_FINDINGS
) -> tuple[tuple[str, int, FindingDetail], ...]:
    """Give topic, partition and finding of the group's partitions that are not fine, the worst first."""
    seen, window = opinion.window.inputs, opinion.window
    first, last = np.searchsorted(seen.group, (group, group + 1))
    rows = np.arange(first, last)
    severity = opinion.severities[opinion.verdict[rows]]
    order = np.lexsort((-window.lag[rows], -opinion.verdict[rows].astype(np.int64), -severity.astype(np.int64)))
    chosen = rows[order][severity[order] > Severity.FINE][:most]
    return tuple(
        (seen.topics[int(seen.topic[row])], int(seen.partition[row]), finding(opinion.row_finding(row)))
        for row in chosen.tolist()
    )


def _told(name: str, value: Value) -> tuple[str, Value]:
    if name in _DURATIONS:
        return _DURATIONS[name], value / 1000 if isinstance(value, int) else value
    if name.endswith(("_time", "_since")) and isinstance(value, int):
        return name, rfc3339(value / 1000)
    return name, value
