"""Rows of the tables `groups` and `members`, from the events of single records."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from decoders import group_events as facts
from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded, ClassicGroupRemoved, ClassicMember, Event
from decoders.interpret import event_of
from decoders.jsonform import uuid_text
from decoders.schema import RecordContent
from decoders.tables import types_with
from stream.groups.commits.run_table import RecordRole
from stream.groups.membership.classic import assigned_rows, standby_rows
from stream.groups.membership.model import CLASSIC, topics_of_blob
from stream.tables.keys import AskedNames, NamedKeys
from stream.tables.logged import LoggedRecords
from stream.tables.rows import batch_of, column_of, error_text, record_rows

Row = dict[str, Any]
"""The columns of a row that are not null, by name; times in ms."""

_GROUP_TYPES: Final = types_with(RecordContent.CLASSIC_GROUP, RecordContent.GROUP_EPOCH, RecordContent.TARGET_EPOCH)
_MEMBER_TYPES: Final = types_with(
    RecordContent.CLASSIC_GROUP, RecordContent.MEMBER, RecordContent.TARGET_ASSIGNMENT, RecordContent.CURRENT_ASSIGNMENT
)


def group_rows(logged: LoggedRecords, schema: pa.Schema, asked: AskedNames) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `groups`: one per record about a group as a whole."""
    return _rows(logged, schema, asked, _GROUP_TYPES, lambda event: (_group_row(event),))


def member_rows(logged: LoggedRecords, schema: pa.Schema, asked: AskedNames) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `members`: one per member in each record about members."""
    return _rows(logged, schema, asked, _MEMBER_TYPES, _member_rows)


def _rows(
    logged: LoggedRecords,
    schema: pa.Schema,
    asked: AskedNames,
    types: frozenset[int],
    rows_of: Callable[[Event], Iterable[Row]],
) -> Iterator[pa.RecordBatch]:
    keys = NamedKeys.build(logged.records.keys)
    rows = keys.rows(tuple(RecordRole), asked)
    rows = rows[np.isin(keys.distinct.record_type[keys.codes[rows]], sorted(types))]
    found: list[Row] = []
    at: list[int] = []
    for number, row in enumerate(rows.tolist()):
        read = scalar.decode(*logged.records.record(row))
        if isinstance(read, DecodeError):
            made: Iterable[Row] = [{"error": error_text(read), "group": keys.group[int(keys.codes[row])].as_py()}]
        else:
            made = ({"tombstone": read.value is None, **each} for each in rows_of(event_of(read)))
        for each in made:
            found.append(each)
            at.append(number)
    if not found:
        return
    take, about_log = pa.array(at, pa.int64()), record_rows(logged, rows, logged.records.take(rows))
    columns = {name: functools.partial(_taken, column, take) for name, column in about_log.items()}
    own = {field.name: functools.partial(column_of, field, found) for field in schema if field.name not in columns}
    yield batch_of(schema, {**columns, **own}, len(found))


def _taken(column: Callable[[], pa.Array], rows: pa.Array) -> pa.Array:
    return column().take(rows)


def _group_row(event: Any) -> Row:
    """Return the columns of a record about a group."""
    row = {"group": event.group, "kind": getattr(event, "kind", CLASSIC)}
    match event:
        case ClassicGroupRecorded():
            row |= {
                "epoch": event.generation,
                "state": "Stable" if event.members else "Empty",
                "members": len(event.members),
                "protocol_type": event.protocol_type or None,
                "protocol": event.protocol,
                "leader": event.leader,
                "state_time": event.state_timestamp,
            }
        case facts.GroupEpochRecorded():
            row["epoch"] = event.group_epoch
        case facts.TargetAssignmentRecorded():
            row |= {"assignment_epoch": event.assignment_epoch, "assignment_time": event.assignment_timestamp}
        case facts.GroupEpochRemoved() | facts.TargetAssignmentRemoved() | ClassicGroupRemoved():
            pass
    return row


def _member_rows(event: Any) -> Iterable[Row]:
    """Return the columns of each member in a record."""
    if isinstance(event, ClassicGroupRecorded):
        return [_classic_row(event, member) for member in event.members]
    if isinstance(event, ClassicGroupRemoved):
        return []
    kind = getattr(event, "kind", None) or _KINDS[type(event)]
    return [{"group": event.group, "kind": kind, "member_id": event.member_id, **_newer_columns(event)}]


def _classic_row(event: ClassicGroupRecorded, member: ClassicMember) -> Row:
    topics = topics_of_blob(member.subscription) if event.protocol_type == "consumer" else None
    rows = assigned_rows(event, member)
    return {
        "group": event.group,
        "kind": CLASSIC,
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
        else [_share(topic=name, partitions=each) for name, each in rows]
        + [_share(task=name, partitions=each) for name, each in standby_rows(event, member)],
    }


def _newer_columns(event: Any) -> Row:
    """Return the columns of a member of a newer group: subscription, target or current assignment."""
    match event:
        case facts.ConsumerMemberRecorded() | facts.ShareMemberRecorded() | facts.StreamsMemberRecorded():
            return {
                "instance_id": getattr(event, "instance_id", None),
                "client_id": event.client_id,
                "client_host": event.client_host,
                "rack_id": event.rack_id,
                "rebalance_timeout_ms": getattr(event, "rebalance_timeout", None),
                "session_timeout_ms": getattr(event, "classic_session_timeout", None),
                "subscription": None if isinstance(event, facts.StreamsMemberRecorded) else list(event.topics),
                "topic_regex": getattr(event, "topic_regex", None),
            }
        case facts.MemberTargetRecorded():
            return {"target": _topics(event.partitions)}
        case facts.StreamsMemberTargetRecorded():
            return {"target": _tasks(active=event.active, standby=event.standby, warmup=event.warmup)}
        case facts.MemberAssignmentRecorded():
            own = {"assignment": _topics(event.partitions), "revoking": _topics(event.pending_revocation)}
        case facts.StreamsMemberAssignmentRecorded():
            own = {
                "assignment": _tasks(active=event.active, standby=event.standby, warmup=event.warmup),
                "revoking": _tasks(
                    active=event.pending_active, standby=event.pending_standby, warmup=event.pending_warmup
                ),
            }
        case _:
            return {}
    return {"epoch": event.member_epoch, "state": event.member_state, **own}


_KINDS: Final = {
    facts.ConsumerMemberRecorded: "consumer",
    facts.ShareMemberRecorded: "share",
    facts.StreamsMemberRecorded: "streams",
    facts.StreamsMemberTargetRecorded: "streams",
    facts.StreamsMemberAssignmentRecorded: "streams",
}


def _topics(rows: facts.TopicPartitions) -> list[Row]:
    return [_share(topic_id=uuid_text(topic_id), partitions=partitions) for topic_id, partitions in rows]


def _tasks(**kinds: facts.Tasks) -> list[Row]:
    return [_share(task=f"{kind} {part}", partitions=each) for kind, rows in kinds.items() for part, each in rows]


def _share(*, partitions: Iterable[int], **names: str) -> Row:
    return {**names, "partitions": list(partitions)}
