"""The groups at the end of a replay, as values that tests can compare."""

import dataclasses

from stream.groups.lifecycle.model import GroupHistory
from stream.groups.membership.memberships import Membership
from stream.offline.replay import Replay


@dataclasses.dataclass(frozen=True, slots=True)
class ReplayedCommit:
    """The last commit of a group for a partition; `commits` and `rewinds` count since the last tombstone."""

    offset: int
    time: int
    reached_time: int
    commits: int
    rewinds: int


@dataclasses.dataclass(frozen=True, slots=True)
class ReplayedGroup:
    """A group, dead or alive. `membership` is None for a group that only has offsets."""

    membership: Membership | None
    offsets: dict[tuple[str, int], ReplayedCommit]
    history: GroupHistory

    @property
    def is_dead(self) -> bool:
        """True when the group was removed."""
        return self.history.died is not None


def replayed_groups(replay: Replay) -> dict[str, ReplayedGroup]:
    """Return all groups, dead or alive, by name."""
    columns = replay.driver_state.columns()
    spans = columns.runs.spans
    names = zip(columns.group.to_pylist(), columns.topic.to_pylist(), columns.partition.tolist(), strict=True)
    fields = (spans.last_offset, spans.last_time, spans.reached_time, spans.commits, spans.rewinds)
    numbers = zip(*(column.tolist() for column in fields), strict=True)
    offsets: dict[str, dict[tuple[str, int], ReplayedCommit]] = {name: {} for name in columns.histories}
    for (group, topic, partition), row in sorted(zip(names, numbers, strict=True)):
        offsets[group][topic, partition] = ReplayedCommit(*row)
    return {
        name: ReplayedGroup(columns.memberships.get(name), offsets[name], history)
        for name, history in sorted(columns.histories.items())
    }


def current_state(groups: dict[str, ReplayedGroup]) -> dict[str, object]:
    """Return what compaction of the log must not change: membership, and offset and time of each last commit."""
    return {
        name: (group.membership, {place: (commit.offset, commit.time) for place, commit in group.offsets.items()})
        for name, group in groups.items()
        if not group.is_dead and (group.membership or group.offsets)
    }
