"""What groups share, and the search for a value that explains why several groups became unhealthy together.

A value of a dimension, such as one broker or one topic, explains unhealthy groups under three conditions:
at least three groups with the value became unhealthy within a minute of each other, most groups with the value are
unhealthy, and the groups without it continue to work. A group that neither became unhealthy nor committed since then
does not count. Groups that became unhealthy at different times have no common cause, and a value that all groups share
is none.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from stream.health.columns import Flags, Ints


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

    def __len__(self) -> int:
        return len(self.group)

    def select(self, pairs: Flags | Ints) -> SharedValues:
        """Return some of the pairs."""
        columns = {name: getattr(self, name)[pairs] for name in ("group", "value", "unhealthy_since", "worked")}
        return dataclasses.replace(self, **columns)


def unique_pairs(  # noqa: PLR0917 - columns of one table
    dimension: Dimension, names: Sequence[str], group: Ints, value: Ints, unhealthy_since: Ints, worked: Ints
) -> SharedValues:
    """Return one pair per group and value, with the first fault and the last commit of those given.

    Elements with a negative value, which is not known, are left out. A pair with a fault has no commit.
    """
    known = value >= 0
    key = (group[known] << 32) | value[known]
    keys, pair = np.unique(key, return_inverse=True)
    never = np.iinfo(np.int64).max
    first = np.full(len(keys), never, np.int64)
    np.minimum.at(first, pair, np.where(unhealthy_since[known] >= 0, unhealthy_since[known], never))
    last = np.full(len(keys), -1, np.int64)
    np.maximum.at(last, pair, worked[known])
    is_unhealthy = first < never
    return SharedValues(
        dimension,
        names,
        keys >> 32,
        keys & 0xFFFFFFFF,
        np.where(is_unhealthy, first, -1),
        np.where(is_unhealthy, -1, last),
    )


_NARROW_FIRST: Final = {dimension: position for position, dimension in enumerate(Dimension)}


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCauseLimits:
    """Limits of common causes. Durations in ms."""

    groups: int = 3
    """The minimum number of groups of a finding, and of groups without the value to compare them with."""
    window: int = 60_000
    """The time within which the first groups of a finding become unhealthy."""
    join: int = 600_000
    """Groups that become unhealthy this long after the first ones still belong to a finding."""
    share: float = 0.6
    """The smallest share of unhealthy groups among those with the value."""
    contrast: float = 2.0
    """The smallest ratio of that share to the share among the groups without the value."""
    findings: int = 5
    """The maximum number of simultaneous findings."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCause:
    """A value that explains why some groups are unhealthy. Groups are positions; times and durations in ms."""

    dimension: Dimension
    name: str
    """The value: a broker id, an offsets partition, a topic, a host."""
    groups: tuple[int, ...]
    """The unhealthy groups that have it."""
    compared: int
    """Number of these groups, plus the groups with the value that work."""
    began: int
    """When the first of the groups became unhealthy."""
    spread: int
    """Time between the first and the last of the groups that became unhealthy together."""
    has_event: bool
    """True if an event of the value, such as the restart of a broker, is near `began`."""

    @property
    def score(self) -> float:
        """Explained groups, each counted by the share of unhealthy groups among those with the value."""
        return len(self.groups) ** 2 / self.compared


def find_causes(
    shared: Sequence[SharedValues],
    events: Mapping[tuple[Dimension, str], int],
    limits: CommonCauseLimits = CommonCauseLimits(),
) -> tuple[CommonCause, ...]:
    """Return the causes in descending order of their score. Each group belongs to at most one cause.

    `events` has the time (ms) of the last event of a value, such as the restart of a broker.
    """
    causes: list[CommonCause] = []
    while len(causes) < limits.findings:
        every = _GroupTimes.of(shared)
        candidates = [cause for each in shared for cause in _candidates(each, every, events, limits)]
        if not candidates:
            break
        best = min(candidates, key=_rank)
        causes.append(best)
        explained = np.array(best.groups)
        shared = [each.select(~np.isin(each.group, explained)) for each in shared]
    return tuple(causes)


def _rank(cause: CommonCause) -> tuple[float, bool, int, int, str]:
    return (-cause.score, not cause.has_event, cause.compared, _NARROW_FIRST[cause.dimension], cause.name)


