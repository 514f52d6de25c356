"""Offset tombstones, and aborted commits: one row each, in deltas and changes.

Offset tombstones: one row per tombstone, with the first and the last commit before it.

A run has no trace of the commits before a tombstone. Deltas and changes therefore carry this table in addition to the
runs, so that group histories (`lifecycle.tracker`) and the check of predicted expirations see every tombstone with its
evidence, wherever the batches begin. A state does not keep it.

Aborted commits: offset commits of transactions that were aborted, one row per key with any after its last commit.

A reader of committed records does not see them, and they change no offset. What they show is a group that works and
makes no progress: it sends its offsets in transactions (`TxnOffsetCommit`, KIP-98), and every transaction is aborted.

A row counts the aborted commits *since the last commit or tombstone of its key*: one commit that takes effect ends it.
`join` and `since` therefore give the same result for any split of the log, as long as rows are filtered by the runs of
the same stretch before they are joined.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.groups.commits.changed_runs import replaced
from stream.groups.commits.run_table import Runs, find_rows
from stream.groups.record_columns import KeyTable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetTombstones(KeyTable):
    """One row per tombstone of an offset; the rows of a key in log order. `NEVER` where no commit before it is known.

    A *stretch* is the commits of a key between two consecutive tombstones. The field names are column names in stored
    bytes (`codec`).
    """

    keys: pa.BinaryArray
    position: NDArray[np.int64]
    time: NDArray[np.int64]
    """Timestamp of the tombstone's record, in ms."""
    first_position: NDArray[np.int64]
    first_time: NDArray[np.int64]
    """Position and timestamp of the first commit of the stretch that the tombstone ended."""
    last_time: NDArray[np.int64]
    expire_time: NDArray[np.int64]
    """Timestamp and stored expire timestamp of the last commit of the stretch."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """A mask of the tombstones that ended a stretch; the keys of the others had no commits."""
        return self.first_position >= 0


def resolve(tombstones: OffsetTombstones, parts: Sequence[Runs]) -> OffsetTombstones:
    """Return the tombstones with the columns of stretches that began before the batch that held their tombstone.

    `parts` are the runs that were read, in any order; no run contains an inner tombstone of its key.
    """
    if not len(tombstones):
        return tombstones
    keys = pc.unique(tombstones.keys)
    items = _Items.concat([_items_of_runs(part, keys) for part in parts] + [_items_of_tombstones(tombstones, keys)])
    order = np.lexsort((items.position, items.key))
    items = items.take(order)
    ends = np.flatnonzero(items.tombstone >= 0)
    # Every stretch of items ends with a tombstone; items after the last tombstone of a key belong to no stretch.
    begins = np.concatenate(([0], ends[:-1] + 1))
    begins = np.maximum(begins, np.searchsorted(items.key, items.key[ends], "left"))
    first = _first_with_commits(items.first_position, begins, ends)
    last = np.where(items.first_position[ends] >= 0, ends, np.maximum(ends - 1, begins))
    known = first >= 0
    rows = items.tombstone[ends]
    columns = {
        "first_position": items.first_position[first],
        "first_time": items.first_time[first],
        "last_time": items.last_time[last],
        "expire_time": items.expire_time[last],
    }
    completed = {
        name: replaced(getattr(tombstones, name), rows[known], values[known]) for name, values in columns.items()
    }
    return dataclasses.replace(tombstones, **completed)


@dataclasses.dataclass(frozen=True, slots=True)
class _Items(KeyTable):
    """Runs and tombstones of the same keys, to be sorted in log order."""

    BYTES: ClassVar[Mapping[str, str]] = {}

    key: NDArray[np.int64]
    position: NDArray[np.int64]
    tombstone: NDArray[np.int64]
    """Row among the tombstones, -1 for a run."""
    first_position: NDArray[np.int64]
    first_time: NDArray[np.int64]
    last_time: NDArray[np.int64]
    expire_time: NDArray[np.int64]


def _items_of_runs(runs: Runs, keys: pa.BinaryArray) -> _Items:
    codes = find_rows(keys, runs.keys)
    rows = np.flatnonzero((codes >= 0) & (runs.spans.commits > 0))
    spans = runs.spans
    return _Items(
        codes[rows],
        spans.last_position[rows],
        np.full(len(rows), -1, np.int64),
        spans.first_position[rows],
        spans.first_time[rows],
        spans.last_time[rows],
        runs.expire_time[rows],
    )


def _items_of_tombstones(tombstones: OffsetTombstones, keys: pa.BinaryArray) -> _Items:
    return _Items(
        find_rows(keys, tombstones.keys),
        tombstones.position,
        np.arange(len(tombstones)),
        tombstones.first_position,
        tombstones.first_time,
        tombstones.last_time,
        tombstones.expire_time,
    )


def _first_with_commits(
    first_position: NDArray[np.int64], begins: NDArray[np.intp], ends: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Return the index of the first item of each stretch that has commits, -1 where no item has any."""
    count = len(first_position)
    candidates = np.where(first_position >= 0, np.arange(count), count)
    # For each item, the next item with commits: a running minimum from the end.
    following = np.minimum.accumulate(candidates[::-1])[::-1]
    found = following[begins]
    return np.where(found <= ends, found, -1)


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
