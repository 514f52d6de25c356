"""Adds to a snapshot what is not evaluated: policies of groups, groups in quarantine, columns of other exporters."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters import readmodel
from exporters.selection.budget import first_match, muted_by_configuration
from stream.config.ownership import GroupPolicies
from stream.groups.driver_state import GroupColumns
from stream.health.burrow import NONE, BurrowStatus, Rings
from stream.tick.quarantine import REASON, QuarantinedGroup
from stream.tick.snapshot.owned_rows import label_columns
from stream.tick.verdicts.columns import words
from stream.tick.verdicts.evaluated_tick import EvaluatedTick


def with_policies(snapshot: readmodel.Snapshot, policies: GroupPolicies) -> readmodel.Snapshot:
    """Return the snapshot with the owner of each group, and the end of its maintenance as of the snapshot's time.

    The first owner whose pattern matches applies. Of several open windows, the one that ends last counts; of several
    silences that hold, the first. Common causes get the number of their groups that raise no alert.
    """
    names = snapshot.groups.column("group").cast(pa.string()).combine_chunks()
    columns = {
        **owner_columns(names, policies),
        "maintenance_until": maintenance_column(names, policies, snapshot.taken_at),
        **silence_columns(names, policies, snapshot.taken_at),
    }
    groups = snapshot.groups
    for name, column in columns.items():
        groups = groups.set_column(groups.column_names.index(name), groups.schema.field(name), column)
    return dataclasses.replace(snapshot, groups=groups, common_causes=_with_muted(snapshot.common_causes, groups))


def _with_muted(causes: pa.Table, groups: pa.Table) -> pa.Table:
    """Return the common causes with the number of their groups that raise no alert."""
    if not len(causes):
        return causes
    is_muted = pc.or_(groups.column("not_alerted").fill_null(False), muted_by_configuration(groups))
    muted = frozenset(groups.column("group").filter(is_muted).to_pylist())
    counts = pa.array([len(muted.intersection(names)) for names in causes.column("groups").to_pylist()], pa.int32())
    return causes.set_column(causes.column_names.index("muted"), causes.schema.field("muted"), counts)


def owner_columns(names: pa.Array, policies: GroupPolicies) -> dict[str, pa.Array]:
    """Return the labels of the owner per group, by label; null without an owner or without that label."""
    found = first_match(names, [pattern for pattern, _ in policies.owners])
    columns: dict[str, Any] = {}
    for label in readmodel.OWNERS.names[1:]:
        texts = pa.array([labels.get(label) for _, labels in policies.owners], pa.string())
        columns[label] = texts.take(found).dictionary_encode().cast(readmodel.NAME)
    return columns


def maintenance_column(names: pa.Array, policies: GroupPolicies, now: float) -> pa.Array:
    """Return the end of the maintenance that is open at `now` (Unix seconds) per group, null if none is."""
    ends = pa.nulls(len(names), pa.int64())
    for pattern, window in policies.maintenance:
        if (end := window.open_until(now)) is not None:
            matches = first_match(names, [pattern]).is_valid()
            ends = pc.if_else(matches, pc.max_element_wise(ends, pa.scalar(int(end * 1000), pa.int64())), ends)
    return ends.cast(readmodel.TIMESTAMP)


def silence_columns(names: pa.Array, policies: GroupPolicies, now: float) -> dict[str, pa.Array]:
    """Return reason and end of the silence that mutes each group at `now` (Unix seconds); null without one."""
    holding = [(pattern, silence) for pattern, silence in policies.silences if silence.holds(now)]
    found = first_match(names, [pattern for pattern, _ in holding])
    reasons = pa.array([silence.reason for _, silence in holding], pa.string())
    ends = pa.array(
        [None if silence.until is None else int(silence.until * 1000) for _, silence in holding], pa.int64()
    )
    return {
        "silence_reason": reasons.take(found).dictionary_encode().cast(readmodel.NAME),
        "silence_until": ends.take(found).cast(readmodel.TIMESTAMP),
    }


_UNKNOWN: Final = "unknown"
"""The verdict, and its severity."""


def with_quarantined(
    snapshot: readmodel.Snapshot, state: GroupColumns, groups: Mapping[str, QuarantinedGroup]
) -> readmodel.Snapshot:
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
        groups=_sorted(pa.concat_tables([snapshot.groups, pa.Table.from_pylist(rows, readmodel.GROUPS)])),
        unknown_lags=_sorted(
            pa.concat_tables([snapshot.unknown_lags, pa.Table.from_pylist(unknown, readmodel.UNKNOWN_LAGS)])
        ),
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
    return table.set_column(table.column_names.index("groups"), readmodel.VERDICT_GROUPS.field("groups"), groups)


_STATUS_NAMES: Final = tuple(status.name for status in BurrowStatus)


def compatibility_table(
    evaluated: EvaluatedTick, *, hide_members: bool = False, with_windows: bool = False
) -> pa.Table:
    """Return a row per row of PARTITIONS, in the same order (schema COMPATIBILITY).

    With `hide_members` the names of the owners are null.
    `with_windows` adds the commits of Burrow's windows, which take 240 bytes per row.
    """
    rows, members, burrow = evaluated.inputs.rows, evaluated.inputs.assignment, evaluated.burrow
    partition_counts = evaluated.derived.facts.cluster.partition_counts
    counts = [partition_counts.get(topic) for topic in rows.topics]
    owner = pa.array(members.owner, mask=members.owner < 0)
    columns = {
        **label_columns(rows),
        "owner": owner.cast(pa.int32()),
        "topic_partitions": pa.array(counts, pa.int32()).take(pa.array(rows.topic)),
    }
    if not hide_members:
        for name in ("member_id", "client_id", "client_host"):
            names = pa.array([getattr(client, name) for client in members.clients], pa.string())
            columns[name] = names.dictionary_encode().take(owner).cast(readmodel.NAME)
    if burrow is not None:
        not_found = burrow.status == BurrowStatus.NOTFOUND
        columns["burrow_status"] = words(burrow.status, _STATUS_NAMES, not_found)
        columns["burrow_complete"] = pa.array(burrow.complete, mask=not_found | ~rows.committed)
        if with_windows:
            columns["burrow_window"] = _windows(burrow.rings)
    return readmodel.columns_table(columns, readmodel.COMPATIBILITY)


def _windows(rings: Rings) -> pa.ListArray:
    filled = rings.offset != NONE
    lag = rings.lag[filled]
    columns = [rings.offset[filled], rings.timestamp[filled], pa.array(lag, mask=lag == NONE)]
    commits = pa.StructArray.from_arrays([pa.array(column) for column in columns], fields=list(readmodel.BURROW_COMMIT))
    starts = np.concatenate(([0], np.cumsum(rings.count))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(starts), commits)
