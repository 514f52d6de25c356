"""Which metrics and fields of the API a running monitor has shown with a value."""

from typing import Final
from urllib.parse import quote

from exporters.catalogue.groups import GROUPS
from exporters.catalogue.metrics import METRICS
from exporters.catalogue.partitions import PARTITIONS, TOPICS
from tests.support.monitor import ObservedMonitor
from tests.support.scrape import Metrics

WITHOUT_VALUE: Final = {
    # By the beginning of the name: why a monitor of healthy traffic has no value, and which test has one.
    "lagwarden_common_cause_": "no group is unhealthy; test_common_cause.py",
    "lagwarden_group_common_cause": "no group is unhealthy; test_common_cause.py",
    "lagwarden_group_not_alerted": "no group is unhealthy",
    "lagwarden_group_partitions_by_verdict": "no group is unhealthy",
    "lagwarden_group_finding_": "no group is unhealthy",
    "GroupRow.death_cause": "no group has died yet; test_records.py",
    "GroupRow.died_time": "no group has died yet; test_records.py",
    "lagwarden_group_died_timestamp_seconds": "no group has died yet; test_records.py",
    "GroupRow.link": "a policy with owners; test_webhook.py",
    "GroupRow.maintenance_until": "a maintenance window; test_webhook.py",
    "GroupRow.max_severity": "a policy; test_webhook.py",
    "GroupRow.silence_": "a silence; test_webhook.py",
    "GroupRow.team": "a policy with owners; test_webhook.py",
    "GroupRow.tier": "a policy with owners; test_webhook.py",
    "lagwarden_group_maintenance": "a maintenance window; test_webhook.py",
    "lagwarden_group_owner_info": "a policy with owners; test_webhook.py",
    "lagwarden_group_target_seconds": "an option sets targets; the same table as the owners",
    "lagwarden_catch_up_records_per_second": "a catch-up that takes long enough for a pace",
    "lagwarden_webhook_": "a receiver of the webhook; test_webhook.py",
    "lagwarden_otlp_": "a receiver of OTLP; make cluster has one",
    "lagwarden_executors": "executors; executors/test_standalone.py",
    "lagwarden_share_": "share groups; test_share_verdicts.py and test_shared_groups.py",
    "lagwarden_decode_errors_total": "broken records; test_records.py",
    "lagwarden_offsets_skipped_total": "a reader that loses offsets: the log is cut while the monitor is away",
    "lagwarden_offsets_partition_held_back_info": "an open transaction; test_blocked_partitions.py",
    "lagwarden_offsets_partition_stable_gap": "an open transaction; test_readiness.py",
    "lagwarden_offsets_partition_hidden_unread": "an open transaction that hides more than a tick reads",
    "lagwarden_offsets_partition_hidden_group": "a leader that does not answer: the one broker of this test does",
    "lagwarden_offsets_partition_unavailable": "a leader that does not answer: the one broker of this test does",
    "lagwarden_unreadable_tails": "a missing right; test_least_rights.py",
    "lagwarden_cluster_facts_unknown": "a missing right",
    "lagwarden_group_partitions_lag_unknown": "a partition without a known end",
    "PartitionRow.lag_unknown_reason": "a partition without a known end",
    "PartitionRow.stream_time_lag": "Kafka Streams; test_throughput.py has its real commits",
    "lagwarden_partition_stream_time_lag_seconds": "Kafka Streams; test_throughput.py has its real commits",
    "PartitionRow.trend": "a late group for six slots of 30 s",
    "lagwarden_topic_partition_hot_ratio": "a hot partition for minutes",
    "lagwarden_topic_partition_follower_lag": "a second broker",
    "lagwarden_topic_reassigning_partitions": "a reassignment; test_cluster_facts.py",
    "lagwarden_client_quota": "a quota of a client, which the broker of this test has not",
    "lagwarden_expiry_error_seconds": "an offset that expires, which takes the broker minutes",
    "GroupRow.odd_times": "a commit with a time ahead of now, which no official client can send",
    "lagwarden_group_odd_times": "a commit with a time ahead of now, which no official client can send",
    "lagwarden_group_folded_groups": "generated names, which tests do not fold",
    "lagwarden_series_": "more series than the budget",
    "lagwarden_memory_limit_bytes": "a limit of the container",
}


def without_value(monitor: ObservedMonitor, scrape: Metrics) -> set[str]:
    """Return the metrics of the catalogue, and the fields of groups, topics and partitions, that have no value.

    Those of `WITHOUT_VALUE` are left out.
    """
    groups = monitor.get("/api/v1/groups").json["groups"]
    details = [monitor.get(f"/api/v1/group?name={quote(row['group'])}").json for row in groups]
    rows = {
        "GroupRow": (GROUPS, groups),
        "TopicRow": (TOPICS, [row for detail in details for row in detail["by_topic"]]),
        "PartitionRow": (PARTITIONS, [row for detail in details for row in detail["by_partition"]]),
    }
    fields = {
        f"{kind}.{column.name}"
        for kind, (table, shown) in rows.items()
        for column in table.columns
        if all(row.get(column.name, "left out") is None for row in shown)
    }
    missing = fields | {metric.name for metric in METRICS if not scrape.rows(metric.name)}
    return {name for name in missing if not name.startswith(tuple(WITHOUT_VALUE))}
