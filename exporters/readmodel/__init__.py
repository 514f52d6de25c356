"""The read model: the state of all groups at one time, as columns. The only interface from the job to its readers.

A `Snapshot` is a frozen set of Arrow tables with the schemas below. Rules for every table:

- *Unknown is null.* An unknown number is a null in its column, never 0, -1 or NaN. Where a reader needs the cause, a
  reason column has it.
- Times are `timestamp("ms")` in UTC. Durations and ages are not stored: readers subtract from their own clock.
- Names (groups, topics, states) are dictionary-encoded strings: thousands of rows share few names.
- A table is sorted by its label columns, so that two snapshots can be compared line by line.

`MonitorStatus` is the health of the monitor itself, readable before the first snapshot and while Kafka is unreachable.
"""

from __future__ import annotations

from exporters.catalogue.table import NAME, TIMESTAMP
from exporters.readmodel.group_detail import (
    FindingDetail,
    GroupDetail,
    MemberDetail,
    QuotaDetail,
    SharePartitionDetail,
    TransitionDetail,
    VerdictChange,
)
from exporters.readmodel.monitor_status import (
    Histogram,
    MonitorStatus,
    OtherInstance,
)
from exporters.readmodel.snapshot import (
    Snapshot,
)
from exporters.readmodel.tables import (
    BURROW_COMMIT,
    COMMON_CAUSES,
    COMPATIBILITY,
    COVERED_GROUPS,
    DEAD_GROUPS,
    DEATHS,
    DECODE_ERRORS,
    DESCRIPTORS,
    EXPIRY_CHECKS,
    FILE_FAILURES,
    FINDINGS,
    FOLDED_GROUPS,
    GROUPS,
    HTTP_REFUSALS,
    INTERNAL_ERRORS,
    LOG_ENDS,
    MAINTENANCE,
    OFFSETS_HELD_BACK,
    OFFSETS_PARTITIONS,
    OFFSETS_SKIPPED,
    OFFSETS_UNAVAILABLE,
    OFFSETS_UNAVAILABLE_GROUPS,
    OTLP_FAILURES,
    OWNERS,
    PARTITIONS,
    PROCESSES,
    QUERY_PHASES,
    RECORDS_READ,
    SERIES_DROPPED,
    SUMMARY,
    TARGETS,
    TOPICS,
    TRANSITIONS,
    UNKNOWN_LAGS,
    UNPAGED,
    UNREADABLE_TAILS,
    VERDICT_CHANGES,
    VERDICT_GROUPS,
    WEBHOOK_DROPS,
    WEBHOOK_FAILURES,
    rows_table,
)

__all__ = [
    "BURROW_COMMIT",
    "COMMON_CAUSES",
    "COMPATIBILITY",
    "COVERED_GROUPS",
    "DEAD_GROUPS",
    "DEATHS",
    "DECODE_ERRORS",
    "DESCRIPTORS",
    "EXPIRY_CHECKS",
    "FILE_FAILURES",
    "FINDINGS",
    "FOLDED_GROUPS",
    "GROUPS",
    "HTTP_REFUSALS",
    "INTERNAL_ERRORS",
    "LOG_ENDS",
    "MAINTENANCE",
    "NAME",
    "OFFSETS_HELD_BACK",
    "OFFSETS_PARTITIONS",
    "OFFSETS_SKIPPED",
    "OFFSETS_UNAVAILABLE",
    "OFFSETS_UNAVAILABLE_GROUPS",
    "OTLP_FAILURES",
    "OWNERS",
    "PARTITIONS",
    "PROCESSES",
    "QUERY_PHASES",
    "RECORDS_READ",
    "SERIES_DROPPED",
    "SUMMARY",
    "TARGETS",
    "TIMESTAMP",
    "TOPICS",
    "TRANSITIONS",
    "UNKNOWN_LAGS",
    "UNPAGED",
    "UNREADABLE_TAILS",
    "VERDICT_CHANGES",
    "VERDICT_GROUPS",
    "WEBHOOK_DROPS",
    "WEBHOOK_FAILURES",
    "FindingDetail",
    "GroupDetail",
    "Histogram",
    "MemberDetail",
    "MonitorStatus",
    "OtherInstance",
    "QuotaDetail",
    "SharePartitionDetail",
    "Snapshot",
    "TransitionDetail",
    "VerdictChange",
    "rows_table",
]
