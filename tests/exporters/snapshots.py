"""Snapshots and statuses for tests of the exporters, with unusual names and values. Times are Unix milliseconds."""

import dataclasses
from typing import Any

import pyarrow as pa

from exporters import readmodel
from exporters.catalogue import service
from exporters.http.openapi.small_world import NOON, rows, rows_table
from exporters.readmodel import (
    BatchProgress,
    CatchUp,
    CheckpointSpace,
    ExecutorCount,
    FindingDetail,
    GroupDetail,
    HeapUsage,
    Histogram,
    MemberDetail,
    MonitorStatus,
    OtlpStatus,
    QueryStatus,
    RecordCounts,
    SharePartitionDetail,
    Snapshot,
    TerminationCounts,
    TickStatus,
    TransitionDetail,
    VerdictChange,
    WebhookStatus,
)
from exporters.readmodel.monitor_status import HttpStatus

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
    return Snapshot(
        NOON / 1000,
        table(readmodel.PARTITIONS, partitions or []),
        table(readmodel.GROUPS, groups or []),
        table(readmodel.UNKNOWN_LAGS, unknown_lags or []),
        table(readmodel.TRANSITIONS, transitions or []),
        table(readmodel.TOPICS, topics or []),
        table(readmodel.VERDICT_GROUPS, verdict_groups or []),
        log_ends=table(readmodel.LOG_ENDS, log_ends or []),
        common_causes=table(readmodel.COMMON_CAUSES, common_causes or []),
        covered_groups=table(
            readmodel.COVERED_GROUPS,
            [
                {"group": name, "dimension": cause["dimension"], "key": cause["key"]}
                for cause in common_causes or []
                for name in cause["groups"]
            ],
        ),
    )


def verdicts_snapshot(**verdicts: str) -> Snapshot:
    """Return a snapshot of live groups with these verdicts: `ok` is fine, `unknown` unknown, any other critical."""
    severities = {"ok": "fine", "unknown": "unknown"}
    rows = [
        {"group": name, "verdict": verdict, "severity": severities.get(verdict, "critical"), "state": "Stable"}
        for name, verdict in verdicts.items()
    ]
    return snapshot(groups=rows)


