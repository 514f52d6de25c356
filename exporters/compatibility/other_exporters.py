"""All exporters whose names lagwarden can show, in one list."""

from __future__ import annotations

from typing import Final

from exporters.compatibility.burrow import BURROW, BURROW_EXPORTER
from exporters.compatibility.kafka_exporter import KAFKA_EXPORTER
from exporters.compatibility.kafka_lag_exporter import KAFKA_LAG_EXPORTER
from exporters.compatibility.kminion import KMINION

OTHER_EXPORTERS: Final = (KAFKA_EXPORTER, KAFKA_LAG_EXPORTER, KMINION, BURROW_EXPORTER, BURROW)
OTHER_BY_NAME: Final = {other.name: other for other in OTHER_EXPORTERS}
STATUS_EXPORTERS: Final = frozenset(
    other.name for other in OTHER_EXPORTERS if any("burrow" in metric.column for metric in other.metrics)
)
"""The names of those that show statuses by Burrow's rules."""
