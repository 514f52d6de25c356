"""Aborted commits get the number of their row; those without a row are left out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stream.groups.commits.aborts import AbortedCommits, no_aborts
from stream.health.inputs import AbortStreak
from stream.tick.inputs.aborted_commits import aborts_by_row
from stream.tick.inputs.rows import RowFinder
from tests.stream.tick.inputs.test_rows import classic, context_of, shard_of
from tests.support.raw import commit_key


def aborts_of(*rows: tuple[str, str, int, int]) -> AbortedCommits:
    """Return the aborted commits of these groups, topics and partitions, each with the time of its last one."""
    last = np.array([time for *_, time in rows], np.int64)
    count, producer = np.full(len(rows), 5), np.full(len(rows), 4_000)
    keys = pa.array([commit_key(*place) for *place, _ in rows], pa.binary())
    return AbortedCommits(keys, count, last - 9, last - 90, last, last, producer)


def test_aborted_commits_are_found_by_row() -> None:
    """Aborted commits have a row if the partition has commits or a member subscribes to the topic; others have none."""
    shard = shard_of([("g", "t", 1), ("h", "t", 0)], classic("t"))
    rows = RowFinder().find(shard.driver_state.columns(), context_of(t=3))
    aborts = aborts_of(("h", "t", 0, 100), ("g", "t", 2, 200), ("g", "other", 0, 300), ("z", "t", 0, 400))
    assert len(rows) == 4
    assert aborts_by_row(rows, aborts) == {
        2: AbortStreak(5, 110, 200, 4_000),
        3: AbortStreak(5, 10, 100, 4_000),
    }
    assert aborts_by_row(rows, no_aborts()) == {}


def test_the_newest_of_two_shards_counts() -> None:
    """The newest aborted commits count; a group whose coordinator moved may have older ones in its former shard."""
    rows = RowFinder().find(shard_of([("g", "t", 1)]).driver_state.columns(), context_of(t=3))
    for times in ((100, 200), (200, 100)):
        found = aborts_by_row(rows, aborts_of(*(("g", "t", 1, time) for time in times)))
        assert found == {0: AbortStreak(5, 110, 200, 4_000)}
