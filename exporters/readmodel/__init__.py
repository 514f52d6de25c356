"""The read model: the state of all groups at one time, as columns. The only interface from the job to its readers.

A `Snapshot` is a frozen set of Arrow tables with the schemas below. Rules for every table:

- *Unknown is null.* An unknown number is a null in its column, never 0, -1 or NaN. Where a reader needs the cause, a
  reason column has it.
- Times are `timestamp("ms")` in UTC. Durations and ages are not stored: readers subtract from their own clock.
- Names (groups, topics, states) are dictionary-encoded strings: thousands of rows share few names.
- A table is sorted by its label columns, so that two snapshots can be compared line by line.

`MonitorStatus` is the health of the monitor itself, readable before the first snapshot and while Kafka is unreachable.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from exporters.catalogue import groups, monitor, partitions, service, verdicts
from exporters.catalogue.table import NAME as NAME
from exporters.catalogue.table import TIMESTAMP as TIMESTAMP
from exporters.readmodel.group_detail import FindingDetail as FindingDetail
from exporters.readmodel.group_detail import GroupDetail as GroupDetail
from exporters.readmodel.group_detail import MemberDetail as MemberDetail
from exporters.readmodel.group_detail import QuotaDetail as QuotaDetail
from exporters.readmodel.group_detail import SharePartitionDetail as SharePartitionDetail
from exporters.readmodel.group_detail import TransitionDetail as TransitionDetail
from exporters.readmodel.group_detail import VerdictChange as VerdictChange
from exporters.readmodel.monitor_status import BatchProgress as BatchProgress
from exporters.readmodel.monitor_status import CatchUp as CatchUp
from exporters.readmodel.monitor_status import CheckpointSpace as CheckpointSpace
from exporters.readmodel.monitor_status import ExecutorCount as ExecutorCount
from exporters.readmodel.monitor_status import HeapUsage as HeapUsage
from exporters.readmodel.monitor_status import Histogram as Histogram
from exporters.readmodel.monitor_status import MonitorStatus as MonitorStatus
from exporters.readmodel.monitor_status import OtherInstance as OtherInstance
from exporters.readmodel.monitor_status import OtlpStatus as OtlpStatus
from exporters.readmodel.monitor_status import QueryStatus as QueryStatus
from exporters.readmodel.monitor_status import RecordCounts as RecordCounts
from exporters.readmodel.monitor_status import Snapshot as Snapshot
from exporters.readmodel.monitor_status import TerminationCounts as TerminationCounts
from exporters.readmodel.monitor_status import TickStatus as TickStatus
from exporters.readmodel.monitor_status import WebhookStatus as WebhookStatus

BURROW_COMMIT: Final = partitions.BURROW_COMMIT
COMMON_CAUSES: Final = verdicts.COMMON_CAUSES.schema
COMPATIBILITY: Final = partitions.COMPATIBILITY.schema
COVERED_GROUPS: Final = verdicts.COVERED_GROUPS.schema
DEATHS: Final = monitor.DEATHS.schema
DECODE_ERRORS: Final = monitor.DECODE_ERRORS.schema
DESCRIPTORS: Final = service.DESCRIPTORS.schema
EXPIRY_CHECKS: Final = monitor.EXPIRY_CHECKS.schema
FILE_FAILURES: Final = service.FILE_FAILURES.schema
FINDINGS: Final = verdicts.FINDINGS.schema
FOLDED_GROUPS: Final = groups.FOLDED_GROUPS.schema
GROUPS: Final = groups.GROUPS.schema
INTERNAL_ERRORS: Final = monitor.INTERNAL_ERRORS.schema
LOG_ENDS: Final = partitions.LOG_ENDS.schema
OFFSETS_HELD_BACK: Final = monitor.OFFSETS_HELD_BACK.schema
OFFSETS_PARTITIONS: Final = monitor.OFFSETS_PARTITIONS.schema
OFFSETS_SKIPPED: Final = monitor.OFFSETS_SKIPPED.schema
OFFSETS_UNAVAILABLE: Final = monitor.OFFSETS_UNAVAILABLE.schema
OFFSETS_UNAVAILABLE_GROUPS: Final = monitor.OFFSETS_UNAVAILABLE_GROUPS.schema
OWNERS: Final = groups.OWNERS.schema
PARTITIONS: Final = partitions.PARTITIONS.schema
PROCESSES: Final = service.PROCESSES.schema
QUERY_PHASES: Final = monitor.QUERY_PHASES.schema
RECORDS_READ: Final = monitor.RECORDS_READ.schema
TOPICS: Final = partitions.TOPICS.schema
TRANSITIONS: Final = groups.TRANSITIONS.schema
UNKNOWN_LAGS: Final = groups.UNKNOWN_LAGS.schema
UNREADABLE_TAILS: Final = verdicts.UNREADABLE_TAILS.schema
VERDICT_CHANGES: Final = verdicts.VERDICT_CHANGES.schema
VERDICT_GROUPS: Final = verdicts.VERDICT_GROUPS.schema


def columns_table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """Return columns by name as a table; one that is not among them is null."""
    rows = len(next(iter(columns.values())))
    arrays = [columns[each.name] if each.name in columns else pa.nulls(rows, each.type) for each in schema]
    return pa.table(arrays, schema=schema)


def rows_table(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return rows, whose values are in the order of the schema, as a table; names are dictionary-encoded."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [
        pa.array(values, pa.string()).dictionary_encode().cast(NAME)
        if field.type == NAME
        else pa.array(values, field.type)
        for values, field in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)
