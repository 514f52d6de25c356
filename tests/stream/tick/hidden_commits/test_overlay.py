"""The overlay: commits of some keys among many, each in its own row, and all the others untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.runs import columns_of
from stream.tick.hidden_commits.commits import FetchedCommits, FetchedOffsets, offset_key
from stream.tick.hidden_commits.overlay import Overlay, decode_names, logged_rows
from tests.support.commits import KEEP, SLOT_MS
from tests.support.fleets import World
from tests.support.laws import examples
from tests.support.raw import commit_key, commit_value

if TYPE_CHECKING:
    from stream.groups.driver_state import GroupColumns

Key = tuple[str, str, int]
KEYS = st.tuples(st.sampled_from("abc"), st.sampled_from("tuv"), st.integers(0, 2))


def asked(offsets: dict[Key, int]) -> FetchedCommits:
    """Give commits that were asked for, of which the log knows nothing."""
    commits = FetchedCommits(SLOT_MS, KEEP)
    count = len(offsets)
    keys = pa.array([offset_key(*key) for key in offsets], pa.binary())
    offset = np.array(list(offsets.values()), np.int64)
    partition, low = np.zeros(count, np.int64), np.full(count, 10**6)
    answers = FetchedOffsets(5_000, keys, offset, np.full(count, 3, np.int32), partition, low)
    commits.add(answers, logged_rows(World().fleet.columns(), frozenset()).log)
    return commits


def offsets_of(fleet: GroupColumns) -> dict[Key, int]:
    """Give the offsets of a fleet by what its rows say they are."""
    rows = zip(fleet.group.to_pylist(), fleet.topic.to_pylist(), fleet.partition.tolist(), strict=True)
    return dict(zip(rows, fleet.runs.spans.last_offset.tolist(), strict=True))


@examples(30)
@given(st.dictionaries(KEYS, st.integers(0, 9), min_size=1), st.dictionaries(KEYS, st.integers(10, 19), min_size=1))
def test_each_commit_lands_in_its_own_row(log: dict[Key, int], more: dict[Key, int]) -> None:
    """Whatever the order; names, ranks and keys of the rows agree, and slots stay with their rows."""
    world = World()
    world.read([(commit_key(*key), commit_value(offset, 1_000)) for key, offset in log.items()], time=1_000)
    fleet = world.fleet.columns()
    before = [column.copy() for column in columns_of(fleet.runs.spans)]
    known = logged_rows(fleet, frozenset("abc"))
    put, flags = Overlay(KEEP).add(fleet, known, asked(more).runs)

    assert offsets_of(put) == log | more
    assert {key for key, flag in zip(offsets_of(put), flags.tolist(), strict=True) if flag} == set(more)
    assert put.runs.keys.to_pylist() == [offset_key(*key) for key in offsets_of(put)]
    assert put.runs.leader_epoch.tolist() == [3 if key in more else -1 for key in offsets_of(put)]
    ranked = [
        (put.row_order.groups[group], put.row_order.topics[topic], partition)
        for group, topic, partition in zip(
            *(column.tolist() for column in (put.row_order.group, put.row_order.topic, put.row_order.partition)),
            strict=True,
        )
    ]
    assert ranked == sorted(log | more)
    newest = dict(zip(put.runs.slots.row.tolist(), put.runs.slots.offset.tolist(), strict=True))
    assert [newest[row] for row in range(len(put.runs))] == put.runs.spans.last_offset.tolist()
    assert (np.diff(put.runs.slots.row) >= 0).all()
    for column, kept in zip(columns_of(fleet.runs.spans), before, strict=True):
        assert np.array_equal(column, kept), "the fleet that was given is not changed"


def test_no_new_row_no_new_names() -> None:
    """While only known keys are put in, names and ranks are those of the fleet, by identity."""
    world = World()
    world.read([(commit_key("a", "t", 0), commit_value(1, 1))])
    fleet = world.fleet.columns()
    put, _ = Overlay(KEEP).add(fleet, logged_rows(fleet, frozenset("a")), asked({("a", "t", 0): 9}).runs)
    assert (put.row_order is fleet.row_order, put.group is fleet.group, put.topic is fleet.topic) == (True, True, True)


def test_names_are_read_from_keys() -> None:
    """Any name that a key can hold."""
    group, topic, partition = decode_names(pa.array([offset_key("ü" * 99, "t.x", 2**31 - 1)], pa.binary()))
    assert (group.to_pylist(), topic.to_pylist(), partition.tolist()) == (["ü" * 99], ["t.x"], [2**31 - 1])
