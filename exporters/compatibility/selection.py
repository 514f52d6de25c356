"""All exporters whose names lagwarden can show, and the configured ones with the name of their cluster."""

import dataclasses
from typing import Final

from exporters.compatibility.burrow import BURROW, BURROW_EXPORTER
from exporters.compatibility.kafka_exporter import KAFKA_EXPORTER
from exporters.compatibility.kafka_lag_exporter import KAFKA_LAG_EXPORTER
from exporters.compatibility.kminion import KMINION
from exporters.compatibility.other_exporter import OtherExporter, OtherMetric

OTHER_EXPORTERS: Final = (KAFKA_EXPORTER, KAFKA_LAG_EXPORTER, KMINION, BURROW_EXPORTER, BURROW)
OTHER_BY_NAME: Final = {other.name: other for other in OTHER_EXPORTERS}
STATUS_EXPORTERS: Final = frozenset(
    other.name for other in OTHER_EXPORTERS if any("burrow" in metric.column for metric in other.metrics)
)
"""The names of those that show statuses by Burrow's rules."""


@dataclasses.dataclass(frozen=True, slots=True)
class OtherSelection:
    """The option `metrics.compatibility` with what belongs to it. Raises KeyError on use if a name is unknown.

    `cluster` is the value of the labels `cluster` and `cluster_name`. With `hide_members` no label names a member.
    """

    names: tuple[str, ...] = ()
    cluster: str = "kafka"
    hide_members: bool = False

    @property
    def others(self) -> tuple[OtherExporter, ...]:
        """The exporters, each once."""
        return tuple(OTHER_BY_NAME[name] for name in dict.fromkeys(self.names))

    @property
    def needs_burrow(self) -> bool:
        """True if a metric has the status by Burrow's rules."""
        return not STATUS_EXPORTERS.isdisjoint(self.names)

    @property
    def needs_every_partition(self) -> bool:
        """True if a metric has a value for each partition of a topic for which a group has a commit."""
        return any(other.every_partition for other in self.others)

    @property
    def has_burrow_api(self) -> bool:
        """True if the paths of Burrow's API are served (`exporters.http.burrow_api`)."""
        return BURROW.name in self.names

    @property
    def snapshot_metrics(self) -> tuple[OtherMetric, ...]:
        """The metrics that are rendered once per snapshot."""
        return tuple(metric for other in self.others for metric in other.snapshot_metrics)

    @property
    def cluster_metrics(self) -> tuple[OtherMetric, ...]:
        """The metrics that are rendered once per poll of the cluster."""
        return tuple(metric for other in self.others for metric in other.cluster_metrics)
