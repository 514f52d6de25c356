"""(one moment, what was judged of it) -> Snapshot: the read model of that moment, sorted and complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from exporters.readmodel import NAME, PARTITIONS, UNKNOWN_LAGS, Snapshot
from exporters.timestamps import LATEST_MS
from stream.groups.membership.unassigned import UnassignedTracker
from stream.health.features import offset_out_of_range as beyond
from stream.health.features import window as windows
from stream.health.limits import HealthLimits
from stream.tick.context import NOWHERE, SnapshotContext
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.builder import InputBuilder
from stream.tick.snapshot.groups import RowSums, groups_table, moments, transitions_table
from stream.tick.snapshot.topics import topics_table
from stream.tick.verdicts.columns import groups_by_verdict, partition_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns
    from stream.health.columns import Ints
    from stream.health.features.window import Window
    from stream.tick.inputs.builder import TickInputs
    from stream.tick.verdicts.columns import EvaluatedTick

NEVER_COMMITTED: Final = "never_committed"
"""Why there is no lag where the group has no offset yet: where it would begin to read is not known."""


def build(fleet: GroupColumns, ends: pa.Table, taken_at: float, context: SnapshotContext | None = None) -> Snapshot:
    """Join what the groups committed with the ends (schema `stream.cluster.partition_offsets.ENDS`) read after that.

    Nothing is judged. Without a context nothing is known around the groups.
    """
    context = context or SnapshotContext.of(fleet, NOWHERE, UnassignedTracker())
    seen = InputBuilder().moment(fleet, EndsIndex(ends), context.around, taken_at)
    return of(seen, windows.build_without_history(seen.seen, HealthLimits()), taken_at, context)


def of(
    at: TickInputs, window: Window, taken_at: float, context: SnapshotContext, diagnosed: EvaluatedTick | None = None
) -> Snapshot:
    """Give the read model of a moment; the lags are those of the window, which knows what of them is no data."""
    rows, committed = at.rows, at.rows.committed
    known = window.known & committed
    reasons = _reasons(window, committed)
    judged = partition_columns(rows, diagnosed)
    expiry = rows.take(context.expiry.offset, -1)
    odd = at.odd_time | (expiry > LATEST_MS)
    columns: dict[str, Any] = {
        "group": _names(rows.group, rows.groups),
        "topic": _names(rows.topic, rows.topics),
        "partition": pa.array(rows.partition),
        "committed_offset": pa.array(window.committed_offset, mask=~committed),
        "commit_time": moments(window.commit_time),
        "progress_time": moments(window.progress_time),
        **{name: at.ends.column(name, at.end_row) for name in ("high_watermark", "last_stable_offset")},
        "log_start_offset": at.ends.column("log_start_offset", at.end_row),
        "lag": pa.array(window.lag, mask=~known),
        "lag_unknown_reason": reasons,
        "offset_expiry_time": moments(expiry),
        "odd_time": pa.array(odd),
        **judged,
    }
    nothing = {field.name: pa.nulls(len(rows), field.type) for field in PARTITIONS if field.name not in columns}
    columns |= nothing
    sums = RowSums.of(rows.group, len(rows.groups), window, committed)
    return Snapshot(
        taken_at=taken_at,
        partitions=pa.table([columns[field.name] for field in PARTITIONS], schema=PARTITIONS),
        groups=groups_table(rows, sums, at, context, diagnosed, odd),
        unknown_lags=_unknown(rows.group, rows.groups, known, reasons),
        transitions=transitions_table(at.fleet.histories),
        topics=topics_table(rows, window, diagnosed),
        verdict_groups=groups_by_verdict(diagnosed),
    )


def _reasons(window: Window, committed: NDArray[np.bool_]) -> pa.Array:
    """Say for each row without a lag why."""
    told = window.inputs.reasons
    reasons = np.full(len(window), None, object)
    for row in np.flatnonzero(~(window.known & committed)).tolist():
        if window.out_of_range[row]:
            reasons[row] = beyond.NAMES[window.out_of_range[row]]
        elif window.known[row]:
            reasons[row] = NEVER_COMMITTED
        else:
            reasons[row] = None if told is None else told[row]
    return pa.array(reasons, pa.string()).dictionary_encode().cast(NAME)


def _unknown(group: Ints, groups: Sequence[str], known: NDArray[np.bool_], reasons: pa.Array) -> pa.Table:
    table = pa.table({"group": _names(group, groups), "reason": reasons}).filter(pa.array(~known))
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


def _names(numbers: Ints, names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(names, pa.string()))
