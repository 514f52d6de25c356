"""Bounds of the number of series about groups, per preset, counted from the catalogue. Pure arithmetic."""

from __future__ import annotations

import dataclasses
from typing import Final

from exporters.catalogue.groups import GROUPS, TARGETS, TRANSITIONS
from exporters.catalogue.metric import Preset, Source
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.catalogue.partitions import PARTITIONS, TOPICS

TRANSITIONS_OF_LIVE_GROUPS: Final = 6
"""Types of transitions that a live group may have had: all but `dead`."""
_PER_GROUP: Final = (GROUPS.source, TARGETS.source)


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesBound:
    """The most series of a preset: for each partition of a group, for each live group, and for each topic of a group.

    The series of `lagwarden_group_partitions_lag_unknown` need no room of their own: a partition that they count has no
    series of lag.
    """

    preset: Preset
    per_partition: int
    per_group: int
    per_topic: int

    @classmethod
    def of_preset(cls, preset: Preset) -> SeriesBound:
        """Return the bound of a preset, with series per partition."""
        sources: list[Source | None] = [metric.source for metric in SNAPSHOT_METRICS if metric.is_in(preset)]
        transitions = TRANSITIONS_OF_LIVE_GROUPS * sources.count(TRANSITIONS.source)
        return cls(
            preset,
            per_partition=sources.count(PARTITIONS.source),
            per_group=sum(map(sources.count, _PER_GROUP)) + transitions,
            per_topic=sources.count(TOPICS.source),
        )

    def series(self, groups: int, partitions: int, topics: int = 1) -> int:
        """Return the most series of groups that have this many partitions and topics each."""
        return groups * (partitions * self.per_partition + topics * self.per_topic + self.per_group)


BOUNDS: Final = tuple(map(SeriesBound.of_preset, Preset))
"""The bounds of all presets, the smallest first."""


def estimate_objects(groups: int, partitions: int) -> list[dict[str, str | int]]:
    """Return the most series per preset as JSON objects, for groups with one topic of `partitions` partitions each."""
    return [
        {
            "preset": bound.preset.value,
            "per_partition": bound.per_partition,
            "per_group": bound.per_group,
            "per_topic": bound.per_topic,
            "total": bound.series(groups, partitions),
        }
        for bound in BOUNDS
    ]


def estimate_lines(groups: int, partitions: int) -> list[str]:
    """Return the rows of `estimate_objects` as a table."""
    rows = [
        ["preset", "per partition", "per group", "per topic", "in total"],
        *(
            [cost if isinstance(cost, str) else f"{cost:,}" for cost in costs.values()]
            for costs in estimate_objects(groups, partitions)
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
