"""The part of a fleet that some groups make up, as a fleet of its own."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stream.groups.commits.run_table import no_runs
from stream.groups.row_order import RowLabels, RowOrder

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns


def rows_of_groups(fleet: GroupColumns, groups: AbstractSet[str]) -> NDArray[np.intp]:
    """Return the rows of these groups."""
    mine = np.array([name in groups for name in fleet.group.dictionary.to_pylist()] or [False], np.bool_)
    return np.flatnonzero(mine[fleet.group.indices.to_numpy(zero_copy_only=False)])


def select_groups(fleet: GroupColumns, groups: AbstractSet[str]) -> GroupColumns:
    """Return these groups alone: their rows, memberships and lives."""
    rows = rows_of_groups(fleet, groups)
    chosen = pa.array(rows)
    # Encoded again: a dictionary must not name groups and topics that have no row.
    group, topic = (column.take(chosen).cast(pa.string()).dictionary_encode() for column in (fleet.group, fleet.topic))
    memberships = {name: each for name, each in fleet.memberships.items() if name in groups}
    lives = {name: each for name, each in fleet.histories.items() if name in groups}
    names = RowLabels([(group, topic, fleet.partition[rows])])
    return dataclasses.replace(
        fleet,
        runs=fleet.runs.take(rows) if len(rows) else no_runs(),
        group=names.group,
        topic=names.topic,
        partition=names.partition,
        memberships=memberships,
        histories=lives,
        row_order=RowOrder(names, memberships.keys() | lives.keys()),
        records={name: each for name, each in fleet.records.items() if name in groups},
        faults={},
    )


def all_groups(fleet: GroupColumns) -> frozenset[str]:
    """Return the names of all groups of a fleet."""
    return frozenset(fleet.row_order.groups)
