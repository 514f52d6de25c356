"""What groups share, their faults, and the search for a value that explains why several became unhealthy together.

A value of a dimension, such as one broker or one topic, explains unhealthy groups under three conditions:
at least three groups with the value became unhealthy within a minute of each other, most groups with the value are
unhealthy, and the groups without it continue to work. A group that neither became unhealthy nor committed since then
does not count. Groups that became unhealthy at different times have no common cause, and a value that all groups share
is none.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from stream.health.columns import Flags, Ints, replaced
from stream.health.evaluator import EvaluationResult
from stream.health.features.window import Window
from stream.health.verdict import SEVERITIES, VERDICTS, Severity, Verdict

_IS_FAULT: Final = (SEVERITIES == Severity.CRITICAL) | (np.array(VERDICTS) == Verdict.FALLING_BEHIND)
"""By code: the critical verdicts, and one that is not."""
_BY_IDLE_TIME: Final = (
    *(Verdict.STOPPED, Verdict.STALLED, Verdict.POISON_RECORD),
    *(Verdict.HELD_BACK, Verdict.UNASSIGNED, Verdict.NEVER_COMMITTED),
)
_BEGINNINGS: Final[dict[str, Callable[[Window], Ints]]] = {
    **dict.fromkeys(_BY_IDLE_TIME, lambda window: window.known_until - window.idle_time),
    Verdict.NO_MEMBERS: lambda window: window.inputs.groups.emptied[window.inputs.group],
    Verdict.REBALANCING_TOO_LONG: lambda window: window.inputs.groups.since[window.inputs.group],
    Verdict.NO_LEADER: lambda window: window.memory.end_known_at,
}
"""The beginning of each fault, where it is known. The verdict appears later, after the patience of the group."""


@dataclasses.dataclass(frozen=True, slots=True)
class RowFaults:
    """The faults of the rows of one tick; times in ms."""

    since: Ints
    """When the fault began; -1: none."""
    worked: Ints
    """When the group last committed the partition; -1: never, or the row has a fault or an unknown verdict."""


def row_faults(evaluation: EvaluationResult) -> RowFaults:
    """Return the critical faults of the rows, and `falling_behind`; dead groups have no rows."""
    window, unhealthy = evaluation.window, _IS_FAULT[evaluation.verdict]
    since = evaluation.since.copy()
    for code in np.unique(evaluation.verdict[unhealthy]).tolist():
        beginning = _BEGINNINGS.get(VERDICTS[code])
        if beginning is not None:
            rows = np.flatnonzero(evaluation.verdict == code)
            began = beginning(window)[rows]
            since[rows] = np.where(began >= 0, np.minimum(began, since[rows]), since[rows])
    unknown = SEVERITIES[evaluation.verdict] == Severity.UNKNOWN
    return RowFaults(np.where(unhealthy, since, -1), np.where(unhealthy | unknown, -1, window.commit_time))


class Dimension(enum.StrEnum):
    """A kind of thing that groups share; the narrower ones come first."""

    OFFSETS_PARTITION = "offsets_partition"
    """The partition of `__consumer_offsets` that stores their commits."""
    TOPIC = "topic"
    CLIENT_HOST = "client_host"
    """The host of a member."""
    LEADER = "leader"
    """The broker that leads a partition they read."""
    COORDINATOR = "coordinator"
    """The broker that coordinates them."""
    FOLLOWER = "follower"
    """The broker that follows a partition they read: consumers in its rack fetch from it (KIP-392)."""

    @property
    def is_broker(self) -> bool:
        """True if the values are brokers."""
        return self in {Dimension.LEADER, Dimension.COORDINATOR, Dimension.FOLLOWER}


@dataclasses.dataclass(frozen=True, slots=True)
class SharedValues:
    """The groups that have each value of one dimension, one element per pair of group and value, in any order.

    Times in ms. A group is unhealthy for a value that may be the cause of one of its faults: for a topic, of a fault on
    a partition of the topic.
    """

    dimension: Dimension
    names: Sequence[str]
    """The values; `value` holds positions in it."""
    group: Ints
    value: Ints
    unhealthy_since: Ints
    """When the fault began; -1: the group has no fault for the value."""
    worked: Ints
    """When the group last made a commit for the value; -1: never, or the group is unhealthy."""

    def select(self, pairs: Flags | Ints) -> SharedValues:
        """Return some of the pairs."""
        columns = {name: getattr(self, name)[pairs] for name in ("group", "value", "unhealthy_since", "worked")}
        return dataclasses.replace(self, **columns)

    def count(self, begin: int, end: int) -> tuple[int, int]:
        """Return the number of pairs that became unhealthy from `begin` to `end`, and that worked after `end`."""
        unhealthy = (self.unhealthy_since >= begin) & (self.unhealthy_since <= end)
        return int(unhealthy.sum()), int((self.worked > end).sum())


def unique_pairs(  # noqa: PLR0917 - columns of one table
    dimension: Dimension, names: Sequence[str], group: Ints, value: Ints, unhealthy_since: Ints, worked: Ints
) -> SharedValues:
    """Return one pair per group and value, with the first fault and the last commit of those given.

    Elements with a negative value, which is not known, are left out. A pair with a fault has no commit.
    """
    known = value >= 0
    if not known.all():
        group, value, unhealthy_since, worked = (each[known] for each in (group, value, unhealthy_since, worked))
    pairs = _joined(group << 32 | value, np.where(unhealthy_since >= 0, unhealthy_since, _NEVER), worked)
    if (np.diff(pairs[0]) < 0).any():  # the rows of a pair mostly follow each other
        order = np.argsort(pairs[0], kind="stable")
        pairs = _joined(*(column[order] for column in pairs))
    key, first, last = pairs
    since, last = replaced(first, first == _NEVER, -1), replaced(last, first < _NEVER, -1)
    return SharedValues(dimension, names, key >> 32, key & 0xFFFFFFFF, since, last)


def _joined(key: Ints, since: Ints, worked: Ints) -> tuple[Ints, Ints, Ints]:
    """Return equal keys that follow each other once, with the first fault and the last commit of them."""
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
    if len(first) == len(key):
        return key, since, worked
    return key[first], np.minimum.reduceat(since, first), np.maximum.reduceat(worked, first)


_NEVER: Final = np.iinfo(np.int64).max


_NARROW_FIRST: Final = {dimension: position for position, dimension in enumerate(Dimension)}


LEAST_GROUPS: Final = 3
"""The minimum number of groups of a finding, and of groups without the value to compare them with."""
_WINDOW_MS: Final = 60_000
"""The time within which the first groups of a finding become unhealthy."""
JOIN_MS: Final = 600_000
"""Groups that become unhealthy this long after the first ones still belong to a finding."""
_LEAST_SHARE: Final = 0.6
"""The smallest share of unhealthy groups among those with the value."""
_LEAST_CONTRAST: Final = 2.0
"""The smallest ratio of that share to the share among the groups without the value."""
MOST_FINDINGS: Final = 5
"""The maximum number of simultaneous findings."""


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerAbsence:
    """A time without a broker in the metadata of the cluster, in ms."""

    left: int
    """When it was first missing."""
    returned: int | None
    """When it was there again; None: it is still missing."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCause:
    """A value that explains why some groups are unhealthy. Times and durations in ms."""

    dimension: Dimension
    name: str
    """The value of the dimension: a broker id, an offsets partition, a topic, a host."""
    groups: frozenset[str]
    """The groups that are unhealthy now because of the cause."""
    affected: int
    """The highest number of groups that were unhealthy at the same time because of the cause."""
    compared: int
    """Number of groups with the value whose health is known: the unhealthy ones, and those that work."""
    began: int
    """When the first of the groups became unhealthy."""
    spread: int
    """Time between the first and the last of the groups that became unhealthy together."""
    misses: int = 0
    """Evaluations in a row with too few unhealthy groups."""
    absence: BrokerAbsence | None = None
    """Of the broker that is the value, if that may be the reason."""

    @property
    def key(self) -> tuple[Dimension, str]:
        """The dimension and its value, which identify the cause."""
        return self.dimension, self.name


