"""The snapshot as JSON: the shapes behind `/api/v1`. Fields are called like the columns of the read model.

A number that is not known is `null`. Points in time are RFC 3339 strings in UTC with milliseconds. Built once per
snapshot where the answer is the same for all; no HTTP here.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from exporters.timestamps import rfc3339

if TYPE_CHECKING:
    from exporters.readmodel import (
        FindingDetail,
        GroupDetail,
        MemberDetail,
        MonitorStatus,
        Snapshot,
        TransitionDetail,
        VerdictChange,
    )
    from exporters.text.exposition import PublishedSnapshot


@functools.lru_cache(maxsize=1)
def groups_json(published: PublishedSnapshot) -> bytes:
    """Give all groups, in order of their names: `{"snapshot_time": …, "groups": [{"group": …, "lag_sum": …}, …]}`."""
    snapshot = published.snapshot
    return encode({"snapshot_time": moment(snapshot.taken_at), "groups": rows(snapshot.groups)})


def group_json(snapshot: Snapshot, group: str, detail: GroupDetail | None = None) -> bytes | None:
    """Give one group with its partitions, why lags are unknown, and its detail; None when there is no such group.

    The detail is of now, the rest of the snapshot's time. As `partitions` and `members` are numbers, what they count
    stands in `by_partition`, `by_topic` and `by_member`. `finding` is the group's verdict in words, `findings` are
    those of its partitions that are not fine, the worst first, `verdicts` how its verdict changed.
    """
    found = rows(_of_group(snapshot.groups, group))
    if not found:
        return None
    unknown = rows(_of_group(snapshot.unknown_lags, group))
    return encode(
        {
            "snapshot_time": moment(snapshot.taken_at),
            **found[0],
            "unknown_lags": {row["reason"]: row["partitions"] for row in unknown},
            "by_partition": rows(_of_group(snapshot.partitions, group).drop_columns(["group"])),
            "by_topic": rows(_of_group(snapshot.topics, group).drop_columns(["group"])),
            **_detail(detail),
        }
    )


def _detail(detail: GroupDetail | None) -> dict[str, Any]:
    """Give what is told of one group at a time; all of it null where nothing is known of the group now."""
    if detail is None:
        return dict.fromkeys(("by_member", "transitions", "unowned", "unsubscribed", "finding", "findings", "verdicts"))
    return {
        "by_member": [_member(member) for member in detail.members],
        "transitions": [_transition(transition) for transition in detail.transitions],
        "unowned": None if detail.unowned is None else dict(detail.unowned),
        "unsubscribed": detail.unsubscribed,
        "finding": None if detail.finding is None else _finding(detail.finding),
        "findings": [
            {"topic": topic, "partition": partition, **_finding(finding)}
            for topic, partition, finding in detail.partition_findings
        ],
        "verdicts": [_verdict_change(change) for change in detail.verdicts],
    }


def _finding(finding: FindingDetail) -> dict[str, Any]:
    since = None if finding.since is None else moment(finding.since)
    told = {field.name: getattr(finding, field.name) for field in dataclasses.fields(finding)}
    return {**told, "since": since, "evidence": dict(finding.evidence)}


def _verdict_change(change: VerdictChange) -> dict[str, Any]:
    return {**dataclasses.asdict(change), "time": moment(change.time)}


def _member(member: MemberDetail) -> dict[str, Any]:
    return {**dataclasses.asdict(member), "assignment": dict(member.assignment)}


def _transition(transition: TransitionDetail) -> dict[str, Any]:
    return {**dataclasses.asdict(transition), "time": moment(transition.time)}


def readiness_json(status: MonitorStatus) -> bytes:
    """Give whether the groups' numbers can be relied on, and if not, why."""
    return encode(
        {
            "ready": status.ready,
            "phase": status.phase,
            "reasons": status.not_ready_reasons,
            "catch_up_ratio": status.catch_up_ratio,
            "catch_up_seconds_left": status.catch_up_seconds_left,
            "snapshot_time": None if status.snapshot_taken_at is None else moment(status.snapshot_taken_at),
        }
    )


def encode(answer: dict[str, Any]) -> bytes:
    """Encode an answer. A NaN would be no JSON, so it fails here and not in every reader."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def moment(unix_seconds: float) -> str:
    """Write a point in time as people and parsers read it."""
    return rfc3339(unix_seconds)


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Give a table's rows as JSON can carry them."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, pc.strftime(table.column(at), "%Y-%m-%dT%H:%M:%SZ"))
    listed: list[dict[str, Any]] = table.to_pylist()
    return listed


def _of_group(table: pa.Table, group: str) -> pa.Table:
    return table.filter(pc.equal(table.column("group"), pa.scalar(group)))
