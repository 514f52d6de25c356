"""Builders of membership records as Kafka writes them; fields that are not given have a default."""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from decoders.schema import Message
from decoders.tables import BY_NUMBER, embedded
from stream.groups.membership.memberships import Membership, Memberships
from stream.groups.shard import MembershipRecords
from tests.decoders.writing import write, write_key, write_value

Written = tuple[bytes, bytes | None]
Parts = dict[Any, Sequence[int]]

ORDERS = bytes(15) + b"o"
PAYMENTS = bytes(15) + b"p"
NAMES = {ORDERS: "orders", PAYMENTS: "payments"}


def membership_after(records: Iterable[Written]) -> Membership | None:
    """Return the membership of group g after these records, applied one by one."""
    return memberships(records).by_group.get("g")


def memberships(records: Iterable[Written]) -> Memberships:
    read = Memberships()
    read.apply(column(records))
    return read


def column(records: Iterable[Written]) -> MembershipRecords:
    """Return records as columns of a shard."""
    rows = list(records)
    keys, values = pa.array([key for key, _ in rows], pa.binary()), pa.array([value for _, value in rows], pa.binary())
    return MembershipRecords(keys, values, np.arange(len(rows)), np.zeros(len(rows), np.int64))


def record(number: int, key: dict[str, Any], fields: dict[str, Any], layout: Message | None = None) -> Written:
    """Return a record of a type; fields that are not given have their default."""
    record_type = BY_NUMBER[number]
    message = layout or record_type.value
    every = {field.name: field.default_value() for field in message.struct.fields} | fields
    return write_key(record_type, key), write_value(message, 3 if number == 2 else 0, every)


def gone(written: Written) -> Written:
    return written[0], None


def subscription(*topics: str, version: int = 3, rack: str | None = None, tail: bytes = b"") -> bytes:
    fields = {"topics": topics, "user_data": None, "owned_partitions": (), "generation_id": -1, "rack_id": rack}
    body = write(embedded.CONSUMER_SUBSCRIPTION, min(version, 3), fields)
    return struct.pack(">h", version) + body + tail


def assignment(parts: Parts, *, version: int = 3, user_data: bytes | None = None) -> bytes:
    rows = [{"topic": topic, "partitions": tuple(partitions)} for topic, partitions in parts.items()]
    body = write(embedded.CONSUMER_ASSIGNMENT, min(version, 3), {"assigned_partitions": rows, "user_data": user_data})
    return struct.pack(">h", version) + body


def connect_work(tasks: Parts) -> bytes:
    """Return the assignment of a Connect worker: connectors and their tasks."""
    rows = [{"connector": name, "tasks": tuple(numbers)} for name, numbers in tasks.items()]
    fields = {"error": 0, "leader": "w", "leader_url": "u", "config_offset": 7, "assignment": rows}
    return struct.pack(">h", 1) + write(embedded.CONNECT_ASSIGNMENT, 1, {**fields, "revoked": (), "delay": 0})


def connect_metadata() -> bytes:
    return struct.pack(">h", 0) + write(embedded.CONNECT_METADATA, 0, {"url": "u", "config_offset": 7})


def classic_member(name: str, *, instance: str | None = None, wants: bytes = b"", has: bytes = b"") -> dict[str, Any]:
    return {
        "member_id": name,
        "group_instance_id": instance,
        "client_id": f"client-{name}",
        "client_host": "/10.0.0.1",
        "rebalance_timeout": 300,
        "session_timeout": 45,
        "subscription": wants,
        "assignment": has,
    }


def classic(
    *members: dict[str, Any],
    group: str = "g",
    generation: int = 1,
    kind: str = "consumer",
    protocol: str = "range",
    time: int = 1234,
) -> Written:
    """Return the record of a classic group; without members it is Empty."""
    fields = {
        "protocol_type": kind,
        "generation": generation,
        "protocol": protocol if members else None,
        "leader": members[0]["member_id"] if members else None,
        "current_state_timestamp": time,
        "members": members,
    }
    return record(2, {"group": group}, fields)


def group_epoch(number: int, *, kind: int = 3, **fields: Any) -> Written:
    """Return the group epoch (types 3, 11 and 17)."""
    return record(kind, {"group_id": "g"}, {"epoch": number, **fields})


def target_epoch(number: int, *, kind: int = 6) -> Written:
    """Return the epoch of the target assignment (types 6, 12 and 20)."""
    return record(kind, {"group_id": "g"}, {"assignment_epoch": number})


