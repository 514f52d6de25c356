"""Looks for common causes at each tick, and keeps what outlives a tick: leaders, brokers, hosts, shown findings."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from exporters.readmodel import COMMON_CAUSES, COVERED_GROUPS
from stream.health.common_cause import tracker
from stream.health.common_cause.faults import RowFaults, row_faults
from stream.health.common_cause.search import CommonCause, CommonCauseLimits, Dimension, find_causes
from stream.health.common_cause.tracker import BrokerAbsence, CommonCauseFinding, CommonCauseTracker
from stream.tick.common_cause.columns import BrokerWatch, RecentHosts, RecentLeaders, followers, shared_values
from stream.tick.inputs.polled_cluster import Replicas
from stream.tick.verdicts.evaluated_tick import EvaluatedTick


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCauseReport:
    """The common causes of one tick."""

    findings: tuple[CommonCauseFinding, ...] = ()
    absences: Mapping[int, BrokerAbsence] = dataclasses.field(default_factory=dict)
    """The latest absence of each broker with a recent one."""


class CommonCauseAnalysis:
    """One instance per process; used by the tick thread."""

    def __init__(self, limits: CommonCauseLimits = CommonCauseLimits()) -> None:  # noqa: B008 - immutable
        self._limits = limits
        self._leaders, self._brokers, self._hosts = RecentLeaders(), BrokerWatch(), RecentHosts()
        self._tracker = CommonCauseTracker(limits)

    def update(self, evaluated: EvaluatedTick) -> CommonCauseReport:
        """Return the findings of a tick.

        With few unhealthy groups, a tick only updates the known leaders and hosts.
        """
        facts, now = evaluated.derived.facts, evaluated.derived.facts.now
        self._leaders.update(facts.ends, now)
        self._brokers.update(facts.cluster.brokers, now)
        self._hosts.update(evaluated.derived.state.memberships, now)
        rows, faults = evaluated.inputs.rows, row_faults(evaluated.evaluation)
        unhealthy = np.unique(rows.group[faults.since >= 0])
        is_many = len(unhealthy) >= self._limits.groups
        causes = self._causes(evaluated, faults, facts.polled.replicas) if is_many else ()
        self._tracker.update(causes, rows.groups, {rows.groups[group] for group in unhealthy.tolist()})
        return CommonCauseReport(self._tracker.findings, dict(self._brokers.absences))

    def _causes(
        self, evaluated: EvaluatedTick, faults: RowFaults, replicas: Replicas | None
    ) -> tuple[CommonCause, ...]:
        left = {
            (dimension, str(broker)): absence.left
            for broker, absence in self._brokers.absences.items()
            for dimension in (Dimension.LEADER, Dimension.COORDINATOR, Dimension.FOLLOWER)
        }
        shared = shared_values(evaluated, faults, self._leaders, self._hosts)
        if replicas is not None:
            shared = (*shared, followers(evaluated.inputs.rows, faults, replicas))
        return find_causes(shared, left, self._limits)


_BROKERS: Final = (Dimension.LEADER, Dimension.COORDINATOR, Dimension.FOLLOWER)
_NEAR_MS: Final = 600_000
"""An absence that began this long before or after the first fault may be its cause."""


def common_causes_table(report: CommonCauseReport, evaluated: EvaluatedTick, *, hide_hosts: bool = False) -> pa.Table:
    """Return the findings of a tick, the one with most groups first (schema COMMON_CAUSES).

    With `hide_hosts` the sentence names a host by its key only.
    """
    if not report.findings:
        return COMMON_CAUSES.empty_table()
    evaluation, keys = evaluated.evaluation, _keys(report)
    position = {name: group for group, name in enumerate(evaluated.inputs.rows.groups)}
    rows = []
    for finding, key in zip(report.findings, keys, strict=True):
        groups = sorted(finding.groups)
        verdicts = [str(evaluation.verdict_names[evaluation.group_verdict[position[name]]]) for name in groups]
        absence = _absence(finding, report)
        named = dataclasses.replace(finding, name=key) if hide_hosts else finding
        row: dict[str, Any] = {
            "dimension": str(finding.dimension),
            "key": key,
            "unhealthy": len(groups),
            "affected": finding.affected,
            "compared": finding.compared,
            "since": finding.began,
            "sentence": tracker.sentence(named, verdicts, absence, evaluated.derived.facts.now),
            "next_step": tracker.next_step(finding, absence),
            "groups": groups,
        }
        rows.append(row)
    return pa.Table.from_pylist(rows, COMMON_CAUSES)


def covered_groups_table(report: CommonCauseReport) -> pa.Table:
    """Return the unhealthy groups of all findings, sorted by name (schema COVERED_GROUPS)."""
    findings = zip(report.findings, _keys(report), strict=True)
    rows = sorted((name, str(each.dimension), key) for each, key in findings for name in each.groups)
    return pa.Table.from_pylist([dict(zip(COVERED_GROUPS.names, row, strict=True)) for row in rows], COVERED_GROUPS)


def _keys(report: CommonCauseReport) -> list[str]:
    """Return the value of each finding as a label.

    Hosts are no labels: a finding about a host has its number among these findings, the oldest first.
    """
    hosts = [each for each in report.findings if each.dimension is Dimension.CLIENT_HOST]
    numbers = {each.name: number for number, each in enumerate(sorted(hosts, key=lambda e: (e.began, e.name)), 1)}
    is_host = [each.dimension is Dimension.CLIENT_HOST for each in report.findings]
    return [str(numbers[each.name]) if host else each.name for each, host in zip(report.findings, is_host, strict=True)]


def _absence(finding: CommonCauseFinding, report: CommonCauseReport) -> BrokerAbsence | None:
    """Return the absence of the broker that a finding is about, if it may be the cause."""
    if finding.dimension not in _BROKERS:
        return None
    absence = report.absences.get(int(finding.name))
    near = absence is not None and abs(absence.left - finding.began) <= _NEAR_MS
    return absence if near else None
