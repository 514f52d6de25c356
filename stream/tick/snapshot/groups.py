"""Builds the tables of the read model with one row per group: sums of partitions, membership, history, expiry."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from exporters.readmodel import GROUPS, NAME, TIMESTAMP, TRANSITIONS
from exporters.timestamps import LATEST_MS, clamp_ms
from stream.groups.driver_state import GroupColumns
from stream.groups.lifecycle.model import DEAD_STATE, GroupHistory, TransitionType
from stream.groups.membership.model import CLASSIC, SIMPLE, Membership
from stream.health.columns import Flags, Ints, max_by_owner, sum_by_owner
from stream.health.features.window import Window
from stream.tick.context import DerivedState
from stream.tick.inputs.rows import InputRows
from stream.tick.inputs.times import AHEAD_MS
from stream.tick.verdicts.columns import group_columns
from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_NO_VALUE: Final = np.iinfo(np.int64).min
_OFFSETS_ONLY: Final = Membership(SIMPLE, "Empty", 0)


def known_lags(window: Window, committed: Flags) -> Flags:
    """Return the rows whose lag is known: those with a commit, and those of partitions that hold nothing to read.

    Where a group without a commit begins depends on its clients, but not in an empty partition. Clients in Go and
    JavaScript never commit these. Such a row has no lag of its own, as in Kafka's tool.
    """
    known: Flags = window.known & (committed | (window.lag == 0))
    return known


@dataclasses.dataclass(frozen=True, slots=True)
class RowSums:
    """Sums over rows, one element per owner (a group, or a topic of a group)."""

    rows: NDArray[np.int64]
    partitions: NDArray[np.int64]
    """Rows with a commit."""
    known: NDArray[np.int64]
    """Rows with a known lag."""
    lag: NDArray[np.int64]
    """The sum of the known lags."""
    greatest_lag: NDArray[np.int64]
    """The greatest known lag."""
    last_commit: NDArray[np.int64]
    """The newest commit time (ms)."""

    @classmethod
    def from_rows(cls, owner: Ints, owners: int, window: Window, committed: Flags) -> RowSums:
        """Return the sums by owner; `owner` has the number of the owner of each row, below `owners`."""
        known = known_lags(window, committed)
        return cls(
            rows=np.bincount(owner, minlength=owners),
            partitions=np.bincount(owner[committed], minlength=owners),
            known=np.bincount(owner[known], minlength=owners),
            lag=sum_by_owner(window.lag[known], owner[known], owners),
            greatest_lag=max_by_owner(window.lag[known], owner[known], owners, _NO_VALUE),
            last_commit=max_by_owner(window.commit_time, owner, owners, _NO_VALUE),
        )


class _GroupFields(NamedTuple):
    """The fields of one group that do not come from sums or the evaluation; a field per column of that name.

    A tuple, because one is made per group and tick: frozen dataclasses take longer.
    """

    kind: str
    state_described: bool
    state: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    generation: int | None = None
    members: int | None = None
    state_since: int | None = None
    created_time: int | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    members_idle: int | None = None
    members_away: int | None = None
    died_time: int | None = None
    death_cause: str | None = None
    rebalances: int | None = None


def groups_table(
    derived: DerivedState,
    rows: InputRows,
    sums: RowSums,
    evaluated: EvaluatedTick | None,
    *,
    further: Mapping[str, pa.Array],
    odd_time: Flags,
    now: int,
) -> pa.Table:
    """Return the table of the groups, in the order of the rows (schema GROUPS).

    `further` has the columns of `snapshot.throughput`, `odd_time` marks rows with a time that
    cannot be right; `now` is in ms.
    """
    groups, state = rows.groups, derived.state
    fields = [_group_fields(name, state.memberships.get(name), state.histories.get(name), derived) for name in groups]
    values = dict(zip(_GroupFields._fields, zip(*fields, strict=True), strict=True)) if fields else {}
    columns: dict[str, Any] = {
        "group": _names(groups),
        "partitions": pa.array(sums.partitions, pa.int32()),
        "lag_sum": pa.array(sums.lag, mask=sums.known == 0),
        "lag_max": pa.array(sums.greatest_lag, mask=sums.known == 0),
        "partitions_lag_unknown": pa.array(sums.rows - sums.known, pa.int32()),
        "last_commit_time": timestamps(sums.last_commit),
        "odd_times": _odd_times(groups, state, np.bincount(rows.group[odd_time], minlength=len(groups)), now),
        **_commit_columns(groups, fields, state.commit_counts),
        **_derived_columns(groups, derived),
        **_lost_sums(rows, evaluated),
        **further,
        **group_columns(evaluated),
    }
    return pa.table(
        [
            columns[field.name] if field.name in columns else _column(values.get(field.name), field, len(groups))
            for field in GROUPS
        ],
        schema=GROUPS,
    )


def _lost_sums(rows: InputRows, evaluated: EvaluatedTick | None) -> dict[str, pa.Array]:
    """Return the sum of the lost offsets per group, null where it is known for no partition."""
    if evaluated is None:
        return {}
    lost = evaluated.evaluation.window.ends.lost
    known, groups = lost >= 0, len(rows.groups)
    is_unknown = np.bincount(rows.group[known], minlength=groups) == 0
    return {"lost_sum": pa.array(sum_by_owner(lost[known], rows.group[known], groups), mask=is_unknown)}


def _commit_columns(
    groups: Sequence[str], fields: Sequence[_GroupFields], counts: Mapping[str, int] | None
) -> dict[str, pa.Array]:
    """Return the column of counted commits; null for dead groups."""
    if counts is None:
        return {}
    is_dead = [each.died_time is not None for each in fields]
    return {"commits": pa.array([counts.get(name, 0) for name in groups], pa.int64(), mask=np.array(is_dead, np.bool_))}


def _derived_columns(groups: Sequence[str], derived: DerivedState) -> dict[str, pa.Array]:
    """Return the predicted expiry of each group, and what is unassigned; null what is not known."""
    first_offset, group = derived.expiry.for_groups(groups)
    unowned, unsubscribed = derived.unassigned.unowned, derived.unassigned.unsubscribed
    return {
        "first_offset_expiry_time": timestamps(first_offset),
        "group_expiry_time": timestamps(group),
        "partitions_unowned": pa.array([unowned.get(name) for name in groups], pa.int32()),
        "topics_unsubscribed": pa.array([unsubscribed.get(name) for name in groups], pa.int32()),
    }


def _group_fields(
    name: str, membership: Membership | None, history: GroupHistory | None, derived: DerivedState
) -> _GroupFields:
    if history is not None and history.died is not None and membership is None:
        return _dead_group_fields(name, history, derived)
    known = membership or _OFFSETS_ONLY
    described = derived.facts.cluster.described_states.get(name)
    # Members rebalance of which the log has no record: see `describe_candidates`.
    is_unrecorded = described is not None and not known.members
    return _GroupFields(
        kind=CLASSIC if is_unrecorded else known.kind,
        state=described or known.state,
        protocol_type=known.protocol_type,
        protocol=known.protocol,
        generation=known.generation,
        members=None if is_unrecorded else known.members,
        state_described=described is not None,
        state_since=None if history is None or described else history.since,
        created_time=None if history is None else history.created,
        group_epoch=known.group_epoch,
        assignment_epoch=known.assignment_epoch,
        members_idle=known.idle,
        members_away=known.away,
        rebalances=None if history is None else history.counts.get(TransitionType.REBALANCED, 0),
    )


def _dead_group_fields(name: str, history: GroupHistory, derived: DerivedState) -> _GroupFields:
    removal = next((each for each in reversed(history.transitions) if each.removal is not None), None)
    return _GroupFields(
        kind=history.kind,
        state=DEAD_STATE,
        members=0,
        state_described=False,
        state_since=history.died,
        created_time=history.created,
        died_time=history.died,
        death_cause=None if removal is None else str(derived.decided_cause(name, removal)),
    )


def transitions_table(histories: Mapping[str, GroupHistory]) -> pa.Table:
    """Return the number of transitions by group and type, sorted by both (schema TRANSITIONS)."""
    names = sorted(histories)
    sizes = np.array([len(histories[name].counts) for name in names], np.int64)
    transitions, counts = [], []
    for name in names:
        of_group = histories[name].counts
        for transition in sorted(of_group):
            transitions.append(transition)
            counts.append(of_group[transition])
    rows = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    group = pa.DictionaryArray.from_arrays(rows, pa.array(names, pa.string()))
    return pa.table([group.cast(NAME), _names(transitions), pa.array(counts, pa.int64())], schema=TRANSITIONS)


def timestamps(milliseconds: NDArray[np.int64]) -> pa.Array:
    """Return times (ms) as timestamps, none later than the year 9999; null below 0."""
    return pa.array(np.minimum(milliseconds, LATEST_MS), mask=milliseconds < 0).cast(TIMESTAMP)


def _odd_times(groups: Sequence[str], state: GroupColumns, partitions: Ints, now: int) -> pa.Array:
    """Return the number of odd times per group, those of its partitions and of its history; null for none."""
    histories = [state.histories.get(name) for name in groups]
    own = [sum(map(_is_odd, _times(history), itertools.repeat(now))) for history in histories]
    total = partitions + np.array(own or [0], np.int64)[: len(groups)]
    return pa.array(total.astype(np.int32), mask=total == 0)


def _times(history: GroupHistory | None) -> Sequence[int | None]:
    return () if history is None else (history.since, history.created, history.died)


def _is_odd(time: int | None, now: int) -> bool:
    return time is not None and (time < -1 or time > now + AHEAD_MS)


def _column(values: Sequence[Any] | None, field: pa.Field, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, field.type)
    if field.type == NAME:
        return _names(values)
    if field.type == TIMESTAMP:
        return pa.array([None if time is None else clamp_ms(time) for time in values], pa.int64()).cast(TIMESTAMP)
    return pa.array(values, field.type)


def _names(values: Iterable[str | None]) -> pa.Array:
    return pa.array(list(values), pa.string()).dictionary_encode().cast(NAME)
