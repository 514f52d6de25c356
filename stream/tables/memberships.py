"""Rows of the tables `groups` and `members`, from the events of single records."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from decoders import group_events as facts
from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded, ClassicMember, RecordEvent, Removed
from decoders.interpret import event_of
from decoders.jsonform import uuid_text
from stream.groups.membership.classic import assigned_rows, standby_rows
from stream.groups.membership.model import topics_of_blob
from stream.tables.rows import AskedRecords, batch_of, column_of, error_text

Row = dict[str, Any]
"""The columns of a row that are not null, by name; times in ms."""


def group_rows(asked: AskedRecords, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `groups`: one per record about a group as a whole."""
    return _rows(asked, schema, lambda event: (_group_row(event),))


def member_rows(asked: AskedRecords, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `members`: one per member in each record about members."""
    return _rows(asked, schema, _member_rows)


def _rows(
    asked: AskedRecords, schema: pa.Schema, rows_of: Callable[[RecordEvent], Iterable[Row]]
) -> Iterator[pa.RecordBatch]:
    records, found, at = asked.taken(), list[Row](), list[int]()
    for number in range(len(asked)):
        read = scalar.decode(*records.record(number))
        if isinstance(read, DecodeError):
            made: list[Row] = [{"error": error_text(read)}]
        else:
            common = {"kind": read.type.group_kind, "tombstone": read.value is None}
            made = [{**common, **each} for each in rows_of(event_of(read))]
        found += made
        at += [number] * len(made)
    if found:
        columns = asked.select(np.array(at)).columns()
        own = {field.name: functools.partial(column_of, field, found) for field in schema if field.name not in columns}
        yield batch_of(schema, {**columns, **own}, len(found))


def _group_row(event: Any) -> Row:
    """Return the columns of a record about a group; none of a tombstone."""
    match event:
        case ClassicGroupRecorded():
            return {
                "epoch": event.generation,
                "state": "Stable" if event.members else "Empty",
                "members": len(event.members),
                "protocol_type": event.protocol_type or None,
                "protocol": event.protocol,
                "leader": event.leader,
                "state_time": event.state_timestamp,
            }
        case facts.GroupEpochRecorded():
            return {"epoch": event.group_epoch}
        case facts.TargetAssignmentRecorded():
            return {"assignment_epoch": event.assignment_epoch, "assignment_time": event.assignment_timestamp}
    return {}


def _member_rows(event: Any) -> Iterable[Row]:
    """Return the columns of each member in a record."""
    if isinstance(event, ClassicGroupRecorded):
        return [_classic_row(event, member) for member in event.members]
    if isinstance(event, Removed):
        return [{"member_id": event.member_id}] if event.member_id else []
    return [{"member_id": event.member_id, **_newer_columns(event)}]


def _classic_row(event: ClassicGroupRecorded, member: ClassicMember) -> Row:
    topics = topics_of_blob(member.subscription) if event.protocol_type == "consumer" else None
    rows = assigned_rows(event, member)
    return {
        "member_id": member.member_id,
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "epoch": event.generation,
        "rebalance_timeout_ms": member.rebalance_timeout,
        "session_timeout_ms": member.session_timeout,
        "subscription": None if topics is None else sorted(topics),
        "assignment": None
        if rows is None
        else [{"topic": name, "partitions": each} for name, each in rows]
        + [{"task": name, "partitions": each} for name, each in standby_rows(event, member)],
    }


def _newer_columns(event: Any) -> Row:
    """Return the columns of a member of a newer group: subscription, target or current assignment."""
    match event:
        case facts.MemberRecorded():
            return {
                "instance_id": event.instance_id,
                "client_id": event.client_id,
                "client_host": event.client_host,
                "rack_id": event.rack_id,
                "rebalance_timeout_ms": event.rebalance_timeout,
                "session_timeout_ms": event.classic_session_timeout,
                "subscription": None if event.kind == "streams" else list(event.topics),
                "topic_regex": event.topic_regex,
            }
        case facts.MemberTargetRecorded():
            return {"target": _assigned(event.assigned)}
    return {
        "epoch": event.member_epoch,
        "state": event.member_state,
        "assignment": _assigned(event.assigned),
        "revoking": _assigned(event.pending_revocation),
    }


def _assigned(rows: facts.AssignmentRows) -> list[Row]:
    return [
        {"task": f"{role} {name}", "partitions": each} if role else {"topic_id": uuid_text(name), "partitions": each}
        for role, name, each in rows
    ]
