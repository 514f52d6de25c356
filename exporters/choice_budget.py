"""The series budget: which metrics are left out of `/metrics` when all of them would be too many series.

A metric is there whole or not at all: a sum over half of its series would look like an answer. A group's own series
are never left out, whatever the budget; what goes first is what matters least when somebody is woken at night.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from exporters.metric import Source
from exporters.readmodel import NAME, SERIES_DROPPED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.metric import Metric

KEPT_LONGEST: Final = {
    Source.PARTITIONS: (
        *("verdict", "lag", "time_lag", "lost", "committed_offset", "commit_time", "progress_time"),
        *("catch_up_seconds", "produce_rate", "consume_rate", "margin", "offset_expiry_time"),
    ),
    Source.TOPICS: ("lag_sum", "time_lag_max"),
}
"""Columns by source, the most important first; a column that is not named goes before those that are."""
_RETURN_SHARE: Final = 0.95
"""What was left out comes back only when it fits with room to spare: else it would come and go with every group."""


class Budget:
    """How many series there may be, and what had to go for it. One thread uses it, once per snapshot."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left_out: frozenset[str] = frozenset()
        self._now: Mapping[str, int] = {}
        self._ever: dict[str, int] = {}

    def fit(self, counts: Mapping[Metric, int]) -> frozenset[Metric]:
        """Give the metrics to keep, of those with so many series each; note the others as left out."""
        kept = dict(counts)
        total = sum(kept.values())
        for metric in sorted(filter(_may_go, counts), key=_worth):
            room = self._limit * (_RETURN_SHARE if metric.name in self._left_out else 1)
            if total > room and kept[metric]:
                total -= kept.pop(metric)
        self._note({metric.name: count for metric, count in counts.items() if metric not in kept})
        return frozenset(kept)

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
        self._now, self._left_out = left_out, frozenset(left_out)
        for name, count in left_out.items():
            self._ever[name] = self._ever.get(name, 0) + count


def _may_go(metric: Metric) -> bool:
    """Tell whether a metric is finer than a group's own."""
    return "topic" in metric.labels


def _worth(metric: Metric) -> tuple[bool, int, str]:
    """Put first what goes first: the series of partitions, and of those the columns that matter least."""
    order = KEPT_LONGEST.get(metric.source, ())
    place = len(order) - order.index(metric.column) if metric.column in order else 0
    return "partition" not in metric.labels, place, metric.name
