"""The rows of all shards as one table, in the order of output, and the changes of batches that are not in it yet.

A tick reads all rows, and a batch touches some. So batches are collected and merged into the table once per tick. A row
keeps its place while its group commits on; then columns whose values did not change stay the same objects.
"""

import dataclasses
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream.groups.commits.changed_runs import ChangedRuns, shared
from stream.groups.commits.counts import CommitCounts, new_commits
from stream.groups.commits.run_table import Runs, concat_runs, no_runs
from stream.groups.row_order import KeyLabels, RowLabels, RowOrder, decode_names

_MOST_PENDING: Final = 65_536
"""Changed rows that always wait for the next tick; more do while the table has more rows."""


@dataclasses.dataclass(frozen=True, slots=True)
class _PendingRuns:
    """The runs that one batch changed in a shard."""

    runs: Runs
    shard: int
    position: int
    """The log position of the shard before the batch."""
    are_counted: bool


class StateRows:
    """The rows of all shards, sorted by group, topic and partition. Not thread-safe.

    A group whose coordinator moved may have a row of the same labels in two shards.
    """

    def __init__(self, counts: CommitCounts | None = None) -> None:
        """Start without rows; `counts` counts the commits of the changes that `are_counted`."""
        self.runs = no_runs()
        self.labels = RowLabels([], is_sorted=True)
        self._counts = counts
        self._shard = np.empty(0, np.int32)
        # What a search compares: the pairs of group and topic that have rows, and pair and partition of each row.
        self._pairs = self._places = np.empty(0, np.int64)
        self._pending: list[_PendingRuns] = []
        self._unmerged = 0

    def add(self, shard: int, runs: Runs, position: int, *, are_counted: bool) -> None:
        """Add the runs that a batch changed in a shard, which had this position before; those without commits end."""
        if not len(runs):
            return
        self._pending.append(_PendingRuns(runs, shard, position, are_counted))
        self._unmerged += len(runs)
        if self._unmerged > max(len(self.runs), _MOST_PENDING):
            self.merge()

    def merge(self) -> None:
        """Merge all changes into the table. Arrays that were read from it before do not change."""
        pending, self._pending, self._unmerged = self._pending, [], 0
        if not pending:
            return
        names = decode_names(pa.concat_arrays([each.runs.keys for each in pending]))
        sizes = [len(each.runs) for each in pending]
        if names[0].null_count:  # a state of an earlier version may have runs of keys that are rejected now
            accepted = np.split(names[0].is_valid().to_numpy(zero_copy_only=False), np.cumsum(sizes)[:-1])
            of_pending = zip(pending, accepted, strict=True)
            pending = [dataclasses.replace(each, runs=each.runs.take(rows)) for each, rows in of_pending]
            names, sizes = RowLabels([names]).take(np.concatenate(accepted)), [int(rows.sum()) for rows in accepted]
        labels = RowLabels([names])
        of_change = np.repeat(np.arange(len(pending), dtype=np.int32), sizes)
        shards = np.array([each.shard for each in pending], np.int32)
        positions = np.array([each.position for each in pending], np.int64)
        are_counted = np.array([each.are_counted for each in pending], np.bool_)
        row, commits = self._find(labels, shards[of_change]), np.zeros(len(of_change), np.int64)
        changed, new, self.runs = ChangedRuns(self.runs), list[Runs](), no_runs()
        parts = (np.split(column, np.cumsum(sizes)[:-1]) for column in (row, commits))
        for rows, counts in zip(*parts, strict=True):
            each = pending.pop(0)  # so that its runs are freed when they are written
            is_new, known = rows < 0, np.flatnonzero(rows >= 0)
            if is_new.any():
                new.append(each.runs.take(is_new))
            if not len(known):
                continue
            runs = each.runs.take(~is_new)
            if each.are_counted:
                first, before = (changed.numbers[name][rows[known]] for name in ("first_position", "commits"))
                counts[known] = new_commits(first, before, runs.spans, each.position)
            changed.replace(rows[known], runs)
        self.runs = changed.runs()
        if new or not self.runs.spans.commits.all():
            runs, is_new = concat_runs(new or [no_runs()]), np.flatnonzero(row < 0)
            of_new: NDArray[np.int32] = of_change[is_new]
            previous = _previous(runs.keys, shards[of_new])
            first = np.where(previous < 0, -1, runs.spans.first_position[previous])
            before = np.where(previous < 0, 0, runs.spans.commits[previous])
            found = new_commits(first, before, runs.spans, positions[of_new])
            commits[is_new] = np.where(are_counted[of_new], found, 0)
            is_last = runs.spans.commits > 0
            is_last[previous[previous >= 0]] = False
            self._sort(runs.take(is_last), labels.take(is_new[is_last]), shards[of_new[is_last]])
        if self._counts is not None:
            self._counts.add(labels.group, commits)
        self.runs = shared(self.runs)

    def without(self, groups: Mapping[int, AbstractSet[str]]) -> tuple[Runs, RowLabels]:
        """Return the rows except those of these groups in these shards, and their labels."""
        kept = np.ones(len(self.runs), np.bool_)
        codes, names = self.labels.group.indices.to_numpy(zero_copy_only=False), self.labels.group.dictionary
        for shard, excluded in groups.items():
            kept &= (self._shard != shard) | ~np.array([name in excluded for name in names.to_pylist()])[codes]
        if kept.all():
            return self.runs, self.labels
        return self.runs.take(kept), RowLabels([self.labels.take(kept)], is_sorted=True)

    def _find(self, labels: RowLabels, shard: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the row of each key in its shard, -1 where it has none."""
        group_code, topic_code = _codes(labels.group, self.labels.group), _codes(labels.topic, self.labels.topic)
        pair = np.where(topic_code < 0, -1, group_code * len(self.labels.topic.dictionary) + topic_code)
        at_pair = np.minimum(np.searchsorted(self._pairs, pair), max(len(self._pairs) - 1, 0))
        rows, at = np.full(len(pair), -1, np.int64), np.empty(len(pair), np.int64)
        left = np.flatnonzero(self._pairs[at_pair] == pair) if len(self._pairs) else at[:0]
        place = (at_pair << 31) | labels.partition
        at[left] = np.searchsorted(self._places, place[left])
        while len(left):
            left = left[at[left] < len(self._places)]
            left = left[self._places[at[left]] == place[left]]
            is_found = self._shard[at[left]] == shard[left]
            rows[left[is_found]] = at[left[is_found]]
            left = left[~is_found]
            at[left] += 1
        return rows

    def _sort(self, runs: Runs, labels: KeyLabels, shard: NDArray[np.int32]) -> None:
        """Add these rows, remove those without commits, and sort."""
        stays = self.runs.spans.commits > 0
        kept = np.concatenate([np.flatnonzero(stays), len(self.runs) + np.arange(len(runs))])
        order = RowOrder(RowLabels([self.labels.take(stays), labels]), frozenset())
        names = (order.group, order.groups), (order.topic, order.topics)
        group, topic = (
            pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(each, pa.string()))
            for codes, each in names
        )
        kept = kept[order.order]
        self.runs = concat_runs([each for each in (self.runs, runs) if len(each)] or [runs]).take(kept)
        self._shard = np.concatenate([self._shard, shard])[kept]
        self.labels = RowLabels([(group, topic, order.partition)], is_sorted=True)
        pairs = order.group * len(order.topics) + order.topic
        is_first = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
        self._pairs = pairs[is_first]
        self._places = (np.cumsum(is_first) - 1 << 31) | order.partition


def _codes(names: pa.DictionaryArray, known: pa.DictionaryArray) -> NDArray[np.int64]:
    """Return the index of each name in the dictionary of the known ones, -1 for another one."""
    of_dictionary = pc.index_in(names.dictionary, value_set=known.dictionary).fill_null(-1).to_numpy()
    codes: NDArray[np.int64] = of_dictionary.astype(np.int64)[names.indices.to_numpy(zero_copy_only=False)]
    return codes


def _previous(keys: pa.BinaryArray, shard: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each run the one before it of the same key and shard, -1 for the first one."""
    code = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    order = np.lexsort((shard, code))
    same = (code[order][1:] == code[order][:-1]) & (shard[order][1:] == shard[order][:-1])
    previous = np.full(len(keys), -1, np.int64)
    previous[order[1:][same]] = order[:-1][same]
    return previous
