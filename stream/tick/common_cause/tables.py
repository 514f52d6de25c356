"""Converts common causes to tables of the read model."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from exporters.readmodel import COMMON_CAUSES, COVERED_GROUPS
from stream.health.common_cause import sentences
from stream.health.common_cause.shared import Dimension

if TYPE_CHECKING:
    from stream.health.common_cause.sentences import BrokerAbsence
    from stream.health.common_cause.tracker import CommonCauseFinding
    from stream.tick.common_cause.analysis import CommonCauseReport
    from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_BROKERS: Final = (Dimension.LEADER, Dimension.COORDINATOR)
_DIGITS: Final = 8
_NEAR_MS: Final = 600_000
"""An absence that began this long before or after the first fault may be its cause."""


def common_causes_table(report: CommonCauseReport, evaluated: EvaluatedTick, now: float) -> pa.Table:
    """Return the findings of a tick at `now` (Unix seconds), the one with most groups first (schema COMMON_CAUSES)."""
    evaluation = evaluated.evaluation
    position = {name: group for group, name in enumerate(evaluated.inputs.rows.groups)}
    rows = []
    for finding in report.findings:
        groups = sorted(finding.groups)
        verdicts = [str(evaluation.verdict_names[evaluation.group_verdict[position[name]]]) for name in groups]
        absence = _absence(finding, report)
        row: dict[str, Any] = {
            "dimension": str(finding.dimension),
            "key": label_key(finding),
            "sick": len(groups),
            "affected": finding.affected,
            "compared": finding.compared,
            "since": finding.began,
            "sentence": sentences.sentence(finding, verdicts, absence, int(now * 1000)),
            "next_step": sentences.next_step(finding, absence),
            "groups": groups,
        }
        rows.append(row)
    return pa.Table.from_pylist(rows, COMMON_CAUSES)


def covered_groups_table(report: CommonCauseReport) -> pa.Table:
    """Return the sick groups of all findings, sorted by name (schema COVERED_GROUPS)."""
    rows = sorted((name, str(each.dimension), label_key(each)) for each in report.findings for name in each.groups)
    return pa.Table.from_pylist([dict(zip(COVERED_GROUPS.names, row, strict=True)) for row in rows], COVERED_GROUPS)


def label_key(finding: CommonCauseFinding) -> str:
    """Return the value of a finding as a label: a digest instead of a host, because hosts are no labels."""
    if finding.dimension is not Dimension.CLIENT_HOST:
        return finding.name
    return hashlib.sha256(finding.name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _absence(finding: CommonCauseFinding, report: CommonCauseReport) -> BrokerAbsence | None:
    """Return the absence of the broker that a finding is about, if it may be the cause."""
    if finding.dimension not in _BROKERS:
        return None
    absence = report.absences.get(int(finding.name))
    near = absence is not None and abs(absence.left - finding.began) <= _NEAR_MS
    return absence if near else None
