"""The tables about the stream that reads `__consumer_offsets`, and the readiness of the monitor, with their metrics.

Rendered at each scrape, also before the first snapshot. Columns of STATUS are paths of fields from `MonitorStatus` on.
"""

from typing import Final

from exporters.catalogue.metric import SCRAPE, Source, ValueConversion
from exporters.catalogue.table import EXPERIMENTAL, REASON, Column, Exported, Table

STATUS: Final = Table(Source("status", SCRAPE), (), ())

_PARTITION: Final = Column("offsets_partition", "int32", "The number of the partition of `__consumer_offsets`.")
_RECORD_TYPE: Final = Column("record_type", "name", "The type of the records.")
_NO_ENDS: Final = "the cluster returned no offsets for the partition"
_NO_BATCH: Final = "before the first batch"
_NO_SPEED: Final = "before the first batch, or the catch-up is over"
_KNOWN: Final = "the end is known"

READINESS_METRICS: Final = STATUS.metrics_of((
    Column("version", "name", "The version of lagwarden.", Exported("lagwarden_build_info")),
    Column("cluster_id", "name", "The id of the monitored Kafka cluster.",
           Exported("lagwarden_cluster_info"), null="before Kafka's first response"),
    Column("part", "name", "Which of several instances this is (job.instance).", Exported("lagwarden_instance_info"),
           stability=EXPERIMENTAL),
    Column("instances", "int64", "Configured number of instances that share the groups.",
           Exported("lagwarden_instances"), stability=EXPERIMENTAL),
    Column("phase", "name", "Phase: connecting, waiting for topic, starting, catching up, running, stopping or failed.",
           Exported("lagwarden_phase_info")),
    Column("ready", "bool", "1 while the values are complete and up to date, else 0 (/readyz).",
           Exported("lagwarden_ready")),
    Column("kafka_reachable", "bool", "1 while Kafka is reachable, else 0.", Exported("lagwarden_kafka_reachable")),
    Column("tick.taken_at", "timestamp", "When the end offsets of the snapshot had been read.",
           Exported("lagwarden_snapshot_timestamp_seconds"), null="before the first snapshot"),
    Column("tick.taken_at", "timestamp", "Age of the snapshot at the time of the scrape.",
           Exported("lagwarden_snapshot_age_seconds", conversion=ValueConversion.AGE),
           null="before the first snapshot"),
    Column("tick.series", "int64", "Series about groups in the snapshot that is served.", Exported("lagwarden_series")),
    Column("catch_up.ratio", "float", "Share of the initial catch-up that has been read.",
           Exported("lagwarden_catch_up_ratio"), null="unknown"),
    Column("catch_up.rate", "float", "Records read per second during the initial catch-up.",
           Exported("lagwarden_catch_up_records_per_second"), null=_NO_SPEED, stability=EXPERIMENTAL),
    Column("catch_up.seconds_left", "float", "Estimated time until the initial catch-up ends.",
           Exported("lagwarden_catch_up_remaining_seconds"), null=_NO_SPEED, stability=EXPERIMENTAL),
))  # fmt: skip
"""Metrics of readiness and freshness."""

RECORDS_READ: Final = Table(
    Source("records.read", SCRAPE),
    (_RECORD_TYPE, Column("tracking", "name", "tracked, known (not tracked yet) or unknown.")),
    (Column("records", "int64", "Records of __consumer_offsets read, by type; tracking: tracked, known or unknown.",
            Exported("lagwarden_records_read_total"), null="there is none"),),
)  # fmt: skip
"""Records read since the process started, by type."""

DECODE_ERRORS: Final = Table(
    Source("records.errors", SCRAPE),
    (_RECORD_TYPE, Column("version", "name", "The version of the value."), REASON),
    (Column("records", "int64",
            "Records that could not be decoded.", Exported("lagwarden_decode_errors_total"), null="there is none"),),
)  # fmt: skip
"""Records that could not be decoded since the process started, by record type, version of the value and reason."""

OFFSETS_SKIPPED: Final = Table(
    Source("records.skipped", SCRAPE),
    (REASON,),
    (Column("offsets", "int64", "Offsets of __consumer_offsets that were not read: deleted, truncated or damaged.",
            Exported("lagwarden_offsets_skipped_total"), null="there is none"),),
)  # fmt: skip
"""Offsets of the offsets topic that were passed without being read since the process started, by reason."""

INTERNAL_ERRORS: Final = Table(
    Source("internal_errors", SCRAPE),
    (Column("part", "name", "The part that failed."),),
    (Column("errors", "int64", "Internal errors: group (evaluation), ending (its cause) or answer (HTTP).",
            Exported("lagwarden_internal_errors_total"), stability=EXPERIMENTAL),),
)  # fmt: skip
"""Internal errors of lagwarden since the process started, by the part that failed."""

