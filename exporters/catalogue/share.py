"""The tables about the progress of share groups (KIP-932), with their columns and metrics."""

from typing import Final

from exporters.catalogue.metric import POLL, Source
from exporters.catalogue.table import (
    EXPERIMENTAL,
    GROUP,
    INT32,
    INT64,
    PARTITION,
    STANDARD,
    TIMESTAMP,
    TOPIC,
    Column,
    Exported,
    Table,
)

_UNKNOWN: Final = "unknown: needs Read on __share_group_state; or the group is no share group"
_NOT_STARTED: Final = f"{_UNKNOWN}; or no delivery in the partition has ended yet"

SHARE_PARTITIONS: Final = Table(
    Source("share_partitions", POLL),
    (GROUP, TOPIC, PARTITION),
    (
        Column("end", INT64, "The high watermark of the partition."),
        Column("start_offset", INT64, "Start offset: all records before it are finished.",
               Exported("lagwarden_share_partition_start_offset", STANDARD), null=_NOT_STARTED, stability=EXPERIMENTAL),
        Column("lag", INT64, "Records that are neither acknowledged nor archived.",
               Exported("lagwarden_share_partition_lag", STANDARD), stability=EXPERIMENTAL,
               null=f"{_NOT_STARTED}; or its end is unknown or before the start offset, or its state was written by"
               " Kafka before 4.2"),
        Column("finished", INT64, "Records after the start offset that are acknowledged or archived.",
               Exported("lagwarden_share_partition_finished_records"), stability=EXPERIMENTAL,
               null=f"{_NOT_STARTED}; or its state was written by Kafka before 4.2"),
        Column("returned", INT64, "Records that came back and wait for another delivery.",
               Exported("lagwarden_share_partition_returned_records"), stability=EXPERIMENTAL,
               null=f"{_UNKNOWN}; or the group has more batches of such records than are kept"),
        Column("most_deliveries", INT32, "Highest number of deliveries of a record that came back.",
               Exported("lagwarden_share_partition_most_deliveries"), stability=EXPERIMENTAL,
               null=f"{_UNKNOWN}; or no record waits for another delivery"),
        Column("acknowledged", INT64, "Records acknowledged since the process started.",
               Exported("lagwarden_share_partition_acknowledged_total", absent=_UNKNOWN),
               null=None, stability=EXPERIMENTAL),
        Column("archived", INT64, "Records rejected, or delivered as often as allowed, since the process started.",
               Exported("lagwarden_share_partition_archived_total", STANDARD, absent=_UNKNOWN), null=None,
               stability=EXPERIMENTAL),
        Column("returns", INT64, "Deliveries after which the record was not finished, since the process started.",
               Exported("lagwarden_share_partition_returns_total", absent=_UNKNOWN), null=None, stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per partition of a share group, from `__share_group_state`."""

SHARE_GROUPS: Final = Table(
    Source("share_groups", POLL),
    (GROUP,),
    (
        Column("partitions", INT32, "Partitions of the share group.", null="not all of them are kept"),
        Column("lag", INT64, "Unfinished records in all partitions (kafka-share-groups --describe --offsets).",
               Exported("lagwarden_share_group_lag", STANDARD),
               null=f"{_UNKNOWN}; or the lag of one of its partitions is unknown", stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per share group."""

SHARE_READS: Final = Table(
    Source("share_reads", POLL),
    (),
    (Column("read_time", TIMESTAMP, "When the numbers of share groups were read.",
            Exported("lagwarden_share_groups_timestamp_seconds"), stability=EXPERIMENTAL,
            null="no share group, no Read on __share_group_state, or no successful read"),),
)  # fmt: skip
"""One row: when the numbers in SHARE_PARTITIONS and SHARE_GROUPS were read; no row if there are none."""

SHARE_METRICS: Final = SHARE_READS.metrics + SHARE_GROUPS.metrics + SHARE_PARTITIONS.metrics