def member(name: str, *topics: str, instance: str | None = None, regex: str | None = None, **fields: Any) -> Written:
    """Return a member of a consumer group (type 5)."""
    plain = {
        "instance_id": instance,
        "rack_id": None,
        "client_id": f"client-{name}",
        "client_host": "/10.0.0.1",
        "subscribed_topic_names": topics,
        "subscribed_topic_regex": regex,
        "server_assignor": None,
        "classic_member_metadata": None,
    }
    return record(5, {"group_id": "g", "member_id": name}, plain | fields)


def target(name: str, parts: Parts, *, kind: int = 7) -> Written:
    """Return the target assignment of a member (types 7 and 13)."""
    return record(kind, {"group_id": "g", "member_id": name}, {"topic_partitions": _rows(parts)})


def stands(name: str, epoch: int, parts: Parts, *, state: int = 0, gives_up: Parts | None = None) -> Written:
    """Return the current assignment of a member of a consumer group (type 8)."""
    fields = {
        "member_epoch": epoch,
        "previous_member_epoch": epoch - 1,
        "state": state,
        "assigned_partitions": _rows(parts, assignment_epochs=None),
        "partitions_pending_revocation": _rows(gives_up or {}, assignment_epochs=None),
    }
    return record(8, {"group_id": "g", "member_id": name}, fields)


def resolved(regex: str, *topics: str) -> Written:
    """Return the topics that match a regular expression (type 16)."""
    return record(16, {"group_id": "g", "regular_expression": regex}, {"topics": topics, "version": 1, "timestamp": 1})


def sharer(name: str, *topics: str) -> Written:
    """Return a member of a share group (type 10)."""
    fields = {"rack_id": None, "client_id": "c", "client_host": "/h", "subscribed_topic_names": topics}
    return record(10, {"group_id": "g", "member_id": name}, fields)


def shares(name: str, epoch: int, parts: Parts) -> Written:
    """Return the current assignment of a member of a share group (type 14)."""
    fields = {"member_epoch": epoch, "previous_member_epoch": 0, "state": 0, "assigned_partitions": _rows(parts)}
    return record(14, {"group_id": "g", "member_id": name}, fields)


def share_state(topics: dict[bytes, str], deleting: dict[bytes, str] | None = None) -> Written:
    """Return the topics with state of a share group (type 15)."""
    rows = tuple({"topic_id": topic_id, "topic_name": name, "partitions": (0,)} for topic_id, name in topics.items())
    going = tuple({"topic_id": topic_id, "topic_name": name} for topic_id, name in (deleting or {}).items())
    return record(15, {"group_id": "g"}, {"initialized_topics": rows, "deleting_topics": going})


def worker(name: str, *, instance: str | None = None) -> Written:
    """Return a member of a streams group (type 19)."""
    fields = {"instance_id": instance, "rack_id": None, "client_id": "c", "client_host": "/h", "process_id": "p"}
    return record(19, {"group_id": "g", "member_id": name}, fields)


def works(name: str, epoch: int, *, state: int = 1, **tasks: Parts) -> Written:
    """Return the tasks of a member of a streams group: `active`, `standby`, `warmup` (type 22)."""
    names = [
        role + when for when in ("_tasks", "_tasks_pending_revocation") for role in ("active", "standby", "warmup")
    ]
    rows = {
        name: _rows(tasks.get(name.removesuffix("_tasks"), {}), "subtopology_id", assignment_epochs=None)
        for name in names
    }
    fields = {"member_epoch": epoch, "previous_member_epoch": 0, "state": state, **rows}
    return record(22, {"group_id": "g", "member_id": name}, fields)


def topology(epoch: int, *, regexes: Sequence[str] = (), **sources: Sequence[str]) -> Written:
    """Return a topology: source topics by subtopology; names with a dash are repartition topics (type 23)."""
    parts = [
        {
            "subtopology_id": name.removeprefix("s"),
            "source_topics": tuple(topic for topic in topics if "-" not in topic),
            "source_topic_regex": tuple(regexes),
            "state_changelog_topics": (),
            "repartition_sink_topics": (),
            "repartition_source_topics": tuple(
                {"name": topic, "partitions": 2, "replication_factor": 1, "topic_configs": ()}
                for topic in topics
                if "-" in topic
            ),
            "copartition_groups": (),
        }
        for name, topics in sources.items()
    ]
    return record(23, {"group_id": "g"}, {"epoch": epoch, "subtopologies": tuple(parts)})


def _rows(parts: Parts, name: str = "topic_id", **more: Any) -> tuple[dict[str, Any], ...]:
    return tuple({name: ref, "partitions": tuple(numbers), **more} for ref, numbers in parts.items())
