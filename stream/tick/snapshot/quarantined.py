"""Adds groups in quarantine to the snapshot of all others, as unknown with the reason."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import GROUPS, UNKNOWN_LAGS, VERDICT_GROUPS, Snapshot
from stream.groups.driver_state import GroupColumns
from stream.tick.quarantine import REASON, QuarantinedGroup

_UNKNOWN: Final = "unknown"
"""The verdict, and its severity."""


def with_quarantined(snapshot: Snapshot, state: GroupColumns, groups: Mapping[str, QuarantinedGroup]) -> Snapshot:
    """Return the snapshot with a row for each of these groups, of which only names and partitions are read."""
    if not groups:
        return snapshot
    partitions = dict.fromkeys(groups, 0)
    for name in state.group.take(state.rows_of(groups.keys())).to_pylist():
        partitions[name] += 1
    rows = [_row(name, each, partitions[name]) for name, each in groups.items()]
    unknown = [{"group": name, "reason": REASON, "partitions": count} for name, count in partitions.items() if count]
    return dataclasses.replace(
        snapshot,
        groups=_sorted(pa.concat_tables([snapshot.groups, pa.Table.from_pylist(rows, GROUPS)])),
        unknown_lags=_sorted(pa.concat_tables([snapshot.unknown_lags, pa.Table.from_pylist(unknown, UNKNOWN_LAGS)])),
        verdict_groups=_counted(snapshot.verdict_groups, len(rows)),
    )


def _row(name: str, quarantined: QuarantinedGroup, partitions: int) -> dict[str, Any]:
    error = type(quarantined.error).__name__
    return {
        "group": name,
        "partitions": partitions,
        "partitions_lag_unknown": partitions,
        "verdict": _UNKNOWN,
        "severity": _UNKNOWN,
        "verdict_since": int(quarantined.since * 1000),
        "verdict_partitions": partitions,
        "sentence": f"lagwarden failed to evaluate this group (internal error: {error}); see its log.",
    }


def _sorted(table: pa.Table) -> pa.Table:
    """Return the table sorted by group; rows of one group keep their order."""
    table = table.unify_dictionaries().combine_chunks()
    names = np.array(table.column("group").to_pylist(), object)
    return table.take(pa.array(np.argsort(names, kind="stable")))


def _counted(table: pa.Table, more: int) -> pa.Table:
    """Return the counts with `more` unknown groups."""
    is_same = pc.equal(table.column("verdict"), _UNKNOWN)
    groups = pc.add(table.column("groups"), pc.multiply(is_same.cast(pa.int64()), more))
    return table.set_column(table.column_names.index("groups"), VERDICT_GROUPS.field("groups"), groups)