_Candidate = tuple[tuple[float, bool, int, int, str], Ints, CommonCause]
"""A cause after its rank, least first, and the numbers of its groups."""


def find_causes(
    shared: Sequence[SharedValues], names: Sequence[str], events: Mapping[tuple[Dimension, str], int]
) -> tuple[CommonCause, ...]:
    """Return the causes in descending order of their score. Each group belongs to at most one cause.

    The score is the number of explained groups, each counted by the share of unhealthy groups among those with the
    value. `names` are those of the groups. `events` has the time (ms) of the last event of a value, such as the restart
    of a broker: of equal causes, one with a near event comes first.
    """
    causes: list[CommonCause] = []
    while len(causes) < MOST_FINDINGS:
        every = _all_groups(shared)
        candidates = [each for values in shared for each in _candidates(values, every, names, events)]
        if not candidates:
            break
        _, groups, best = min(candidates, key=lambda candidate: candidate[0])
        causes.append(best)
        shared = [each.select(~np.isin(each.group, groups)) for each in shared]
    return tuple(causes)


def _all_groups(shared: Sequence[SharedValues]) -> SharedValues:
    """Return one pair per group, with its first fault and its last commit."""
    columns = ([getattr(each, name) for each in shared] for name in ("group", "unhealthy_since", "worked"))
    group, since, worked = map(np.concatenate, columns)
    return unique_pairs(shared[0].dimension, (), group, np.zeros(len(group), np.int64), since, worked)


