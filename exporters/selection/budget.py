"""The series budget: what is left out of `/metrics` when all of it would be too many series.

The budget is a bound: no snapshot has more series about groups than it allows. The series of groups that have died go
first. What then still is too much is left out metric by metric, the least important first: those of partitions, then
those of topics, then those of groups. A metric is there for all living groups or not at all: a sum over half of its
series would look like an answer.
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

KEPT_LONGEST: Final = {
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
"""Columns by source, the most important first; a column that is not named goes before those that are."""
_SOURCES: Final = (
    MetricSource.TRANSITIONS,
    MetricSource.UNKNOWN_LAGS,
    MetricSource.TARGETS,
    MetricSource.GROUPS,
    MetricSource.VERDICT_GROUPS,
)
"""Of the metrics of groups, the less important source before the more important one."""
_RETURN_SHARE: Final = 0.95
"""What was left out comes back only when it fits with room to spare: else it would come and go with every group."""


@dataclasses.dataclass(frozen=True, slots=True)
class BudgetFit:
    """What fits the budget."""

    metrics: frozenset[Metric]
    dead: bool
    """Whether the series of groups that have died are kept, too."""


class SeriesBudget:
    """How many series there may be, and what had to go for it. One thread uses it, once per snapshot."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left_out: frozenset[str] = frozenset()
        self._dead_left_out = False
        self._now: Mapping[str, int] = {}
        self._ever: dict[str, int] = {}

    def fit(self, counts: Mapping[Metric, int], living: Mapping[Metric, int]) -> BudgetFit:
        """Return what to keep of metrics with so many series each, and so many of `living` groups; note the rest."""
        dead = sum(counts.values()) <= self._room(was_left_out=self._dead_left_out)
        kept = dict(counts if dead else living)
        total = sum(kept.values())
        for metric in sorted(kept, key=_worth):
            if total > self._room(was_left_out=metric.name in self._left_out) and kept[metric]:
                total -= kept.pop(metric)
        self._dead_left_out = not dead
        self._left_out = frozenset(metric.name for metric in counts if metric not in kept)
        missing = {metric.name: count - kept.get(metric, 0) for metric, count in counts.items()}
        self._note({name: count for name, count in missing.items() if count})
        return BudgetFit(frozenset(kept), dead)

    def _room(self, *, was_left_out: bool) -> float:
        return self._limit * (_RETURN_SHARE if was_left_out else 1)

    @property
    def dropped(self) -> pa.Table:
        """What is left out, per metric: now, and added up over all snapshots (schema SERIES_DROPPED)."""
        names = sorted(self._ever)
        columns = [names, [self._now.get(name) for name in names], [self._ever[name] for name in names]]
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns[1:], list(SERIES_DROPPED)[1:], strict=True)
        ]
        return pa.table([pa.array(names, pa.string()).dictionary_encode().cast(NAME), *arrays], schema=SERIES_DROPPED)

    def _note(self, left_out: Mapping[str, int]) -> None:
        self._now = left_out
        for name, count in left_out.items():
            self._ever[name] = self._ever.get(name, 0) + count


def _worth(metric: Metric) -> tuple[int, int, int, str]:
    """Return a key that sorts first what goes first: partitions, topics, groups; then by source and by column."""
    level = next((at for at, label in enumerate(("partition", "topic")) if label in metric.labels), 2)
    source = _SOURCES.index(metric.source) if metric.source in _SOURCES else 0
    order = KEPT_LONGEST.get(metric.source, ())
    place = len(order) - order.index(metric.column) if metric.column in order else 0
    return level, source, place, metric.name