COMMON_CAUSE: dict[str, Any] = {
    "dimension": "coordinator",
    "key": "3",
    "unhealthy": 2,
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
    """Return the status of a running monitor with these changes; a dict changes fields of a part."""
    fields: dict[str, Any] = {
        "version": "0.1.0",
        "cluster_id": "MkU3OEVBNTcwNTJENDM2Qk",
        "phase": "running",
        "ready": True,
        "not_ready_reasons": (),
        "started_at": NOON / 1000 - 3600,
        "kafka_reachable": True,
        "catch_up": CatchUp(1.0),
        "query": QueryStatus(
            batches=360,
            state_repairs=1,
            last_seconds=0.25,
            last_at=NOON / 1000 - 2.5,
            last=BatchProgress(
                input_rows=6,
                input_rate=1.2,
                processed_rate=24.5,
                state_rows=64,
                state_bytes=2_400_000,
                phases=rows_table(readmodel.QUERY_PHASES, "phase seconds", ("add_batch", 0.2), ("wal_commit", 0.01)),
            ),
        ),
        "records": RecordCounts(
            read=rows_table(
                readmodel.RECORDS_READ,
                "record_type tracking records",
                ("group_metadata", "tracked", 17),
                ("offset_commit", "tracked", 2**53 + 1),
            ),
            errors=rows_table(
                readmodel.DECODE_ERRORS,
                "record_type version reason records",
                ("offset_commit", "9", "unknown version", 3),
            ),
            skipped=rows_table(readmodel.OFFSETS_SKIPPED, "reason offsets", ("truncated", 12)),
        ),
        "tick": TickStatus(
            taken_at=NOON / 1000,
            offsets_retention_seconds=604_800.0,
            offsets_retention_check_seconds=600.0,
            offsets_retention_source="broker",
            series=21,
            series_dropped=rows_table(
                service.SERIES_DROPPED.schema, "metric series_now series_ever", ("lagwarden_x", 70, 700)
            ),
            offsets_partitions=rows_table(
                readmodel.OFFSETS_PARTITIONS,
                "offsets_partition position high_watermark last_stable_offset distance stable_gap stable_gap_since",
                (0, 90, 100, 95, 5, 5, NOON - 4_000),
                (1, 7),
            ),
            offsets_held_back=rows_table(
                readmodel.OFFSETS_HELD_BACK,
                "offsets_partition since producer_id transactional_id hanging unread",
                (0, NOON - 4_000, 4001, 'pay\n"1"'),
                (7, NOON, None, None, True, 12),
            ),
            unreadable_tails=rows_table(readmodel.UNREADABLE_TAILS, "reason partitions", ("not_authorized", 3)),
            offsets_unavailable=rows_table(
                readmodel.OFFSETS_UNAVAILABLE,
                "offsets_partition reason since groups",
                (4, "no_leader", NOON - 45_000, 12),
            ),
            offsets_unavailable_groups=rows_table(
                readmodel.OFFSETS_UNAVAILABLE_GROUPS, "offsets_partition group", (4, "audit"), (4, 'a"b\n')
            ),
            terminations=TerminationCounts(
                rows_table(readmodel.DEATHS, "cause groups", ("expired", 4), ("topic deleted", 1)),
                rows_table(readmodel.EXPIRY_CHECKS, "outcome offsets", ("early", 2), ("kept", 40)),
                Histogram((0.0, 60.0, 600.0), (1, 11, 39), 40, 4_321.5),
            ),
            verdict_changes=rows_table(readmodel.VERDICT_CHANGES, "verdict groups", ("stopped", 2), ("ok", 0)),
            groups_not_evaluated=1,
        ),
        "internal_errors": rows_table(readmodel.INTERNAL_ERRORS, "part errors", ("answer", 0), ("group", 2)),
        "file_failures": rows_table(readmodel.FILE_FAILURES, "file failures", ("heartbeat", 5)),
        "descriptors": rows_table(readmodel.DESCRIPTORS, "role open limit", ("jvm", 714, 4096)),
        "processes": rows_table(
            readmodel.PROCESSES,
            "role processes cpu_seconds memory",
            ("jvm", 1, 61.25, 900_000_000),
            ("python_worker", 0, 2.5),
        ),
        "memory_limit_bytes": 2_000_000_000,
        "heap": HeapUsage(300_000_000, 512_000_000),
        "checkpoint": CheckpointSpace(12_345_678, 410, 4_000_000_000, 5_000_000_000, NOON / 1000 - 300),
        "executors": ExecutorCount(expected=2, running=1, none_since=None),
        "webhook": WebhookStatus(
            12,
            3,
            NOON / 1000 - 30,
            rows_table(service.WEBHOOK_FAILURES.schema, "address reason failures", ("http://a", "timeout", 6)),
            rows_table(service.WEBHOOK_DROPS.schema, "reason events", ("queue_full", 0)),
        ),
        "otlp": OtlpStatus(
            140_000, NOON / 1000 - 20, rows_table(service.OTLP_FAILURES.schema, "reason failures", ("tls", 8))
        ),
        "http": HttpStatus(3, rows_table(service.HTTP_REFUSALS.schema, "reason refusals", ("slow_reader", 4))),
    }
    for name, change in changes.items():
        fields[name] = dataclasses.replace(fields[name], **change) if isinstance(change, dict) else change
    return MonitorStatus(**fields)


CATCHING_UP: dict[str, Any] = {
    "phase": "catching up",
    "ready": False,
    "not_ready_reasons": ("Reading what groups have committed so far.",),
    "catch_up": CatchUp(0.425, 912_345.5, 75.0),
    "tick": {"taken_at": None, "series": 0},
}
"""Changes of the status: during the initial catch-up, before the first snapshot."""

CONNECTING: dict[str, Any] = {
    **{
        each.name: each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
        for each in dataclasses.fields(MonitorStatus)
        if each.default is not dataclasses.MISSING or each.default_factory is not dataclasses.MISSING
    },
    "cluster_id": None,
    "phase": "connecting",
    "ready": False,
    "not_ready_reasons": ("Kafka does not answer at <broker>:9092.",),
    "kafka_reachable": False,
}
"""Changes of the status: Kafka has never been reachable."""


UNUSUAL = 'say "hi"\\\nthere'
"""The group of the small snapshot with a name of special characters."""
_LAST = NOON - 30_000
_FINDING = "group verdict topic partition client_id committed_offset"


def small_snapshot() -> Snapshot:
    """Return a snapshot of four groups: a live one, a dead one, an almost unknown one, one with special characters."""
    places = rows(
        "group topic partition committed_offset commit_time verdict verdict_since offset_hidden",
        ("billing", "orders", 0, 41, NOON - 1500, "stopped", _LAST, False),
        ("billing", "orders", 1, 7, NOON, "unknown", NOON - 10_000, False),
        (UNUSUAL, "größe", 11, 0, NOON - 1, "caught_up", NOON - 60_000, True),
    )
    known = rows(
        "progress_time high_watermark lag lost margin time_lag time_lag_exact",
        (NOON - 61_500, 2**62 + 41, 2**62, 0, 41, 61.5, False),
        (),
        (NOON - 1, 0, 0, 7, 0, 0.0, True),
    )
    rates = {"produce_rate": 120.25, "consume_rate": 0.0, "trend": "growing"}
    more = (
        rates | {"offset_expiry_time": NOON + 604_800_000},
        {"lag_unknown_reason": "no leader"},
        {"catch_up_seconds": 0.0},
    )
    billing = {
        "state": "Stable",
        "protocol_type": "consumer",
        "protocol": "range",
        "generation": 12,
        "members": 3,
        "state_described": True,
        "state_since": NOON - 90_000,
        "created_time": NOON - 86_400_000,
        "members_idle": 1,
        "members_away": 0,
        "partitions_unowned": 2,
        "topics_unsubscribed": 0,
        "sentence": "orders-0 has had no commit for 30 s: 1 offset unread.",
        "rebalances": 12,
    }
    gone = {"state": "Dead", "state_described": False, "state_since": _LAST, "died_time": _LAST}
    unusual = {
        "state": "Empty",
        "members": 0,
        "state_described": False,
        "group_epoch": 9,
        "assignment_epoch": 8,
        "first_offset_expiry_time": NOON + 3_600_000,
        "group_expiry_time": NOON + 3_600_500,
        "odd_times": 2,
    }
    groups = rows(
        "group kind partitions partitions_lag_unknown verdict severity verdict_partitions held_back",
        ("billing", "classic", 2, 1, "stopped", "critical", 1, False),
        ("gone", "classic", 0, 0),
        ("plain", "simple", 0, 0, "unknown", "unknown", 0, False),
        (UNUSUAL, "consumer", 1, 0, "caught_up", "fine", 1, True),
    )
    lags = rows(
        "lag_sum lag_max last_commit_time verdict_since time_lag_max time_lag_max_exact lost_sum",
        (2**62, 2**62, NOON, _LAST, 61.5, False, 0),
        (),
        (),
        (0, 0, NOON - 1, NOON - 60_000, 0.0, True, 7),
    )
    own = (
        billing,
        gone | {"death_cause": "topic deleted"},
        {"sentence": "The group has committed no offsets."},
        unusual,
    )
    found = snapshot(
        partitions=[{**one, **two, **three} for one, two, three in zip(places, known, more, strict=True)],
        groups=[{**one, **two, **three} for one, two, three in zip(groups, lags, own, strict=True)],
        unknown_lags=rows("group reason partitions", ("billing", "no leader", 1)),
        transitions=rows(
            "group transition count", ("billing", "created", 1), ("billing", "rebalanced", 12), ("gone", "dead", 1)
        ),
        topics=rows(
            "group topic partitions lag_sum lag_max time_lag_max time_lag_max_exact partitions_lag_unknown verdict",
            ("billing", "orders", 2, 2**62, 2**62, 61.5, False, 1, "stopped"),
            (UNUSUAL, "größe", 1, 0, 0, 0.0, True, 0, "caught_up"),
        ),
        verdict_groups=rows(
            "verdict severity groups",
            ("caught_up", "fine", 1),
            ("unknown", "unknown", 1),
            ("stopped", "critical", 1),
            ("losing_data", "critical", 0),
        ),
        log_ends=rows(
            "topic partition high_watermark log_start_offset stable_gap",
            ("orders", 0, 2**62 + 41, 0, 3),
            ("orders", 1),
            ("größe", 11, 0, 0, 0),
        ),
    )
    finding = ("billing", "stopped", "orders", 0, 'app "1"', 41)
    return dataclasses.replace(found, findings=rows_table(readmodel.FINDINGS, _FINDING, finding))


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
    sentence="orders-0 has had no commit for 30 s, where 20 s is the longest to expect: <unread>.",
    evidence={"commit_time": "2023-11-14T22:12:50.000Z", "patience_seconds": 20.0, "lag": 400, "members": None},
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
            TransitionDetail(NOON / 1000 - 86_400, "created", "first seen", None, live=False, joined=0, left=0),
            TransitionDetail(NOON / 1000 - 90, "rebalanced", "3 members came", None, live=True, joined=3, left=0),
            TransitionDetail(NOON / 1000 - 30.5, "forgotten", "1 offset", "topic deleted", live=True, joined=0, left=0),
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
