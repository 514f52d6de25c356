"""The observer without a monitor: reads the offsets topic and replays it, as the offline verbs do."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from sandbox.scenarios.comparison import ObservedGroup
from sandbox.scenarios.history import ExpectedTransition
from sandbox.scenarios.official import GroupFacts, MemberFacts
from stream.groups.expiry.causes import cause_of
from stream.groups.expiry.predict import OffsetsRetention
from stream.groups.membership.memberships import SIMPLE
from stream.offline.replay import ROWS_PER_BATCH, Replay
from stream.offline.rows import OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from stream.groups.driver_state import GroupColumns
    from stream.groups.lifecycle.model import GroupHistory, Transition
    from stream.groups.membership.memberships import Member, Membership
    from stream.offline.rows import LogRow, TopicAndPartition


RETENTION: Final = OffsetsRetention(60_000, 2_000, "broker")
"""The settings of `sandbox.scenarios.runner.HistoryBroker`."""


@dataclasses.dataclass(frozen=True, slots=True)
class TopicNames:
    """The topics of the cluster at one moment: names by id."""

    names: Mapping[bytes, str]

    def exists(self, name: str) -> bool:
        """Return whether there is a topic of this name."""
        return name in self.names.values()


class ReplayObserver:
    """Reads new rows at each observation: `rows_after` returns those after these last offsets, `topics` the topics."""

    def __init__(
        self,
        rows_after: Callable[[Mapping[TopicAndPartition, int]], Iterable[LogRow]],
        topics: Callable[[], TopicNames],
    ) -> None:
        self.name = "replay"
        self.replay: Final = IncrementalReplay()
        self.rows: Final[list[LogRow]] = []
        self.last: Final[dict[TopicAndPartition, int]] = {}
        self.topics = TopicNames({})
        self._rows_after = rows_after
        self._topics = topics

    def observe(self) -> Mapping[str, ObservedGroup]:
        """See Observer."""
        self.topics = self._topics()
        fresh = [row for row in self._rows_after(self.last) if row.topic == OFFSETS_TOPIC]
        self.last.update({row.place: row.offset for row in fresh})
        self.rows.extend(fresh)
        return self.replay.read(fresh, self.topics)


class IncrementalReplay:
    """A replay that is continued round by round. The cause of a removal is determined when it is first seen."""

    def __init__(self, rows_at_once: int = ROWS_PER_BATCH) -> None:
        self._replay = Replay()
        self._rows_at_once = rows_at_once
        # Also of deleted topics: members may still have them assigned.
        self._names: dict[bytes, str] = {}
        self._causes: dict[tuple[str, int], str] = {}

    def read(self, rows: Iterable[LogRow], topics: TopicNames) -> dict[str, ObservedGroup]:
        """Read rows, and return what has been found of every group so far, removed ones included."""
        self._names.update(topics.names)
        self._replay.read(rows, self._rows_at_once)
        driver_state = self._replay.driver_state
        columns = driver_state.columns()
        offsets = _offsets(columns)
        found = {}
        for name, history in sorted(columns.histories.items()):
            facts = None
            if history.died is None:
                members = driver_state.members(name, self._names)
                facts = _facts(history, columns.memberships.get(name), members, offsets.get(name, ()))
            found[name] = ObservedGroup(facts, self._transitions(name, history, topics))
        return found

    def _transitions(self, group: str, history: GroupHistory, topics: TopicNames) -> tuple[ExpectedTransition, ...]:
        return tuple(
            ExpectedTransition(each.type.value, each.joined, each.left, self._cause(group, each, topics))
            for each in history.transitions
        )

    def _cause(self, group: str, transition: Transition, topics: TopicNames) -> str | None:
        if transition.removal is None:
            return None
        place = group, transition.position
        if place not in self._causes:
            self._causes[place] = cause_of(transition.removal, RETENTION, topics.exists).value
        return self._causes[place]


def _offsets(columns: GroupColumns) -> dict[str, list[tuple[tuple[str, int], int]]]:
    """Return the committed offsets of each group, sorted by topic and partition."""
    offsets: dict[str, list[tuple[tuple[str, int], int]]] = {}
    places = zip(columns.topic.to_pylist(), columns.partition.tolist(), strict=True)
    rows = zip(columns.group.to_pylist(), places, columns.runs.spans.last_offset.tolist(), strict=True)
    for group, place, offset in sorted(rows):
        offsets.setdefault(group, []).append((place, offset))
    return offsets


def _facts(
    history: GroupHistory,
    known: Membership | None,
    members: Iterable[Member],
    offsets: Iterable[tuple[tuple[str, int], int]],
) -> GroupFacts:
    kind = SIMPLE if known is None else known.kind
    return GroupFacts(
        # For Kafka's tools a group without a membership is a classic one.
        kind="classic" if kind == SIMPLE else kind,
        state=history.state or "",
        members=tuple(_member(member, kind) for member in members),
        offsets=tuple(offsets),
        strategy=None if known is None else known.protocol,
        group_epoch=None if known is None else known.group_epoch,
        assignment_epoch=None if known is None else known.assignment_epoch,
    )


def _member(member: Member, kind: str) -> MemberFacts:
    places = tuple((topic, partition) for topic, partitions in member.assignment for partition in partitions)
    return MemberFacts(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=member.instance_id,
        # The tool for streams groups shows tasks, not the partitions that they read.
        assignment=None if kind == "streams" else places,
    )
