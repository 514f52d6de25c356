"""A group of a newer kind (consumer, share, streams) as its living records add up: epochs, members, and their state.

Kafka writes these groups piece by piece: the group's epoch, the target assignment's epoch, and per member what it is
and what it owns. The state is never written; it follows from the pieces, as in ConsumerGroup#maybeUpdateGroupState and
its siblings. A roster is the same whether it read the whole history, or the newest record per key in any order: what is
forgotten leaves nothing behind, and no piece leans on another one being there.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from decoders import group_events as facts
from stream.groups.membership import subscriptions
from stream.groups.membership.model import Membership, identity
from stream.groups.membership.partition_bits import merge_owned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from decoders.group_events import GroupKind, Tasks
    from stream.groups.membership.model import Owned

JoinedMember = facts.ConsumerMemberRecorded | facts.ShareMemberRecorded | facts.StreamsMemberRecorded
CurrentAssignment = facts.MemberAssignmentRecorded | facts.StreamsMemberAssignmentRecorded
TargetAssignment = facts.MemberTargetRecorded | facts.StreamsMemberTargetRecorded

AWAY: Final = -2
"""Member epoch of a static member that has left for a while."""
_STABLE: Final = "stable"
_INITIAL_EPOCH: Final = 0
"""Of a group or an assignment without a record: 0 up to 4.2, 1 from 4.3 on; no written epoch is below either.

A broker that saw the assignment's tombstone holds -1 until its group is gone, one that loads the log after compaction
the initial epoch: the difference shows nowhere, as an assignment is only forgotten together with its group.
"""


@dataclasses.dataclass(slots=True)
class ModernGroup:
    """The living records of one group, summed up. None: no such record."""

    kind: GroupKind
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    validated_topology_epoch: int | None = None
    topology: facts.StreamsTopologyRecorded | None = None
    members: dict[str, JoinedMember] = dataclasses.field(default_factory=dict)
    assignments: dict[str, CurrentAssignment] = dataclasses.field(default_factory=dict)
    targets: dict[str, TargetAssignment] = dataclasses.field(default_factory=dict)
    regexes: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def apply(self, event: object) -> None:
        """Take one fact in; those that say nothing of members and state change nothing."""
        take = _TAKE.get(type(event))
        if take is not None:
            take(self, event)

    @property
    def state(self) -> str | None:
        """The state as Kafka's tools print it; None where the log does not tell."""
        if not self.members:
            return "Empty"
        if self.kind == "share":
            return "Stable"
        if self.kind == "streams" and not self._topology_is_valid():
            # That a topology is valid was kept in memory only by 4.1; from 4.2 on it is written.
            told = self.topology is None or self.validated_topology_epoch is not None
            return "NotReady" if told else None
        if (self.group_epoch or _INITIAL_EPOCH) > (self.assignment_epoch or _INITIAL_EPOCH):
            return "Assigning"
        return "Stable" if all(map(self._reconciled, self.members)) else "Reconciling"

    @property
    def membership(self) -> Membership:
        """All that is told of the group."""
        return Membership(
            kind=self.kind,
            state=self.state,
            members=len(self.members),
            member_names=frozenset(identity(each.member_id, instance_id_of(each)) for each in self.members.values()),
            subscribed=self._subscribed(),
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            idle=sum(self.is_idle(member) for member in self.members),
            away=sum(self.is_away(member) for member in self.members),
            unresolved=len(self._unresolved()),
            owned=self._owned(),
        )

    def is_idle(self, member: str) -> bool:
        """Tell whether a member has nothing, also nothing that it is still to give up."""
        standing = self.assignments.get(member)
        return standing is None or not any(partitions for _, partitions in holdings(standing))

    def is_away(self, member: str) -> bool:
        """Tell whether a static member has left for a while; it keeps what it owns."""
        standing = self.assignments.get(member)
        return standing is not None and standing.member_epoch == AWAY

    @property
    def source_topics(self) -> frozenset[str] | None:
        """The topics that a streams group's topology reads, those between its parts too; None without a topology."""
        if self.topology is None:
            return None
        topics = {topic for part in self.topology.subtopologies for topic in source_topics_of(part)}
        return subscriptions.topic_set(tuple(sorted(topics)))

    def topics_of_tasks(self, tasks: Tasks) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Give the source topics that tasks read; task n of a subtopology reads partition n of each of its sources."""
        sources = (
            {part.subtopology_id: source_topics_of(part) for part in self.topology.subtopologies}
            if self.topology
            else {}
        )
        for subtopology, partitions in tasks:
            for topic in sources.get(subtopology, ()):
                yield topic, partitions

    def _topology_is_valid(self) -> bool:
        return self.topology is not None and self.topology.topology_epoch == self.validated_topology_epoch

    def _reconciled(self, member: str) -> bool:
        standing = self.assignments.get(member)
        # The layout of 3.7 has no state of the member: then only its epoch tells.
        return (
            standing is not None
            and standing.member_state in (_STABLE, None)
            and standing.member_epoch == (self.assignment_epoch or _INITIAL_EPOCH)
        )

    def _subscribed(self) -> frozenset[str] | None:
        if not self.members:
            return subscriptions.topic_set(())
        if self.kind == "streams":
            return self.source_topics
        topics = [subscriptions.topic_set(subscribed_topics_of(each)) for each in self.members.values()]
        for regex in {regex for each in self.members.values() if (regex := regex_of(each)) is not None}:
            topics.append(subscriptions.topic_set(self.regexes.get(regex, ())))
        return subscriptions.union(topics)

    def _unresolved(self) -> set[str]:
        if not self.members:
            return set()
        if self.topology is not None:
            # The broker resolves none of these, and the log tells none.
            return {regex for part in self.topology.subtopologies for regex in part.source_topic_regex}
        regexes = {regex for each in self.members.values() if (regex := regex_of(each)) is not None}
        return regexes - self.regexes.keys()

    def _owned(self) -> Owned | None:
        mine = [self.assignments[member] for member in self.members if member in self.assignments]
        if self.kind != "streams":
            return merge_owned(row for each in mine for row in holdings(each))
        if self.topology is None:
            return None if mine else ()
        active = [
            each.active + each.pending_active
            for each in mine
            if isinstance(each, facts.StreamsMemberAssignmentRecorded)
        ]
        return merge_owned(row for tasks in active for row in self.topics_of_tasks(tasks))


def holdings(standing: CurrentAssignment) -> Iterator[tuple[bytes | str, tuple[int, ...]]]:
    """Give what a member has: topic ids with partitions, or subtopologies with tasks of any role."""
    if isinstance(standing, facts.MemberAssignmentRecorded):
        yield from standing.partitions
        yield from standing.pending_revocation
        return
    yield from standing.active + standing.standby + standing.warmup
    yield from standing.pending_active + standing.pending_standby + standing.pending_warmup


def source_topics_of(part: facts.Subtopology) -> tuple[str, ...]:
    """Give the topics by name that a subtopology reads, those included that another subtopology writes for it."""
    return part.source_topics + part.repartition_source_topics


def subscribed_topics_of(member: JoinedMember) -> tuple[str, ...]:
    """Give the topics that a member subscribes to by name; a streams member has those of its group's topology."""
    return () if isinstance(member, facts.StreamsMemberRecorded) else member.topics