def _candidates(
    values: SharedValues, every: SharedValues, names: Sequence[str], events: Mapping[tuple[Dimension, str], int]
) -> Iterator[_Candidate]:
    """Yield the values of a dimension that explain enough groups."""
    frequent = np.flatnonzero(np.bincount(values.value[values.unhealthy_since >= 0], minlength=1) >= LEAST_GROUPS)
    if not len(frequent):
        return
    ordered = values.select(np.argsort(values.value, kind="stable"))
    for value in frequent.tolist():
        first, last = np.searchsorted(ordered.value, (value, value + 1))
        pairs = ordered.select(np.arange(first, last))
        found = _explained(pairs, every)
        if found is None:
            continue
        groups, compared, (begin, end) = found
        explained, name = frozenset(names[group] for group in groups.tolist()), values.names[value]
        cause = CommonCause(values.dimension, name, explained, len(groups), compared, begin, end - begin)
        happened = events.get(cause.key)
        is_near = happened is not None and abs(happened - begin) <= JOIN_MS
        yield (
            (-(len(groups) ** 2) / compared, not is_near, compared, _NARROW_FIRST[values.dimension], name),
            groups,
            cause,
        )


def _explained(pairs: SharedValues, every: SharedValues) -> tuple[Ints, int, tuple[int, int]] | None:
    """Return what the value of these pairs explains: the groups, the number of compared groups, and begin and end.

    None if it explains nothing.
    """
    begin, end = _densest_window(np.sort(pairs.unhealthy_since[pairs.unhealthy_since >= 0]), _WINDOW_MS)
    unhealthy, healthy = pairs.count(begin, end)
    compared = unhealthy + healthy + int((pairs.unhealthy_since > end).sum())
    other_unhealthy, other_healthy = every.select(~np.isin(every.group, pairs.group)).count(begin, end)
    others = other_unhealthy + other_healthy
    if unhealthy < LEAST_GROUPS or unhealthy < _LEAST_SHARE * compared or others < LEAST_GROUPS:
        return None
    if unhealthy * others < _LEAST_CONTRAST * other_unhealthy * compared:
        return None
    # Most partitions have several followers, so only one of exactly the unhealthy groups explains anything.
    if pairs.dimension is Dimension.FOLLOWER and (healthy or other_unhealthy):
        return None
    groups = pairs.group[(pairs.unhealthy_since >= begin) & (pairs.unhealthy_since <= begin + JOIN_MS)]
    return groups, len(groups) + healthy, (begin, end)


def _densest_window(times: Ints, length: int) -> tuple[int, int]:
    """Return the first and last time of the window of `length` with the most times; the earliest such window."""
    count = np.searchsorted(times, times + length, side="right") - np.arange(len(times))
    first = int(count.argmax())
    return int(times[first]), int(times[first + int(count[first]) - 1])
