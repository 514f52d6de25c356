"""The table of blocked offsets partitions in the status of the monitor."""

import datetime as dt

import numpy as np

from exporters.readmodel import OFFSETS_HELD_BACK
from stream.groups.driver_state import DriverState
from stream.tick.hidden_commits.model import (
    BlockedOffsetsPartition,
    HiddenCommits,
    blocked_partitions_table,
    nothing_hidden,
)


def test_each_partition_has_its_row() -> None:
    """The rows are sorted by partition; unknown values are null."""
    known = BlockedOffsetsPartition(3, 5_000, 4001, "pay", hanging=False, unread=12)
    hidden = HiddenCommits(
        DriverState().columns(), np.zeros(0, np.bool_), {9: BlockedOffsetsPartition(9, 7_000), 3: known}
    )
    names = ("offsets_partition", "since", "producer_id", "transactional_id", "hanging", "unread")
    rows = [tuple(row[name] for name in names) for row in blocked_partitions_table(hidden).to_pylist()]
    at = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the read model's times are UTC without a time zone
    assert rows == [
        (3, at + dt.timedelta(seconds=5), 4001, "pay", False, 12),
        (9, at + dt.timedelta(seconds=7), None, None, None, None),
    ]


def test_without_blocked_partitions_the_table_is_empty() -> None:
    """The table has its columns and no rows if no partition is blocked."""
    assert blocked_partitions_table(nothing_hidden(DriverState().columns())) == OFFSETS_HELD_BACK.empty_table()
