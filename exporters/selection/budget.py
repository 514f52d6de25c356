"""Which series are shown: name patterns of groups and topics, muted groups, and the series budget.

Beyond the budget, whole metrics are left out, the least important first: those under the names of other exporters, that
of dead groups, then those of partitions, then those of topics, then those of groups. A metric has samples for all
groups or for none, because a sum over half of its series would look like a correct result.

A name pattern is a regular expression in the syntax of Prometheus (RE2, which matches in linear time) and must match
the whole name, as in Prometheus. Names are Arrow columns; each distinct name is matched once.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue.groups import DEAD_GROUPS
from exporters.catalogue.metric import Metric, Preset
from exporters.catalogue.service import SERIES_DROPPED
from exporters.readmodel import rows_table
from exporters.text.samples import one_array

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
        # By the name of a metric: the series that were left out now, and of all snapshots.
        self._now: dict[str, int] = {}
        self._ever: dict[str, int] = {}

    def fit(self, counts: Mapping[Metric, int]) -> frozenset[Metric]:
        """Return the metrics that fit, from the number of series of each."""
        kept = dict(counts)
        total = sum(kept.values())
        for metric in sorted(kept, key=_importance):
            share = _RETURN_SHARE if metric.name in self._now else 1
            if total > self._limit * share and kept[metric]:
                total -= kept.pop(metric)
        self._now = {metric.name: count for metric, count in counts.items() if metric not in kept}
        for name, count in self._now.items():
            self._ever[name] = self._ever.get(name, 0) + count
        return frozenset(kept)

    @property
    def dropped(self) -> pa.Table:
        """The series left out per metric, now and summed over all snapshots (schema SERIES_DROPPED)."""
        rows = ((name, self._now.get(name), ever) for name, ever in sorted(self._ever.items()))
        return rows_table(rows, SERIES_DROPPED.schema)


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


def pattern_error(pattern: str) -> str | None:
    """Return the syntax error of a pattern, or None."""
    try:
        # First without the anchors that `_matches` adds, so that an error quotes the pattern as configured.
        pc.match_substring_regex(pa.array([""]), pattern)
        _matches(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class NameFilter:
    """Selects names that match a pattern of `allow` (empty: every name) and no pattern of `deny`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def rows(self, column: pa.ChunkedArray) -> pa.Array:
        """Return a mask of the rows of a dictionary-encoded column whose name is selected; a null name is selected."""
        encoded = one_array(column)
        names = encoded.dictionary
        allowed = first_match(names, self.allow).is_valid() if self.allow else pa.repeat(True, len(names))
        selected = pc.and_not(allowed, first_match(names, self.deny).is_valid())
        return selected.take(encoded.indices).fill_null(True)


def first_match(names: pa.Array, patterns: Sequence[str]) -> pa.Array:
    """Return for each name the index of the first pattern that matches it, null if none does."""
    first = pa.nulls(len(names), pa.int32())
    for index, pattern in reversed(list(enumerate(patterns))):
        first = pc.if_else(_matches(names, pattern), pa.scalar(index, pa.int32()), first)
    return first


def _matches(names: pa.Array, pattern: str) -> pa.Array:
    # A name may contain line feeds, which `.` matches only with the flag "s". A name is never null here.
    return pc.match_substring_regex(names, f"(?s)\\A(?:{pattern})\\z")
