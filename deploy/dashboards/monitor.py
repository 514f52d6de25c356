"""The Monitor dashboard: whether lagwarden itself is fresh, keeps up, understands what it reads, and what it costs."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard

from deploy.dashboards.parts import Panel, Query, Unit, board

_BAD_IF_NONE: Final = ("red", ((1.0, "green"),))


def monitor() -> Dashboard:
    """Return the dashboard."""
    rows: dict[str, dict[str, Panel]] = {
        "Freshness": {
            "Ready": Unit.COUNT.figure(
                "1 while the data about groups is complete and fresh. Otherwise /readyz has the reasons.",
                Query("lagwarden_ready", "INSTANCE"),
                colours=_BAD_IF_NONE,
            ),
            "Phase": Unit.COUNT.figure(
                "The phase of the monitor.", Query("lagwarden_phase_info", "{{phase}} INSTANCE"), named=True
            ),
            "Kafka reachable": Unit.COUNT.figure(
                "1 while the brokers answer.", Query("lagwarden_kafka_reachable", "INSTANCE"), colours=_BAD_IF_NONE
            ),
            "Up for": Unit.SECONDS.figure(
                "Time since the process started.", Query("time() - process_start_time_seconds{SCOPE}", "INSTANCE")
            ),
            "Version": Unit.COUNT.figure(
                "The running version.", Query("count by (version) (lagwarden_build_info)", "{{version}}"), named=True
            ),
            "Caught up": Unit.RATIO.figure(
                "Share of the records present at start that is read.", Query("lagwarden_catch_up_ratio", "INSTANCE")
            ),
            "Snapshot age": Unit.SECONDS.graph(
                "Age of the served snapshot. Every tick replaces it.",
                Query("time() - lagwarden_snapshot_timestamp_seconds", "INSTANCE"),
            ),
            "Catch-up": Unit.COUNT.graph(
                "Remaining time and speed of the catch-up. Absent when it is complete.",
                Query("lagwarden_catch_up_remaining_seconds", "time left INSTANCE", Unit.SECONDS),
                Query("lagwarden_catch_up_records_per_second", "records per second INSTANCE"),
            ),
        },
        "Reading": {
            "Batch duration": Unit.SECONDS.graph(
                "Duration of the last micro-batch: reading, state store and checkpoint.",
                Query("lagwarden_last_batch_duration_seconds", "INSTANCE"),
            ),
            "Phases of a batch": Unit.SECONDS.graph(
                "Time of the last micro-batch by phase, as Spark reports it; add_batch reads and folds.",
                Query(
                    "max by (phase, cluster)"
                    ' (lagwarden_query_phase_duration_seconds{SCOPE, phase!="trigger_execution"})',
                    "{{phase}} {{cluster}}",
                ),
                stacked=True,
            ),
            "Rows of a batch": Unit.COUNT.graph(
                "Rows that the source gave to the last micro-batch, one per touched shard and task, and the speed.",
                Query("lagwarden_query_input_rows", "rows INSTANCE"),
                Query("lagwarden_query_input_rows_per_second", "arrived per second INSTANCE"),
                Query("lagwarden_query_processed_rows_per_second", "processed per second INSTANCE"),
            ),
            "State of the query": Unit.COUNT.graph(
                "Rows in the state stores, and the memory that they use.",
                Query("lagwarden_query_state_rows", "rows INSTANCE"),
                Query("lagwarden_query_state_bytes", "memory INSTANCE", Unit.BYTES),
            ),
            "Batches": Unit.RATE.graph(
                "Micro-batches with records per second.", Query("rate(lagwarden_batches_total[RATE])", "INSTANCE")
            ),
            "Records read": Unit.RATE.graph(
                "Records of __consumer_offsets per second, by type.",
                Query("sum by (record_type) (rate(lagwarden_records_read_total[RATE]))", "{{record_type}}"),
                stacked=True,
            ),
            "Contained faults": Unit.COUNT.graph(
                "Groups that lagwarden cannot evaluate, internal errors by part, and groups with impossible times.",
                Query("sum(lagwarden_groups_not_evaluated)", "groups not evaluated"),
                Query("sum by (part) (increase(lagwarden_internal_errors_total[RATE]))", "faults: {{part}}"),
                Query("sum(lagwarden_groups_with_odd_times)", "groups with odd times"),
            ),
            "Decode errors": Unit.COUNT.graph(
                "Records that could not be decoded, by type, version and reason; offsets that could not be read.",
                Query(
                    "sum by (record_type, version, reason) (increase(lagwarden_decode_errors_total[RATE]))",
                    "{{record_type}} v{{version}} {{reason}}",
                ),
                Query(
                    "sum by (reason) (increase(lagwarden_offsets_skipped_total[RATE]))", "offsets skipped: {{reason}}"
                ),
                stacked=True,
            ),
            "Distance to the end": Unit.COUNT.graph(
                "Offsets that can be read and are not yet: in total, and of the worst partition.",
                Query("sum by (instance, cluster) (lagwarden_offsets_partition_distance)", "all INSTANCE"),
                Query("max by (instance, cluster) (lagwarden_offsets_partition_distance)", "worst partition INSTANCE"),
            ),
            "Last stable offset gap": Unit.COUNT.graph(
                "Offsets blocked by open transactions, by partition of __consumer_offsets, and for how long.",
                Query("lagwarden_offsets_partition_stable_gap > 0", "{{offsets_partition}}: offsets {{cluster}}"),
                Query(
                    "time() - lagwarden_offsets_partition_stable_gap_since_timestamp_seconds",
                    "{{offsets_partition}}: for {{cluster}}",
                    Unit.SECONDS,
                ),
            ),
            "Groups hidden by offsets partitions": Unit.COUNT.graph(
                "Groups by partition of __consumer_offsets whose leader is missing or does not answer.",
                Query("lagwarden_offsets_partition_hidden_groups", "{{offsets_partition}}: {{reason}} {{cluster}}"),
            ),
            "Behind an open transaction": Unit.COUNT.graph(
                "Groups whose latest commits an open transaction hides, and hidden offsets that are not read yet.",
                Query("sum(lagwarden_groups_held_back)", "groups"),
                Query("lagwarden_offsets_partition_hidden_unread > 0", "{{offsets_partition}}: unread {{cluster}}"),
            ),
            "Topic read again": Unit.COUNT.graph(
                "Number of times that the state was set aside and the topic read again from its start.",
                Query("increase(lagwarden_resyncs_total[RATE])", "INSTANCE"),
            ),
        },
        "Resources": {
            "Memory": Unit.BYTES.graph(
                "Proportional set size of the processes by role, and the limit of the container.",
                Query("lagwarden_memory_bytes", "{{role}} INSTANCE"),
                Query("lagwarden_memory_limit_bytes", "limit INSTANCE"),
            ),
            "CPU": Unit.CORES.graph(
                "Cores that the processes of each role use.",
                Query("rate(lagwarden_cpu_seconds_total[RATE])", "{{role}} INSTANCE"),
            ),
            "Heap": Unit.BYTES.graph(
                "Heap of Spark's JVM: used, including garbage, and the maximum.",
                Query("lagwarden_jvm_heap_used_bytes", "used INSTANCE"),
                Query("lagwarden_jvm_heap_max_bytes", "maximum INSTANCE"),
            ),
            "Checkpoint volume": Unit.BYTES.graph(
                "Size of the checkpoint, and free space on its volume.",
                Query("lagwarden_checkpoint_bytes", "checkpoint INSTANCE"),
                Query("lagwarden_checkpoint_volume_free_bytes", "free INSTANCE"),
            ),
            "File descriptors": Unit.RATIO.graph(
                "Open file descriptors as a share of the limit, of the process nearest to its limit in each role.",
                Query("lagwarden_open_descriptors / lagwarden_descriptor_limit", "{{role}} INSTANCE"),
            ),
            "Series": Unit.COUNT.graph(
                "Series about groups in /metrics, and series that the series budget leaves out.",
                Query("sum(lagwarden_series)", "served"),
                Query("sum by (metric) (lagwarden_series_over_budget)", "left out: {{metric}}"),
                stacked=True,
            ),
            "Left out by the budget": Unit.RATE.graph(
                "Series per second that snapshots left out.",
                Query("sum by (metric) (rate(lagwarden_series_dropped_total[RATE]))", "{{metric}}"),
                stacked=True,
            ),
            "Scrape": Unit.SECONDS.graph(
                "Duration of a scrape.",
                Query("scrape_duration_seconds{TARGET} and on (job, instance) lagwarden_build_info", "{{instance}}"),
            ),
            "Samples": Unit.COUNT.graph(
                "Samples per scrape.",
                Query("scrape_samples_scraped{TARGET} and on (job, instance) lagwarden_build_info", "{{instance}}"),
            ),
        },
        "Removals and the offsets topic": {
            "Groups that died": Unit.COUNT.graph(
                "Groups that died since the process was ready, by cause.",
                Query("sum by (cause) (increase(lagwarden_group_deaths_total[RATE]))", "{{cause}}"),
                stacked=True,
            ),
            "Expiry predictions": Unit.COUNT.graph(
                "Outcomes of expiry predictions: kept, early, late, missing or deleted.",
                Query("sum by (outcome) (increase(lagwarden_expiry_checks_total[RATE]))", "{{outcome}}"),
                stacked=True,
            ),
            "Size of __consumer_offsets": Unit.BYTES.graph(
                "Bytes of the offsets topic per broker. A size that only grows means a stopped log cleaner.",
                Query("lagwarden_offsets_topic_bytes", "{{broker}} {{cluster}}"),
            ),
            "Size on disk": Unit.BYTES.graph(
                "Bytes of all replicas per broker.", Query("lagwarden_broker_bytes", "{{broker}} {{cluster}}")
            ),
            "Growth of __consumer_offsets": Unit.BYTES_PER_SECOND.graph(
                "Bytes by which it grows on each broker per second.",
                Query("lagwarden_offsets_topic_growth_bytes_per_second", "{{broker}} {{cluster}}"),
            ),
            "Cluster at a glance": Unit.COUNT.graph(
                "Brokers, and partitions of all topics that are under-replicated, without a leader or being moved.",
                Query("count by (cluster) (lagwarden_broker_info)", "brokers {{cluster}}"),
                Query("sum by (cluster) (lagwarden_topic_under_replicated_partitions)", "under-replicated {{cluster}}"),
                Query("sum by (cluster) (lagwarden_topic_leaderless_partitions)", "without a leader {{cluster}}"),
                Query("max by (cluster) (lagwarden_reassigning_partitions)", "being moved {{cluster}}"),
            ),
            "Under-replicated share": Unit.RATIO.graph(
                "Share of all partitions with a replica that is not in sync.",
                Query("max by (cluster) (lagwarden_cluster_under_replicated_ratio)", "under-replicated {{cluster}}"),
            ),
            "Reassignments": Unit.COUNT.graph(
                "Partitions whose replicas are being moved, by topic.",
                Query("max by (cluster, topic) (lagwarden_topic_reassigning_partitions)", "{{topic}} {{cluster}}"),
                stacked=True,
            ),
            "Quotas": Unit.COUNT.graph(
                "Configured quotas of users, clients and addresses. /api/v1/cluster lists them.",
                Query("max by (cluster) (lagwarden_cluster_quotas)", "quotas {{cluster}}"),
            ),
            "Metadata quorum": Unit.COUNT.graph(
                "Records of the metadata log that each controller and broker has not fetched (KRaft).",
                Query("lagwarden_quorum_replica_lag", "{{role}} {{replica}} {{cluster}}"),
            ),
            "Last fetch of metadata": Unit.SECONDS.graph(
                "Time from the last fetch of each controller and broker to the last of all of them (KRaft).",
                Query(
                    "max by (job, instance, cluster) (lagwarden_quorum_replica_last_fetch_timestamp_seconds)"
                    " - on (job, instance, cluster) group_right ()"
                    " lagwarden_quorum_replica_last_fetch_timestamp_seconds",
                    "{{role}} {{replica}} {{cluster}}",
                ),
            ),
            "Versions of brokers": Unit.COUNT.graph(
                "Different sets of supported requests and features: more than 1 during a rolling upgrade.",
                Query("max by (cluster) (lagwarden_cluster_version_sets)", "version sets {{cluster}}"),
            ),
            "Leaders by broker": Unit.COUNT.graph(
                "How many partitions each broker leads.",
                Query("lagwarden_broker_leaders", "{{broker}} {{cluster}}"),
                stacked=True,
            ),
        },
    }
    return board(
        "Monitor",
        "lagwarden itself: freshness, catch-up, batches, decode errors, the offsets topic, memory and series.",
        rows,
    )
