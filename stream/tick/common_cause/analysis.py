"""Looks for common causes at each tick, and keeps what outlives a tick: leaders, brokers, hosts, shown findings."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from stream.health.common_cause.faults import RowFaults, row_faults
from stream.health.common_cause.search import CommonCause, CommonCauseLimits, find_causes
from stream.health.common_cause.sentences import BrokerAbsence
from stream.health.common_cause.shared import Dimension
from stream.health.common_cause.tracker import CommonCauseFinding, CommonCauseTracker
from stream.tick.common_cause.columns import followers, shared_values
from stream.tick.common_cause.recent import BrokerWatch, RecentHosts, RecentLeaders
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
