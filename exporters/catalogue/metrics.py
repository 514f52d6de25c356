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

import itertools
from typing import Final

from exporters.catalogue import brokers, groups, monitor, partitions, service, topics, verdicts

GROUP_VERDICT_METRICS: Final = (
    groups.GROUP_HEALTH_METRICS
    + verdicts.PARTITION_VERDICTS.metrics
    + partitions.TOPICS.metrics
    + verdicts.FINDINGS.metrics
    + verdicts.VERDICT_GROUPS.metrics
    + verdicts.SUMMARY.metrics
)
OWNER_METRICS: Final = groups.OWNERS.metrics + groups.MAINTENANCE.metrics + groups.NOT_ALERTED.metrics

_SNAPSHOT: Final = (
    ("Per group, topic and partition", partitions.PARTITION_METRICS),
    ("Time lag and verdicts per partition", partitions.PARTITION_HEALTH_METRICS),
    ("Per group", groups.GROUP_METRICS),
    ("Verdicts and time lag per group", GROUP_VERDICT_METRICS),
    ("Common causes of unhealthy groups", verdicts.COMMON_CAUSE_METRICS),
    ("Lifecycle of a group", groups.LIFECYCLE_METRICS),
    ("Dead groups", groups.DEAD_GROUPS.metrics),
    ("Targets of groups", groups.TARGETS.metrics),
    ("Owners, maintenance windows and silences of groups, and old faults", OWNER_METRICS),
    ("Folded groups", groups.FOLDED_GROUPS.metrics),
    ("Offsets per partition of topics that groups read", partitions.LOG_ENDS.metrics),
)
_CLUSTER: Final = (
    ("Brokers, controller and settings", brokers.BROKER_METRICS),
    ("Per topic of the cluster", topics.TOPIC_METRICS),
    ("Per partition of the cluster", topics.REPLICA_METRICS),
    ("Metadata quorum, reassignments, features and quotas", brokers.ADMIN_METRICS),
    ("Sizes on disk", brokers.DISK_METRICS),
    ("Progress of share groups", topics.SHARE_METRICS),
    ("The offsets topic on disk", brokers.POLL_METRICS),
)
_SELF: Final = (
    ("Readiness of the monitor", monitor.READINESS_METRICS),
    ("Series left out of `/metrics`", service.SERIES_DROPPED.metrics),
    ("Verdict changes", verdicts.VERDICT_CHANGE_METRICS),
    ("Deaths of groups and expiry of offsets", monitor.EXPIRY_METRICS),
    ("The stream that reads `__consumer_offsets`", monitor.STREAM_METRICS),
    ("Memory, CPU, heap, descriptors and checkpoint of the monitor", service.RESOURCE_METRICS),
    ("HTTP server and files of the monitor", service.SERVICE_METRICS),
    ("Webhook of verdict changes", service.WEBHOOK_METRICS),
    ("Export by OTLP", service.OTLP_METRICS),
)
SNAPSHOT_METRICS: Final = tuple(itertools.chain.from_iterable(metrics for _, metrics in _SNAPSHOT))
"""Metrics rendered once per snapshot."""
CLUSTER_METRICS: Final = tuple(itertools.chain.from_iterable(metrics for _, metrics in _CLUSTER))
"""Metrics rendered once per poll of the cluster."""
SELF_METRICS: Final = tuple(itertools.chain.from_iterable(metrics for _, metrics in _SELF))
"""Metrics rendered at each scrape, also before the first snapshot."""
METRICS: Final = SNAPSHOT_METRICS + CLUSTER_METRICS + SELF_METRICS
CHAPTERS: Final = _SNAPSHOT + _CLUSTER + _SELF
"""The metrics by subject, with headings."""
