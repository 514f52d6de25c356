"""Builds the snapshot, the read model of one tick, sorted and complete."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from exporters.readmodel import LOG_ENDS, NAME, PARTITIONS, UNKNOWN_LAGS, Snapshot
from exporters.timestamps import LATEST_MS
from stream.health.columns import Ints
from stream.health.features import offset_out_of_range as out_of_range
from stream.health.features import window as windows
from stream.health.features.window import Window
from stream.health.limits import HealthLimits
from stream.tick.context import DerivedState
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.builder import InputBuilder, TickInputs
from stream.tick.inputs.rows import InputRows
from stream.tick.snapshot.groups import RowSums, groups_table, known_lags, timestamps, transitions_table
from stream.tick.snapshot.scaling import scaling_columns
from stream.tick.snapshot.share_groups import share_topics, with_share_sums, with_share_topics
from stream.tick.snapshot.throughput import hot_ratios, throughput_columns
from stream.tick.snapshot.topics import topics_table
from stream.tick.verdicts.columns import findings_table, groups_by_verdict, partition_columns, words
from stream.tick.verdicts.evaluated_tick import EvaluatedTick

NEVER_COMMITTED: Final = "never_committed"
"""Why a row without a commit has no lag: the offset from which the group would read is not known."""


def build(derived: DerivedState) -> Snapshot:
    """Return the snapshot of a derived state without any verdict."""
    inputs, health_inputs = InputBuilder().build(derived)
    return _build(derived, inputs, windows.build_without_history(health_inputs, HealthLimits()))


def build_evaluated(evaluated: EvaluatedTick) -> Snapshot:
    """Return the snapshot of an evaluated tick."""
    return _build(evaluated.derived, evaluated.inputs, evaluated.evaluation.window, evaluated)


def _build(
    derived: DerivedState, inputs: TickInputs, window: Window, evaluated: EvaluatedTick | None = None
) -> Snapshot:
    state, ends = derived.state, derived.facts.ends
    rows, committed = inputs.rows, inputs.rows.committed
    known = window.known & committed
    reasons = _unknown_lag_reasons(window, known)
    expiry = rows.align(derived.expiry.offset, -1)
    odd_time = inputs.odd_time | (expiry > LATEST_MS)
    columns: dict[str, Any] = {
        "group": words(rows.group, rows.groups),
        "topic": words(rows.topic, rows.topics),
        "partition": pa.array(rows.partition),
        "committed_offset": pa.array(window.committed_offset, mask=~committed),
        "commit_time": timestamps(window.commit_time),
        "progress_time": timestamps(window.progress_time),
        **{name: ends.column(name, inputs.end_row) for name in ("high_watermark", "last_stable_offset")},
        "log_start_offset": ends.column("log_start_offset", inputs.end_row),
        "lag": pa.array(window.lag, mask=~known),
        "lag_unknown_reason": reasons,
        "offset_expiry_time": timestamps(expiry),
        "odd_time": pa.array(odd_time),
        **partition_columns(evaluated),
    }
    columns |= {field.name: pa.nulls(len(rows), field.type) for field in PARTITIONS if field.name not in columns}
    sums = RowSums.from_rows(rows.group, len(rows.groups), window, committed)
    share = share_topics(rows.groups, state.memberships, derived.facts, evaluated, sums.rows)
    groups = groups_table(
        derived,
        rows,
        sums,
        evaluated,
        further=scaling_columns(rows, window, inputs.assignment, state.memberships)
        | throughput_columns(rows, window, state.runs),
        odd_time=odd_time,
        now=window.inputs.now,
    )
    return Snapshot(
        taken_at=derived.facts.taken_at,
        partitions=pa.table([columns[field.name] for field in PARTITIONS], schema=PARTITIONS),
        groups=with_share_sums(groups, share),
        unknown_lags=_unknown_lags(rows.group, rows.groups, known_lags(window, committed), reasons),
        transitions=transitions_table(state.histories),
        topics=with_share_topics(topics_table(rows, window, inputs.assignment.owner, evaluated), share),
        log_ends=_log_ends(rows, inputs.end_row, ends, window),
        verdict_groups=groups_by_verdict(evaluated),
        findings=findings_table(evaluated),
    )


def _log_ends(rows: InputRows, end_row: Ints, ends: EndsIndex, window: Window) -> pa.Table:
    """Return the offsets of each partition once, sorted by topic and partition (schema LOG_ENDS)."""
    _, first, at = np.unique((rows.topic << 32) | rows.partition, return_index=True, return_inverse=True)
    rate = np.full(len(first), np.nan)
    np.fmax.at(rate, at, window.rates.produce)
    names = ("high_watermark", "log_start_offset", "last_stable_offset")
    high, start, stable = (ends.column(name, end_row[first]) for name in names)
    partitions = [words(rows.topic[first], rows.topics), pa.array(rows.partition[first])]
    gap = pc.max_element_wise(pc.subtract(high, stable), pa.scalar(0, pa.int64()), skip_nulls=False)
    return pa.table([*partitions, high, start, gap, hot_ratios(rows.topic[first], rate)], schema=LOG_ENDS)


def _unknown_lag_reasons(window: Window, known: NDArray[np.bool_]) -> pa.Array:
    """Return, per row, why there is no lag; null for a row with a lag."""
    unknown_ends = window.inputs.reasons
    reasons = np.full(len(window), None, object)
    for row in np.flatnonzero(~known).tolist():
        if window.out_of_range[row]:
            reasons[row] = out_of_range.NAMES[window.out_of_range[row]]
        elif window.known[row]:
            reasons[row] = NEVER_COMMITTED
        else:
            reasons[row] = None if unknown_ends is None else unknown_ends[row]
    return pa.array(reasons, pa.string()).dictionary_encode().cast(NAME)


def _unknown_lags(group: Ints, groups: Sequence[str], known: NDArray[np.bool_], reasons: pa.Array) -> pa.Table:
    """Return the number of rows without a lag by group and reason, sorted (schema UNKNOWN_LAGS)."""
    table = pa.table({"group": words(group, groups), "reason": reasons}).filter(pa.array(~known))
    counted = (
        table.cast(pa.schema([("group", pa.string()), ("reason", pa.string())]))
        .group_by(["group", "reason"])
        .aggregate([([], "count_all")])
        .sort_by([("group", "ascending"), ("reason", "ascending")])
    )
    return pa.table(
        [
            counted.column("group").combine_chunks().dictionary_encode().cast(NAME),
            counted.column("reason").combine_chunks().dictionary_encode().cast(NAME),
            counted.column("count_all").cast(pa.int32()),
        ],
        schema=UNKNOWN_LAGS,
    )
