"""The metrics about the cluster, joined from the modules of their subjects. They are rendered once per poll."""

from __future__ import annotations

from typing import Final

from exporters.catalogue.administration import ADMIN_METRICS
from exporters.catalogue.brokers import BROKER_METRICS, DISK_METRICS, POLL_METRICS
from exporters.catalogue.share import SHARE_METRICS
from exporters.catalogue.topics import REPLICA_METRICS, TOPIC_METRICS

CLUSTER_METRICS: Final = (
    BROKER_METRICS + TOPIC_METRICS + REPLICA_METRICS + ADMIN_METRICS + DISK_METRICS + SHARE_METRICS + POLL_METRICS
)
