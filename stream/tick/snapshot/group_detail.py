"""Builds the details of one group that its row in the snapshot does not have: members and history."""

import dataclasses
from collections.abc import Iterable, Mapping

from exporters.readmodel import GroupDetail, MemberDetail, SharePartitionDetail, TransitionDetail
from exporters.timestamps import clamp_ms
from stream.groups.expiry.causes import transition_sentence
from stream.groups.lifecycle.model import GroupHistory, Transition
from stream.groups.membership.members import Member
from stream.groups.membership.memberships import Membership
from stream.groups.membership.unassigned import UnassignedPartitions, find_unassigned
from stream.health.share.progress import SharePartitionProgress, ShareProgress
from stream.tick.context import DerivedState


def group_detail(
    group: str,
    found: tuple[Membership | None, GroupHistory | None],
    members: Iterable[Member],
    topics_with_offsets: Iterable[str],
    derived: DerivedState,
) -> GroupDetail:
    """Return the details of a group, without findings; `found` is its membership and its history."""
    membership, history = found
    unassigned = UnassignedPartitions(None, None)
    if membership is not None:
        cluster = derived.facts.cluster
        unassigned = find_unassigned(membership, topics_with_offsets, cluster.partition_counts, cluster.topic_names)
    return GroupDetail(
        group=group,
        members=tuple(map(member_detail, members)),
        transitions=tuple(transition_detail(group, each, derived) for each in (history.transitions if history else ())),
        unowned=unassigned.unowned,
        unsubscribed=unassigned.unsubscribed,
    )


def member_detail(member: Member) -> MemberDetail:
    """Return a member in the types of the read model."""
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


def transition_detail(group: str, transition: Transition, derived: DerivedState) -> TransitionDetail:
    """Return a transition with its sentence; a removal also has its cause."""
    cause = None if transition.removal is None else derived.decided_cause(group, transition)
    return TransitionDetail(
        time=clamp_ms(transition.time) / 1000,
        transition=str(transition.type),
        text=transition_sentence(transition, cause, derived.facts.cluster.retention),
        cause=None if cause is None else str(cause),
        live=transition.live,
        joined=transition.joined,
        left=transition.left,
    )


def with_share_partitions(
    detail: GroupDetail, progress: ShareProgress | None, verdicts: Mapping[tuple[str, int], tuple[str, int]]
) -> GroupDetail:
    """Return the details with the partitions of a share group; unchanged if they are not known."""
    rows = None if progress is None else progress.groups.get(detail.group)
    if progress is None or rows is None:
        return detail
    partitions = tuple(share_partition_detail(row, verdicts.get((row.topic, row.partition))) for row in rows)
    return dataclasses.replace(detail, share_partitions=partitions, share_progress_time=progress.taken_at / 1000)


def share_partition_detail(row: SharePartitionProgress, shown: tuple[str, int] | None) -> SharePartitionDetail:
    """Return a partition of a share group in the types of the read model, with its verdict if there is one."""
    verdict, since = (None, None) if shown is None else (shown[0], shown[1] / 1000)
    return SharePartitionDetail(**row._asdict(), verdict=verdict, verdict_since=since)
