"""The series budget: an upper bound on the number of series about groups in a snapshot.

Beyond the budget, the series of dead groups are left out first. Then whole metrics are left out, the least important
first: those of partitions, then those of topics, then those of groups. A metric has samples for all live groups or for
none, because a sum over half of its series would look like a correct result.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from exporters.catalogue.metric import MetricSource
from exporters.readmodel import NAME, SERIES_DROPPED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.catalogue.metric import Metric

COLUMNS_BY_IMPORTANCE: Final = {
    MetricSource.PARTITIONS: (
        *("verdict", "lag", "time_lag", "lost", "committed_offset", "commit_time", "progress_time"),
        *("catch_up_seconds", "produce_rate", "consume_rate", "margin", "offset_expiry_time"),
    ),
    MetricSource.TOPICS: ("lag_sum", "time_lag_max"),
    MetricSource.GROUPS: (
        *("verdict", "severity", "lag_sum", "time_lag_max", "group", "members", "lag_max", "last_commit_time"),
        *("partitions", "verdict_since", "held_back", "first_offset_expiry_time", "group_expiry_time", "state_since"),
        *("partitions_unowned", "topics_unsubscribed", "odd_times", "created_time", "generation"),
        *("group_epoch", "assignment_epoch", "members_idle", "members_away", "died_time", "death_cause"),
    ),
}
"""Columns by source, the most important first. A column that is not listed is less important than those that are."""
_GROUP_SOURCES: Final = (
    MetricSource.TRANSITIONS,
    MetricSource.UNKNOWN_LAGS,
    MetricSource.TARGETS,
    MetricSource.GROUPS,
    MetricSource.VERDICT_GROUPS,
)
"""The sources of the metrics of groups, the least important first."""
_RETURN_SHARE: Final = 0.95
"""A metric that was left out returns only if all series fit this share of the budget. Avoids flapping at the bound."""


@dataclasses.dataclass(frozen=True, slots=True)
class BudgetFit:
    """The selection that fits the budget."""

    metrics: frozenset[Metric]
    with_dead_groups: bool
    """True if the series of dead groups are kept, too."""


class SeriesBudget:
    """Applies the limit to one snapshot after the other and counts the series left out. For one thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left_out: frozenset[str] = frozenset()
        self._dead_left_out = False
        self._now: Mapping[str, int] = {}
        self._ever: dict[str, int] = {}

    def fit(self, counts: Mapping[Metric, int], live_counts: Mapping[Metric, int]) -> BudgetFit:
        """Return the selection that fits, from the number of series per metric: of all groups, and of live groups."""
        with_dead = sum(counts.values()) <= self._limit_for(was_left_out=self._dead_left_out)
        kept = dict(counts if with_dead else live_counts)
        total = sum(kept.values())
        for metric in sorted(kept, key=_importance):
            if total > self._limit_for(was_left_out=metric.name in self._left_out) and kept[metric]:
                total -= kept.pop(metric)
        self._dead_left_out = not with_dead
        self._left_out = frozenset(metric.name for metric in counts if metric not in kept)
        missing = {metric.name: count - kept.get(metric, 0) for metric, count in counts.items()}
        self._record({name: count for name, count in missing.items() if count})
        return BudgetFit(frozenset(kept), with_dead)

    def _limit_for(self, *, was_left_out: bool) -> float:
        return self._limit * (_RETURN_SHARE if was_left_out else 1)

    @property
    def dropped(self) -> pa.Table:
        """The series left out per metric, now and summed over all snapshots (schema SERIES_DROPPED)."""
        names = sorted(self._ever)
        columns = [names, [self._now.get(name) for name in names], [self._ever[name] for name in names]]
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns[1:], list(SERIES_DROPPED)[1:], strict=True)
        ]
        return pa.table([pa.array(names, pa.string()).dictionary_encode().cast(NAME), *arrays], schema=SERIES_DROPPED)

    def _record(self, left_out: Mapping[str, int]) -> None:
        self._now = left_out
        for name, count in left_out.items():
            self._ever[name] = self._ever.get(name, 0) + count


def _importance(metric: Metric) -> tuple[int, int, int, str]:
    """Return a sort key, the least important first: by level (partition, topic, group), source and column."""
    level = next((at for at, label in enumerate(("partition", "topic")) if label in metric.labels), 2)
    source = _GROUP_SOURCES.index(metric.source) if metric.source in _GROUP_SOURCES else 0
    order = COLUMNS_BY_IMPORTANCE.get(metric.source, ())
    rank = len(order) - order.index(metric.column) if metric.column in order else 0
    return level, source, rank, metric.name
