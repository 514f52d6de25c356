"""The membership events of a group's timeline: members that join or leave, generations, epochs, assignments, removal.

Decoded events in, pairs of kind and sentence out.
"""

import functools
from collections import Counter
from typing import Any

from decoders import group_events as facts
from decoders.events import ClassicGroupRecorded, ClassicMember, Removed
from decoders.schema import RecordContent
from stream.wording import count

EventTexts = list[tuple[str, str]]


class MembershipTimeline:
    """The membership of one group as of the events added so far."""

    def __init__(self) -> None:
        self._classic: ClassicGroupRecorded | None = None
        self._members: dict[str, str] = {}
        self._epochs: dict[str, int] = {}
        self._shares: tuple[int, int] | None = None

    @functools.singledispatchmethod
    def add(self, _: Any) -> EventTexts:
        """Return the meaning of an event as kinds and sentences; an empty list if nothing changes."""
        return []

    @add.register
    def _(self, event: ClassicGroupRecorded) -> EventTexts:
        changes, first = self._changes(event), self._classic is None
        self._classic = event
        protocol = f" by {event.protocol}" if event.protocol else ""
        if event.members:
            members = _counted(len(event.members), "member")
            return [*changes, ("generation", f"generation {event.generation}: {members}{protocol}")]
        why = "no member has joined yet" if first and event.generation == 0 else "all members have left"
        return [*changes, ("empty", f"generation {event.generation}: empty, {why}")]

    @add.register
    def _(self, event: Removed) -> EventTexts:
        match event.type.content:
            case RecordContent.CLASSIC_GROUP:
                previous, self._classic = self._classic, None
                after = "" if previous is None else f" after generation {previous.generation}"
                return [("deleted", f"group removed by the broker (tombstone){after}: deleted, expired or converted")]
            case RecordContent.GROUP_EPOCH:
                self._epochs.clear()
                kind = event.type.group_kind
                return [("deleted", f"{kind} group removed (tombstone): deleted, expired or converted")]
            case RecordContent.MEMBER:
                self._members.pop(event.member_id, None)
                left = _counted(len(self._members), "member")
                return [("left", f"member {event.member_id} left or was fenced, {left} left")]
        return []

    @add.register
    def _(self, event: facts.GroupEpochRecorded) -> EventTexts:
        previous = self._epochs.get("group")
        self._epochs["group"] = event.group_epoch
        if previous == event.group_epoch:
            return []
        valid = event.validated_topology_epoch
        topology = "" if valid is None or valid < 0 else f", topology epoch {valid} valid"
        return [("epoch", f"{event.kind} group at epoch {event.group_epoch}{topology}")]

    @add.register
    def _(self, event: facts.MemberRecorded) -> EventTexts:
        previous = self._members.get(event.member_id)
        subscription = _subscription(event)
        self._members[event.member_id] = subscription
        if previous is None:
            who = f"{event.member_id} ({event.client_id} at {event.client_host})"
            return [("joined", f"member {who} joined{subscription}")]
        if previous == subscription:
            return []
        return [("changed", f"member {event.member_id} changed:{subscription}")]

    @add.register
    def _(self, event: facts.TargetAssignmentRecorded) -> EventTexts:
        previous = self._epochs.get("target")
        self._epochs["target"] = event.assignment_epoch
        if previous == event.assignment_epoch:
            return []
        return [("assigned", f"target assignment of epoch {event.assignment_epoch} computed")]

    @add.register
    def _(self, event: facts.MemberAssignmentRecorded) -> EventTexts:
        member, owned = f"member {event.member_id}", Counter[str]()
        for role, _, partitions in event.assigned:
            owned[role] += len(partitions)
        if event.kind == "streams":
            words = {"active": "active", "standby": "standby", "warmup": "warm-up"}
            tasks = ", ".join(f"{number} {words[role]}" for role, number in owned.items())
            return [("assigned", f"{member} runs {tasks or 'no'} tasks at epoch {event.member_epoch}")]
        partitions_owned = _counted(owned.total(), "partition")
        if event.member_epoch < 0:
            return [("away", f"static {member} is away and keeps {partitions_owned}")]
        pending = sum(len(partitions) for _, _, partitions in event.pending_revocation)
        revoking = f", revoking {pending}" if pending else ""
        return [("assigned", f"{member} owns {partitions_owned} at epoch {event.member_epoch}{revoking}")]

    @add.register
    def _(self, event: facts.StreamsTopologyRecorded) -> EventTexts:
        parts = _counted(len(event.subtopologies), "subtopology", "subtopologies")
        return [("topology", f"topology of epoch {event.topology_epoch}: {parts}")]

    @add.register
    def _(self, event: facts.ShareTopicsRecorded) -> EventTexts:
        ready = sum(len(partitions) for _, _, partitions in event.initialized)
        waiting = sum(len(partitions) for _, _, partitions in event.initializing)
        if (ready, waiting) == self._shares:
            return []
        self._shares = ready, waiting
        return [("share-state", f"share state of {_counted(ready, 'partition')} ready, of {waiting} being set up")]

    @add.register
    def _(self, event: facts.TopicRegexResolved) -> EventTexts:
        return [("resolved", f"{event.topic_regex} matches {', '.join(event.topics) or 'no topic'}")]

    def _changes(self, event: ClassicGroupRecorded) -> EventTexts:
        """Return the members that joined or left since the previous generation."""
        previous = {each.member_id: each for each in self._classic.members} if self._classic else {}
        now = {each.member_id: each for each in event.members}
        static = {each.group_instance_id for each in previous.values() if each.group_instance_id}
        kept = {each.group_instance_id for each in now.values() if each.group_instance_id}
        changes: EventTexts = []
        for name in sorted(previous.keys() - now.keys()):
            if previous[name].group_instance_id not in kept:
                changes.append(("left", f"member {name} left, timed out or was removed"))
        for name in sorted(now.keys() - previous.keys()):
            again = now[name].group_instance_id in static
            changes.append(("rejoined" if again else "joined", _arrival(now[name], again=again)))
        return changes


def _arrival(member: ClassicMember, *, again: bool) -> str:
    who = f"{member.member_id} ({member.client_id} at {member.client_host})"
    if again:
        return f"static member {member.group_instance_id} rejoined as {who}"
    static = f" as static {member.group_instance_id}" if member.group_instance_id else ""
    return f"member {who} joined{static}"


def _subscription(event: facts.MemberRecorded) -> str:
    if event.kind == "streams":
        return f" with topology epoch {event.topology_epoch}"
    names = list(event.topics)
    if event.topic_regex:
        names.append(f"topics matching {event.topic_regex}")
    return f" for {', '.join(names)}" if names else ""


def _counted(number: int, noun: str, plural: str = "") -> str:
    return count(number, noun, plural, separators=False)
