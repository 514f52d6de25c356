"""The members of one group, each with what it wants and what it has: for a person who looks at this group."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from decoders import blobs
from decoders import group_events as facts
from decoders.jsonform import uuid_text
from stream.groups.membership import classic
from stream.groups.membership.modern_group import instance_id_of, regex_of, subscribed_topics_of
from stream.groups.membership.subscriptions import topics_of_blob

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from decoders.events import ClassicGroupRecorded, ClassicMember
    from stream.groups.membership.modern_group import CurrentAssignment, JoinedMember, ModernGroup, TargetAssignment

Assignment = tuple[tuple[str, tuple[int, ...]], ...]
"""Partitions by topic name (or id as text), both ascending. What is no topic is named by words: `connector NAME` with
its tasks, where -1 is the connector itself; `standby task SUBTOPOLOGY` and, where the topics that they read are not
known, `active task SUBTOPOLOGY`, with the tasks' partitions."""

_AT_REST: Final = (("standby", "standby task"), ("warmup", "warm-up task"))


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """One member of a group. None: the log does not tell.

    `epoch` and `state` (stable, unrevoked, unreleased, unknown) are of the newer kinds; a static member that is `away`
    has no epoch and keeps its assignment. `assignor` is the server's for KIP-848 members, where they name one, and the
    group's protocol for classic ones.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None
    epoch: int | None
    state: str | None
    away: bool
    subscription: tuple[str, ...]
    regex: str | None
    assignor: str | None
    assignment: Assignment
    # What it is to own once it is where its group wants it; None for classic members, whose assignment is final.
    target: Assignment | None = None
    # Nothing is assigned to it; None: its assignment cannot be read.
    idle: bool | None = None
    # A member of a consumer group that still speaks the classic protocol, as during an online migration.
    classic_protocol: bool = False
    # Which of `subscription` and `assignment` are empty because their bytes cannot be read, not because there is none.
    unreadable: tuple[str, ...] = ()


def classic_members(event: ClassicGroupRecorded) -> tuple[Member, ...]:
    """Give the members of a classic group, by member id."""
    return tuple(_classic_member(event, member) for member in sorted(event.members, key=lambda each: each.member_id))


def modern_members(roster: ModernGroup, topic_names: Mapping[bytes, str]) -> tuple[Member, ...]:
    """Give the members of a consumer, share or streams group, by member id."""
    return tuple(_newer_member(roster, member, topic_names) for _, member in sorted(roster.members.items()))


def _classic_member(event: ClassicGroupRecorded, member: ClassicMember) -> Member:
    wants, rack = _wants(event, member)
    given = classic.rows(event, member)
    unread = {"subscription": wants is None and member.subscription, "assignment": given is None and member.assignment}
    return Member(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack=rack,
        epoch=None,
        state=None,
        away=False,
        subscription=tuple(sorted(wants or ())),
        regex=None,
        assignor=event.protocol,
        assignment=_sorted((*(given or ()), *classic.standby_rows(event, member))),
        idle=classic.is_idle(event, member, given),
        unreadable=tuple(name for name, unknown in unread.items() if unknown),
    )


def _wants(event: ClassicGroupRecorded, member: ClassicMember) -> tuple[frozenset[str] | None, str | None]:
    """Give the topics a member subscribes to, and its rack; Connect's workers subscribe to nothing."""
    read = blobs.subscription(event.protocol_type, member.subscription)
    if event.protocol_type == classic.CONSUMER:
        # The topics can be read where what follows them cannot.
        return topics_of_blob(member.subscription), read["rack_id"] if isinstance(read, dict) else None
    return (frozenset() if isinstance(read, dict) else None), None


def _newer_member(roster: ModernGroup, member: JoinedMember, names: Mapping[bytes, str]) -> Member:
    standing = roster.assignments.get(member.member_id)
    epoch = None if standing is None or standing.member_epoch < 0 else standing.member_epoch
    spoken = member if isinstance(member, facts.ConsumerMemberRecorded) else None
    return Member(
        member_id=member.member_id,
        instance_id=instance_id_of(member),
        client_id=member.client_id,
        client_host=member.client_host,
        rack=member.rack_id,
        epoch=epoch,
        state=None if standing is None else standing.member_state,
        away=roster.is_away(member.member_id),
        subscription=tuple(
            sorted(roster.source_topics or ()) if roster.kind == "streams" else sorted(subscribed_topics_of(member))
        ),
        regex=regex_of(member),
        assignor=spoken.server_assignor if spoken else None,
        assignment=_assignment(roster, standing, names),
        target=_assignment(roster, roster.targets.get(member.member_id), names),
        idle=roster.is_idle(member.member_id),
        classic_protocol=bool(spoken and spoken.classic_session_timeout is not None),
    )


def _assignment(
    roster: ModernGroup, part: CurrentAssignment | TargetAssignment | None, names: Mapping[bytes, str]
) -> Assignment:
    if part is None:
        return ()
    if isinstance(part, facts.MemberAssignmentRecorded | facts.MemberTargetRecorded):
        return _sorted((names.get(topic_id) or uuid_text(topic_id), numbers) for topic_id, numbers in _owned(part))
    return _sorted(
        (
            *(row for task in _tasks(part, "active") for row in _active(roster, task)),
            *((f"{word} {name}", numbers) for role, word in _AT_REST for name, numbers in _tasks(part, role)),
        )
    )


def _owned(part: facts.MemberAssignmentRecorded | facts.MemberTargetRecorded) -> facts.TopicPartitions:
    """Return what a member has, with what it is giving up: that is its own until the coordinator hears it is done."""
    pending = part.pending_revocation if isinstance(part, facts.MemberAssignmentRecorded) else ()
    return (*part.partitions, *pending)


def _tasks(part: facts.StreamsMemberAssignmentRecorded | facts.StreamsMemberTargetRecorded, role: str) -> facts.Tasks:
    """Return the tasks of one role, with those that the member is giving up."""
    tasks: facts.Tasks = (*getattr(part, role), *getattr(part, f"pending_{role}", ()))
    return tasks


def _active(roster: ModernGroup, task: tuple[str, tuple[int, ...]]) -> Assignment:
    """Give what an active task reads, by topic; the task itself where the topology does not tell."""
    subtopology, numbers = task
    return tuple(roster.topics_of_tasks((task,))) or ((f"active task {subtopology}", numbers),)


def _sorted(rows: Iterable[tuple[str, tuple[int, ...]]]) -> Assignment:
    """Sort topics and partitions; a topic that stands in several rows is one, one without partitions is none."""
    every: dict[str, set[int]] = {}
    for topic, partitions in rows:
        every.setdefault(topic, set()).update(partitions)
    return tuple((topic, tuple(sorted(partitions))) for topic, partitions in sorted(every.items()) if partitions)
