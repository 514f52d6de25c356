"""The offset commits of one batch, folded: one run per key, one row per offset tombstone."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stream.groups.commits import runs as run_columns
from stream.groups.commits import slots as slot_columns
from stream.groups.commits.decoded import DecodedCommits
from stream.groups.commits.run_table import Runs
from stream.groups.commits.runs import NEVER
from stream.groups.commits.slots import Slots
from stream.groups.commits.tombstones import OffsetTombstones
from stream.groups.record_columns import distinct_partitions


@dataclasses.dataclass(frozen=True, slots=True)
class FoldedCommits:
    """The commits of one offsets partition in a batch. Every key of a tombstone also has a run."""

    partition: int
    runs: Runs
    tombstones: OffsetTombstones
    """Of the commits before each tombstone, those of this batch only (`tombstones.resolve`)."""


def fold_commits(commits: DecodedCommits, *, slot_ms: int, keep_slots: int) -> Iterator[FoldedCommits]:
    """Yield the folded commits of each offsets partition that has readable ones."""
    order, starts = _sort_by_key(commits)
    if not len(order):
        return
    tombstone = commits.tombstone[order]
    tombstones, tombstone_partition = OffsetTombstones.empty(), commits.partition[order[tombstone]]
    reset = np.zeros(len(starts), np.bool_)
    if len(tombstone_partition):
        tombstones = _tombstones(commits, order, starts, tombstone)
        kept, reset = run_columns.rows_since_reset(tombstone, ~tombstone, starts)
        order, tombstone, starts = order[kept], tombstone[kept], np.searchsorted(np.flatnonzero(kept), starts)
    offset, time = commits.offset[order], commits.time[order]
    spans = run_columns.single_record_spans(commits.position[order], offset, time, tombstone)
    lasts = order[run_columns.last_rows(starts, len(order))]
    runs = Runs(
        keys=commits.keys(lasts),
        spans=run_columns.join(spans, starts, reset),
        **commits.details(lasts),
        slots=slot_columns.merge(_slots_of_commits(offset, time, starts, tombstone, slot_ms), keep_slots),
    )
    run_partition = commits.partition[lasts]
    partitions = distinct_partitions(run_partition)
    if len(partitions) == 1:
        yield FoldedCommits(partitions[0], runs, tombstones)
        return
    for partition in partitions:
        yield FoldedCommits(
            partition,
            runs.take(run_partition == partition),
            tombstones.take(tombstone_partition == partition) if len(tombstones) else tombstones,
        )


def _sort_by_key(commits: DecodedCommits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Sort the readable rows by offsets partition and key, each key in log order.

    Returns the order, and where in it each key starts.
    """
    sort_key, partition, readable = commits.key, commits.partition, commits.readable
    if not (partition == partition[0]).all():
        # The partitions of a batch are mostly consecutive numbers, which keeps the sort key small.
        sort_key = (partition - partition.min()).astype(np.int64) * (int(sort_key.max()) + 1) + sort_key
    if readable is not None:
        sort_key = sort_key[readable]
    narrow = sort_key.astype(np.uint16) if len(sort_key) and sort_key.max() <= np.iinfo(np.uint16).max else sort_key
    order = np.argsort(narrow, kind="stable")  # 16 bits: a radix sort, several times faster
    ordered = narrow[order]
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return order if readable is None else np.flatnonzero(readable)[order], np.flatnonzero(first)


def _tombstones(
    commits: DecodedCommits, order: NDArray[np.intp], starts: NDArray[np.intp], tombstone: NDArray[np.bool_]
) -> OffsetTombstones:
    """Return each tombstone with the commits before it that are in this batch."""
    ends = np.flatnonzero(tombstone)
    begins = np.maximum(starts[np.searchsorted(starts, ends, "right") - 1], np.append(0, ends[:-1] + 1))
    rows, first, last = order[ends], order[begins], order[np.maximum(ends - 1, begins)]
    known = begins < ends

    def where_known(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(known, values, NEVER)

    return OffsetTombstones(
        keys=commits.keys(rows),
        position=commits.position[rows],
        time=commits.time[rows],
        first_position=where_known(commits.position[first]),
        first_time=where_known(commits.time[first]),
        last_time=where_known(commits.time[last]),
        expire_time=where_known(commits.expire_time(last)),
    )


def _slots_of_commits(
    offset: NDArray[np.int64],
    time: NDArray[np.int64],
    starts: NDArray[np.intp],
    tombstone: NDArray[np.bool_],
    slot_ms: int,
) -> Slots:
    """Return one slot per commit, with the row of its run."""
    rows = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(offset))))
    if tombstone.any():
        rows, offset, time = rows[~tombstone], offset[~tombstone], time[~tombstone]
    return Slots(rows, time // slot_ms, offset, time, np.broadcast_to(np.int64(1), len(rows)))