OFFSETS_PARTITIONS: Final = Table(
    Source("tick.offsets_partitions", SCRAPE),
    (_PARTITION,),
    (
        Column("position", "int64", "The next offset that the monitor will read.",
               Exported("lagwarden_offsets_partition_position"), null="not known yet"),
        Column("high_watermark", "int64", "High watermark of the offsets partition.",
               Exported("lagwarden_offsets_partition_high_watermark"), null=_NO_ENDS),
        Column("last_stable_offset", "int64", "Last stable offset: the end of the readable records.",
               Exported("lagwarden_offsets_partition_last_stable_offset"), null=_NO_ENDS),
        Column("distance", "int64", "Offsets that are readable, but not read yet.",
               Exported("lagwarden_offsets_partition_distance"), null="an offset is unknown"),
        Column("stable_gap", "int64", "Offsets hidden behind an open transaction.",
               Exported("lagwarden_offsets_partition_stable_gap"), null=_NO_ENDS),
        Column("stable_gap_since", "timestamp", "Since when an open transaction holds the last stable offset.",
               Exported("lagwarden_offsets_partition_stable_gap_since_timestamp_seconds"), null="there is no gap"),
    ),
)  # fmt: skip
"""One row per partition of `__consumer_offsets`."""

OFFSETS_UNAVAILABLE: Final = Table(
    Source("tick.offsets_unavailable", SCRAPE),
    (_PARTITION, REASON),
    (
        Column("since", "timestamp", "Since when the end of the offsets partition is unknown.",
               Exported("lagwarden_offsets_partition_unavailable_since_timestamp_seconds"), null=_KNOWN),
        Column("groups", "int64", "Groups with commits in an offsets partition whose end is unknown.",
               Exported("lagwarden_offsets_partition_hidden_groups"), null=_KNOWN),
    ),
)  # fmt: skip
"""One row per partition of `__consumer_offsets` without a known end offset, with the reason, as `no_leader`."""

OFFSETS_UNAVAILABLE_GROUPS: Final = Table(
    Source("tick.offsets_unavailable_groups", SCRAPE),
    (_PARTITION, Column("group", "name", "The first ten groups in an offsets partition whose end is unknown.",
    Exported("lagwarden_offsets_partition_hidden_group_info", absent=_KNOWN),
     stability=EXPERIMENTAL)),
    (),
)  # fmt: skip
"""The first ten groups, by name, of each row of OFFSETS_UNAVAILABLE."""

OFFSETS_HELD_BACK: Final = Table(
    Source("tick.offsets_held_back", SCRAPE),
    (_PARTITION.with_metric(Exported(
        "lagwarden_offsets_partition_held_back_info",
        help="The open transaction that blocks the offsets partition.",
        absent="there is none",
        also=("producer_id", "transactional_id", "hanging")), EXPERIMENTAL),),
    (
        Column("since", "timestamp", "When the transaction began; if unknown, when the gap was first seen."),
        Column("producer_id", "int64", "The producer of the oldest open transaction."),
        Column("transactional_id", "name", "Its transactional id."),
        # KIP-664.
        Column("hanging", "bool", "True if its coordinator does not know the transaction, so that it will never end."),
        Column("unread", "int64", "Hidden offsets that the last read did not reach.",
               Exported("lagwarden_offsets_partition_hidden_unread"), null="there is none", stability=EXPERIMENTAL),
    ),
)  # fmt: skip
"""One row per partition of `__consumer_offsets` that an open transaction has blocked for longer than usual."""

DEATHS: Final = Table(
    Source("tick.terminations.deaths", SCRAPE),
    (Column("cause", "name", "The cause."),),
    (Column("groups", "int64", "Groups that died: expired, deleted, topic deleted or unknown.",
            Exported("lagwarden_group_deaths_total"), null="there is none"),),
)  # fmt: skip
"""Groups that died since the process was ready, by cause. Deaths replayed by the initial catch-up are not counted."""

EXPIRY_CHECKS: Final = Table(
    Source("tick.terminations.checks", SCRAPE),
    (Column("outcome", "name", "The outcome."),),
    (Column("offsets", "int64", "Predicted expiries by outcome: kept, early, late, missing or deleted.",
            Exported("lagwarden_expiry_checks_total"), null="there is none", stability=EXPERIMENTAL),),
)  # fmt: skip
"""Predicted offset expiries compared with the tombstones, since the process was ready: `kept` (the tombstone came in
time), `early` (shortly before), `deleted` (long before: an administrator deleted the offset), `late`, `missing` (no
tombstone long after: the broker does not expire offsets, or the log cleaner or the reader has stopped)."""

