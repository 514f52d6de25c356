"""Builds the snapshot, the read model of one tick, sorted and complete."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from exporters import readmodel
from exporters.timestamps import LATEST_MS, clamp_ms
from stream.groups.expiry.causes import transition_sentence
from stream.groups.lifecycle.model import GroupHistory, Transition
from stream.groups.membership.members import Member
from stream.groups.membership.memberships import Membership
from stream.groups.membership.unassigned import find_unassigned
from stream.health.columns import NOT_KNOWN, Ints
from stream.health.features import offset_out_of_range as out_of_range
from stream.health.features import window as windows
from stream.health.features.window import Window
from stream.health.limits import HealthLimits
from stream.health.share.progress import ShareProgress
from stream.tick.context import DerivedState
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.builder import InputBuilder, TickInputs
from stream.tick.inputs.rows import InputRows
from stream.tick.snapshot.groups import groups_table, known_lags, timestamps, transitions_table
from stream.tick.snapshot.owned_rows import label_columns, rows_by_group
from stream.tick.snapshot.throughput import hot_ratios, scaling_columns, stream_times, throughput_columns
from stream.tick.snapshot.topics import share_topics, topics_table, with_share_sums, with_share_topics
from stream.tick.verdicts.columns import findings_table, groups_by_verdict, nullable, partition_columns, words
from stream.tick.verdicts.evaluated_tick import EvaluatedTick


def group_detail(
    group: str,
    found: tuple[Membership | None, GroupHistory | None],
    members: Iterable[Member],
    topics_with_offsets: Iterable[str],
    derived: DerivedState,
) -> readmodel.GroupDetail:
    """Return the details of a group, without findings; `found` is its membership and its history."""
    (membership, history), cluster = found, derived.facts.cluster
    unowned = unsubscribed = None
    if membership is not None:
        unowned, unsubscribed = find_unassigned(
            membership, topics_with_offsets, cluster.partition_counts, cluster.topic_names
        )
    return readmodel.GroupDetail(
        group=group,
        members=tuple(readmodel.MemberDetail(**{name: getattr(each, name) for name in _OF_MEMBER}) for each in members),
        transitions=tuple(
            _transition_detail(group, each, derived) for each in (history.transitions if history else ())
        ),
        unowned=unowned,
        unsubscribed=unsubscribed,
    )


_OF_MEMBER: Final = [field.name for field in dataclasses.fields(readmodel.MemberDetail)]


def _transition_detail(group: str, transition: Transition, derived: DerivedState) -> readmodel.TransitionDetail:
    """Return a transition with its sentence; a removal also has its cause."""
    cause = None if transition.removal is None else derived.causes.of(group, transition, derived.facts.cluster)
    return readmodel.TransitionDetail(
        time=clamp_ms(transition.time) / 1000,
        transition=str(transition.type),
        text=transition_sentence(transition, cause, derived.facts.cluster.retention),
        cause=None if cause is None else str(cause),
        live=transition.live,
        joined=transition.joined,
        left=transition.left,
    )


def with_share_partitions(
    detail: readmodel.GroupDetail, progress: ShareProgress | None, verdicts: Mapping[tuple[str, int], tuple[str, int]]
) -> readmodel.GroupDetail:
    """Return the details with the partitions of a share group; unchanged if they are not known."""
    rows = None if progress is None else progress.groups.get(detail.group)
    if progress is None or rows is None:
        return detail
    partitions = []
    for row in rows:
        verdict, since = verdicts.get((row.topic, row.partition), (None, None))
        begin = None if since is None else since / 1000
        partitions.append(readmodel.SharePartitionDetail(**row._asdict(), verdict=verdict, verdict_since=begin))
    return dataclasses.replace(detail, share_partitions=tuple(partitions), share_progress_time=progress.taken_at / 1000)


_OFFSETS: Final = ("high_watermark", "log_start_offset", "last_stable_offset")
NEVER_COMMITTED: Final = "never_committed"
"""Why a row without a commit has no lag: the offset from which the group would read is not known."""


def build(derived: DerivedState) -> readmodel.Snapshot:
    """Return the snapshot of a derived state without any verdict."""
    inputs, health_inputs = InputBuilder().build(derived)
    return _build(derived, inputs, windows.build_without_history(health_inputs, HealthLimits()))


def build_evaluated(evaluated: EvaluatedTick) -> readmodel.Snapshot:
    """Return the snapshot of an evaluated tick."""
    return _build(evaluated.derived, evaluated.inputs, evaluated.evaluation.window, evaluated)


def _build(
    derived: DerivedState, inputs: TickInputs, window: Window, evaluated: EvaluatedTick | None = None
) -> readmodel.Snapshot:
    state, ends = derived.state, derived.facts.ends
    rows, committed, labels = inputs.rows, inputs.rows.committed, label_columns(inputs.rows)
    known = window.known & committed
    reasons = _unknown_lag_reasons(window, known)
    expiry = rows.align(derived.expiry.offset, -1)
    stream_time, unreadable = stream_times(rows, state)
    odd_time = inputs.odd_time | (expiry > LATEST_MS) | unreadable
    behind = np.where(window.lag > 0, np.maximum(window.inputs.now - stream_time, 0), 0)
    columns: dict[str, Any] = {
        **labels,
        "committed_offset": nullable(window.committed_offset, ~committed),
        "commit_time": timestamps(window.commit_time),
        "progress_time": timestamps(window.progress_time),
        **{name: ends.column(name, inputs.end_row) for name in _OFFSETS},
        "lag": nullable(window.lag, ~known),
        "lag_unknown_reason": reasons,
        "offset_expiry_time": timestamps(expiry),
        "odd_time": pa.array(odd_time),
        "stream_time_lag": nullable(behind / 1000, ~known | (stream_time < 0)),
        **partition_columns(evaluated),
    }
    share = share_topics(rows.groups, state.memberships, derived.facts, evaluated, rows_by_group(rows).counts)
    groups = groups_table(
        derived,
        rows,
        window,
        evaluated,
        further=scaling_columns(rows, window, inputs.assignment, state.memberships)
        | throughput_columns(rows, window, state.runs),
        odd_time=odd_time,
    )
    return readmodel.Snapshot(
        taken_at=derived.facts.taken_at,
        partitions=_equal_once(readmodel.columns_table(columns, readmodel.PARTITIONS)),
        groups=with_share_sums(groups, share),
        unknown_lags=_unknown_lags(labels["group"], known_lags(window, committed), reasons),
        transitions=transitions_table(state.histories),
        topics=with_share_topics(topics_table(rows, window, inputs.assignment.owner, evaluated), share),
        log_ends=_log_ends(rows, inputs.end_row, ends, window),
        verdict_groups=groups_by_verdict(evaluated),
        findings=findings_table(evaluated),
    )


def _equal_once(table: pa.Table) -> pa.Table:
    """Return the table with equal columns in memory once: many are null or zero everywhere, or repeat another."""
    found: list[pa.ChunkedArray] = []
    for column in table.columns:
        found.append(next((each for each in found if each.type == column.type and each.equals(column)), column))
    return pa.table(found, schema=table.schema)


def _log_ends(rows: InputRows, end_row: Ints, ends: EndsIndex, window: Window) -> pa.Table:
    """Return the offsets of each partition once, sorted by topic and partition (schema LOG_ENDS)."""
    known, others = np.flatnonzero(end_row >= 0), np.flatnonzero(end_row < 0)
    row_of_end, rate_of_end = np.full(len(ends), -1, np.int64), np.full(len(ends) + 1, np.nan)
    row_of_end[end_row[known]] = known
    _, unknown = np.unique((rows.topic[others] << 32) | rows.partition[others], return_index=True)
    first = np.concatenate((row_of_end[row_of_end >= 0], others[unknown]))
    first = first[np.lexsort((rows.partition[first], rows.topic[first]))]
    np.fmax.at(rate_of_end, end_row, window.rates.produce)
    rate_of_end[-1] = np.nan
    rate = rate_of_end[end_row[first]]
    high, start, stable = (ends.column(name, end_row[first]) for name in _OFFSETS)
    partitions = [words(rows.topic[first], rows.topics), pa.array(rows.partition[first])]
    gap = pc.max_element_wise(pc.subtract(high, stable), pa.scalar(0, pa.int64()), skip_nulls=False)
    return pa.table([*partitions, high, start, gap, hot_ratios(rows.topic[first], rate)], schema=readmodel.LOG_ENDS)


def _unknown_lag_reasons(window: Window, known: NDArray[np.bool_]) -> pa.Array:
    """Return, per row, why there is no lag; null for a row with a lag."""
    unknown_ends, numbers = window.inputs.reasons, np.full(len(window), NOT_KNOWN)
    names: dict[str, int] = {}
    for row in np.flatnonzero(~known).tolist():
        reason = None if unknown_ends is None else unknown_ends[row]
        if window.out_of_range[row]:
            reason = out_of_range.NAMES[window.out_of_range[row]]
        elif window.known[row]:
            reason = NEVER_COMMITTED
        if reason is not None:
            numbers[row] = names.setdefault(reason, len(names))
    return words(numbers, list(names), numbers < 0)


def _unknown_lags(group: pa.DictionaryArray, known: NDArray[np.bool_], reasons: pa.Array) -> pa.Table:
    """Return the number of rows without a lag by group and reason, sorted (schema UNKNOWN_LAGS)."""
    rows = pa.array(np.flatnonzero(~known))
    names = {"group": group.take(rows).cast(pa.string()), "reason": reasons.take(rows).cast(pa.string())}
    counted = (
        pa.table(names)
        .group_by(["group", "reason"])
        .aggregate([([], "count_all")])
        .sort_by([("group", "ascending"), ("reason", "ascending")])
    )
    encoded = (counted[name].combine_chunks().dictionary_encode().cast(readmodel.NAME) for name in names)
    return pa.table([*encoded, counted["count_all"].cast(pa.int32())], schema=readmodel.UNKNOWN_LAGS)
