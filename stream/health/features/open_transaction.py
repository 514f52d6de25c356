"""Rows that an open transaction blocks: consumers with isolation.level=read_committed cannot read past it."""

from typing import Final

import numpy as np

from stream.health.columns import Flags, Ints
from stream.health.features.lag import OffsetDistances, place
from stream.health.inputs import HealthInputs

MOST_MARKERS: Final = 3
"""Clients commit "last record + 1". Between that offset and an open transaction lie the markers of the transactions
that ended before it, one per producer; more than this many side by side are rare."""


def rows_before_transaction(ends: OffsetDistances, next_offset: Ints, known: Flags) -> Flags:
    """Return the rows whose next record may belong to an open transaction or lie behind the first one.

    A row with a commit is one of them if at most `MOST_MARKERS` offsets lie between its commit and the last stable
    offset, and not if the commit is above that: such a consumer does not wait for the transaction. A row without a
    commit is one of them if nothing that was written since its group formed is stable yet.
    """
    is_open = (ends.last_stable >= 0) & (ends.last_stable < ends.high_watermark)
    if not is_open.any():
        return is_open
    committed = (ends.stable_lag >= 0) & (ends.stable_lag <= MOST_MARKERS) & (next_offset <= ends.last_stable)
    uncommitted = known & (ends.stable_lag < 0) & (ends.last_stable <= next_offset)
    return is_open & (committed | uncommitted)


def rows_of_hanging_transactions(inputs: HealthInputs) -> Flags:
    """Return the rows of partitions whose oldest open transaction no coordinator will end (KIP-664)."""
    hanging = [topic << 32 | partition for (topic, partition), each in inputs.transactions.items() if each.hanging]
    if not hanging:
        return np.zeros(len(inputs), np.bool_)
    return np.isin(place(inputs.topic, inputs.partition), hanging)


def rows_before_new_transaction(before_transaction: Flags, stable_since: Ints, patience: Ints, now: int) -> Flags:
    """Return the rows before a transaction that has not been open for their patience (ms) yet.

    Until then it may be one of many that end in time. `stable_since` is the time since when the last stable offset has
    not moved, -1 where it is not known.
    """
    if not before_transaction.any():
        return before_transaction
    return before_transaction & ((stable_since < 0) | (now - stable_since < patience))
