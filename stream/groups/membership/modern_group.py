"""A group of a newer kind (consumer, share, streams): the sum of its current records.

Kafka writes such a group as separate records: the group epoch, the epoch of the target assignment, and for each member
its metadata and its assignments. The state is never written; it follows from the records, as in
ConsumerGroup#maybeUpdateGroupState and the same method of the other kinds. The result is the same for the whole history
and for the newest record per key in any order: a tombstone removes all traces, and no record depends on another.
"""

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from decoders import group_events as facts
from decoders.events import Removed
from decoders.group_events import GroupKind
from decoders.schema import RecordContent
from stream.groups.membership import model
from stream.groups.membership.model import MemberClient, Membership, Owned, merge_owned, union_of_shares

AWAY: Final = -2
"""Member epoch of a static member that has left temporarily."""
_STABLE: Final = "stable"
_INITIAL_EPOCH: Final = 0
"""Epoch of a group or an assignment without a record: 0 up to Kafka 4.2, 1 from 4.3 on; no written epoch is below.

A broker that processed the assignment's tombstone has -1 until the group is removed, a broker that loads the compacted
log has the initial epoch. The difference has no effect, because an assignment is only removed together with its group.
"""


@dataclasses.dataclass(slots=True)
class ModernGroup:
    """The current records of one group. None: no such record."""

    kind: GroupKind
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    validated_topology_epoch: int | None = None
    topology: facts.StreamsTopologyRecorded | None = None
    members: dict[str, facts.MemberRecorded] = dataclasses.field(default_factory=dict)
    assignments: dict[str, facts.MemberAssignmentRecorded] = dataclasses.field(default_factory=dict)
    targets: dict[str, facts.MemberTargetRecorded] = dataclasses.field(default_factory=dict)
    regexes: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    # By member epoch, how many members have confirmed their assignment of this epoch.
    _confirmed: Counter[int] = dataclasses.field(default_factory=Counter)

    def apply(self, event: object) -> None:
        """Apply the event of one record; events without effect on members and state are ignored."""
        match event:
            case facts.MemberRecorded():
                self._put(self.members, event.member_id, event)
            case facts.MemberAssignmentRecorded():
                self._put(self.assignments, event.member_id, event)
            case facts.MemberTargetRecorded():
                self.targets[event.member_id] = event
            case facts.GroupEpochRecorded():
                self.group_epoch, self.validated_topology_epoch = event.group_epoch, event.validated_topology_epoch
            case facts.TargetAssignmentRecorded():
                self.assignment_epoch = event.assignment_epoch
            case facts.TopicRegexResolved():
                self.regexes[event.topic_regex] = event.topics
            case facts.StreamsTopologyRecorded():
                self.topology = event
            case Removed():
                self._remove(event)

    def _remove(self, event: Removed) -> None:
        match event.type.content:
            case RecordContent.MEMBER:
                self._put(self.members, event.member_id, None)
            case RecordContent.CURRENT_ASSIGNMENT:
                self._put(self.assignments, event.member_id, None)
            case RecordContent.TARGET_ASSIGNMENT:
                self.targets.pop(event.member_id, None)
            case RecordContent.GROUP_EPOCH:
                self.group_epoch = self.validated_topology_epoch = None
            case RecordContent.TARGET_EPOCH:
                self.assignment_epoch = None
            case RecordContent.RESOLVED_REGEX:
                self.regexes.pop(event.key["regular_expression"], None)
            case RecordContent.TOPOLOGY:
                self.topology = None

    @property
    def state(self) -> str | None:
        """The state as Kafka's tools print it; None if it does not follow from the log."""
        if not self.members:
            return "Empty"
        if self.kind == "share":
            return "Stable"
        if self.kind == "streams" and (
            self.topology is None or self.topology.topology_epoch != self.validated_topology_epoch
        ):
            # Kafka 4.1 keeps the validity of a topology in memory only; 4.2 and later write it.
            is_written = self.topology is None or self.validated_topology_epoch is not None
            return "NotReady" if is_written else None
        if (self.group_epoch or _INITIAL_EPOCH) > (self.assignment_epoch or _INITIAL_EPOCH):
            return "Assigning"
        is_reconciled = self._confirmed[self.assignment_epoch or _INITIAL_EPOCH] == len(self.members)
        return "Stable" if is_reconciled else "Reconciling"

    @property
    def membership(self) -> Membership:
        """The membership as a value."""
        clients = tuple(map(self._client, self.members.values()))
        shares = [client.owned for client in clients if client.owned is not None]
        return Membership(
            kind=self.kind,
            state=self.state,
            members=len(self.members),
            subscribed=self._subscribed(),
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            idle=sum(self.is_idle(member) for member in self.members),
            away=sum(self.is_away(member) for member in self.members),
            unresolved=len(self._unresolved()),
            owned=union_of_shares(shares) if len(shares) == len(clients) else None,
            clients=clients,
        )

    def is_idle(self, member: str) -> bool:
        """Return whether a member owns nothing, not even partitions or tasks to be revoked."""
        assignment = self.assignments.get(member)
        return assignment is None or not any(partitions for _, _, partitions in owned_by(assignment))

    def is_away(self, member: str) -> bool:
        """Return whether a static member has left temporarily; it keeps its assignment."""
        assignment = self.assignments.get(member)
        return assignment is not None and assignment.member_epoch == AWAY

    @property
    def source_topics(self) -> frozenset[str] | None:
        """The topics that a streams group's topology reads, including repartition topics; None without a topology."""
        if self.topology is None:
            return None
        topics = {topic for part in self.topology.subtopologies for topic in source_topics_of(part)}
        return model.topic_set(topics)

    def topics_of_tasks(self, tasks: Iterable[tuple[str, tuple[int, ...]]]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the source topics that tasks read; task n of a subtopology reads partition n of each of its sources."""
        parts = self.topology.subtopologies if self.topology else ()
        sources = {part.subtopology_id: source_topics_of(part) for part in parts}
        for subtopology, partitions in tasks:
            for topic in sources.get(subtopology, ()):
                yield topic, partitions

    def _put(self, rows: dict[str, Any], member: str, event: object | None) -> None:
        """Replace the row of a member among `members` or `assignments`; None removes it."""
        self._count_confirmed(member, -1)
        if event is None:
            rows.pop(member, None)
        else:
            rows[member] = event
        self._count_confirmed(member, 1)

    def _count_confirmed(self, member: str, change: int) -> None:
        assignment = self.assignments.get(member)
        # The layout of Kafka 3.7 has no member state: then only the epoch counts.
        if assignment is not None and member in self.members and assignment.member_state in (_STABLE, None):
            self._confirmed[assignment.member_epoch] += change
            if not self._confirmed[assignment.member_epoch]:
                del self._confirmed[assignment.member_epoch]

    def _subscribed(self) -> frozenset[str] | None:
        if not self.members:
            return model.topic_set(())
        if self.kind == "streams":
            return self.source_topics
        topics = [model.topic_set(each.topics) for each in self.members.values()]
        for regex in {regex for each in self.members.values() if (regex := each.topic_regex) is not None}:
            topics.append(model.topic_set(self.regexes.get(regex, ())))
        return model.union(topics)

    def _unresolved(self) -> set[str]:
        if not self.members:
            return set()
        if self.topology is not None:
            # The broker does not resolve these, so the log has no topics of them.
            return {regex for part in self.topology.subtopologies for regex in part.source_topic_regex}
        regexes = {regex for each in self.members.values() if (regex := each.topic_regex) is not None}
        return regexes - self.regexes.keys()

    def _client(self, member: facts.MemberRecorded) -> MemberClient:
        return MemberClient(
            member_id=member.member_id,
            client_id=sys.intern(member.client_id),  # few different ones
            client_host=sys.intern(member.client_host),
            instance_id=member.instance_id,
            subscribed=self._topics_of(member),
            owned=self._owned_by(self.assignments.get(member.member_id)),
        )

    def _topics_of(self, member: facts.MemberRecorded) -> frozenset[str] | None:
        """Return the topics that a member subscribes to; None if they are not known, and for streams members."""
        regex = member.topic_regex
        if self.kind == "streams" or (regex is not None and regex not in self.regexes):
            return None
        named = member.topics
        return model.topic_set(named if regex is None else (*named, *self.regexes[regex]))

    def _owned_by(self, assignment: facts.MemberAssignmentRecorded | None) -> Owned | None:
        if assignment is None:
            return ()
        rows = owned_by(assignment)
        if self.kind != "streams":
            return merge_owned((topic_id, partitions) for _, topic_id, partitions in rows)
        if self.topology is None:
            return None
        return merge_owned(self.topics_of_tasks((task, numbers) for role, task, numbers in rows if role == "active"))


def owned_by(part: facts.MemberAssignmentRecorded | facts.MemberTargetRecorded) -> facts.AssignmentRows:
    """Return the rows of an assignment, with those to be revoked: a member owns them until it has confirmed that."""
    return part.assigned + (part.pending_revocation if isinstance(part, facts.MemberAssignmentRecorded) else ())


def source_topics_of(part: facts.Subtopology) -> tuple[str, ...]:
    """Return the topics that a subtopology reads, including those that another subtopology writes for it."""
    return part.source_topics + part.repartition_source_topics
