"""Ends by place, and for each that is not known why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream.health.features import lag as lags
from stream.tick.inputs.ends import polled
from tests.support.fleets import ends_of

# The story, the rows that the cluster answered, and the reason for partition 0 of topic `t`.
STORIES: list[tuple[str, list[Any], str | None]] = [
    ("all is known", [("t", 0, 9, 9, 0, None)], None),
    ("nobody was asked", [], "not_asked"),
    ("only another topic answered", [("u", 0, 9, 9, 0, None)], "not_asked"),
    ("the topic is gone", [("t", -1, None, None, None, "unknown_topic")], "unknown_topic"),
    ("there is no such partition", [("t", 1, 9, 9, 0, None)], "unknown_partition"),
    ("it has no leader", [("t", 0, None, None, None, "no_leader")], "no_leader"),
    ("half of an answer", [("t", 0, 9, 9, None, "timed_out")], "timed_out"),
]


@pytest.mark.parametrize(("rows", "reason"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES])
def test_why_an_end_is_not_known(rows: list[Any], reason: str | None) -> None:
    """Each story has its reason, and only what is known has none."""
    read = polled(ends_of(rows), ["t", "u"])
    topic, partition = np.array([0]), np.array([0], np.int32)
    found = lags.lag(np.array([5]), lags.place(topic, partition), read.ends)
    assert read.reasons(found, topic).tolist() == [reason]
    assert bool(found.known[0]) == (reason is None)


def test_a_commit_above_its_end_is_no_fault_of_the_poll() -> None:
    """Why its lag is not known is for health to say."""
    read = polled(ends_of([("t", 0, 9, 9, 0, None)]), ["t"])
    topic = np.array([0])
    found = lags.lag(np.array([50]), lags.place(topic, np.array([0], np.int32)), read.ends)
    assert (read.reasons(found, topic).tolist(), found.known.tolist()) == ([None], [False])


def test_columns_of_the_table_come_back_row_by_row() -> None:
    """Whatever the order of the table; a number that is known alone is not lost, and one that is not is null."""
    rows = [("u", 0, 7, 6, 5, None), ("t", 1, 4, None, None, "timed_out")]
    table = ends_of(rows).take([1, 0])
    read = polled(table, ["t", "u"])
    place = lags.place(np.array([0, 0, 1]), np.array([0, 1, 0], np.int32))
    found = lags.lag(np.array([1, 1, 1]), place, read.ends)
    assert read.column("high_watermark", found).to_pylist() == [None, 4, 7]
    assert read.column("last_stable_offset", found).to_pylist() == [None, None, 6]


def test_no_ends_at_all_are_columns_of_nulls() -> None:
    """As in a capture."""
    read = polled(ends_of([]), ["t"])
    found = lags.lag(np.array([1]), np.array([0]), read.ends)
    assert read.column("log_start_offset", found).to_pylist() == [None]
