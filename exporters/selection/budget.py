"""The series budget: an upper bound on the number of series about groups in a snapshot, or about the cluster in a poll.

Beyond the budget, whole metrics are left out, the least important first: those under the names of other exporters, that
of dead groups, then those of partitions, then those of topics, then those of groups. A metric has samples for all
groups or for none, because a sum over half of its series would look like a correct result.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue.groups import DEAD_GROUPS
from exporters.catalogue.metric import Metric, Preset
from exporters.readmodel import SERIES_DROPPED, rows_table

_OTHER_LEVEL: Final = -2
_DEAD_LEVEL: Final = -1
_LEVEL_LABELS: Final = (frozenset({"partition", "partition_id"}), frozenset({"topic", "topic_name"}))
_GROUP_LEVEL: Final = len(_LEVEL_LABELS)
_RETURN_SHARE: Final = 0.95
"""A metric that was left out returns only if all series fit this share of the budget. Avoids flapping at the bound."""


class SeriesBudget:
    """Applies the limit to one snapshot after the other and counts the series left out. For one thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left_out: frozenset[str] = frozenset()
        self._now: Mapping[str, int] = {}
        self._ever: dict[str, int] = {}

    def fit(self, counts: Mapping[Metric, int]) -> frozenset[Metric]:
        """Return the metrics that fit, from the number of series of each."""
        kept = dict(counts)
        total = sum(kept.values())
        for metric in sorted(kept, key=_importance):
            if total > self._limit_for(was_left_out=metric.name in self._left_out) and kept[metric]:
                total -= kept.pop(metric)
        self._left_out = frozenset(metric.name for metric in counts if metric not in kept)
        self._record({metric.name: count for metric, count in counts.items() if metric not in kept})
        return frozenset(kept)

    def _limit_for(self, *, was_left_out: bool) -> float:
        return self._limit * (_RETURN_SHARE if was_left_out else 1)

    @property
    def dropped(self) -> pa.Table:
        """The series left out per metric, now and summed over all snapshots (schema SERIES_DROPPED)."""
        rows = ((name, self._now.get(name), ever) for name, ever in sorted(self._ever.items()))
        return rows_table(rows, SERIES_DROPPED)

    def _record(self, left_out: Mapping[str, int]) -> None:
        self._now = left_out
        for name, count in left_out.items():
            self._ever[name] = self._ever.get(name, 0) + count


def _importance(metric: Metric) -> tuple[int, int, int, int, str]:
    """Return a sort key, the least important first: by level (other, dead, partition, topic, group), table, column.

    Metrics about the cluster have no order of columns; of those, the ones of a larger preset are less important.
    """
    if metric.source == DEAD_GROUPS.source:
        return _DEAD_LEVEL, 0, 0, 0, metric.name
    level = next(
        (at for at, names in enumerate(_LEVEL_LABELS) if not names.isdisjoint(metric.multiplying_labels)), _GROUP_LEVEL
    )
    if metric.source.is_derived:
        return _OTHER_LEVEL, level, 0, 0, metric.name
    return level, *metric.importance, -list(Preset).index(metric.preset), metric.name


def muted_by_configuration(groups: pa.Table) -> pa.ChunkedArray:
    """Return a mask of the rows of GROUPS that a maintenance window or a silence mutes."""
    return pc.or_(groups.column("maintenance_until").is_valid(), groups.column("silence_reason").is_valid())
