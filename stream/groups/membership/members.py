"""The members of one group with their subscriptions and assignments, for the detail view of a group."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final

from decoders import blobs
from decoders import group_events as facts
from decoders.events import ClassicGroupRecorded, ClassicMember
from decoders.jsonform import uuid_text
from stream.groups.membership import classic
from stream.groups.membership.model import topics_of_blob
from stream.groups.membership.modern_group import ModernGroup, owned_by

Assignment = tuple[tuple[str, tuple[int, ...]], ...]
"""Partitions by topic name (or id as text), both ascending. Other entries are `connector NAME` with its tasks, where -1
is the connector itself, `standby task SUBTOPOLOGY` and `warm-up task SUBTOPOLOGY` with the tasks' partitions, and
`active task SUBTOPOLOGY` if the topics that the tasks read are unknown."""

_INACTIVE_ROLES: Final = {"standby": "standby task", "warmup": "warm-up task"}


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A member of a group. None: not in the log.

    Only the newer kinds have `epoch` and `state` (stable, unrevoked, unreleased, unknown). A static member that is
    `away` has no epoch and keeps its assignment. `assignor` is the server-side assignor that a KIP-848 member names, or
    the protocol of a classic group.
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
    # The target assignment; None for classic members, whose assignment is final.
    target: Assignment | None = None
    # Whether it has no assignment; None: its assignment cannot be decoded.
    idle: bool | None = None
    # Those of `subscription` and `assignment` that are empty because their bytes cannot be decoded.
    unreadable: tuple[str, ...] = ()


def classic_member(event: ClassicGroupRecorded, member: ClassicMember) -> Member:
    """Return a member of a classic group."""
    topics, rack = _subscription(event, member)
    assigned = classic.assigned_rows(event, member)
    unreadable = {
        "subscription": topics is None and member.subscription,
        "assignment": assigned is None and member.assignment,
    }
    return Member(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack=rack,
        epoch=None,
        state=None,
        away=False,
        subscription=tuple(sorted(topics or ())),
        regex=None,
        assignor=event.protocol,
        assignment=_sorted((*(assigned or ()), *classic.standby_rows(event, member))),
        idle=classic.is_idle(event, member, assigned),
        unreadable=tuple(name for name, unknown in unreadable.items() if unknown),
    )


def _subscription(event: ClassicGroupRecorded, member: ClassicMember) -> tuple[frozenset[str] | None, str | None]:
    """Return the topics of a member and its rack; Connect workers subscribe to no topics."""
    read = blobs.subscription(event.protocol_type, member.subscription)
    if event.protocol_type == classic.CONSUMER:
        # The topics can be decoded even if the fields after them cannot.
        return topics_of_blob(member.subscription), read["rack_id"] if isinstance(read, dict) else None
    return (frozenset() if isinstance(read, dict) else None), None


def modern_member(group: ModernGroup, member: facts.MemberRecorded, names: Mapping[bytes, str]) -> Member:
    """Return a member of a consumer, share or streams group; `names` are those of topics by id."""
    current = group.assignments.get(member.member_id)
    epoch = None if current is None or current.member_epoch < 0 else current.member_epoch
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack=member.rack_id,
        epoch=epoch,
        state=None if current is None else current.member_state,
        away=group.is_away(member.member_id),
        subscription=tuple(sorted(group.source_topics or ()) if group.kind == "streams" else sorted(member.topics)),
        regex=member.topic_regex,
        assignor=member.server_assignor,
        assignment=_assignment(group, current, names),
        target=_assignment(group, group.targets.get(member.member_id), names),
        idle=group.is_idle(member.member_id),
    )


def _assignment(
    group: ModernGroup,
    part: facts.MemberAssignmentRecorded | facts.MemberTargetRecorded | None,
    names: Mapping[bytes, str],
) -> Assignment:
    rows = () if part is None else owned_by(part)
    if group.kind != "streams":
        return _sorted((names.get(topic_id) or uuid_text(topic_id), numbers) for _, topic_id, numbers in rows)
    inactive = ((f"{_INACTIVE_ROLES[role]} {task}", numbers) for role, task, numbers in rows if role != "active")
    active = (row for role, task, numbers in rows if role == "active" for row in _active(group, (task, numbers)))
    return _sorted((*active, *inactive))


def _active(group: ModernGroup, task: tuple[str, tuple[int, ...]]) -> Assignment:
    """Return the partitions that an active task reads, by topic; the task itself if the topology is unknown."""
    subtopology, numbers = task
    return tuple(group.topics_of_tasks((task,))) or ((f"active task {subtopology}", numbers),)


def _sorted(rows: Iterable[tuple[str, tuple[int, ...]]]) -> Assignment:
    """Return the rows merged by topic and sorted; topics without partitions are left out."""
    merged: dict[str, set[int]] = {}
    for topic, partitions in rows:
        merged.setdefault(topic, set()).update(partitions)
    return tuple((topic, tuple(sorted(partitions))) for topic, partitions in sorted(merged.items()) if partitions)
