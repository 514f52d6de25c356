"""What the commit window of each row shows: the longest wait, and the trend of the lag. Both are expensive.

They are computed again for rows whose commits, lag, end or history of ends have changed since, and kept for all others.
"""

import dataclasses
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stream.groups.commits.slots import slot_counts, slots_of_rows
from stream.health.columns import Codes, Ints, assigned
from stream.health.features.end_history import EndHistory
from stream.health.features.lag_trend import TOO_SHORT, trend_of_rows
from stream.health.features.patience import longest_wait
from stream.health.inputs import HealthInputs
from stream.health.row_columns import KeptColumns, RowColumns, column

_BLOCK: Final = 16_384
"""Rows that are read at once: their slots need some hundred bytes each."""
_FACTOR: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""An odd number with many bits, which spreads sums over 64 bits (SplitMix64)."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommitWindows(RowColumns):
    """One element per row. Of rows that were never suspects nothing is known."""

    digest: Ints = column(default=0)
    """A digest of everything that the other columns follow from; 0: nothing is known."""
    wait: Ints = column()
    """See `longest_wait`."""
    trend: Codes = column(default=TOO_SHORT, dtype=np.int8)
    """See `trend_of_rows`."""


class CommitWindowReader:
    """Reads the commit windows tick after tick."""

    def __init__(self) -> None:
        self._kept = KeptColumns(CommitWindows, None)

    def read(
        self,
        inputs: HealthInputs,
        keys: Ints,
        history: EndHistory,
        history_row: Ints,
        suspects: Ints,
        *,
        lag: Ints,
        end: Ints,
        window_start: Ints,
        width: int,
    ) -> CommitWindows:
        """Return the columns, which are as of this tick for the `suspects`.

        `keys` identify the rows over the ticks, `width` is the time (ms) that a slot covers. The other columns are
        those of `trend_of_rows`.
        """
        kept = self._kept.aligned(inputs, keys)
        digest = _digest(
            # Positions in the log, and how many slots have a plausible time by now.
            inputs.spans.last_position[suspects],
            slot_counts(inputs.slots.row, len(inputs))[suspects],
            history.versions(history_row[suspects]),
            lag[suspects],
            end[suspects],
        )
        is_new = kept.digest[suspects] != digest
        rows = suspects[is_new]
        wait, trend = np.empty(len(rows), np.int64), np.empty(len(rows), np.int8)
        for begin in range(0, len(rows), _BLOCK):
            at = slice(begin, begin + _BLOCK)
            some = rows[at]
            slots = slots_of_rows(inputs.slots, some, len(inputs))
            wait[at] = longest_wait(slots, len(some), history, history_row[some], width)
            trend[at] = trend_of_rows(slots, some, history, history_row, lag=lag, end=end, window_start=window_start)
        windows = CommitWindows(
            assigned(kept.digest, rows, digest[is_new]),
            assigned(kept.wait, rows, wait),
            assigned(kept.trend, rows, trend),
        )
        self._kept.keep(windows, inputs)
        return windows


def _digest(*columns: Ints) -> Ints:
    digest: NDArray[np.uint64] = np.ones(len(columns[0]), np.uint64)
    for each in columns:
        digest += each.astype(np.int64, copy=False).view(np.uint64)
        digest *= _FACTOR
    return digest.view(np.int64)