_BATCHES: Final = STATUS.metrics_of((
    Column("query.batches", "int64", "Micro-batches finished since the process started.",
           Exported("lagwarden_batches_total")),
    Column("query.last_seconds", "float", "Duration of the last finished micro-batch.",
           Exported("lagwarden_last_batch_duration_seconds"), null=_NO_BATCH),
    Column("query.last_at", "timestamp", "When the last micro-batch finished.",
           Exported("lagwarden_last_batch_timestamp_seconds"), null=_NO_BATCH),
    Column("resyncs", "int64", "Times that the state was set aside and the topic read again.",
           Exported("lagwarden_resyncs_total")),
))  # fmt: skip
_QUERY: Final = STATUS.metrics_of((
    Column("query.last.input_rows", "int64", "Rows of the last micro-batch: one per touched shard and task.",
           Exported("lagwarden_query_input_rows"), null=_NO_BATCH, stability=EXPERIMENTAL),
    Column("query.last.input_rate", "float", "Spark's inputRowsPerSecond of the last micro-batch.",
           Exported("lagwarden_query_input_rows_per_second"), null="Spark does not know it", stability=EXPERIMENTAL),
    Column("query.last.processed_rate", "float", "Spark's processedRowsPerSecond of the last micro-batch.",
           Exported("lagwarden_query_processed_rows_per_second"), null="Spark does not know it",
           stability=EXPERIMENTAL),
    Column("query.last.state_rows", "int64", "Rows in the state stores of the query.",
           Exported("lagwarden_query_state_rows"), null=_NO_BATCH, stability=EXPERIMENTAL),
    Column("query.last.state_bytes", "int64", "Memory that the state stores of the query use.",
           Exported("lagwarden_query_state_bytes"), null=_NO_BATCH, stability=EXPERIMENTAL),
))  # fmt: skip
QUERY_PHASES: Final = Table(
    Source("query.last.phases", SCRAPE),
    (Column("phase", "name", "The phase."),),
    (Column("seconds", "float",
            "Time of the last micro-batch by Spark's phases; add_batch is reading, folding and state.",
            Exported("lagwarden_query_phase_duration_seconds"), null="there is none", stability=EXPERIMENTAL),),
)  # fmt: skip
"""The phases of the last micro-batch."""

_NOT_EVALUATED: Final = STATUS.metrics_of((
    Column("tick.groups_not_evaluated", "int64", "Groups that an internal error makes unknown (internal_error).",
           Exported("lagwarden_groups_not_evaluated")),
))  # fmt: skip
STREAM_METRICS: Final = (
    *_BATCHES, *_QUERY, *QUERY_PHASES.metrics, *RECORDS_READ.metrics, *DECODE_ERRORS.metrics, *OFFSETS_SKIPPED.metrics,
    *_NOT_EVALUATED, *INTERNAL_ERRORS.metrics, *OFFSETS_PARTITIONS.metrics, *OFFSETS_UNAVAILABLE.metrics,
    *OFFSETS_UNAVAILABLE_GROUPS.metrics, *OFFSETS_HELD_BACK.metrics,
)  # fmt: skip
"""Metrics of the stream that reads `__consumer_offsets`."""

_RETENTION: Final = STATUS.metrics_of((
    Column("tick.offsets_retention_source", "name",
           "Source of the offsets retention: broker, configuration or unknown.",
           Exported("lagwarden_offsets_retention_info")),
    Column("tick.offsets_retention_seconds", "float", "How long brokers keep the offsets of an inactive group.",
           Exported("lagwarden_offsets_retention_seconds"), null="unknown"),
    Column("tick.offsets_retention_check_seconds", "float", "How often brokers check for expired offsets.",
           Exported("lagwarden_offsets_retention_check_interval_seconds"), null="not known"),
))  # fmt: skip
_EXPIRY_ERROR: Final = STATUS.metrics_of((
    Column("tick.terminations.errors", "float", "Time from the predicted to the actual expiry of offsets.",
           Exported("lagwarden_expiry_error_seconds", conversion=ValueConversion.BUCKETS), null="not known yet",
           stability=EXPERIMENTAL),
))  # fmt: skip
EXPIRY_METRICS: Final = _RETENTION + DEATHS.metrics + EXPIRY_CHECKS.metrics + _EXPIRY_ERROR
"""Metrics of offsets retention, of deaths of groups, and of the accuracy of expiry predictions."""
