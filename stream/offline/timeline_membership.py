"""What membership records say of a group in the light of those before: who came and went, generations, epochs, ends.

The words for the kinds of `timeline`. Pure: events in, (kind, sentence) pairs out.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from decoders import group_events as facts
from decoders.events import ClassicGroupRecorded, ClassicGroupRemoved

if TYPE_CHECKING:
    from decoders.events import ClassicMember, Event

EventTexts = list[tuple[str, str]]


class MembershipTimeline:
    """What is known of one group's membership so far."""

    def __init__(self) -> None:
        self._classic: ClassicGroupRecorded | None = None
        self._members: dict[str, str] = {}
        self._epochs: dict[str, int] = {}
        self._shares: tuple[int, int] | None = None

    def tell(self, event: Event) -> EventTexts:
        """Give what an event means, as kinds and sentences; nothing for what repeats what is known."""
        return self._tell(event)

    @functools.singledispatchmethod
    def _tell(self, _: Any) -> EventTexts:
        return []

    @_tell.register
    def _(self, event: ClassicGroupRecorded) -> EventTexts:
        told, first = self._changes(event), self._classic is None
        self._classic = event
        protocol = f" by {event.protocol}" if event.protocol else ""
        if event.members:
            members = _count(len(event.members), "member")
            return [*told, ("generation", f"generation {event.generation}: {members}{protocol}")]
        why = "nobody has joined yet" if first and event.generation == 0 else "all members are gone"
        return [*told, ("empty", f"generation {event.generation}: empty, {why}")]

    @_tell.register
    def _(self, _: ClassicGroupRemoved) -> EventTexts:
        was, self._classic = self._classic, None
        what = "" if was is None else f" after generation {was.generation}"
        return [("deleted", f"group forgotten by the broker (tombstone){what}: deleted, expired or converted")]

    @_tell.register
    def _(self, event: facts.GroupEpochRecorded) -> EventTexts:
        before = self._epochs.get("group")
        self._epochs["group"] = event.group_epoch
        if before == event.group_epoch:
            return []
        return [("epoch", f"{event.kind} group at epoch {event.group_epoch}{_topology(event)}")]

    @_tell.register
    def _(self, event: facts.GroupEpochRemoved) -> EventTexts:
        self._epochs.clear()
        return [("deleted", f"{event.kind} group forgotten (tombstone): deleted, expired or converted")]

    @_tell.register(facts.ConsumerMemberRecorded | facts.ShareMemberRecorded | facts.StreamsMemberRecorded)
    def _(
        self, event: facts.ConsumerMemberRecorded | facts.ShareMemberRecorded | facts.StreamsMemberRecorded
    ) -> EventTexts:
        known = self._members.get(event.member_id)
        wants = _wants(event)
        self._members[event.member_id] = wants
        if known is None:
            who = f"{event.member_id} ({event.client_id} at {event.client_host})"
            return [("joined", f"member {who} joined{wants}")]
        return [] if known == wants else [("changed", f"member {event.member_id} changed:{wants}")]

    @_tell.register
    def _(self, event: facts.MemberRemoved) -> EventTexts:
        self._members.pop(event.member_id, None)
        return [("left", f"member {event.member_id} left or was fenced, {_count(len(self._members), 'member')} left")]

    @_tell.register
    def _(self, event: facts.TargetAssignmentRecorded) -> EventTexts:
        before = self._epochs.get("target")
        self._epochs["target"] = event.assignment_epoch
        if before == event.assignment_epoch:
            return []
        return [("assigned", f"target assignment of epoch {event.assignment_epoch} made")]

    @_tell.register
    def _(self, event: facts.MemberAssignmentRecorded) -> EventTexts:
        owns = sum(len(partitions) for _, partitions in event.partitions)
        pending = sum(len(partitions) for _, partitions in event.pending_revocation)
        if event.member_epoch < 0:
            return [("away", f"static member {event.member_id} is away and keeps {_count(owns, 'partition')}")]
        gives = f", gives up {pending}" if pending else ""
        member = f"member {event.member_id}"
        return [("assigned", f"{member} owns {_count(owns, 'partition')} at epoch {event.member_epoch}{gives}")]

    @_tell.register
    def _(self, event: facts.StreamsMemberAssignmentRecorded) -> EventTexts:
        tasks = [
            f"{sum(len(partitions) for _, partitions in some)} {word}"
            for word, some in (("active", event.active), ("standby", event.standby), ("warm-up", event.warmup))
            if some
        ]
        member = f"member {event.member_id}"
        return [("assigned", f"{member} runs {', '.join(tasks) or 'no'} tasks at epoch {event.member_epoch}")]

    @_tell.register
    def _(self, event: facts.StreamsTopologyRecorded) -> EventTexts:
        parts = _count(len(event.subtopologies), "subtopology", "subtopologies")
        return [("topology", f"topology of epoch {event.topology_epoch}: {parts}")]

    @_tell.register
    def _(self, event: facts.ShareTopicsRecorded) -> EventTexts:
        ready = sum(len(partitions) for _, _, partitions in event.initialized)
        waiting = sum(len(partitions) for _, _, partitions in event.initializing)
        if (ready, waiting) == self._shares:
            return []
        self._shares = ready, waiting
        return [("share-state", f"share state of {_count(ready, 'partition')} ready, of {waiting} being set up")]

    @_tell.register
    def _(self, event: facts.TopicRegexResolved) -> EventTexts:
        return [("resolved", f"{event.topic_regex} matches {', '.join(event.topics) or 'no topic'}")]

    def _changes(self, event: ClassicGroupRecorded) -> EventTexts:
        """Compare the members with those of the generation before."""
        before = {each.member_id: each for each in self._classic.members} if self._classic else {}
        now = {each.member_id: each for each in event.members}
        static = {each.group_instance_id for each in before.values() if each.group_instance_id}
        kept = {each.group_instance_id for each in now.values() if each.group_instance_id}
        told: EventTexts = []
        for name in sorted(before.keys() - now.keys()):
            if before[name].group_instance_id not in kept:
                told.append(("left", f"member {name} left, timed out or was removed"))
        for name in sorted(now.keys() - before.keys()):
            again = now[name].group_instance_id in static
            told.append(("rejoined" if again else "joined", _arrival(now[name], again=again)))
        return told


def _arrival(member: ClassicMember, *, again: bool) -> str:
    who = f"{member.member_id} ({member.client_id} at {member.client_host})"
    if again:
        return f"static member {member.group_instance_id} came back as {who}"
    static = f" as static {member.group_instance_id}" if member.group_instance_id else ""
    return f"member {who} joined{static}"


def _wants(event: facts.ConsumerMemberRecorded | facts.ShareMemberRecorded | facts.StreamsMemberRecorded) -> str:
    if isinstance(event, facts.StreamsMemberRecorded):
        return f" with topology epoch {event.topology_epoch}"
    wanted = list(event.topics)
    if isinstance(event, facts.ConsumerMemberRecorded) and event.topic_regex:
        wanted.append(f"what matches {event.topic_regex}")
    return f" for {', '.join(wanted)}" if wanted else ""


def _topology(event: facts.GroupEpochRecorded) -> str:
    valid = event.validated_topology_epoch
    return "" if valid is None or valid < 0 else f", topology epoch {valid} valid"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
