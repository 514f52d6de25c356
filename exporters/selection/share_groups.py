"""Leaves the numbers of share groups out of the metrics about committed offsets.

A share group commits none. Its progress has metrics of its own, `lagwarden_share_*`, so a sum over
`lagwarden_group_lag` and `lagwarden_share_group_lag` has each group once.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from exporters.readmodel import Snapshot

_SHARE: Final = "share"
_COLUMNS: Final = ("partitions", "lag_sum", "lag_max", "partitions_lag_unknown")


def without_share_numbers(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the topics of share groups, and with nulls for their lag and their partitions."""
    groups = snapshot.groups
    is_share = pc.equal(groups.column("kind").cast(pa.string()), _SHARE).fill_null(False)
    names = groups.column("group").filter(is_share).cast(pa.string()).combine_chunks()
    if not len(names):
        return snapshot
    for column in _COLUMNS:
        field = groups.schema.field(column)
        values = pc.if_else(is_share, pa.scalar(None, field.type), groups.column(column))
        groups = groups.set_column(groups.schema.get_field_index(column), field, values)
    topics = snapshot.topics
    of_share = pc.is_in(topics.column("group").cast(pa.string()), value_set=names)
    return dataclasses.replace(snapshot, groups=groups, topics=topics.filter(pc.invert(of_share)))
