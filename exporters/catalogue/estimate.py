"""The usual number of series about groups, per preset, counted from the catalogue. Pure arithmetic."""

from __future__ import annotations

import dataclasses
from typing import Final

from exporters.catalogue.groups import GROUPS, TRANSITIONS
from exporters.catalogue.metric import Preset, Source
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.catalogue.partitions import PARTITIONS, TOPICS
from exporters.catalogue.verdicts import FINDINGS, PARTITION_VERDICTS

_USUAL_TRANSITIONS: Final = 2
"""`created` and `rebalanced`."""


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesCost:
    """The series of a preset by what causes them: partitions of groups, live groups, and topics of a group.

    They are those of classic groups that have members. Those of an unhealthy partition or group come on top. The series
    of `lagwarden_group_partitions_lag_unknown` need no room: a partition that they count has no series of lag.
    """

    preset: Preset
    per_partition: int
    per_unhealthy_partition: int
    per_group: int
    per_unhealthy_group: int
    per_topic: int

    @classmethod
    def of_preset(cls, preset: Preset) -> SeriesCost:
        """Return the cost of a preset, with series per partition."""
        usual = [metric for metric in SNAPSHOT_METRICS if metric.is_in(preset) and metric.is_usual]
        sources: list[Source | None] = [metric.source for metric in usual if not metric.omits_fine]
        return cls(
            preset,
            per_partition=sources.count(PARTITIONS.source),
            per_unhealthy_partition=sum(metric.omits_fine and metric.source == PARTITIONS.source for metric in usual),
            per_group=sources.count(GROUPS.source) + _USUAL_TRANSITIONS * sources.count(TRANSITIONS.source),
            per_unhealthy_group=sources.count(FINDINGS.source) + sources.count(PARTITION_VERDICTS.source),
            per_topic=sources.count(TOPICS.source),
        )

    def series(self, groups: int, partitions: int, *, unhealthy: bool = False) -> int:
        """Return the series of groups that have this many partitions of one topic each, all unhealthy or none."""
        per_partition = self.per_partition + unhealthy * self.per_unhealthy_partition
        per_group = self.per_group + unhealthy * self.per_unhealthy_group
        return groups * (partitions * per_partition + per_group + self.per_topic)


COSTS: Final = tuple(map(SeriesCost.of_preset, Preset))
"""The costs of all presets, the smallest first."""


def estimate_objects(groups: int, partitions: int) -> list[dict[str, str | int]]:
    """Return the series per preset as JSON objects, for groups with one topic of `partitions` partitions each."""
    return [
        {
            **dataclasses.asdict(cost),
            "total": cost.series(groups, partitions),
            "total_unhealthy": cost.series(groups, partitions, unhealthy=True),
        }
        for cost in COSTS
    ]
