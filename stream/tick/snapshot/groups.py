"""The part of the read model that has one row per group: sums of its partitions, membership, life, expiry."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from exporters.readmodel import GROUPS, NAME, TIMESTAMP, TRANSITIONS
from exporters.timestamps import LATEST_MS, clamp_ms
from stream.groups.lifecycle.model import DEAD_STATE
from stream.groups.membership.model import SIMPLE, Membership
from stream.health.columns import max_by_owner, sum_by_owner
from stream.tick.inputs.times import AHEAD_MS
from stream.tick.verdicts.columns import group_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns
    from stream.groups.lifecycle.model import GroupHistory
    from stream.health.columns import Flags, Ints
    from stream.health.features.window import Window
    from stream.tick.context import SnapshotContext
    from stream.tick.inputs.builder import TickInputs
    from stream.tick.inputs.rows import InputRows
    from stream.tick.verdicts.columns import EvaluatedTick

_NO_KNOWN: Final = np.iinfo(np.int64).min
_OFFSETS_ONLY: Final = Membership(SIMPLE, "Empty", 0)


@dataclasses.dataclass(frozen=True, slots=True)
class RowSums:
    """Per owner of rows (a group, or a topic of a group): how many rows, and of how many there is a commit or a lag."""

    rows: NDArray[np.int64]
    partitions: NDArray[np.int64]
    """Those with a commit."""
    known: NDArray[np.int64]
    """Those whose lag is known; `lag` is the sum and `most` the maximum over them."""
    lag: NDArray[np.int64]
    most: NDArray[np.int64]
    last_commit: NDArray[np.int64]

    @classmethod
    def of(cls, owner: Ints, owners: int, window: Window, committed: Flags) -> RowSums:
        """Sum up rows by the numbers of their owners, all below `owners`."""
        known = window.known & committed
        return cls(
            rows=np.bincount(owner, minlength=owners),
            partitions=np.bincount(owner[committed], minlength=owners),
            known=np.bincount(owner[known], minlength=owners),
            lag=sum_by_owner(window.lag[known], owner[known], owners),
            most=max_by_owner(window.lag[known], owner[known], owners, _NO_KNOWN),
            last_commit=max_by_owner(window.commit_time, owner, owners, _NO_KNOWN),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _Told:
    """What is told of one group, apart from its sums; a field per column of that name."""

    kind: str
    state: str | None
    protocol_type: str | None
    protocol: str | None
    generation: int | None
    members: int | None
    state_asked: bool
    state_since: int | None
    created_time: int | None
    group_epoch: int | None
    assignment_epoch: int | None
    members_idle: int | None
    members_away: int | None
    died_time: int | None
    death_cause: str | None


_TOLD: Final = frozenset(field.name for field in dataclasses.fields(_Told))


def groups_table(  # noqa: PLR0917 - what a row of the table is made of
    rows: InputRows,
    sums: RowSums,
    at: TickInputs,
    context: SnapshotContext,
    diagnosed: EvaluatedTick | None,
    odd: Flags,
) -> pa.Table:
    """Return the table of the groups, in the order of the rows (schema GROUPS); `odd` rows have an odd time."""
    groups, fleet = rows.groups, at.fleet
    told = [_told(name, fleet.memberships.get(name), fleet.histories.get(name), context) for name in groups]
    soonest, gone = context.expiry.of_groups(groups)
    unowned, unsubscribed = context.counts.unowned, context.counts.unsubscribed
    columns: dict[str, Any] = {
        "group": _names(groups),
        "partitions": pa.array(sums.partitions, pa.int32()),
        "lag_sum": pa.array(sums.lag, mask=sums.known == 0),
        "lag_max": pa.array(sums.most, mask=sums.known == 0),
        "partitions_lag_unknown": pa.array(sums.rows - sums.known, pa.int32()),
        "last_commit_time": moments(sums.last_commit),
        "partitions_unowned": pa.array([unowned.get(name) for name in groups], pa.int32()),
        "topics_unsubscribed": pa.array([unsubscribed.get(name) for name in groups], pa.int32()),
        "first_offset_expiry_time": moments(soonest),
        "group_expiry_time": moments(gone),
        "odd_times": _odd_times(groups, fleet, np.bincount(rows.group[odd], minlength=len(groups)), at.seen.now),
        **group_columns(groups, rows, diagnosed),
    }
    return pa.table(
        [columns[field.name] if field.name in columns else _column(told, field) for field in GROUPS], schema=GROUPS
    )


def _told(name: str, known: Membership | None, life: GroupHistory | None, context: SnapshotContext) -> _Told:
    if life is not None and life.died is not None and known is None:
        return _dead(name, life, context)
    one = known or _OFFSETS_ONLY
    asked = context.around.asked.get(name)
    return _Told(
        kind=one.kind,
        state=asked or one.state,
        protocol_type=one.protocol_type,
        protocol=one.protocol,
        generation=one.generation,
        members=one.members,
        state_asked=asked is not None,
        state_since=None if life is None or asked else life.since,
        created_time=None if life is None else life.created,
        group_epoch=one.group_epoch,
        assignment_epoch=one.assignment_epoch,
        members_idle=one.idle,
        members_away=one.away,
        died_time=None,
        death_cause=None,
    )


def _dead(name: str, life: GroupHistory, context: SnapshotContext) -> _Told:
    ending = next((each for each in reversed(life.transitions) if each.removal is not None), None)
    nothing: Any = dict.fromkeys((field.name for field in dataclasses.fields(_Told)), None)
    return dataclasses.replace(
        _Told(**nothing),
        kind=life.kind,
        state=DEAD_STATE,
        members=0,
        state_asked=False,
        state_since=life.died,
        created_time=life.created,
        died_time=life.died,
        death_cause=None if ending is None else str(context.cause(name, ending)),
    )


def transitions_table(lives: Mapping[str, GroupHistory]) -> pa.Table:
    """Give how often what happened to each group (schema TRANSITIONS), sorted by group and transition."""
    rows = [(name, what, count) for name, life in sorted(lives.items()) for what, count in sorted(life.counts.items())]
    names, whats, counts = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table([_names(names), _names(whats), pa.array(counts, pa.int64())], schema=TRANSITIONS)


def moments(milliseconds: NDArray[np.int64]) -> pa.Array:
    """Return times as the read model has them, none beyond the year 9999; what is below 0 is no time."""
    return pa.array(np.minimum(milliseconds, LATEST_MS), mask=milliseconds < 0).cast(TIMESTAMP)


def _odd_times(groups: Sequence[str], fleet: GroupColumns, partitions: Ints, now: int) -> pa.Array:
    """Count the odd times of each group: those of its partitions and of its life; null where there is none."""
    lives = [fleet.histories.get(name) for name in groups]
    own = [sum(map(_is_odd, _times(life), itertools.repeat(now))) for life in lives]
    total = partitions + np.array(own or [0], np.int64)[: len(groups)]
    return pa.array(total.astype(np.int32), mask=total == 0)


def _times(life: GroupHistory | None) -> Sequence[int | None]:
    return () if life is None else (life.since, life.created, life.died)


def _is_odd(time: int | None, now: int) -> bool:
    return time is not None and (time < -1 or time > now + AHEAD_MS)


def _column(told: Sequence[_Told], field: pa.Field) -> pa.Array:
    if field.name not in _TOLD:
        return pa.nulls(len(told), field.type)
    values = [getattr(one, field.name) for one in told]
    if field.type == NAME:
        return _names(values)
    if field.type == TIMESTAMP:
        return pa.array([None if time is None else clamp_ms(time) for time in values], pa.int64()).cast(TIMESTAMP)
    return pa.array(values, field.type)


def _names(values: Iterable[str | None]) -> pa.Array:
    return pa.array(list(values), pa.string()).dictionary_encode().cast(NAME)