def regex_of(member: JoinedMember) -> str | None:
    """Give the regular expression that a member subscribes by, if it does."""
    return member.topic_regex if isinstance(member, facts.ConsumerMemberRecorded) else None


def instance_id_of(member: JoinedMember) -> str | None:
    """Give the instance id of a static member; share groups have none."""
    return None if isinstance(member, facts.ShareMemberRecorded) else member.instance_id


def _group_epoch(roster: ModernGroup, event: facts.GroupEpochRecorded) -> None:
    roster.group_epoch = event.group_epoch
    roster.validated_topology_epoch = event.validated_topology_epoch


def _assignment_epoch(roster: ModernGroup, event: facts.TargetAssignmentRecorded) -> None:
    roster.assignment_epoch = event.assignment_epoch


def _topology(roster: ModernGroup, event: facts.StreamsTopologyRecorded) -> None:
    roster.topology = event


def _resolved(roster: ModernGroup, event: facts.TopicRegexResolved) -> None:
    roster.regexes[event.topic_regex] = event.topics


def _member(roster: ModernGroup, event: JoinedMember) -> None:
    roster.members[event.member_id] = event


def _standing(roster: ModernGroup, event: CurrentAssignment) -> None:
    roster.assignments[event.member_id] = event


def _target(roster: ModernGroup, event: TargetAssignment) -> None:
    roster.targets[event.member_id] = event


def _forget_group_epoch(roster: ModernGroup, _: facts.GroupEpochRemoved) -> None:
    roster.group_epoch = roster.validated_topology_epoch = None


def _forget_assignment_epoch(roster: ModernGroup, _: facts.TargetAssignmentRemoved) -> None:
    roster.assignment_epoch = None


def _forget_topology(roster: ModernGroup, _: facts.StreamsTopologyRemoved) -> None:
    roster.topology = None


_TAKE: Final[dict[type, Callable[[ModernGroup, Any], object]]] = {
    facts.GroupEpochRecorded: _group_epoch,
    facts.GroupEpochRemoved: _forget_group_epoch,
    facts.TargetAssignmentRecorded: _assignment_epoch,
    facts.TargetAssignmentRemoved: _forget_assignment_epoch,
    facts.ConsumerMemberRecorded: _member,
    facts.ShareMemberRecorded: _member,
    facts.StreamsMemberRecorded: _member,
    facts.MemberRemoved: lambda roster, event: roster.members.pop(event.member_id, None),
    facts.MemberAssignmentRecorded: _standing,
    facts.StreamsMemberAssignmentRecorded: _standing,
    facts.MemberAssignmentRemoved: lambda roster, event: roster.assignments.pop(event.member_id, None),
    facts.MemberTargetRecorded: _target,
    facts.StreamsMemberTargetRecorded: _target,
    facts.MemberTargetRemoved: lambda roster, event: roster.targets.pop(event.member_id, None),
    facts.TopicRegexResolved: _resolved,
    facts.TopicRegexRemoved: lambda roster, event: roster.regexes.pop(event.topic_regex, None),
    facts.StreamsTopologyRecorded: _topology,
    facts.StreamsTopologyRemoved: _forget_topology,
}
