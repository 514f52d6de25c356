"""The membership of a classic group, from its single record and the blobs in it.

The broker does not decode these blobs (except for the subscribed topics): clients write them, in a protocol that the
group names. The protocols of consumers, Kafka Streams and Connect are decoded here; others are left unknown.
"""

import functools
import sys
from typing import Final

from decoders import blobs
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded, ClassicMember
from stream.groups.membership import model
from stream.groups.short_cache import cache_short

CONSUMER: Final = "consumer"
CONNECT: Final = "connect"
_STREAMS: Final = "stream"
"""The assignor, and therefore the group's protocol, of Kafka Streams on the classic protocol."""

_kept_once: Final = functools.lru_cache(1024)(int)
_consumer_assignment: Final = cache_short(entries=4096, longest=1024)(blobs.consumer_assignment)

AssignedRows = tuple[tuple[str, tuple[int, ...]], ...]
"""Topics (or connectors, or kinds of tasks) with partitions (or tasks)."""


def membership(event: ClassicGroupRecorded) -> model.Membership:
    """Return the membership in a classic group's record.

    Without members the group is Empty; with members it was Stable when the record was written. Without members and
    protocol type the group exists, but no member has ever joined it.
    """
    assigned = [assigned_rows(event, member) for member in event.members]
    clients = tuple(_client(event, member, rows) for member, rows in zip(event.members, assigned, strict=True))
    shares = [client.owned for client in clients if client.owned is not None]
    is_consumer = event.protocol_type == CONSUMER
    topics = [client.subscribed for client in clients if client.subscribed is not None]
    idle = [is_idle(event, member, rows) for member, rows in zip(event.members, assigned, strict=True)]
    return model.Membership(
        kind=model.CLASSIC if event.protocol_type or event.members else model.SIMPLE,
        state="Stable" if event.members else "Empty",
        members=len(event.members),
        protocol_type=sys.intern(event.protocol_type) if event.protocol_type else None,
        protocol=None if event.protocol is None else sys.intern(event.protocol),
        generation=event.generation,
        state_time=event.state_timestamp,
        # One member that cannot be decoded makes them unknown (ClassicGroup#computeSubscribedTopics).
        subscribed=model.union(topics) if is_consumer and len(topics) == len(clients) else None,
        idle=None if None in idle else sum(map(bool, idle)),
        owned=model.union_of_shares(shares) if is_consumer and len(shares) == len(clients) else None,
        clients=clients,
    )


def assigned_rows(event: ClassicGroupRecorded, member: ClassicMember) -> AssignedRows | None:
    """Return the assignment of a member; None if it cannot be decoded or has an unknown protocol.

    For consumers: topics with partitions. For Connect: each connector with its tasks, where task -1 is the connector
    itself; the names of these rows contain a space, so no topic has such a name.
    """
    if event.protocol_type == CONSUMER:
        read = _consumer_assignment(member.assignment)
        if isinstance(read, DecodeError):
            return None
        return tuple((row["topic"], row["partitions"]) for row in read["assigned_partitions"]) if read else ()
    if event.protocol_type == CONNECT:
        read = blobs.connect_assignment(member.assignment)
        if isinstance(read, DecodeError):
            return None
        connectors = (read["assignment"] or ()) if read else ()
        return tuple((f"connector {row['connector']}", row["tasks"]) for row in connectors)
    return None


def standby_rows(event: ClassicGroupRecorded, member: ClassicMember) -> AssignedRows:
    """Return the standby tasks of a Kafka Streams member, which are in the user data of the assignment."""
    if event.protocol != _STREAMS or event.protocol_type != CONSUMER:
        return ()
    read = blobs.consumer_assignment(member.assignment)
    if read is None or isinstance(read, DecodeError) or not read["user_data"]:
        return ()
    info = blobs.streams_assignment_info(read["user_data"])
    if info is None or isinstance(info, DecodeError):
        return ()
    tasks: dict[str, list[int]] = {}
    for task in info["standby_tasks"]:
        tasks.setdefault(f"standby task {task['subtopology']}", []).append(task["partition"])
    return tuple((name, tuple(partitions)) for name, partitions in tasks.items())


def is_idle(event: ClassicGroupRecorded, member: ClassicMember, rows: AssignedRows | None) -> bool | None:
    """Return whether a member has no assignment, given its `assigned_rows`; None if they are unknown."""
    if rows is None:
        return None
    return not any(partitions for _, partitions in rows) and not standby_rows(event, member)


def _client(event: ClassicGroupRecorded, member: ClassicMember, rows: AssignedRows | None) -> model.MemberClient:
    is_consumer = event.protocol_type == CONSUMER
    return model.MemberClient(
        member_id=member.member_id,
        client_id=sys.intern(member.client_id),  # few different ones
        client_host=sys.intern(member.client_host),
        instance_id=member.group_instance_id,
        session_timeout=_kept_once(member.session_timeout),
        subscribed=model.topics_of_blob(member.subscription) if is_consumer else None,
        owned=model.merge_owned(rows) if is_consumer and rows is not None else None,
    )
