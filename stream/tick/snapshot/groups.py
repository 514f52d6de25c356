"""Builds the tables of the read model with one row per group: sums of partitions, membership, history, expiry."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from exporters.readmodel import GROUPS, NAME, TIMESTAMP, TRANSITIONS, columns_table
from exporters.timestamps import LATEST_MS, clamp_ms
from stream.groups.lifecycle.model import DEAD_STATE, GroupHistory, TransitionType
from stream.groups.membership.model import CLASSIC, SIMPLE, Membership
from stream.groups.short_cache import keep_last
from stream.health.columns import Flags, Ints, replaced
from stream.health.features.window import Window
from stream.tick.context import Causes, ClusterContext, DerivedState
from stream.tick.inputs.rows import InputRows
from stream.tick.inputs.times import is_odd
from stream.tick.snapshot.owned_rows import OwnedRows, label_columns, rows_by_group
from stream.tick.verdicts.columns import group_columns, nullable, words
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


def lag_columns(by_owner: OwnedRows, window: Window, committed: Flags) -> dict[str, pa.Array]:
    """Return the sums of GROUPS and TOPICS over rows by their owner: a group, or a topic of a group.

    Partitions are rows with a commit; the sum and the maximum are those of the known lags.
    """
    known = known_lags(window, committed)
    rows_known = by_owner.count(known)
    total = by_owner.reduce(np.add, np.where(known, window.lag, 0), 0)
    greatest = by_owner.reduce(np.maximum, np.where(known, window.lag, _NO_VALUE), _NO_VALUE)
    return {
        "partitions": pa.array(by_owner.count(committed), pa.int32()),
        "lag_sum": nullable(total, rows_known == 0),
        "lag_max": nullable(greatest, rows_known == 0),
        "partitions_lag_unknown": pa.array(by_owner.counts - rows_known, pa.int32()),
    }


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
    window: Window,
    evaluated: EvaluatedTick | None,
    *,
    further: Mapping[str, pa.Array],
    odd_time: Flags,
) -> pa.Table:
    """Return the table of the groups, in the order of the rows (schema GROUPS).

    `further` has the columns of `snapshot.throughput`, `odd_time` marks rows with a time that cannot be right.
    """
    groups, state, by_group, lost = rows.groups, derived.state, rows_by_group(rows), window.ends.lost
    recorded = _recorded_columns(groups, state.memberships, state.histories, derived.causes, derived.facts.cluster)
    is_dead = recorded["died_time"].is_valid().to_numpy(zero_copy_only=False)
    commits = map((state.commit_counts or {}).get, groups, itertools.repeat(0))
    of_history = is_odd(_history_times(groups, state.histories), window.inputs.now).sum(axis=1)
    odd_times = by_group.count(odd_time) + of_history
    first_offset, group = derived.expiry.for_groups(groups)
    columns: dict[str, Any] = recorded | {
        "group": words(np.arange(len(groups)), label_columns(rows)["group"].dictionary),
        **lag_columns(by_group, window, rows.committed),
        "last_commit_time": timestamps(by_group.reduce(np.maximum, window.commit_time, _NO_VALUE)),
        "odd_times": nullable(odd_times.astype(np.int32), odd_times == 0),
        "commits": nullable(np.fromiter(commits, np.int64, len(groups)), is_dead | (state.commit_counts is None)),
        "first_offset_expiry_time": timestamps(first_offset),
        "group_expiry_time": timestamps(group),
        **_unassigned_columns(groups, derived.unassigned.unowned, derived.unassigned.unsubscribed),
        "lost_sum": nullable(
            by_group.reduce(np.add, np.maximum(lost, 0), 0), by_group.count((lost >= 0) & (evaluated is not None)) == 0
        ),
        **further,
        **group_columns(evaluated),
    }
    return columns_table(columns, GROUPS)


@keep_last
def _unassigned_columns(
    groups: Sequence[str], unowned: Mapping[str, int], unsubscribed: Mapping[str, int]
) -> dict[str, pa.Array]:
    counts = {"partitions_unowned": unowned, "topics_unsubscribed": unsubscribed}
    return {name: pa.array(list(map(each.get, groups)), pa.int32()) for name, each in counts.items()}


@keep_last
def _recorded_columns(
    groups: Sequence[str],
    memberships: Mapping[str, Membership],
    histories: Mapping[str, GroupHistory],
    causes: Causes,
    cluster: ClusterContext,
) -> dict[str, pa.Array]:
    """Return the columns of GROUPS that are fields of `_GroupFields`."""
    fields = [_group_fields(name, memberships.get(name), histories.get(name), causes, cluster) for name in groups]
    values = zip(*fields, strict=True) if fields else itertools.repeat(())
    return {
        name: _column(column, GROUPS.field(name)) for name, column in zip(_GroupFields._fields, values, strict=False)
    }


def _group_fields(
    name: str, membership: Membership | None, history: GroupHistory | None, causes: Causes, cluster: ClusterContext
) -> _GroupFields:
    if history is not None and history.died is not None and membership is None:
        return _dead_group_fields(name, history, causes, cluster)
    known = membership or _OFFSETS_ONLY
    described = cluster.described_states.get(name)
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


def _dead_group_fields(name: str, history: GroupHistory, causes: Causes, cluster: ClusterContext) -> _GroupFields:
    removal = next((each for each in reversed(history.transitions) if each.removal is not None), None)
    return _GroupFields(
        kind=history.kind,
        state=DEAD_STATE,
        members=0,
        state_described=False,
        state_since=history.died,
        created_time=history.created,
        died_time=history.died,
        death_cause=None if removal is None else str(causes.of(name, removal, cluster)),
    )


@keep_last
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
    return nullable(replaced(milliseconds, milliseconds > LATEST_MS, LATEST_MS), milliseconds < 0, TIMESTAMP)


@keep_last
def _history_times(groups: Sequence[str], histories: Mapping[str, GroupHistory]) -> Ints:
    """Return the three times of the history of each group; -1 where there is none."""
    found = (histories.get(name) for name in groups)
    times = [(-1, -1, -1) if each is None else (each.since, each.created, each.died) for each in found]
    return np.array([[-1 if time is None else time for time in row] for row in times], np.int64).reshape(-1, 3)


def _column(values: Sequence[Any], field: pa.Field) -> pa.Array:
    if field.type == NAME:
        return _names(values)
    if field.type == TIMESTAMP:
        return pa.array([None if time is None else clamp_ms(time) for time in values], pa.int64()).cast(TIMESTAMP)
    return pa.array(values, field.type)


def _names(values: Iterable[str | None]) -> pa.Array:
    return pa.array(list(values), pa.string()).dictionary_encode().cast(NAME)
