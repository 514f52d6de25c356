"""The Monitor dashboard: whether lagwarden itself is fresh, keeps up, understands what it reads, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.dashboards.parts import Query, Unit, board, figure, graph

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_BAD_IF_NONE: Final = ("red", ((1.0, "green"),))


def monitor() -> Dashboard:
    """Give the dashboard."""
    return board(
        "Monitor",
        "lagwarden itself: freshness, catch-up, batches, decode errors, the offsets topic, memory and series.",
        {
            "Freshness": [
                figure(
                    "Ready",
                    "1 while the groups' numbers are complete and fresh. /readyz says why they are not.",
                    Unit.COUNT,
                    Query("lagwarden_ready{MINE}", "{{instance}}"),
                    colours=_BAD_IF_NONE,
                ),
                figure(
                    "Phase",
                    "What it is doing.",
                    Unit.COUNT,
                    Query("lagwarden_phase_info{MINE}", "{{phase}}"),
                    named=True,
                ),
                figure(
                    "Kafka reachable",
                    "1 while the brokers answer it.",
                    Unit.COUNT,
                    Query("lagwarden_kafka_reachable{MINE}", "{{instance}}"),
                    colours=_BAD_IF_NONE,
                ),
                figure(
                    "Up for",
                    "How long the process has been running.",
                    Unit.SECONDS,
                    Query("time() - process_start_time_seconds{MINE}", "{{instance}}"),
                ),
                figure(
                    "Version",
                    "The version that runs.",
                    Unit.COUNT,
                    Query("lagwarden_build_info{MINE}", "{{version}}"),
                    named=True,
                ),
                figure(
                    "Caught up",
                    "Share of the records to read at start that has been read.",
                    Unit.RATIO,
                    Query("lagwarden_catch_up_ratio{MINE}", "{{instance}}"),
                ),
                graph(
                    "Snapshot age",
                    "How old the served numbers are. They are made anew at every tick.",
                    Unit.SECONDS,
                    Query("time() - lagwarden_snapshot_timestamp_seconds{MINE}", "{{instance}}"),
                ),
                graph(
                    "Catch-up",
                    "How long the first reading still takes, and how fast it goes. Absent when it is over.",
                    Unit.COUNT,
                    Query("lagwarden_catch_up_remaining_seconds{MINE}", "time left", Unit.SECONDS),
                    Query("lagwarden_catch_up_records_per_second{MINE}", "records per second"),
                ),
            ],
            "The stream": [
                graph(
                    "Batch duration",
                    "How long the last micro-batch took: reading, state and checkpoint.",
                    Unit.SECONDS,
                    Query("lagwarden_last_batch_duration_seconds{MINE}", "{{instance}}"),
                ),
                graph(
                    "Batches",
                    "Micro-batches per second that had something to read.",
                    Unit.RATE,
                    Query("rate(lagwarden_batches_total{MINE}[$__rate_interval])", "{{instance}}"),
                ),
                graph(
                    "Records read",
                    "Records of __consumer_offsets per second, by type.",
                    Unit.RATE,
                    Query(
                        "sum by (record_type) (rate(lagwarden_records_read_total{MINE}[$__rate_interval]))",
                        "{{record_type}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Contained faults",
                    "Groups that lagwarden cannot evaluate, its own faults by part, and times that cannot be right.",
                    Unit.COUNT,
                    Query("lagwarden_groups_not_evaluated{MINE}", "groups not evaluated"),
                    Query(
                        "sum by (part) (increase(lagwarden_internal_errors_total{MINE}[$__rate_interval]))",
                        "faults: {{part}}",
                    ),
                    Query("sum(lagwarden_group_odd_times{MINE})", "odd times in records"),
                ),
                graph(
                    "Decode errors",
                    "Records that could not be decoded, by type, version and reason.",
                    Unit.COUNT,
                    Query(
                        "sum by (record_type, version, reason)"
                        " (increase(lagwarden_decode_errors_total{MINE}[$__rate_interval]))",
                        "{{record_type}} v{{version}} {{reason}}",
                    ),
                    stacked=True,
                ),
                graph(
                    "Distance to the end",
                    "Offsets that could have been read and have not: all together, and the worst partition.",
                    Unit.COUNT,
                    Query("sum by (instance) (lagwarden_offsets_partition_distance{MINE})", "all"),
                    Query("max by (instance) (lagwarden_offsets_partition_distance{MINE})", "worst partition"),
                ),
                graph(
                    "Last stable offset gap",
                    "What open transactions hold back, by partition of __consumer_offsets, and for how long.",
                    Unit.COUNT,
                    Query("lagwarden_offsets_partition_stable_gap{MINE} > 0", "{{offsets_partition}}: offsets"),
                    Query(
                        "time() - lagwarden_offsets_partition_stable_gap_since_timestamp_seconds{MINE}",
                        "{{offsets_partition}}: for",
                        Unit.SECONDS,
                    ),
                ),
                graph(
                    "Groups asked from their coordinator",
                    "Groups whose commits an open transaction hides from the log.",
                    Unit.COUNT,
                    Query("sum(lagwarden_group_held_back{MINE})", "groups"),
                ),
                graph(
                    "Read anew",
                    "How often the state was set aside, and the topic read again from its start.",
                    Unit.COUNT,
                    Query("increase(lagwarden_resyncs_total{MINE}[$__rate_interval])", "{{instance}}"),
                ),
            ],
            "What it costs": [
                graph(
                    "Memory",
                    "Resident memory of the Python process. Spark's JVM is another: see the container's.",
                    Unit.BYTES,
                    Query("process_resident_memory_bytes{MINE}", "{{instance}}"),
                ),
                graph(
                    "Processor",
                    "Cores that the Python process uses.",
                    Unit.CORES,
                    Query("rate(process_cpu_seconds_total{MINE}[$__rate_interval])", "{{instance}}"),
                ),
                graph(
                    "File descriptors",
                    "Open file descriptors as a share of the limit, of the process nearest to its limit in each role.",
                    Unit.RATIO,
                    Query("lagwarden_open_descriptors{MINE} / lagwarden_descriptor_limit{MINE}", "{{role}}"),
                ),
                graph(
                    "Series",
                    "Series about groups in /metrics, and those that the series budget leaves out.",
                    Unit.COUNT,
                    Query("lagwarden_series{MINE}", "served"),
                    Query("sum by (metric) (lagwarden_series_over_budget{MINE})", "left out: {{metric}}"),
                    stacked=True,
                ),
                graph(
                    "Left out by the budget",
                    "Series per second that snapshots had to leave out.",
                    Unit.RATE,
                    Query(
                        "sum by (metric) (rate(lagwarden_series_dropped_total{MINE}[$__rate_interval]))", "{{metric}}"
                    ),
                    stacked=True,
                ),
                graph(
                    "Scrape",
                    "How long Prometheus takes to scrape it.",
                    Unit.SECONDS,
                    Query("scrape_duration_seconds{MINE}", "{{instance}}"),
                ),
                graph(
                    "Samples",
                    "Samples in each scrape, all of them.",
                    Unit.COUNT,
                    Query("scrape_samples_scraped{MINE}", "{{instance}}"),
                ),
            ],
            "Beside the groups": [
                graph(
                    "Groups that died",
                    "Groups that died since the process was ready, by cause.",
                    Unit.COUNT,
                    Query("increase(lagwarden_group_deaths_total{MINE}[$__rate_interval])", "{{cause}}"),
                    stacked=True,
                ),
                graph(
                    "Forecasts of expiry",
                    "What came of predicted expiries: kept, early, late, missing or deleted.",
                    Unit.COUNT,
                    Query("increase(lagwarden_expiry_checks_total{MINE}[$__rate_interval])", "{{outcome}}"),
                    stacked=True,
                ),
                graph(
                    "Size of __consumer_offsets",
                    "Bytes of the offsets topic on each broker. A size that only grows is a dead log cleaner.",
                    Unit.BYTES,
                    Query("lagwarden_offsets_topic_bytes{MINE}", "{{broker}}"),
                ),
                graph(
                    "Growth of __consumer_offsets",
                    "Bytes by which it grows on each broker per second.",
                    Unit.BYTES_PER_SECOND,
                    Query("lagwarden_offsets_topic_growth_bytes_per_second{MINE}", "{{broker}}"),
                ),
                graph(
                    "Cluster at a glance",
                    "Brokers, and partitions of all topics that are under-replicated or have no leader.",
                    Unit.COUNT,
                    Query("count(lagwarden_broker_info{MINE})", "brokers"),
                    Query("sum(lagwarden_topic_under_replicated_partitions{MINE})", "under-replicated"),
                    Query("sum(lagwarden_topic_leaderless_partitions{MINE})", "without a leader"),
                ),
                graph(
                    "Leaders by broker",
                    "How many partitions each broker leads.",
                    Unit.COUNT,
                    Query("lagwarden_broker_leaders{MINE}", "{{broker}}"),
                    stacked=True,
                ),
            ],
        },
    )
