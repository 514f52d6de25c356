"""All exporters whose names lagwarden can show, in one list."""

from __future__ import annotations

from typing import Final

from exporters.compatibility.burrow import BURROW, BURROW_EXPORTER
from exporters.compatibility.kafka_exporter import KAFKA_EXPORTER
from exporters.compatibility.kafka_lag_exporter import KAFKA_LAG_EXPORTER
from exporters.compatibility.kminion import KMINION

PEERS: Final = (KAFKA_EXPORTER, KAFKA_LAG_EXPORTER, KMINION, BURROW_EXPORTER, BURROW)
PEER_BY_NAME: Final = {peer.name: peer for peer in PEERS}
STATUS_PEERS: Final = frozenset(
    peer.name for peer in PEERS if any("burrow" in metric.column for metric in peer.metrics)
)
"""The names of those that show statuses by Burrow's rules."""
