"""The Monitor dashboard: whether lagwarden itself is fresh, keeps up, understands what it reads, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.dashboards.parts import Query, Unit, board, figure, graph

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_BAD_IF_NONE: Final = ("red", ((1.0, "green"),))


def monitor() -> Dashboard:
    """Return the dashboard."""
    return board(
        "Monitor",
        "lagwarden itself: freshness, catch-up, batches, decode errors, the offsets topic, memory and series.",
        {
            "Freshness": [
                figure(
                    "Ready",
                    "1 while the data about groups is complete and fresh. Otherwise /readyz has the reasons.",
                    Unit.COUNT,
                    Query("lagwarden_ready{SCOPE}", "{{instance}} {{cluster}}"),
                    colours=_BAD_IF_NONE,
                ),
                figure(
                    "Phase",
                    "The phase of the monitor.",
                    Unit.COUNT,
                    Query("lagwarden_phase_info{SCOPE}", "{{phase}} {{instance}} {{cluster}}"),
                    named=True,
                ),
                figure(
                    "Kafka reachable",
                    "1 while the brokers answer.",
                    Unit.COUNT,
                    Query("lagwarden_kafka_reachable{SCOPE}", "{{instance}} {{cluster}}"),
                    colours=_BAD_IF_NONE,
                ),
                figure(
                    "Up for",
                    "Time since the process started.",
                    Unit.SECONDS,
                    Query("time() - process_start_time_seconds{SCOPE}", "{{instance}} {{cluster}}"),
                ),
                figure(
                    "Version",
                    "The running version.",
                    Unit.COUNT,
                    Query("count by (version) (lagwarden_build_info{SCOPE})", "{{version}}"),
                    named=True,
                ),
                figure(
                    "Caught up",
                    "Share of the records present at start that is read.",
                    Unit.RATIO,
                    Query("lagwarden_catch_up_ratio{SCOPE}", "{{instance}} {{cluster}}"),
                ),
                graph(
                    "Snapshot age",
                    "Age of the served snapshot. Every tick replaces it.",
                    Unit.SECONDS,
                    Query("time() - lagwarden_snapshot_timestamp_seconds{SCOPE}", "{{instance}} {{cluster}}"),
                ),
                graph(
                    "Catch-up",
                    "Remaining time and speed of the catch-up. Absent when it is complete.",
                    Unit.COUNT,
                    Query(
                        "lagwarden_catch_up_remaining_seconds{SCOPE}",
                        "time left {{instance}} {{cluster}}",
                        Unit.SECONDS,
                    ),
                    Query(
                        "lagwarden_catch_up_records_per_second{SCOPE}", "records per second {{instance}} {{cluster}}"
                    ),
                ),
            ],
            "Reading": [
                graph(
                    "Batch duration",
                    "Duration of the last micro-batch: reading, state store and checkpoint.",
                    Unit.SECONDS,
                    Query("lagwarden_last_batch_duration_seconds{SCOPE}", "{{instance}} {{cluster}}"),
                ),
                graph(
                    "Phases of a batch",
                    "Time of the last micro-batch by phase, as Spark reports it; add_batch reads and folds.",
                    Unit.SECONDS,
                    Query(
                        "max by (phase, cluster)"
                        ' (lagwarden_query_phase_duration_seconds{SCOPE, phase!="trigger_execution"})',
                        "{{phase}} {{cluster}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Rows of a batch",
                    "Rows that the source gave to the last micro-batch, one per touched shard and task, and the speed.",
                    Unit.COUNT,
                    Query("lagwarden_query_input_rows{SCOPE}", "rows {{instance}} {{cluster}}"),
                    Query("lagwarden_query_input_rows_per_second{SCOPE}", "came per second {{instance}} {{cluster}}"),
                    Query(
                        "lagwarden_query_processed_rows_per_second{SCOPE}",
                        "processed per second {{instance}} {{cluster}}",
                    ),
                ),
                graph(
                    "State of the query",
                    "Rows in the state stores, and the memory that they use.",
                    Unit.COUNT,
                    Query("lagwarden_query_state_rows{SCOPE}", "rows {{instance}} {{cluster}}"),
                    Query("lagwarden_query_state_bytes{SCOPE}", "memory {{instance}} {{cluster}}", Unit.BYTES),
                ),
                graph(
                    "Batches",
                    "Micro-batches with records per second.",
                    Unit.RATE,
                    Query("rate(lagwarden_batches_total{SCOPE}[$__rate_interval])", "{{instance}} {{cluster}}"),
                ),
                graph(
                    "Records read",
                    "Records of __consumer_offsets per second, by type.",
                    Unit.RATE,
                    Query(
                        "sum by (record_type) (rate(lagwarden_records_read_total{SCOPE}[$__rate_interval]))",
                        "{{record_type}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Contained faults",
                    "Groups that lagwarden cannot evaluate, internal errors by part, and groups with impossible times.",
                    Unit.COUNT,
                    Query("sum(lagwarden_groups_not_evaluated{SCOPE})", "groups not evaluated"),
                    Query(
                        "sum by (part) (increase(lagwarden_internal_errors_total{SCOPE}[$__rate_interval]))",
                        "faults: {{part}}",
                    ),
                    Query("sum(lagwarden_groups_with_odd_times{SCOPE})", "groups with odd times"),
                ),
                graph(
                    "Decode errors",
                    "Records that could not be decoded, by type, version and reason; offsets that could not be read.",
                    Unit.COUNT,
                    Query(
                        "sum by (record_type, version, reason)"
                        " (increase(lagwarden_decode_errors_total{SCOPE}[$__rate_interval]))",
                        "{{record_type}} v{{version}} {{reason}}",
                    ),
                    Query(
                        "sum by (reason) (increase(lagwarden_offsets_skipped_total{SCOPE}[$__rate_interval]))",
                        "offsets skipped: {{reason}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Distance to the end",
                    "Offsets that can be read and are not yet: in total, and of the worst partition.",
                    Unit.COUNT,
                    Query(
                        "sum by (instance, cluster) (lagwarden_offsets_partition_distance{SCOPE})",
                        "all {{instance}} {{cluster}}",
                    ),
                    Query(
                        "max by (instance, cluster) (lagwarden_offsets_partition_distance{SCOPE})",
                        "worst partition {{instance}} {{cluster}}",
                    ),
                ),
                graph(
                    "Last stable offset gap",
                    "Offsets blocked by open transactions, by partition of __consumer_offsets, and for how long.",
                    Unit.COUNT,
                    Query(
                        "lagwarden_offsets_partition_stable_gap{SCOPE} > 0",
                        "{{offsets_partition}}: offsets {{cluster}}",
                    ),
                    Query(
                        "time() - lagwarden_offsets_partition_stable_gap_since_timestamp_seconds{SCOPE}",
                        "{{offsets_partition}}: for {{cluster}}",
                        Unit.SECONDS,
                    ),
                ),
                graph(
                    "Groups hidden by offsets partitions",
                    "Groups by partition of __consumer_offsets whose leader is missing or does not answer.",
                    Unit.COUNT,
                    Query(
                        "lagwarden_offsets_partition_hidden_groups{SCOPE}",
                        "{{offsets_partition}}: {{reason}} {{cluster}}",
                    ),
                ),
                graph(
                    "Behind an open transaction",
                    "Groups whose latest commits an open transaction hides, and hidden offsets that are not read yet.",
                    Unit.COUNT,
                    Query("sum(lagwarden_groups_held_back{SCOPE})", "groups"),
                    Query(
                        "lagwarden_offsets_partition_hidden_unread{SCOPE} > 0",
                        "{{offsets_partition}}: unread {{cluster}}",
                    ),
                ),
                graph(
                    "Topic read again",
                    "Number of times that the state was set aside and the topic read again from its start.",
                    Unit.COUNT,
                    Query("increase(lagwarden_resyncs_total{SCOPE}[$__rate_interval])", "{{instance}} {{cluster}}"),
                ),
            ],
            "Resources": [
                graph(
                    "Memory",
                    "Proportional set size of the processes by role, and the limit of the container.",
                    Unit.BYTES,
                    Query("lagwarden_memory_bytes{SCOPE}", "{{role}} {{instance}} {{cluster}}"),
                    Query("lagwarden_memory_limit_bytes{SCOPE}", "limit {{instance}} {{cluster}}"),
                ),
                graph(
                    "CPU",
                    "Cores that the processes of each role use.",
                    Unit.CORES,
                    Query(
                        "rate(lagwarden_cpu_seconds_total{SCOPE}[$__rate_interval])",
                        "{{role}} {{instance}} {{cluster}}",
                    ),
                ),
                graph(
                    "Heap",
                    "Heap of Spark's JVM: used, including garbage, and the maximum.",
                    Unit.BYTES,
                    Query("lagwarden_jvm_heap_used_bytes{SCOPE}", "used {{instance}} {{cluster}}"),
                    Query("lagwarden_jvm_heap_max_bytes{SCOPE}", "maximum {{instance}} {{cluster}}"),
                ),
                graph(
                    "Checkpoint volume",
                    "Size of the checkpoint, and free space on its volume.",
                    Unit.BYTES,
                    Query("lagwarden_checkpoint_bytes{SCOPE}", "checkpoint {{instance}} {{cluster}}"),
                    Query("lagwarden_checkpoint_volume_free_bytes{SCOPE}", "free {{instance}} {{cluster}}"),
                ),
                graph(
                    "File descriptors",
                    "Open file descriptors as a share of the limit, of the process nearest to its limit in each role.",
                    Unit.RATIO,
                    Query(
                        "lagwarden_open_descriptors{SCOPE} / lagwarden_descriptor_limit{SCOPE}",
                        "{{role}} {{instance}} {{cluster}}",
                    ),
                ),
                graph(
                    "Series",
                    "Series about groups in /metrics, and series that the series budget leaves out.",
                    Unit.COUNT,
                    Query("sum(lagwarden_series{SCOPE})", "served"),
                    Query("sum by (metric) (lagwarden_series_over_budget{SCOPE})", "left out: {{metric}}"),
                    stacked=True,
                ),
                graph(
                    "Left out by the budget",
                    "Series per second that snapshots left out.",
                    Unit.RATE,
                    Query(
                        "sum by (metric) (rate(lagwarden_series_dropped_total{SCOPE}[$__rate_interval]))", "{{metric}}"
                    ),
                    stacked=True,
                ),
                graph(
                    "Scrape",
                    "Duration of a scrape.",
                    Unit.SECONDS,
                    Query(
                        "scrape_duration_seconds{TARGET} and on (job, instance) lagwarden_build_info{SCOPE}",
                        "{{instance}}",
                    ),
                ),
                graph(
                    "Samples",
                    "Samples per scrape.",
                    Unit.COUNT,
                    Query(
                        "scrape_samples_scraped{TARGET} and on (job, instance) lagwarden_build_info{SCOPE}",
                        "{{instance}}",
                    ),
                ),
            ],
            "Removals and the offsets topic": [
                graph(
                    "Groups that died",
                    "Groups that died since the process was ready, by cause.",
                    Unit.COUNT,
                    Query(
                        "sum by (cause) (increase(lagwarden_group_deaths_total{SCOPE}[$__rate_interval]))", "{{cause}}"
                    ),
                    stacked=True,
                ),
                graph(
                    "Expiry predictions",
                    "Outcomes of expiry predictions: kept, early, late, missing or deleted.",
                    Unit.COUNT,
                    Query(
                        "sum by (outcome) (increase(lagwarden_expiry_checks_total{SCOPE}[$__rate_interval]))",
                        "{{outcome}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Size of __consumer_offsets",
                    "Bytes of the offsets topic per broker. A size that only grows means a stopped log cleaner.",
                    Unit.BYTES,
                    Query("lagwarden_offsets_topic_bytes{SCOPE}", "{{broker}} {{cluster}}"),
                ),
                graph(
                    "Size on disk",
                    "Bytes of all replicas per broker.",
                    Unit.BYTES,
                    Query("lagwarden_broker_bytes{SCOPE}", "{{broker}} {{cluster}}"),
                ),
                graph(
                    "Growth of __consumer_offsets",
                    "Bytes by which it grows on each broker per second.",
                    Unit.BYTES_PER_SECOND,
                    Query("lagwarden_offsets_topic_growth_bytes_per_second{SCOPE}", "{{broker}} {{cluster}}"),
                ),
                graph(
                    "Cluster at a glance",
                    "Brokers, and partitions of all topics that are under-replicated, without a leader or being moved.",
                    Unit.COUNT,
                    Query("count by (cluster) (lagwarden_broker_info{SCOPE})", "brokers {{cluster}}"),
                    Query(
                        "sum by (cluster) (lagwarden_topic_under_replicated_partitions{SCOPE})",
                        "under-replicated {{cluster}}",
                    ),
                    Query(
                        "sum by (cluster) (lagwarden_topic_leaderless_partitions{SCOPE})",
                        "without a leader {{cluster}}",
                    ),
                    Query("max by (cluster) (lagwarden_reassigning_partitions{SCOPE})", "being moved {{cluster}}"),
                ),
                graph(
                    "Under-replicated share",
                    "Share of all partitions with a replica that is not in sync.",
                    Unit.RATIO,
                    Query(
                        "max by (cluster) (lagwarden_cluster_under_replicated_ratio{SCOPE})",
                        "under-replicated {{cluster}}",
                    ),
                ),
                graph(
                    "Reassignments",
                    "Partitions whose replicas are being moved, by topic.",
                    Unit.COUNT,
                    Query(
                        "max by (cluster, topic) (lagwarden_topic_reassigning_partitions{SCOPE})",
                        "{{topic}} {{cluster}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Quotas",
                    "Configured quotas of users, clients and addresses. /api/v1/cluster lists them.",
                    Unit.COUNT,
                    Query("max by (cluster) (lagwarden_cluster_quotas{SCOPE})", "quotas {{cluster}}"),
                ),
                graph(
                    "Metadata quorum",
                    "Records of the metadata log that each controller and broker has not fetched (KRaft).",
                    Unit.COUNT,
                    Query("lagwarden_quorum_replica_lag{SCOPE}", "{{role}} {{replica}} {{cluster}}"),
                ),
                graph(
                    "Last fetch of metadata",
                    "Time from the last fetch of each controller and broker to the last of all of them (KRaft).",
                    Unit.SECONDS,
                    Query(
                        "max by (job, instance, cluster) (lagwarden_quorum_replica_last_fetch_timestamp_seconds{SCOPE})"
                        " - on (job, instance, cluster) group_right ()"
                        " lagwarden_quorum_replica_last_fetch_timestamp_seconds{SCOPE}",
                        "{{role}} {{replica}} {{cluster}}",
                    ),
                ),
                graph(
                    "Versions of brokers",
                    "Different sets of supported requests and features: more than 1 during a rolling upgrade.",
                    Unit.COUNT,
                    Query("max by (cluster) (lagwarden_cluster_version_sets{SCOPE})", "version sets {{cluster}}"),
                ),
                graph(
                    "Leaders by broker",
                    "How many partitions each broker leads.",
                    Unit.COUNT,
                    Query("lagwarden_broker_leaders{SCOPE}", "{{broker}} {{cluster}}"),
                    stacked=True,
                ),
            ],
        },
    )