def _candidates(
    values: SharedValues,
    every: _GroupTimes,
    events: Mapping[tuple[Dimension, str], int],
    limits: CommonCauseLimits,
) -> Iterator[CommonCause]:
    """Yield the values of a dimension that explain enough groups."""
    frequent = np.flatnonzero(np.bincount(values.value[values.unhealthy_since >= 0], minlength=1) >= limits.groups)
    if not len(frequent):
        return
    order = np.argsort(values.value, kind="stable")
    ordered = values.select(order)
    for value in frequent.tolist():
        first, last = np.searchsorted(ordered.value, (value, value + 1))
        cause = _cause(ordered.select(np.arange(first, last)), every, limits)
        if cause is not None:
            happened = events.get((values.dimension, cause.name))
            is_near = happened is not None and abs(happened - cause.began) <= limits.join
            yield dataclasses.replace(cause, has_event=is_near)


@dataclasses.dataclass(frozen=True, slots=True)
class _GroupTimes:
    """When each group first became unhealthy and last committed (ms), by group; -1: not."""

    unhealthy_since: Ints
    worked: Ints

    @classmethod
    def of(cls, shared: Sequence[SharedValues]) -> _GroupTimes:
        groups = max((int(each.group.max()) + 1 for each in shared if len(each)), default=0)
        never = np.iinfo(np.int64).max
        first, last = np.full(groups, never, np.int64), np.full(groups, -1, np.int64)
        for each in shared:
            np.minimum.at(first, each.group, np.where(each.unhealthy_since >= 0, each.unhealthy_since, never))
            np.maximum.at(last, each.group, each.worked)
        is_unhealthy = first < never
        return cls(np.where(is_unhealthy, first, -1), np.where(is_unhealthy, -1, last))

    def count(self, begin: int, end: int) -> tuple[int, int]:
        """Return the number of groups that became unhealthy from `begin` to `end`, and that worked after `end`."""
        unhealthy = (self.unhealthy_since >= begin) & (self.unhealthy_since <= end)
        return int(unhealthy.sum()), int((self.worked > end).sum())


def _cause(pairs: SharedValues, every: _GroupTimes, limits: CommonCauseLimits) -> CommonCause | None:
    """Return the cause for the pairs of one value; None without one. `has_event` is set by the caller."""
    begin, end = _densest_window(np.sort(pairs.unhealthy_since[pairs.unhealthy_since >= 0]), limits.window)
    together = (pairs.unhealthy_since >= begin) & (pairs.unhealthy_since <= end)
    unhealthy, healthy = int(together.sum()), int((pairs.worked > end).sum())
    later = pairs.unhealthy_since > end
    compared = unhealthy + healthy + int(later.sum())
    unhealthy_in_all, healthy_in_all = every.count(begin, end)
    with_value = np.unique(pairs.group)
    own = _GroupTimes(every.unhealthy_since[with_value], every.worked[with_value])
    own_unhealthy, own_healthy = own.count(begin, end)
    other_unhealthy, other_healthy = unhealthy_in_all - own_unhealthy, healthy_in_all - own_healthy
    others = other_unhealthy + other_healthy
    if unhealthy < limits.groups or unhealthy < limits.share * compared or others < limits.groups:
        return None
    if unhealthy * others < limits.contrast * other_unhealthy * compared:
        return None
    # Most partitions have several followers, so only one of exactly the unhealthy groups explains anything.
    if pairs.dimension is Dimension.FOLLOWER and (healthy or other_unhealthy):
        return None
    covered = together | (later & (pairs.unhealthy_since <= begin + limits.join))
    return CommonCause(
        dimension=pairs.dimension,
        name=pairs.names[int(pairs.value[0])],
        groups=tuple(pairs.group[covered].tolist()),
        compared=int(covered.sum()) + healthy,
        began=begin,
        spread=end - begin,
        has_event=False,
    )


def _densest_window(times: Ints, length: int) -> tuple[int, int]:
    """Return the first and last time of the window of `length` with the most times; the earliest such window."""
    count = np.searchsorted(times, times + length, side="right") - np.arange(len(times))
    first = int(count.argmax())
    return int(times[first]), int(times[first + int(count[first]) - 1])
