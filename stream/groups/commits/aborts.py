"""Aborted commits: offset commits of transactions that were aborted, one row per key with any after its last commit.

A reader of committed records does not see them, and they change no offset. What they show is a group that works and
makes no progress: it sends its offsets in transactions (`TxnOffsetCommit`, KIP-98), and every transaction is aborted.

A row counts the aborted commits *since the last commit or tombstone of its key*: one commit that takes effect ends it.
`join` and `since` therefore give the same result for any split of the log, as long as rows are filtered by the runs of
the same stretch before they are joined.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.groups.commits.run_table import Runs, find_rows
from stream.groups.key_table import KeyTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT_MS: Final = 86_400_000
"""Time after which aborted commits are dropped: a group that never commits has nothing else that ends its rows."""


@dataclasses.dataclass(frozen=True, slots=True)
class AbortedCommits(KeyTable):
    """One row per key, in no order. The field names are column names in stored bytes (`codec`). Times in ms."""

    keys: pa.BinaryArray
    """As in `Runs`."""
    count: NDArray[np.int64]
    """Clients send the offset of a partition once per transaction, so this is the number of aborted transactions."""
    first_position: NDArray[np.int64]
    first_time: NDArray[np.int64]
    """Position and record timestamp of the first and of the last aborted commit."""
    last_position: NDArray[np.int64]
    last_time: NDArray[np.int64]
    producer_id: NDArray[np.int64]
    """The producer of the last one."""


def single_commits(
    keys: pa.BinaryArray, position: NDArray[np.int64], time: NDArray[np.int64], producer_id: int
) -> AbortedCommits:
    """Return a row for each aborted commit of one producer; the same key may have several rows."""
    producers = np.full(len(keys), producer_id, np.int64)
    return AbortedCommits(keys, np.ones(len(keys), np.int64), position, time, position, time, producers)


def join(aborts: AbortedCommits) -> AbortedCommits:
    """Return one row per key; the rows of a key may come in any order, but do not overlap in the log."""
    if len(aborts) < 2:
        return aborts
    codes = aborts.keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    order = np.lexsort((aborts.first_position, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    if len(starts) == len(aborts):
        return aborts
    first, last = order[starts], order[np.append(starts[1:], len(order)) - 1]
    return AbortedCommits(
        keys=aborts.keys.take(pa.array(first)),
        count=np.add.reduceat(aborts.count[order], starts),
        first_position=aborts.first_position[first],
        first_time=aborts.first_time[first],
        last_position=aborts.last_position[last],
        last_time=aborts.last_time[last],
        producer_id=aborts.producer_id[last],
    )


def since(aborts: AbortedCommits, runs: Runs) -> AbortedCommits:
    """Return the rows after the last commit, or tombstone, that the runs have of their key."""
    if not len(aborts) or not len(runs):
        return aborts
    row = find_rows(runs.keys, aborts.keys)
    ended = (row >= 0) & (runs.spans.last_position[row] > aborts.last_position)
    return aborts.take(~ended) if ended.any() else aborts


def without(aborts: AbortedCommits, keys: pa.BinaryArray) -> AbortedCommits:
    """Return the rows of all keys except these."""
    if not len(aborts) or not len(keys):
        return aborts
    return aborts.take(find_rows(keys, aborts.keys) < 0)


def of_keys(aborts: AbortedCommits, keys: pa.BinaryArray) -> AbortedCommits:
    """Return the rows of these keys."""
    return aborts.take(find_rows(pc.unique(keys), aborts.keys) >= 0) if len(aborts) else aborts


def recent(aborts: AbortedCommits, now: int) -> AbortedCommits:
    """Return the rows whose last aborted commit is at most `KEPT_MS` older than `now` (ms, a time of the log)."""
    old = aborts.last_time < now - KEPT_MS
    return aborts.take(~old) if old.any() else aborts
