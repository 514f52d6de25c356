"""Counts the offset commits of each group that are read after the process has caught up.

The counts live as long as the process. They are not derived from the number of commits of a run, which ends with a
tombstone and includes what the log had before the process started.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits.run_table import Runs, groups_of_commit_keys
from stream.groups.commits.runs import Spans


class CommitCounts:
    """The number of commits per group. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self._commits: dict[str, int] = {}

    def add(self, runs: Runs, commits: NDArray[np.int64]) -> None:
        """Add the commits of each run to those of its group."""
        rows = np.flatnonzero(commits)
        if not len(rows):
            return
        group = groups_of_commit_keys(runs.keys.take(rows)).cast(pa.string()).dictionary_encode()
        sums = np.zeros(len(group.dictionary), np.int64)
        np.add.at(sums, group.indices.to_numpy(zero_copy_only=False), commits[rows])
        for name, number in zip(group.dictionary.to_pylist(), sums.tolist(), strict=True):
            self._commits[name] = self._commits.get(name, 0) + number

    def of_groups(self, groups: Iterable[str]) -> dict[str, int]:
        """Return the number of each of these groups, 0 without any, and forget all other groups."""
        self._commits = {name: self._commits.get(name, 0) for name in groups}
        return dict(self._commits)


def new_commits(before: Spans, after: Spans, before_rows: NDArray[np.int64], position: int) -> NDArray[np.int64]:
    """Return how many commits of each run in `after` were read after the record at `position`.

    `before_rows` has the row of the same key in `before`, the runs as of `position`; -1: none. A commit that a
    tombstone follows in the same change is not in a run, and does not count.
    """
    earlier = np.zeros(len(after), np.int64)
    is_continued = np.zeros(len(after), np.bool_)
    if len(before):
        row = np.maximum(before_rows, 0)
        is_continued = (before_rows >= 0) & (after.first_position == before.first_position[row])
        earlier = np.where(is_continued, before.commits[row], 0)
    # A run that replaces one which was partly seen (`reduce`): how many of its commits are new is not known.
    is_new = is_continued | (after.first_position > position)
    return np.where(is_new & (after.commits > 0), np.maximum(after.commits - earlier, 0), 0)
