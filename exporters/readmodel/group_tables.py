"""The Arrow schemas of the tables that a snapshot holds. `exporters.catalogue` declares their columns."""

from __future__ import annotations

from typing import Final

from exporters.catalogue import groups, partitions, verdicts

DEAD_GROUPS: Final = groups.DEAD_GROUPS.schema
FOLDED_GROUPS: Final = groups.FOLDED_GROUPS.schema
GROUPS: Final = groups.GROUPS.schema
MAINTENANCE: Final = groups.MAINTENANCE.schema
OWNERS: Final = groups.OWNERS.schema
TARGETS: Final = groups.TARGETS.schema
TRANSITIONS: Final = groups.TRANSITIONS.schema
UNKNOWN_LAGS: Final = groups.UNKNOWN_LAGS.schema
UNPAGED: Final = groups.UNPAGED.schema
COMPATIBILITY: Final = partitions.COMPATIBILITY.schema
LOG_ENDS: Final = partitions.LOG_ENDS.schema
PARTITIONS: Final = partitions.PARTITIONS.schema
TOPICS: Final = partitions.TOPICS.schema
COMMON_CAUSES: Final = verdicts.COMMON_CAUSES.schema
COVERED_GROUPS: Final = verdicts.COVERED_GROUPS.schema
FINDINGS: Final = verdicts.FINDINGS.schema
SUMMARY: Final = verdicts.SUMMARY.schema
VERDICT_GROUPS: Final = verdicts.VERDICT_GROUPS.schema
BURROW_COMMIT: Final = partitions.BURROW_COMMIT
