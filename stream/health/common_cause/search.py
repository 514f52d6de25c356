"""Finds what groups have in common that turned sick together.

A value of a dimension, as one broker or one topic, explains sick groups if at least three of those that have it turned
sick within a minute of each other, most of the others that have it and work at all do so no longer, and groups without
it work on. A group that has neither turned sick nor committed since says nothing and does not count. Groups that turned
sick at different times, and a value that all groups share, are no common cause.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.common_cause.shared import Dimension, SharedValues

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream.health.columns import Ints

_NARROW_FIRST: Final = {dimension: position for position, dimension in enumerate(Dimension)}


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCauseLimits:
    """Limits of common causes. Durations in ms."""

    groups: int = 3
    """The fewest groups of a finding, and the fewest groups without the value that must be compared."""
    window: int = 60_000
    """The groups turn sick within this time of each other."""
    join: int = 600_000
    """Groups that turn sick this long after the first ones still belong to a finding."""
    share: float = 0.6
    """The least share of sick groups among those with the value."""
    contrast: float = 2.0
    """That share is at least this many times the share among the groups without the value."""
    findings: int = 5
    """The most findings at once."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCause:
    """A value that explains why some groups are sick. Groups are positions; times and durations in ms."""

    dimension: Dimension
    name: str
    """The value: a broker id, an offsets partition, a topic, a host."""
    groups: tuple[int, ...]
    """The sick groups that have it."""
    compared: int
    """Number of these groups and of those that have the value and work."""
    began: int
    """When the first of them turned sick."""
    spread: int
    """Time between the first and the last of the groups that turned sick together."""
    has_event: bool
    """Something happened to the value at that time."""

    @property
    def score(self) -> float:
        """Explained groups, each counted by the share of sick groups among those with the value."""
        return len(self.groups) ** 2 / self.compared


def find_causes(
    shared: Sequence[SharedValues],
    events: Mapping[tuple[Dimension, str], int],
    limits: CommonCauseLimits = CommonCauseLimits(),
) -> tuple[CommonCause, ...]:
    """Return the causes, the one that explains most first; a group is explained by one of them.

    `events` has when (ms) something happened to a value, as the restart of a broker.
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
    frequent = np.flatnonzero(np.bincount(values.value[values.sick_since >= 0], minlength=1) >= limits.groups)
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
    """When each group first turned sick and last committed (ms), by group; -1: not."""

    sick_since: Ints
    worked: Ints

    @classmethod
    def of(cls, shared: Sequence[SharedValues]) -> _GroupTimes:
        groups = max((int(each.group.max()) + 1 for each in shared if len(each)), default=0)
        never = np.iinfo(np.int64).max
        first, last = np.full(groups, never, np.int64), np.full(groups, -1, np.int64)
        for each in shared:
            np.minimum.at(first, each.group, np.where(each.sick_since >= 0, each.sick_since, never))
            np.maximum.at(last, each.group, each.worked)
        is_sick = first < never
        return cls(np.where(is_sick, first, -1), np.where(is_sick, -1, last))

    def count(self, begin: int, end: int) -> tuple[int, int]:
        """Return the number of groups that turned sick from `begin` to `end`, and that worked after `end`."""
        sick = (self.sick_since >= begin) & (self.sick_since <= end)
        return int(sick.sum()), int((self.worked > end).sum())


def _cause(pairs: SharedValues, every: _GroupTimes, limits: CommonCauseLimits) -> CommonCause | None:
    """Return the cause that the pairs of one value show; None if they show none. Whether it has an event is open."""
    begin, end = _densest_window(np.sort(pairs.sick_since[pairs.sick_since >= 0]), limits.window)
    together = (pairs.sick_since >= begin) & (pairs.sick_since <= end)
    sick, well = int(together.sum()), int((pairs.worked > end).sum())
    later = pairs.sick_since > end
    compared = sick + well + int(later.sum())
    sick_in_all, well_in_all = every.count(begin, end)
    with_value = np.unique(pairs.group)
    own_sick, own_well = _GroupTimes(every.sick_since[with_value], every.worked[with_value]).count(begin, end)
    other_sick, other_well = sick_in_all - own_sick, well_in_all - own_well
    others = other_sick + other_well
    if sick < limits.groups or sick < limits.share * compared or others < limits.groups:
        return None
    if sick * others < limits.contrast * other_sick * compared:
        return None
    covered = together | (later & (pairs.sick_since <= begin + limits.join))
    return CommonCause(
        dimension=pairs.dimension,
        name=pairs.names[int(pairs.value[0])],
        groups=tuple(pairs.group[covered].tolist()),
        compared=int(covered.sum()) + well,
        began=begin,
        spread=end - begin,
        has_event=False,
    )


def _densest_window(times: Ints, length: int) -> tuple[int, int]:
    """Return the first and the last of the most times that lie within `length`; the earliest if several are equal."""
    count = np.searchsorted(times, times + length, side="right") - np.arange(len(times))
    first = int(count.argmax())
    return int(times[first]), int(times[first + int(count[first]) - 1])
