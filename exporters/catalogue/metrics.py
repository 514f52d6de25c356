"""All metrics in one list.

Each metric belongs to a column of a table (`exporters.catalogue.table`): about groups in `groups`, `partitions` and
`verdicts`, about the cluster in `brokers`, `topics`, `administration` and `share`, about the monitor in `monitor` and
`service`. The order here is the order in `/metrics` and in `docs/metrics.md`.

Names follow the Prometheus conventions: one prefix, base units last, `_total` for counters, `_timestamp_seconds` for
the time of an event (readers subtract: an age that is no longer updated looks recent), `_info` for label sets to join.
No gauge ends in `_sum` or `_count`: those suffixes belong to histograms and summaries, and `promtool check metrics`
rejects them elsewhere.

`exporters.catalogue.metric` has the type of a row; `exporters.catalogue.reference_page` describes the rows, and
`exporters.text` renders them.
"""

from typing import Final

from exporters.catalogue.brokers import ADMIN_METRICS, BROKER_METRICS, DISK_METRICS, POLL_METRICS
from exporters.catalogue.groups import (
    DEAD_GROUPS,
    FOLDED_GROUPS,
    GROUP_HEALTH_METRICS,
    GROUP_METRICS,
    LIFECYCLE_METRICS,
    MAINTENANCE,
    NOT_ALERTED,
    OWNERS,
    TARGETS,
)
from exporters.catalogue.monitor import EXPIRY_METRICS, READINESS_METRICS, STREAM_METRICS
from exporters.catalogue.partitions import LOG_ENDS, PARTITION_HEALTH_METRICS, PARTITION_METRICS, TOPICS
from exporters.catalogue.service import (
    OTLP_METRICS,
    RESOURCE_METRICS,
    SERIES_DROPPED,
    SERVICE_METRICS,
    WEBHOOK_METRICS,
)
from exporters.catalogue.topics import REPLICA_METRICS, SHARE_METRICS, TOPIC_METRICS
from exporters.catalogue.verdicts import (
    COMMON_CAUSE_METRICS,
    FINDINGS,
    PARTITION_VERDICTS,
    SUMMARY,
    VERDICT_CHANGE_METRICS,
    VERDICT_GROUPS,
)

GROUP_VERDICT_METRICS: Final = (
    GROUP_HEALTH_METRICS
    + PARTITION_VERDICTS.metrics
    + TOPICS.metrics
    + FINDINGS.metrics
    + VERDICT_GROUPS.metrics
    + SUMMARY.metrics
)
OWNER_METRICS: Final = OWNERS.metrics + MAINTENANCE.metrics + NOT_ALERTED.metrics

SNAPSHOT_METRICS: Final = (
    PARTITION_METRICS
    + PARTITION_HEALTH_METRICS
    + GROUP_METRICS
    + GROUP_VERDICT_METRICS
    + COMMON_CAUSE_METRICS
    + LIFECYCLE_METRICS
    + DEAD_GROUPS.metrics
    + TARGETS.metrics
    + OWNER_METRICS
    + FOLDED_GROUPS.metrics
    + LOG_ENDS.metrics
)
"""Metrics rendered once per snapshot."""

SELF_METRICS: Final = (
    READINESS_METRICS
    + SERIES_DROPPED.metrics
    + VERDICT_CHANGE_METRICS
    + EXPIRY_METRICS
    + STREAM_METRICS
    + RESOURCE_METRICS
    + SERVICE_METRICS
    + WEBHOOK_METRICS
    + OTLP_METRICS
)
"""Metrics rendered at each scrape, also before the first snapshot."""

CLUSTER_METRICS: Final = (
    BROKER_METRICS + TOPIC_METRICS + REPLICA_METRICS + ADMIN_METRICS + DISK_METRICS + SHARE_METRICS + POLL_METRICS
)
"""Metrics rendered once per poll of the cluster."""

METRICS: Final = SNAPSHOT_METRICS + CLUSTER_METRICS + SELF_METRICS

CHAPTERS: Final = (
    ("Per group, topic and partition", PARTITION_METRICS),
    ("Time lag and verdicts per partition", PARTITION_HEALTH_METRICS),
    ("Per group", GROUP_METRICS),
    ("Verdicts and time lag per group", GROUP_VERDICT_METRICS),
    ("Common causes of unhealthy groups", COMMON_CAUSE_METRICS),
    ("Lifecycle of a group", LIFECYCLE_METRICS),
    ("Dead groups", DEAD_GROUPS.metrics),
    ("Targets of groups", TARGETS.metrics),
    ("Owners, maintenance windows and silences of groups, and old faults", OWNER_METRICS),
    ("Folded groups", FOLDED_GROUPS.metrics),
    ("Offsets per partition of topics that groups read", LOG_ENDS.metrics),
    ("Brokers, controller and settings", BROKER_METRICS),
    ("Per topic of the cluster", TOPIC_METRICS),
    ("Per partition of the cluster", REPLICA_METRICS),
    ("Metadata quorum, reassignments, features and quotas", ADMIN_METRICS),
    ("Sizes on disk", DISK_METRICS),
    ("Progress of share groups", SHARE_METRICS),
    ("The offsets topic on disk", POLL_METRICS),
    ("Readiness of the monitor", READINESS_METRICS),
    ("Series left out of `/metrics`", SERIES_DROPPED.metrics),
    ("Verdict changes", VERDICT_CHANGE_METRICS),
    ("Deaths of groups and expiry of offsets", EXPIRY_METRICS),
    ("The stream that reads `__consumer_offsets`", STREAM_METRICS),
    ("Memory, CPU, heap, descriptors and checkpoint of the monitor", RESOURCE_METRICS),
    ("HTTP server and files of the monitor", SERVICE_METRICS),
    ("Webhook of verdict changes", WEBHOOK_METRICS),
    ("Export by OTLP", OTLP_METRICS),
)
"""The metrics by subject, with headings."""
