"""Who holds offsets partitions back, as the status of the monitor has it."""

from __future__ import annotations

import datetime as dt

import numpy as np

from stream.groups.driver_state import DriverState
from stream.tick.hidden_commits.model import BlockedOffsetsPartition, HiddenCommits, holders, nothing_held_back


def test_each_partition_has_its_row() -> None:
    """In order of the partitions; what nobody could tell is null."""
    known = BlockedOffsetsPartition(3, 5_000, 4001, "pay", hanging=False)
    held = HiddenCommits(
        DriverState().columns(), np.zeros(0, np.bool_), {9: BlockedOffsetsPartition(9, 7_000), 3: known}
    )
    names = ("offsets_partition", "since", "producer_id", "transactional_id", "hanging")
    rows = [tuple(row[name] for name in names) for row in holders(held).to_pylist()]
    at = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the read model's times are UTC without saying so
    assert rows == [
        (3, at + dt.timedelta(seconds=5), 4001, "pay", False),
        (9, at + dt.timedelta(seconds=7), None, None, None),
    ]


def test_nobody_holds_anything_back() -> None:
    """No row, and the columns are those of the read model all the same."""
    assert holders(nothing_held_back(DriverState().columns())).num_rows == 0
