"""Counts the offset commits of each group that are read after the process has caught up.

The counts live as long as the process. They are not derived from the number of commits of a run, which ends with a
tombstone and includes what the log had before the process started.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits.runs import Spans


class CommitCounts:
    """The number of commits per group. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self._commits: dict[str, int] = {}
        self._groups: Iterable[str] | None = None

    def add(self, group: pa.DictionaryArray, commits: NDArray[np.int64]) -> None:
        """Add these commits to those of their groups."""
        sums = np.zeros(len(group.dictionary), np.int64)
        np.add.at(sums, group.indices.to_numpy(zero_copy_only=False), commits)
        for number in np.flatnonzero(sums).tolist():
            name = group.dictionary[number].as_py()
            self._commits[name] = self._commits.get(name, 0) + int(sums[number])

    def of_groups(self, groups: Iterable[str]) -> dict[str, int]:
        """Return the number of each of these groups, 0 without any, and forget all other groups."""
        if groups is not self._groups:
            self._commits, self._groups = {name: self._commits.get(name, 0) for name in groups}, groups
        return dict(self._commits)


def new_commits(
    first_position: NDArray[np.int64], commits: NDArray[np.int64], after: Spans, position: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """Return how many commits of each run in `after` were read after the record at `position`.

    `first_position` and `commits` are those of the run of the same key as of `position`; -1 and 0: none. A commit that
    a tombstone follows in the same change is not in a run, and does not count.
    """
    is_continued = after.first_position == first_position
    # A run that replaces one which was partly seen (`reduce`): how many of its commits are new is not known.
    is_new = is_continued | (after.first_position > position)
    earlier = np.where(is_continued, commits, 0)
    return np.where(is_new & (after.commits > 0), np.maximum(after.commits - earlier, 0), 0)
