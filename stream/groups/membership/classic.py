"""A classic group as its one record tells it: its state, and what the blobs inside say that its members have.

The broker does not look into these blobs (but for the topics subscribed to): they are the clients' own, of a protocol
that the group names. Those of consumers, Kafka Streams and Connect are read here, others are not guessed at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders import blobs
from decoders.errors import DecodeError
from stream.groups.membership import subscriptions
from stream.groups.membership.model import CLASSIC, SIMPLE, Membership, identity
from stream.groups.membership.partition_bits import merge_owned

if TYPE_CHECKING:
    from decoders.events import ClassicGroupRecorded, ClassicMember
    from stream.groups.membership.model import Owned

CONSUMER: Final = "consumer"
CONNECT: Final = "connect"
_STREAMS: Final = "stream"
"""The assignor, and so the group's protocol, of Kafka Streams on the classic protocol."""

Rows = tuple[tuple[str, tuple[int, ...]], ...]


def membership(event: ClassicGroupRecorded) -> Membership:
    """Read a classic group's record: without members it is Empty, with them it was Stable when it was written.

    Without a protocol type and members the group exists, but nobody has joined it.
    """
    given = [rows(event, member) for member in event.members]
    idle = [is_idle(event, member, its) for member, its in zip(event.members, given, strict=True)]
    return Membership(
        kind=CLASSIC if event.protocol_type or event.members else SIMPLE,
        state="Stable" if event.members else "Empty",
        members=len(event.members),
        protocol_type=event.protocol_type or None,
        protocol=event.protocol,
        generation=event.generation,
        state_time=event.state_timestamp,
        member_names=frozenset(identity(member.member_id, member.group_instance_id) for member in event.members),
        subscribed=_subscribed(event),
        idle=None if None in idle else sum(map(bool, idle)),
        owned=_owned(event, given),
    )


def rows(event: ClassicGroupRecorded, member: ClassicMember) -> Rows | None:
    """Give what a member was given; None if its bytes cannot be read, or are of a protocol that is not known.

    For consumers topics and their partitions. For Connect each connector with its tasks, where -1 is the connector
    itself; no topic is so named as these rows are.
    """
    if event.protocol_type == CONSUMER:
        read = blobs.consumer_assignment(member.assignment)
        if isinstance(read, DecodeError):
            return None
        return tuple((row["topic"], row["partitions"]) for row in read["assigned_partitions"]) if read else ()
    if event.protocol_type == CONNECT:
        read = blobs.connect_assignment(member.assignment)
        if isinstance(read, DecodeError):
            return None
        given = (read["assignment"] or ()) if read else ()
        return tuple((f"connector {row['connector']}", row["tasks"]) for row in given)
    return None


def standby_rows(event: ClassicGroupRecorded, member: ClassicMember) -> Rows:
    """Give the standby tasks of a Kafka Streams member: they are not in the assignment but in its user data."""
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


def is_idle(event: ClassicGroupRecorded, member: ClassicMember, given: Rows | None) -> bool | None:
    """Tell whether a member has nothing to do, from the rows it was given; None if its assignment does not tell."""
    if given is None:
        return None
    return not any(partitions for _, partitions in given) and not standby_rows(event, member)


def _subscribed(event: ClassicGroupRecorded) -> frozenset[str] | None:
    """Unite the members' topics (ClassicGroup#computeSubscribedTopics); none of them is known if one cannot be read."""
    if event.protocol_type != CONSUMER:
        return None
    sets = []
    for member in event.members:
        topics = subscriptions.topics_of_blob(member.subscription)
        if topics is None:
            return None
        sets.append(topics)
    return subscriptions.union(sets)


def _owned(event: ClassicGroupRecorded, given: list[Rows | None]) -> Owned | None:
    if event.protocol_type != CONSUMER or None in given:
        return None
    return merge_owned(row for its in given if its is not None for row in its)
