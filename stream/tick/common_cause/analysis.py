"""Looks for common causes at each tick, and keeps what outlives a tick: leaders, brokers, hosts, shown findings."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from exporters.readmodel import COMMON_CAUSES, COVERED_GROUPS
from stream.health.common_cause import search, tracker
from stream.health.common_cause.tracker import CommonCauseTracker
from stream.tick.common_cause.columns import BrokerWatch, RecentHosts, RecentLeaders, followers, shared_values
from stream.tick.inputs.polled_cluster import Replicas
from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_NEAR_MS: Final = 600_000
"""An absence that began this long before or after the first fault may be its cause."""


class CommonCauseAnalysis:
    """One instance per process; used by the tick thread."""

    def __init__(self, limits: search.CommonCauseLimits = search.CommonCauseLimits()) -> None:  # noqa: B008 - immutable
        self._limits = limits
        self._leaders, self._brokers, self._hosts = RecentLeaders(), BrokerWatch(), RecentHosts()
        self._tracker = CommonCauseTracker(limits)

    def update(self, evaluated: EvaluatedTick) -> tuple[search.CommonCause, ...]:
        """Return the common causes that are shown at a tick.

        With few unhealthy groups, a tick only updates the known leaders and hosts.
        """
        facts, now = evaluated.derived.facts, evaluated.derived.facts.now
        self._leaders.update(facts.ends, now)
        self._brokers.update(facts.cluster.brokers, now)
        self._hosts.update(evaluated.derived.state.memberships, now)
        rows, faults = evaluated.inputs.rows, search.row_faults(evaluated.evaluation)
        unhealthy = np.unique(rows.group[faults.since >= 0])
        is_many = len(unhealthy) >= self._limits.groups
        causes = self._causes(evaluated, faults, facts.polled.replicas) if is_many else ()
        self._tracker.update(causes, {rows.groups[group] for group in unhealthy.tolist()})
        return tuple(dataclasses.replace(each, absence=self._absence(each)) for each in self._tracker.findings)

    def _causes(
        self, evaluated: EvaluatedTick, faults: search.RowFaults, replicas: Replicas | None
    ) -> tuple[search.CommonCause, ...]:
        left = {
            (dimension, str(broker)): absence.left
            for broker, absence in self._brokers.absences.items()
            for dimension in search.Dimension
            if dimension.is_broker
        }
        shared = shared_values(evaluated, faults, self._leaders, self._hosts)
        if replicas is not None:
            shared = (*shared, followers(evaluated.inputs.rows, faults, replicas))
        return search.find_causes(shared, evaluated.inputs.rows.groups, left, self._limits)

    def _absence(self, cause: search.CommonCause) -> search.BrokerAbsence | None:
        """Return the absence of the broker that a cause is about, if it may be the reason."""
        absence = self._brokers.absences.get(int(cause.name)) if cause.dimension.is_broker else None
        return absence if absence is not None and abs(absence.left - cause.began) <= _NEAR_MS else None


def common_causes_table(
    causes: Sequence[search.CommonCause], evaluated: EvaluatedTick, *, hide_hosts: bool = False
) -> pa.Table:
    """Return the common causes of a tick, the one with most groups first (schema COMMON_CAUSES).

    With `hide_hosts` the sentence names a host by its key only.
    """
    evaluation = evaluated.evaluation
    position = {name: group for group, name in enumerate(evaluated.inputs.rows.groups)}
    rows = []
    for finding, key in zip(causes, _keys(causes), strict=True):
        groups = sorted(finding.groups)
        verdicts = [str(evaluation.verdict_names[evaluation.group_verdict[position[name]]]) for name in groups]
        named = dataclasses.replace(finding, name=key) if hide_hosts else finding
        row: dict[str, Any] = {
            "dimension": str(finding.dimension),
            "key": key,
            "unhealthy": len(groups),
            "affected": finding.affected,
            "compared": finding.compared,
            "since": finding.began,
            "sentence": tracker.sentence(named, verdicts, evaluated.derived.facts.now),
            "next_step": tracker.next_step(finding),
            "groups": groups,
        }
        rows.append(row)
    return pa.Table.from_pylist(rows, COMMON_CAUSES)


def covered_groups_table(causes: Sequence[search.CommonCause]) -> pa.Table:
    """Return the unhealthy groups of all common causes, sorted by name (schema COVERED_GROUPS)."""
    found = zip(causes, _keys(causes), strict=True)
    rows = sorted((name, str(each.dimension), key) for each, key in found for name in each.groups)
    return pa.Table.from_pylist([dict(zip(COVERED_GROUPS.names, row, strict=True)) for row in rows], COVERED_GROUPS)


def _keys(causes: Sequence[search.CommonCause]) -> list[str]:
    """Return the value of each common cause as a label.

    Hosts are no labels: a cause that is a host has its number among these, the oldest first.
    """
    hosts = [each for each in causes if each.dimension is search.Dimension.CLIENT_HOST]
    numbers = {id(each): str(number) for number, each in enumerate(sorted(hosts, key=lambda e: (e.began, e.name)), 1)}
    return [numbers.get(id(each), each.name) for each in causes]
