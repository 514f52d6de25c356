"""Adds the configured owners, open maintenance windows and silences of the groups, and what these mute. Pure."""

import dataclasses
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import NAME, OWNERS, TIMESTAMP, Snapshot
from exporters.selection.muted_groups import muted_by_configuration
from exporters.selection.name_filter import first_match
from stream.config.ownership import GroupPolicies


def with_policies(snapshot: Snapshot, policies: GroupPolicies) -> Snapshot:
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
    for label in OWNERS.names[1:]:
        texts = pa.array([labels.get(label) for _, labels in policies.owners], pa.string())
        columns[label] = texts.take(found).dictionary_encode().cast(NAME)
    return columns


def maintenance_column(names: pa.Array, policies: GroupPolicies, now: float) -> pa.Array:
    """Return the end of the maintenance that is open at `now` (Unix seconds) per group, null if none is."""
    ends = pa.nulls(len(names), pa.int64())
    for pattern, window in policies.maintenance:
        if (end := window.open_until(now)) is not None:
            matches = first_match(names, [pattern]).is_valid()
            ends = pc.if_else(matches, pc.max_element_wise(ends, pa.scalar(int(end * 1000), pa.int64())), ends)
    return ends.cast(TIMESTAMP)


def silence_columns(names: pa.Array, policies: GroupPolicies, now: float) -> dict[str, pa.Array]:
    """Return reason and end of the silence that mutes each group at `now` (Unix seconds); null without one."""
    holding = [(pattern, silence) for pattern, silence in policies.silences if silence.holds(now)]
    found = first_match(names, [pattern for pattern, _ in holding])
    reasons = pa.array([silence.reason for _, silence in holding], pa.string())
    ends = pa.array(
        [None if silence.until is None else int(silence.until * 1000) for _, silence in holding], pa.int64()
    )
    return {
        "silence_reason": reasons.take(found).dictionary_encode().cast(NAME),
        "silence_until": ends.take(found).cast(TIMESTAMP),
    }
