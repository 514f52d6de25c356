"""Snapshots and statuses for tests of the exporters, with unusual names and values. Times are Unix milliseconds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from exporters.readmodel import (
    COMMON_CAUSES,
    COVERED_GROUPS,
    DEATHS,
    DECODE_ERRORS,
    DESCRIPTORS,
    EXPIRY_CHECKS,
    FILE_FAILURES,
    GROUPS,
    HTTP_REFUSALS,
    INTERNAL_ERRORS,
    LOG_ENDS,
    OFFSETS_HELD_BACK,
    OFFSETS_PARTITIONS,
    OFFSETS_SKIPPED,
    OFFSETS_UNAVAILABLE,
    OFFSETS_UNAVAILABLE_GROUPS,
    OTLP_FAILURES,
    PARTITIONS,
    PROCESSES,
    RECORDS_READ,
    SERIES_DROPPED,
    TOPICS,
    TRANSITIONS,
    UNKNOWN_LAGS,
    UNREADABLE_TAILS,
    VERDICT_CHANGES,
    VERDICT_GROUPS,
    WEBHOOK_DROPS,
    WEBHOOK_FAILURES,
    FindingDetail,
    GroupDetail,
    Histogram,
    MemberDetail,
    MonitorStatus,
    SharePartitionDetail,
    Snapshot,
    TransitionDetail,
    VerdictChange,
)

NOON = 1_700_000_000_000
HOSTILE_NAMES = (
    "",
    'quotes "inside"',
    "back\\slash\\",
    "back\\nslash, not a line feed",
    "two\nlines\n",
    "carriage\rreturn",
    "<script>alert('x')</script>&amp;",
    "a/b/../c?d=e#f%2Fg+h i",
    "größe-消费者-\U0001f40c",
    "\ufffd",
    "\u202egnp.exe",
    '{group="a"} 1',
    "# EOF",
    "x" * 249,
)


def table(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Table:
    """Return a table of the read model from rows; columns that a row does not have are null."""
    return pa.Table.from_pylist(rows, schema=schema)


def snapshot(
    partitions: list[dict[str, Any]] | None = None,
    groups: list[dict[str, Any]] | None = None,
    unknown_lags: list[dict[str, Any]] | None = None,
    transitions: list[dict[str, Any]] | None = None,
    *,
    topics: list[dict[str, Any]] | None = None,
    verdict_groups: list[dict[str, Any]] | None = None,
    log_ends: list[dict[str, Any]] | None = None,
    common_causes: list[dict[str, Any]] | None = None,
) -> Snapshot:
    """Return a snapshot taken at NOON."""
    return Snapshot(
        NOON / 1000,
        table(PARTITIONS, partitions or []),
        table(GROUPS, groups or []),
        table(UNKNOWN_LAGS, unknown_lags or []),
        table(TRANSITIONS, transitions or []),
        table(TOPICS, topics or []),
        table(VERDICT_GROUPS, verdict_groups or []),
        log_ends=table(LOG_ENDS, log_ends or []),
        common_causes=table(COMMON_CAUSES, common_causes or []),
        covered_groups=table(
            COVERED_GROUPS,
            [
                {"group": name, "dimension": cause["dimension"], "key": cause["key"]}
                for cause in common_causes or []
                for name in cause["groups"]
            ],
        ),
    )


COMMON_CAUSE: dict[str, Any] = {
    "dimension": "coordinator",
    "key": "3",
    "sick": 2,
    "affected": 17,
    "compared": 18,
    "since": NOON - 90_000,
    "sentence": "17 of 18 groups coordinated by broker 3 stopped within 20 s; 2 are still <unhealthy>.",
    "next_step": "Look at this broker.",
    "groups": ["a/b", "billing"],
    "muted": 1,
}
"""A common cause of 17 groups, of which two are still unhealthy."""


def status(**changes: Any) -> MonitorStatus:
    """Return the status of a healthy monitor, with changes."""
    fields: dict[str, Any] = {
        "version": "0.1.0",
        "cluster_id": "MkU3OEVBNTcwNTJENDM2Qk",
        "phase": "running",
        "ready": True,
        "not_ready_reasons": (),
        "started_at": NOON / 1000 - 3600,
        "snapshot_taken_at": NOON / 1000,
        "kafka_reachable": True,
        "catch_up_ratio": 1.0,
        "catch_up_records_per_second": None,
        "catch_up_seconds_left": None,
        "batches": 360,
        "last_batch_seconds": 0.25,
        "last_batch_at": NOON / 1000 - 2.5,
        "resyncs": 0,
        "series": 21,
        "records_read": table(
            RECORDS_READ,
            [
                {"record_type": "group_metadata", "tracking": "tracked", "records": 17},
                {"record_type": "offset_commit", "tracking": "tracked", "records": 2**53 + 1},
            ],
        ),
        "decode_errors": table(
            DECODE_ERRORS,
            [{"record_type": "offset_commit", "version": "9", "reason": "unknown version", "records": 3}],
        ),
        "offsets_skipped": table(OFFSETS_SKIPPED, [{"reason": "truncated", "offsets": 12}]),
        "offsets_partitions": table(
            OFFSETS_PARTITIONS,
            [
                {
                    "offsets_partition": 0,
                    "position": 90,
                    "high_watermark": 100,
                    "last_stable_offset": 95,
                    "distance": 5,
                    "stable_gap": 5,
                    "stable_gap_since": NOON - 4_000,
                },
                {"offsets_partition": 1, "position": 7},
            ],
        ),
        "offsets_retention_seconds": 604_800.0,
        "offsets_retention_check_seconds": 600.0,
        "offsets_retention_source": "broker",
        "deaths": table(DEATHS, [{"cause": "expired", "groups": 4}, {"cause": "topic deleted", "groups": 1}]),
        "expiry_checks": table(EXPIRY_CHECKS, [{"outcome": "early", "offsets": 2}, {"outcome": "kept", "offsets": 40}]),
        "series_dropped": table(SERIES_DROPPED, [{"metric": "lagwarden_x", "series_now": 70, "series_ever": 700}]),
        "verdict_changes": table(
            VERDICT_CHANGES, [{"verdict": "stopped", "groups": 2}, {"verdict": "ok", "groups": 0}]
        ),
        "offsets_held_back": table(
            OFFSETS_HELD_BACK,
            [
                {"offsets_partition": 0, "since": NOON - 4_000, "producer_id": 4001, "transactional_id": 'pay\n"1"'},
                {"offsets_partition": 7, "since": NOON, "hanging": True, "unread": 12},
            ],
        ),
        "unreadable_tails": table(UNREADABLE_TAILS, [{"reason": "not_authorized", "partitions": 3}]),
        "offsets_unavailable": table(
            OFFSETS_UNAVAILABLE,
            [{"offsets_partition": 4, "reason": "no_leader", "since": NOON - 45_000, "groups": 12}],
        ),
        "offsets_unavailable_groups": table(
            OFFSETS_UNAVAILABLE_GROUPS, [{"offsets_partition": 4, "group": name} for name in ("audit", 'a"b\n')]
        ),
        "expiry_error_seconds": Histogram((0.0, 60.0, 600.0), (1, 11, 39), 40, 4_321.5),
        "groups_not_evaluated": 1,
        "internal_errors": table(INTERNAL_ERRORS, [{"part": "answer", "errors": 0}, {"part": "group", "errors": 2}]),
        "http_connections": 3,
        "http_refusals": table(HTTP_REFUSALS, [{"reason": "slow_reader", "refusals": 4}]),
        "file_failures": table(FILE_FAILURES, [{"file": "heartbeat", "failures": 5}]),
        "descriptors": table(DESCRIPTORS, [{"role": "jvm", "open": 714, "limit": 4096}]),
        "processes": table(
            PROCESSES,
            [
                {"role": "jvm", "processes": 1, "memory": 900_000_000, "cpu_seconds": 61.25},
                {"role": "python_worker", "processes": 0, "cpu_seconds": 2.5},
            ],
        ),
        "memory_limit_bytes": 2_000_000_000,
        "heap_used_bytes": 300_000_000,
        "heap_max_bytes": 512_000_000,
        "checkpoint_bytes": 12_345_678,
        "checkpoint_files": 410,
        "checkpoint_volume_free_bytes": 4_000_000_000,
        "checkpoint_volume_bytes": 5_000_000_000,
        "state_snapshot_at": NOON / 1000 - 300,
        "state_repairs": 1,
        "executors": 1,
        "executors_expected": 2,
        "webhook_sent": 12,
        "webhook_queued": 3,
        "webhook_oldest_at": NOON / 1000 - 30,
        "webhook_failures": table(WEBHOOK_FAILURES, [{"reason": "timeout", "failures": 6}]),
        "webhook_drops": table(WEBHOOK_DROPS, [{"reason": "queue_full", "events": 0}]),
        "otlp_points": 140_000,
        "otlp_exported_at": NOON / 1000 - 20,
        "otlp_failures": table(OTLP_FAILURES, [{"reason": "tls", "failures": 8}]),
    }
    return MonitorStatus(**fields | changes)


CATCHING_UP: dict[str, Any] = {
    "phase": "catching up",
    "ready": False,
    "not_ready_reasons": ("Reading what groups have committed so far.",),
    "snapshot_taken_at": None,
    "catch_up_ratio": 0.425,
    "catch_up_records_per_second": 912_345.5,
    "catch_up_seconds_left": 75.0,
    "series": 0,
}
"""Changes of the status: during the initial catch-up, before the first snapshot."""

CONNECTING: dict[str, Any] = {
    "cluster_id": None,
    "phase": "connecting",
    "ready": False,
    "not_ready_reasons": ("Kafka does not answer at <broker>:9092.",),
    "snapshot_taken_at": None,
    "kafka_reachable": False,
    "catch_up_ratio": None,
    "last_batch_seconds": None,
    "last_batch_at": None,
    "batches": 0,
    "series": 0,
    "records_read": table(RECORDS_READ, []),
    "decode_errors": table(DECODE_ERRORS, []),
    "offsets_skipped": table(OFFSETS_SKIPPED, []),
    "offsets_partitions": table(OFFSETS_PARTITIONS, []),
    "offsets_retention_seconds": None,
    "offsets_retention_check_seconds": None,
    "offsets_retention_source": "unknown",
    "deaths": table(DEATHS, []),
    "expiry_checks": table(EXPIRY_CHECKS, []),
    "verdict_changes": table(VERDICT_CHANGES, []),
    "offsets_held_back": table(OFFSETS_HELD_BACK, []),
    "unreadable_tails": table(UNREADABLE_TAILS, []),
    "offsets_unavailable": table(OFFSETS_UNAVAILABLE, []),
    "offsets_unavailable_groups": table(OFFSETS_UNAVAILABLE_GROUPS, []),
    "expiry_error_seconds": None,
    "series_dropped": table(SERIES_DROPPED, []),
    "groups_not_evaluated": 0,
    "internal_errors": table(INTERNAL_ERRORS, []),
    "http_connections": None,
    "http_refusals": table(HTTP_REFUSALS, []),
    "file_failures": table(FILE_FAILURES, []),
    "descriptors": table(DESCRIPTORS, []),
    "processes": table(PROCESSES, []),
    "memory_limit_bytes": None,
    "heap_used_bytes": None,
    "heap_max_bytes": None,
    "checkpoint_bytes": None,
    "checkpoint_files": None,
    "checkpoint_volume_free_bytes": None,
    "checkpoint_volume_bytes": None,
    "webhook_sent": None,
    "webhook_queued": None,
    "webhook_oldest_at": None,
    "webhook_failures": table(WEBHOOK_FAILURES, []),
    "webhook_drops": table(WEBHOOK_DROPS, []),
    "otlp_points": None,
    "otlp_exported_at": None,
    "otlp_failures": table(OTLP_FAILURES, []),
    "state_snapshot_at": None,
    "state_repairs": 0,
    "executors": None,
    "executors_expected": None,
}
"""Changes of the status: Kafka has never been reachable."""


def small_snapshot() -> Snapshot:
    """Return a snapshot of four groups: a live one, a dead one, an almost unknown one, one with special characters."""
    return snapshot(
        partitions=[
            {
                "group": "billing",
                "topic": "orders",
                "partition": 0,
                "committed_offset": 41,
                "commit_time": NOON - 1500,
                "progress_time": NOON - 61_500,
                "high_watermark": 2**62 + 41,
                "lag": 2**62,
                "offset_expiry_time": NOON + 604_800_000,
                "lost": 0,
                "margin": 41,
                "time_lag": 61.5,
                "time_lag_exact": False,
                "produce_rate": 120.25,
                "consume_rate": 0.0,
                "trend": "growing",
                "verdict": "stopped",
                "verdict_since": NOON - 30_000,
                "offset_hidden": False,
            },
            {
                "group": "billing",
                "topic": "orders",
                "partition": 1,
                "committed_offset": 7,
                "commit_time": NOON,
                "lag_unknown_reason": "no leader",
                "verdict": "unknown",
                "verdict_since": NOON - 10_000,
                "offset_hidden": False,
            },
            {
                "group": 'say "hi"\\\nthere',
                "topic": "größe",
                "partition": 11,
                "committed_offset": 0,
                "commit_time": NOON - 1,
                "progress_time": NOON - 1,
                "high_watermark": 0,
                "lag": 0,
                "lost": 7,
                "margin": 0,
                "time_lag": 0.0,
                "time_lag_exact": True,
                "catch_up_seconds": 0.0,
                "verdict": "caught_up",
                "verdict_since": NOON - 60_000,
                "offset_hidden": True,
            },
        ],
        groups=[
            {
                "group": "billing",
                "kind": "classic",
                "state": "Stable",
                "protocol_type": "consumer",
                "protocol": "range",
                "generation": 12,
                "members": 3,
                "partitions": 2,
                "lag_sum": 2**62,
                "lag_max": 2**62,
                "partitions_lag_unknown": 1,
                "last_commit_time": NOON,
                "state_asked": True,
                "state_since": NOON - 90_000,
                "created_time": NOON - 86_400_000,
                "members_idle": 1,
                "members_away": 0,
                "partitions_unowned": 2,
                "topics_unsubscribed": 0,
                "verdict": "stopped",
                "severity": "critical",
                "verdict_since": NOON - 30_000,
                "verdict_partitions": 1,
                "sentence": "1 of 2 partitions; orders-0: No commit for 30 s: 1 offset unread.",
                "time_lag_max": 61.5,
                "time_lag_max_exact": False,
                "held_back": False,
                "lost_sum": 0,
                "rebalances": 12,
            },
            {
                "group": "gone",
                "kind": "classic",
                "state": "Dead",
                "state_asked": False,
                "state_since": NOON - 30_000,
                "partitions": 0,
                "partitions_lag_unknown": 0,
                "died_time": NOON - 30_000,
                "death_cause": "topic deleted",
            },
            {
                "group": "plain",
                "kind": "simple",
                "partitions": 0,
                "partitions_lag_unknown": 0,
                "verdict": "unknown",
                "severity": "unknown",
                "verdict_partitions": 0,
                "sentence": "The group has committed no offsets.",
                "held_back": False,
            },
            {
                "group": 'say "hi"\\\nthere',
                "kind": "consumer",
                "state": "Empty",
                "members": 0,
                "partitions": 1,
                "lag_sum": 0,
                "lag_max": 0,
                "partitions_lag_unknown": 0,
                "last_commit_time": NOON - 1,
                "state_asked": False,
                "group_epoch": 9,
                "assignment_epoch": 8,
                "first_offset_expiry_time": NOON + 3_600_000,
                "group_expiry_time": NOON + 3_600_500,
                "verdict": "caught_up",
                "severity": "fine",
                "verdict_since": NOON - 60_000,
                "verdict_partitions": 1,
                "time_lag_max": 0.0,
                "time_lag_max_exact": True,
                "held_back": True,
                "lost_sum": 7,
                "odd_times": 2,
            },
        ],
        unknown_lags=[{"group": "billing", "reason": "no leader", "partitions": 1}],
        transitions=[
            {"group": "billing", "transition": "created", "count": 1},
            {"group": "billing", "transition": "rebalanced", "count": 12},
            {"group": "gone", "transition": "dead", "count": 1},
        ],
        topics=[
            {
                "group": "billing",
                "topic": "orders",
                "partitions": 2,
                "lag_sum": 2**62,
                "lag_max": 2**62,
                "time_lag_max": 61.5,
                "time_lag_max_exact": False,
                "partitions_lag_unknown": 1,
                "verdict": "stopped",
            },
            {
                "group": 'say "hi"\\\nthere',
                "topic": "größe",
                "partitions": 1,
                "lag_sum": 0,
                "lag_max": 0,
                "time_lag_max": 0.0,
                "time_lag_max_exact": True,
                "partitions_lag_unknown": 0,
                "verdict": "caught_up",
            },
        ],
        verdict_groups=[
            {"verdict": "caught_up", "severity": "fine", "groups": 1},
            {"verdict": "unknown", "severity": "unknown", "groups": 1},
            {"verdict": "stopped", "severity": "critical", "groups": 1},
            {"verdict": "losing_data", "severity": "critical", "groups": 0},
        ],
        log_ends=[
            {
                "topic": "orders",
                "partition": 0,
                "high_watermark": 2**62 + 41,
                "log_start_offset": 0,
                "stable_gap": 3,
            },
            {"topic": "orders", "partition": 1},
            {"topic": "größe", "partition": 11, "high_watermark": 0, "log_start_offset": 0, "stable_gap": 0},
        ],
    )


def member(member_id: str, **changes: Any) -> MemberDetail:
    """Return a member that owns the first partition of a topic, with changes."""
    fields: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": "app",
        "client_host": "/10.0.0.1",
        "rack": None,
        "epoch": None,
        "state": None,
        "away": False,
        "assignor": None,
        "subscription": ("orders",),
        "regex": None,
        "assignment": (("orders", (0,)),),
    }
    return MemberDetail(**fields | changes)


STOPPED = FindingDetail(
    verdict="stopped",
    severity="critical",
    since=NOON / 1000 - 30,
    sentence="1 of 2 partitions; orders-0: No commit for 30 s, where 20 s is the longest to expect: <unread>.",
    evidence={
        "commit_time": "2023-11-14T22:12:50.000Z",
        "patience_seconds": 20.0,
        "lag": 400,
        "members": None,
    },
    next_step="See whether the consumer still runs and what it waits for; a hung one is restarted.",
)
"""The finding of the group `billing`."""
NO_LEADER = FindingDetail(
    "unknown", "unknown", None, "The lag is not known: the partition has no leader.", {}, "See why."
)


def share_partition(number: int, **changes: Any) -> SharePartitionDetail:
    """Return a partition of a share group that has finished some records, with changes."""
    fields: dict[str, Any] = {
        "start_offset": 1600,
        "end": 2000,
        "lag": 390,
        "finished": 10,
        "returned": 2,
        "most_deliveries": 3,
        "acknowledged": 1590,
        "archived": 1,
        "returns": 4,
        "verdict": "ok",
        "verdict_since": NOON / 1000 - 30,
    }
    return SharePartitionDetail("orders", number, **fields | changes)


def detail(group: str = "billing", **changes: Any) -> GroupDetail:
    """Return the detail of a group, by default of `billing`, with changes."""
    fields: dict[str, Any] = {
        "members": (
            member("app-1", assignment=(("orders", (0, 1, 2, 7)),), epoch=9, state="Stable", rack="eu-1"),
            member("app-2", instance_id="pod-2", away=True, assignment=(("orders", (3,)),), assignor="uniform"),
            member("app-3", assignment=(), regex="order.*", subscription=()),
        ),
        "transitions": (
            TransitionDetail(NOON / 1000 - 86_400, "created", "first seen", None, live=False, came=0, went=0),
            TransitionDetail(NOON / 1000 - 90, "rebalanced", "3 members came", None, live=True, came=3, went=0),
            TransitionDetail(NOON / 1000 - 30.5, "forgotten", "1 offset", "topic deleted", live=True, came=0, went=0),
        ),
        "unowned": (("orders", (4, 5, 6)),),
        "unsubscribed": ("old",),
        "finding": STOPPED,
        "partition_findings": (("orders", 0, STOPPED), ("orders", 1, NO_LEADER)),
        "verdicts": (
            VerdictChange(NOON / 1000 - 3_600, None, "ok", "orders-0: Keeps up: 3 offsets unread."),
            VerdictChange(NOON / 1000 - 30, "ok", "stopped", STOPPED.sentence),
        ),
    }
    return GroupDetail(group, **fields | changes)
