"""Selection of groups: the columns of some groups of the driver state."""

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


def rows_of_groups(columns: GroupColumns, groups: AbstractSet[str]) -> NDArray[np.intp]:
    """Return the rows of these groups."""
    is_selected = np.array([name in groups for name in columns.group.dictionary.to_pylist()] or [False], np.bool_)
    return np.flatnonzero(is_selected[columns.group.indices.to_numpy(zero_copy_only=False)])


def select_groups(columns: GroupColumns, groups: AbstractSet[str]) -> GroupColumns:
    """Return the columns of these groups only, without faults."""
    rows = rows_of_groups(columns, groups)
    indices = pa.array(rows)
    # Encoded again, because a dictionary must not have groups and topics without rows.
    group, topic = (
        column.take(indices).cast(pa.string()).dictionary_encode() for column in (columns.group, columns.topic)
    )
    memberships = {name: each for name, each in columns.memberships.items() if name in groups}
    histories = {name: each for name, each in columns.histories.items() if name in groups}
    labels = RowLabels([(group, topic, columns.partition[rows])])
    return dataclasses.replace(
        columns,
        runs=columns.runs.take(rows) if len(rows) else no_runs(),
        group=labels.group,
        topic=labels.topic,
        partition=labels.partition,
        memberships=memberships,
        histories=histories,
        row_order=RowOrder(labels, memberships.keys() | histories.keys()),
        records={name: each for name, each in columns.records.items() if name in groups},
        faults={},
    )


def all_groups(columns: GroupColumns) -> frozenset[str]:
    """Return the names of all groups."""
    return frozenset(columns.row_order.groups)
