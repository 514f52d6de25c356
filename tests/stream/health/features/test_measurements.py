"""The measured position of each row."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from stream.health.features.end_history import EndHistory
from stream.health.features.measurements import ends_at_rest, first_unread_offsets, known_until
from stream.health.inputs import NO_COMMIT
from tests.stream.health.columns import ints
from tests.stream.health.panes import NOW, Row, pane


def growing() -> EndHistory:
    """Return the history of a partition with one record a second since 100 s, and no more for the last 20 s."""
    history = EndHistory()
    history.grow(1)
    for ago in range(100_000, -1, -10_000):
        history.observe(ints(0), NOW - ago, ints((100_000 - max(ago, 20_000)) // 1_000))
    return history


def test_commits_are_known_up_to_the_tick_at_most() -> None:
    """Later commits belong to the next tick; without the column all commits are known."""
    inputs = pane(Row(), Row(group="other")).inputs
    assert known_until(inputs).tolist() == [NOW, NOW]
    late = dataclasses.replace(inputs, read_until=ints(NOW + 5, NOW - 7))
    assert known_until(late).tolist() == [NOW, NOW - 7]


@pytest.mark.parametrize(
    ("row", "log_start", "formed_ago", "known", "first"),
    [
        pytest.param(Row(committed=30), 10, 0, True, 30, id="the commit"),
        pytest.param(Row(committed=5), 10, 0, True, 10, id="the log start above the commit"),
        pytest.param(Row(committed=NO_COMMIT), 10, 60_000, True, 40, id="no commit: the end when the group formed"),
        pytest.param(Row(committed=NO_COMMIT), 50, 60_000, True, 50, id="no commit: not below the log start"),
        pytest.param(Row(committed=NO_COMMIT), 10, 900_000, True, 10, id="no commit: the oldest known end"),
        pytest.param(Row(committed=NO_COMMIT), 10, 60_000, False, 10, id="no commit and no known lag"),
    ],
)
def test_first_unread_offsets(row: Row, log_start: int, formed_ago: int, known: bool, first: int) -> None:  # noqa: FBT001 - a table
    """The first unread offset is the commit, or the end when the group formed, but not below the log start."""
    inputs = pane(row).inputs
    inputs = dataclasses.replace(inputs, groups=dataclasses.replace(inputs.groups, since=ints(NOW - formed_ago)))
    found = first_unread_offsets(inputs, growing(), ints(0), np.array([known]), ints(log_start))
    assert found.tolist() == [first]


@pytest.mark.parametrize(
    ("row", "ago", "at_rest"),
    [
        pytest.param(0, 10_000, True, id="end not moved since"),
        pytest.param(0, 30_000, False, id="end moved since"),
        pytest.param(0, 500_000, False, id="end not observed at that time"),
        pytest.param(-1, 10_000, False, id="unknown end"),
    ],
)
def test_ends_at_rest(row: int, ago: int, at_rest: bool) -> None:  # noqa: FBT001 - a table
    """An end is at rest if it is the same as at the given time."""
    assert ends_at_rest(growing(), ints(row), ints(80), NOW - ago).tolist() == [at_rest]
