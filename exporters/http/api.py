"""The JSON responses about groups and readiness (`/api/v1/groups`, `/api/v1/group`, `/readyz`).

`/api/v1/topics/NAME/groups` has the groups that read a topic. Fields have the names of the columns of the read model;
`exporters.api_types` has their types. An unknown number is `null`, times are RFC 3339 strings in UTC with milliseconds.
No HTTP here.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.api_types import monitor as api_types
from exporters.api_types.json_object import as_json
from exporters.group_query import ALL_GROUPS, GroupQuery
from exporters.group_search import MemberSearch, rows_where, select_groups
from exporters.readmodel import GroupDetail, MonitorStatus, OtherInstance, Snapshot
from exporters.text.exposition import PublishedSnapshot
from exporters.timestamps import rfc3339

_OF_THE_GROUP: Final = {"group": "group", "state": "group_state", "severity": "group_severity", "team": "team"}
"""Columns of GROUPS, and the fields with which a group of a topic has them."""


def groups_json(
    published: PublishedSnapshot,
    query: GroupQuery = ALL_GROUPS,
    search: MemberSearch | None = None,
    status: MonitorStatus | None = None,
) -> bytes:
    """Return the groups of a query, by default all: `{"snapshot_time": …, "groups": [{"group": …, …}, …]}`.

    `common_causes` has the things that explain many unhealthy groups, each with its sentence and its groups. `total` is
    the number of groups that match, `next` the `start` of the next page. `status` says which of several instances this
    is, and has the name of the cluster. Raises MembersHiddenError. The response with all groups is rendered once per
    snapshot and kept with it, so that replacing the snapshot also frees the response.
    """
    if query != ALL_GROUPS:
        return encode(_groups(published.snapshot, query, search, status))
    body = published.responses.get("groups")
    if body is None:
        body = published.responses["groups"] = encode(_groups(published.snapshot, query, search, status))
    return body


def topic_groups_json(
    snapshot: Snapshot, topic: str, query: GroupQuery = ALL_GROUPS, search: MemberSearch | None = None
) -> bytes:
    """Return the groups that read a topic, with the numbers of this topic. Raises MembersHiddenError.

    A group reads a topic if it has a committed offset in it, or a member that subscribes to it. The order of the query
    is by the values of the whole group.
    """
    selected = select_groups(snapshot, dataclasses.replace(query, topic=topic), search)
    whole = table_rows(selected.groups.select([*_OF_THE_GROUP]).rename_columns([*_OF_THE_GROUP.values()]))
    topics = rows_where(snapshot.topics, topic=topic)
    names = pa.array([row["group"] for row in whole], pa.string())
    topics = topics.filter(pc.is_in(topics.column("group").cast(pa.string()), value_set=names)).drop_columns(["topic"])
    numbers = {row["group"]: row for row in table_rows(topics)}
    rows: list[api_types.TopicGroupRow] = [{**row, **numbers[row["group"]]} for row in whole]
    response: api_types.TopicGroupsResponse = {
        "snapshot_time": rfc3339(snapshot.taken_at),
        "topic": topic,
        "total": selected.total,
        "next": selected.next,
        "groups": rows,
    }
    return encode(response)


def group_json(snapshot: Snapshot, group: str, detail: GroupDetail | None = None) -> bytes | None:
    """Return one group with its partitions, topics, reasons of unknown lags, and its detail; None if it is not known.

    The detail is current, the rest has the time of the snapshot. `members` and `partitions` are counts; the lists are
    `by_member`, `by_partition` and `by_topic`. `finding` explains the group's verdict, `findings` those of its
    partitions that are not fine (the worst first), `verdicts` are the changes of its verdict, `quotas` those by which
    its members may be throttled. A share group commits no offsets: its partitions are in `by_share_partition`.
    """
    found = table_rows(snapshot.with_sentences(rows_where(snapshot.groups, group=group)))
    if not found:
        return None
    unknown = table_rows(rows_where(snapshot.unknown_lags, group=group))
    response: api_types.GroupResponse = {
        "snapshot_time": rfc3339(snapshot.taken_at),
        **found[0],
        "unknown_lags": {row["reason"]: row["partitions"] for row in unknown},
        "by_partition": table_rows(rows_where(snapshot.partitions, group=group).drop_columns(["group"])),
        "by_topic": table_rows(rows_where(snapshot.topics, group=group).drop_columns(["group"])),
        **_detail(detail),
    }
    return encode(response)


def no_such_group(group: str, other: OtherInstance | None) -> bytes:
    """Return the error for a group that is not in the snapshot, with the instance that monitors it if it is another."""
    error = {"error": "no such group", "group": group}
    if other is None:
        return encode(error)
    page = {} if other.url is None else {"url": other.url}
    return encode(error | {"instance": other.part} | page)


def readiness_json(status: MonitorStatus) -> bytes:
    """Return whether the monitor is ready, and if not, the reasons."""
    taken_at, now = status.tick.taken_at, status.catch_up
    response: api_types.ReadinessResponse = {
        "ready": status.ready,
        "phase": status.phase,
        "reasons": status.not_ready_reasons,
        "catch_up_ratio": None if now is None else now.ratio,
        "catch_up_seconds_left": None if now is None else now.seconds_left,
        "snapshot_time": None if taken_at is None else rfc3339(taken_at),
    }
    return encode(response)


def _groups(
    snapshot: Snapshot, query: GroupQuery, search: MemberSearch | None, status: MonitorStatus | None
) -> api_types.GroupsResponse:
    selected = select_groups(snapshot, query, search)
    response: api_types.GroupsResponse = {
        "snapshot_time": rfc3339(snapshot.taken_at),
        "total": selected.total,
        "next": selected.next,
        "common_causes": table_rows(snapshot.common_causes),
        "groups": table_rows(snapshot.with_sentences(selected.groups)),
    }
    if status is not None and status.instances > 1:
        response |= {"instance": status.part, "siblings": list(status.siblings)}
    if status is not None and status.cluster_name is not None:
        response["cluster_name"] = status.cluster_name
    return response


def _detail(detail: GroupDetail | None) -> dict[str, Any]:
    if detail is None:
        return dict.fromkeys(api_types.GroupDetailObject.__annotations__)
    return {
        "by_member": [as_json(member) for member in detail.members],
        "transitions": [as_json(transition) for transition in detail.transitions],
        "unowned": None if detail.unowned is None else dict(detail.unowned),
        "unsubscribed": detail.unsubscribed,
        "finding": None if detail.finding is None else as_json(detail.finding),
        "findings": [
            {"topic": topic, "partition": partition, **as_json(finding)}
            for topic, partition, finding in detail.partition_findings
        ],
        "verdicts": [as_json(change) for change in detail.verdicts],
        "quotas": None if detail.quotas is None else list(map(as_json, detail.quotas)),
        "by_share_partition": None if (parts := detail.share_partitions) is None else list(map(as_json, parts)),
        "share_progress_time": None if detail.share_progress_time is None else rfc3339(detail.share_progress_time),
    }


def encode(response: Mapping[str, Any]) -> bytes:
    """Return a response as JSON with a line feed. Raises ValueError for NaN, which JSON does not have."""
    return json.dumps(response, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def table_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as JSON objects with the columns as fields."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, pc.strftime(table.column(at), "%Y-%m-%dT%H:%M:%SZ"))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
