"""One group in full, for a person who looks at it: members and history, in the read model's values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporters.readmodel import GroupDetail, MemberDetail, TransitionDetail
from exporters.timestamps import clamp_ms
from stream.groups.expiry.causes import transition_sentence
from stream.groups.membership.unassigned import UnassignedPartitions, find_unassigned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.groups.lifecycle.model import GroupHistory, Transition
    from stream.groups.membership.members import Member
    from stream.groups.membership.memberships import Membership
    from stream.tick.context import SnapshotContext


def group_detail(
    group: str,
    found: tuple[Membership | None, GroupHistory | None],
    members: Iterable[Member],
    topics_with_offsets: Iterable[str],
    context: SnapshotContext,
) -> GroupDetail:
    """Tell of a group all that is known of it beside its row in the snapshot."""
    (membership, life), around = found, context.around
    left = UnassignedPartitions(None, None)
    if membership is not None:
        left = find_unassigned(membership, topics_with_offsets, around.partition_counts, around.topic_names)
    return GroupDetail(
        group=group,
        members=tuple(map(member_detail, members)),
        transitions=tuple(transition_detail(group, each, context) for each in (life.transitions if life else ())),
        unowned=left.unowned,
        unsubscribed=left.unsubscribed,
    )


def member_detail(member: Member) -> MemberDetail:
    """Give a member as the read model has it."""
    return MemberDetail(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack=member.rack,
        epoch=member.epoch,
        state=member.state,
        away=member.away,
        assignor=member.assignor,
        subscription=member.subscription,
        regex=member.regex,
        assignment=member.assignment,
    )


def transition_detail(group: str, transition: Transition, context: SnapshotContext) -> TransitionDetail:
    """Give a transition with its sentence, and an end with its cause."""
    cause = None if transition.removal is None else context.cause(group, transition)
    return TransitionDetail(
        time=clamp_ms(transition.time) / 1000,
        transition=str(transition.type),
        text=transition_sentence(transition, cause, context.around.retention),
        cause=None if cause is None else str(cause),
        live=transition.live,
        came=transition.joined,
        went=transition.left,
    )
